#include "sim/platform_shape.hpp"

#include <fmt/format.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>
#include <xbt/log.h>
#include <pugixml.hpp>
#include <simgrid/kernel/routing/NetPoint.hpp>
#include <simgrid/kernel/routing/NetZoneImpl.hpp>
#include <simgrid/s4u.hpp>
#include <xbt/parse_units.hpp>

#include <algorithm>
#include <cerrno>
#include <cstdint>
#include <cstdio>
#include <iostream>
#include <memory>
#include <nlohmann/json.hpp>
#include <stdexcept>
#include <string>
#include <string_view>
#include <system_error>
#include <unordered_map>
#include <utility>
#include <vector>

#include "collectives/error.hpp"
#include "process/child.hpp"
#include "process/temporary_file.hpp"

namespace tutti {
namespace {

bool is_wireless(const simgrid::s4u::Link& link) {
  return link.get_sharing_policy() == simgrid::s4u::Link::SharingPolicy::WIFI;
}

/// Bad files can make SimGrid allocate and compute without end.
void limit_process() {
  constexpr rlim_t most_seconds = 60;
  const rlimit seconds = {most_seconds, most_seconds};
  setrlimit(RLIMIT_CPU, &seconds);
#if !defined(__SANITIZE_ADDRESS__)  // Which reserves far more than it uses.
  constexpr rlim_t most_bytes = rlim_t{4} << 30;
  const rlimit bytes = {most_bytes, most_bytes};
  setrlimit(RLIMIT_AS, &bytes);
#endif
}

/// The first rate of a wireless link, which SimGrid does not tell.
double wireless_bandwidth(const pugi::xml_document& document, const std::string& file,
                          const std::string& name) {
  const pugi::xml_node link = document.find_node([&name](pugi::xml_node node) {
    return std::string_view(node.name()) == "link" && name == node.attribute("id").value();
  });
  return xbt_parse_get_bandwidths(file, 0, link.attribute("bandwidth").value(), name).at(0);
}

// What a platform holds, by SimGrid: {file_hosts, hosts, links, routes} or {error}.
class Survey {
 public:
  explicit Survey(const std::string& file) : file_(file) {
    xbt_log_control_set("root.fmt:%m%n");
    simgrid::s4u::Engine engine("tutti");
    simgrid::s4u::Engine::set_config("tracing", false);
    engine.load_platform(file);
    engine.seal_platform();  // Zones with Floyd's or Dijkstra's routing have no routes before.
    std::vector<simgrid::s4u::Host*> hosts;
    add_hosts(*engine.get_netzone_root()->get_impl(), hosts);
    answer_["file_hosts"] = hosts.size();
    hosts.resize(std::min(hosts.size(), static_cast<std::size_t>(maximum_platform_hosts)));
    answer_["hosts"] = nlohmann::json::array();
    for (const simgrid::s4u::Host* const host : hosts) {
      answer_["hosts"].push_back({host->get_name(), host->get_core_count()});
    }
    answer_["routes"] = nlohmann::json::array();
    for (const simgrid::s4u::Host* const from : hosts) {
      for (const simgrid::s4u::Host* const to : hosts) {
        if (from != to) add_route(*from, *to);
      }
    }
    answer_["links"] = std::move(links_);
  }

  std::string text() const { return answer_.dump(); }

 private:
  /// In the order of the file; SimGrid's own list is that of names, "host-10" before "host-2".
  static void add_hosts(const simgrid::kernel::routing::NetZoneImpl& zone,
                        std::vector<simgrid::s4u::Host*>& hosts) {
    for (const simgrid::kernel::routing::NetPoint* const point : zone.get_vertices()) {
      if (point->is_host()) {
        hosts.push_back(simgrid::s4u::Host::by_name(point->get_name()));
      } else if (point->is_netzone()) {
        for (const simgrid::kernel::routing::NetZoneImpl* const child : zone.get_children()) {
          if (child->get_netpoint() == point) add_hosts(*child, hosts);
        }
      }
    }
  }

  void add_route(const simgrid::s4u::Host& from, const simgrid::s4u::Host& to) {
    std::vector<simgrid::s4u::Link*> crossed;
    double latency_seconds = 0.0;
    from.route_to(&to, crossed, &latency_seconds);
    if (crossed.empty() && latency_seconds <= 0.0) {
      throw std::runtime_error(fmt::format("no route leads from host '{}' to host '{}'",
                                           from.get_name(), to.get_name()));
    }
    std::vector<std::size_t> route;
    for (const simgrid::s4u::Link* const link : crossed) route.push_back(index_of(*link));
    answer_["routes"].push_back(std::move(route));
  }

  std::size_t index_of(const simgrid::s4u::Link& link) {
    const auto [found, added] = indices_.try_emplace(&link, indices_.size());
    if (added) {
      links_.push_back({link.get_name(), bandwidth_of(link), link.get_latency()});
    }
    return found->second;
  }

  double bandwidth_of(const simgrid::s4u::Link& link) {
    if (!is_wireless(link)) return link.get_bandwidth();
    if (!document_.first_child()) document_.load_file(file_.c_str());
    return wireless_bandwidth(document_, file_, link.get_name());
  }

  const std::string file_;
  pugi::xml_document document_;
  nlohmann::json answer_;
  nlohmann::json links_ = nlohmann::json::array();
  std::unordered_map<const simgrid::s4u::Link*, std::size_t> indices_;
};

[[noreturn]] void answer(const std::string& file, const TemporaryFile& answers,
                         const TemporaryFile& errors) {
  dup2(errors.descriptor(), STDERR_FILENO);
  dup2(errors.descriptor(), STDOUT_FILENO);
  std::string text;
  limit_process();
  try {
    text = Survey(file).text();
  } catch (const std::exception& error) {
    text = nlohmann::json{{"error", error.what()}}.dump();
  }
  answers.write(text);
  std::fflush(nullptr);
  _exit(0);
}

/// SimGrid speaks of the file and then of how it ends.
std::string first_complaint(const std::string& log) {
  for (std::size_t begin = 0; begin < log.size();) {
    const std::size_t end = std::min(log.find('\n', begin), log.size());
    const std::string line = log.substr(begin, end - begin);
    begin = end + 1;
    if (!line.empty() && !line.starts_with("Switching to") && !line.starts_with("Configuration")) {
      return line;
    }
  }
  return "no reason given";
}

/// A rank for each core, round the hosts, as smpirun goes round its list of them; empty where that
/// is one a host.
std::vector<int> round_the_cores(const std::vector<Host>& hosts) {
  std::vector<int> placement;
  bool is_last = false;
  for (int core = 0; !is_last; ++core) {
    is_last = true;
    for (int host = 0; host < static_cast<int>(hosts.size()); ++host) {
      const int cores = hosts[static_cast<std::size_t>(host)].cores;
      const bool has_room = placement.size() < static_cast<std::size_t>(maximum_hosts);
      if (core < cores && has_room) placement.push_back(host);
      if (core + 1 < cores && has_room) is_last = false;
    }
  }
  if (placement.size() == hosts.size()) placement.clear();
  return placement;
}

Platform platform_of(const nlohmann::json& answer, const std::string& file) {
  Platform platform;
  platform.file_hosts = answer.at("file_hosts").get<std::size_t>();
  Shape& shape = platform.shape;
  shape.file = shape.platform_file = file;
  for (const auto& host : answer.at("hosts")) {
    shape.hosts.push_back({.name = host.at(0).get<std::string>(), .cores = host.at(1).get<int>()});
    shape.hosts.back().machine = static_cast<int>(shape.hosts.size()) - 1;
    shape.nodes.push_back({shape.hosts.back().name, Node::Kind::host});
  }
  shape.placement = round_the_cores(shape.hosts);
  for (const auto& link : answer.at("links")) {
    shape.links.push_back({.name = link.at(0).get<std::string>(),
                           .link_class = "link",
                           .bandwidth_bytes_per_second = link.at(1).get<double>(),
                           .latency_seconds = link.at(2).get<double>()});
  }
  shape.name = shape.hosts.size() == platform.file_hosts
                   ? fmt::format("{} ({} hosts, by SimGrid)", file, shape.hosts.size())
                   : fmt::format("{} (first {} of {} hosts, by SimGrid)", file, shape.hosts.size(),
                                 platform.file_hosts);
  auto routes =
      std::make_shared<const std::vector<Route>>(answer.at("routes").get<std::vector<Route>>());
  const int size = static_cast<int>(shape.hosts.size());
  shape.route = [routes = std::move(routes), size](int from, int to) {
    if (from == to) return Route{};
    return (*routes)[static_cast<std::size_t>(from * (size - 1) + (to > from ? to - 1 : to))];
  };
  return platform;
}

}  // namespace

void connect_wireless_hosts(simgrid::s4u::Engine& engine) {
  const std::vector<simgrid::s4u::Link*> links = engine.get_all_links();
  if (std::none_of(links.begin(), links.end(),
                   [](const auto* link) { return is_wireless(*link); })) {
    return;
  }
  engine.seal_platform();
  const std::vector<simgrid::s4u::Host*> hosts = engine.get_all_hosts();
  if (hosts.size() < 2) return;
  for (const simgrid::s4u::Host* const host : hosts) {
    const simgrid::s4u::Host* const other = hosts[host == hosts[0] ? 1 : 0];
    std::vector<simgrid::s4u::Link*> crossed;
    double latency_seconds = 0.0;
    host->route_to(other, crossed, &latency_seconds);
    if (crossed.empty() || !is_wireless(*crossed.front())) continue;
    crossed.front()->set_host_wifi_rate(host, 0);
  }
}

Platform load_platform(const std::string& file) {
  const TemporaryFile answers, errors;
  std::cout.flush();
  std::fflush(nullptr);
  const pid_t parent = getpid();
  const pid_t child = fork();
  if (child < 0) {
    throw ShapeError(fmt::format("cannot fork a process to read {}: {}", file,
                                 std::generic_category().message(errno)));
  }
  if (child == 0) {
    die_with_parent(parent);
    try {
      answer(file, answers, errors);
    } catch (const Error&) {
      _exit(1);  // Without an answer.
    }
  }
  int status = 0;
  while (waitpid(child, &status, 0) < 0 && errno == EINTR) {
  }
  const std::string text = answers.content();
  if (text.empty()) {
    throw ShapeError(
        fmt::format("{}: refused by SimGrid: {}", file, first_complaint(errors.content())));
  }
  const nlohmann::json answered = nlohmann::json::parse(text);
  if (answered.contains("error")) {
    throw ShapeError(fmt::format("{}: {}", file, answered["error"].get<std::string>()));
  }
  if (answered.at("hosts").empty()) throw ShapeError(fmt::format("{}: it has no hosts", file));
  return platform_of(answered, file);
}

}  // namespace tutti
