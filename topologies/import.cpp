#include "topologies/import.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "topologies/import_yaml.hpp"
#include "topologies/words.hpp"

namespace tutti {
namespace {

std::string listed() {
  std::string list;
  for (const Importer& importer : importers()) {
    list += fmt::format("{}{} ({})", list.empty() ? "" : ", ", importer.name, importer.description);
  }
  return list;
}

const Importer& importer_for(std::string_view text, const std::string& origin,
                             std::string_view name) {
  const std::vector<Importer>& all = importers();
  const auto found = std::find_if(all.begin(), all.end(), [&](const Importer& importer) {
    return name.empty() ? importer.recognises(text) : importer.name == name;
  });
  if (found != all.end()) return *found;
  const std::string reason =
      name.empty() ? fmt::format("looks like none of the formats that can be imported")
                   : fmt::format("there is no format {}", quote(name));
  refuse_import(origin, {}, fmt::format("{}: {}", reason, listed()));
}

}  // namespace

const std::vector<Importer>& importers() {
  static const std::vector<Importer> all = {
      simgrid_importer(), nccl_importer(),  hwloc_importer(), nvidia_smi_importer(),
      astra_importer(),   htsim_importer(), simai_importer(), ns3_importer()};
  return all;
}

Import import_topology(std::string_view text, const std::string& origin, std::string_view name) {
  if (text.size() > maximum_import_bytes) {
    refuse_import(
        origin, {},
        fmt::format("has {} bytes, expected at most {}", text.size(), maximum_import_bytes));
  }
  return importer_for(text, origin, name).import(text, origin);
}

}  // namespace tutti
