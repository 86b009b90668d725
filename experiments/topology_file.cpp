#include "experiments/topology_file.hpp"

#include <algorithm>
#include <filesystem>
#include <string_view>
#include <system_error>

#include "collectives/error.hpp"
#include "experiments/files.hpp"
#include "experiments/output.hpp"
#include "sim/platform_shape.hpp"
#include "topologies/import.hpp"
#include "topologies/load.hpp"

namespace tutti {
namespace {

const Importer* importer_of(std::string_view text) {
  const auto& all = importers();
  const auto found = std::find_if(all.begin(), all.end(), [text](const Importer& importer) {
    return importer.recognises(text);
  });
  return found == all.end() ? nullptr : &*found;
}

Shape import_on_the_way(const Importer& importer, const std::string& text, const std::string& file,
                        const ShapeChanges& changes) {
  const Import import = importer.import(text, file);
  const auto is_worth_a_warning = [](const ImportNote& note) {
    return note.kind != ImportNote::Kind::ignored;
  };
  const auto notes = std::count_if(import.notes.begin(), import.notes.end(), is_worth_a_warning);
  if (notes > 0) {
    warn(fmt::format("{} is {}, imported with {}; 'tutti topo import {}' tells", file, import.kind,
                     counted(notes, "assumption"), file));
  }
  Shape shape = parse_shape(import.yaml, file, changes.settings, changes.failures);
  shape.file = file;
  return shape;
}

// A file that cannot be read is no usage error.
Shape load_own(const std::string& file, const ShapeChanges& changes, bool readable) {
  try {
    return load_shape(file, changes.settings, changes.failures);
  } catch (const ShapeError& error) {
    if (readable) throw;
    throw Error(ErrorKind::system, error.what());
  }
}

}  // namespace

Shape load_topology(const std::string& file, const ShapeChanges& changes, PlatformUse platform) {
  const Importer* importer = nullptr;
  std::string text;
  std::error_code unknown_size;
  const bool readable = is_readable(file);
  if (readable && std::filesystem::file_size(file, unknown_size) <= maximum_import_bytes) {
    text = read_file(file);
    importer = importer_of(text);
  }
  if (importer == nullptr) return load_own(file, changes, readable);
  if (importer->name != "simgrid" || platform == PlatformUse::imported) {
    return import_on_the_way(*importer, text, file, changes);
  }
  if (!changes.settings.empty() || !changes.failures.empty()) {
    throw ShapeError(fmt::format(
        "{}: SimGrid reads its platform as it is, without changes; 'tutti topo import {}' makes a "
        "topology that --set and --fail can change",
        file, file));
  }
  return load_platform(file);
}

}  // namespace tutti
