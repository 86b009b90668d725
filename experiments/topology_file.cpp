#include "experiments/topology_file.hpp"

#include <algorithm>
#include <string_view>

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

}  // namespace

Shape load_topology(const std::string& file, const ShapeChanges& changes, PlatformUse platform) {
  // Errors of our own format name it best, so that only what others recognise is theirs.
  const std::string text = is_readable(file) ? read_file(file) : std::string();
  const Importer* const importer = importer_of(text);
  if (importer == nullptr) return load_shape(file, changes.settings, changes.failures);
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
