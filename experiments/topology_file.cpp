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

// The importer's whole report goes to 'topo import'; elsewhere what is suspicious is said, and that
// there is more.
void warn_of_notes(const Import& import, const std::string& file) {
  constexpr int most_said = 3;
  int suspicious = 0, assumed = 0;
  for (const ImportNote& note : import.notes) {
    if (note.kind == ImportNote::Kind::assumed) ++assumed;
    if (note.kind != ImportNote::Kind::suspicious || ++suspicious > most_said) continue;
    const std::string line = note.line > 0 ? fmt::format(":{}", note.line) : "";
    warn(fmt::format("{}{}: suspicious: {}", file, line, note.text));
  }
  if (suspicious <= most_said && assumed == 0) return;
  warn(fmt::format("{} is {}; 'tutti topo import {}' reports {} and {} assumed", file, import.kind,
                   file, counted(suspicious, "suspicious value"), assumed));
}

Shape import_on_the_way(const Importer& importer, const std::string& text, const std::string& file,
                        const ShapeChanges& changes) {
  const Import import = importer.import(text, file);
  warn_of_notes(import, file);
  Shape shape = parse_shape(import.yaml, file, changes.settings, changes.failures);
  shape.file = file;
  return shape;
}

// SimGrid itself takes much that makes no sense, so that it reads only what the importer has
// understood, or has found to be what only SimGrid can model.
Shape check_and_load_platform(const Importer& importer, const std::string& text,
                              const std::string& file) {
  try {
    const Import import = importer.import(text, file);
    parse_shape(import.yaml, file);
    warn_of_notes(import, file);
  } catch (const UnmodelledError&) {
    // SimGrid models it.
  }
  Platform platform = load_platform(file);
  if (platform.shape.hosts.size() < platform.file_hosts) {
    warn(
        fmt::format("{} has {} hosts, ranks can be placed on the first {} of them; on all in what "
                    "'tutti topo import {}' makes of it",
                    file, platform.file_hosts, platform.shape.hosts.size(), file));
  }
  return std::move(platform.shape);
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
  return check_and_load_platform(*importer, text, file);
}

}  // namespace tutti
