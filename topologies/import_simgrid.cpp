#include "topologies/import_simgrid.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

namespace tutti {
namespace {

/// SimGrid's own, for hosts that have none.
constexpr LinkSpec default_loopback{498e6, 15e-6};

bool recognises(std::string_view text) {
  return xml_begins_with(text, "platform");
}

/// Hosts are alike here: what all of them can do.
HostSpec common_host(const SimPlatform& platform, ImportNotes& notes) {
  HostSpec host = platform.hosts.front();
  for (const HostSpec& other : platform.hosts) {
    if (other.cores != host.cores) {
      notes.suspicious(0, "hosts have different numbers of cores, the smallest is taken for all");
    }
    host.cores = std::min(host.cores, other.cores);
    if (!host.loopback) host.loopback = other.loopback;
  }
  for (const LinkSpec& loopback : platform.loopbacks) {
    const double bandwidth = loopback.bandwidth_bytes_per_second;
    if (host.loopback && host.loopback->bandwidth_bytes_per_second != bandwidth) {
      notes.suspicious(0, "hosts have different loopbacks, the slowest is taken for all");
    }
    const bool is_slower = !host.loopback || bandwidth < host.loopback->bandwidth_bytes_per_second;
    if (is_slower) host.loopback = loopback;
  }
  return host;
}

/// Our key for where ranks run, if it matters.
std::string complete(HostSpec& host, ImportNotes& notes) {
  if (host.cores == 1) return "";
  notes.assumed(
      0, fmt::format("{} ranks a host, one for each core, placed round the hosts", host.cores));
  if (!host.loopback) {
    host.loopback = default_loopback;
    notes.assumed(0, "a loopback of 498 MB/s and 15 us, SimGrid's own");
  }
  return "placement: cyclic\n";
}

Import import(std::string_view text, const std::string& origin) {
  const XmlText xml(text, origin);
  ImportNotes notes;
  const SimPlatform platform = read_simgrid(xml, notes);
  const std::string kind = fmt::format("SimGrid platform XML {}", platform.version);
  HostSpec host;
  std::string yaml;
  if (platform.only_cluster) {
    const SimCluster& cluster = *platform.only_cluster;
    host = cluster.host;
    if (const auto own = simgrid_cluster_yaml(cluster, origin, notes)) {
      yaml = *own;
    } else {
      yaml = yaml_graph(simgrid_cluster_graph(cluster, origin, notes));
    }
  } else {
    host = common_host(platform, notes);
    const GraphSpec graph = simgrid_graph(platform, origin, notes);
    check_import_ways(origin, graph);
    yaml = yaml_graph(graph);
  }
  const std::string placement = complete(host, notes);
  return make_import(kind, origin, notes, yaml + yaml_host(host) + placement);
}

}  // namespace

Importer simgrid_importer() {
  return {"simgrid", "SimGrid platform XML, versions 4.0 and 4.1", recognises, import};
}

}  // namespace tutti
