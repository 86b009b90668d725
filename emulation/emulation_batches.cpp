#include <fmt/format.h>
#include <fmt/ranges.h>

#include <cmath>
#include <set>

#include "emulation/emulation_plan.hpp"

namespace tutti {
namespace {

// Tables below are the kernel's own.
constexpr int first_table = 1000;

const std::string& address_of(const EmulationPlan& plan, int node) {
  return plan.nodes[static_cast<std::size_t>(node)].address;
}

std::int64_t bucket_bytes_per_second(const EmulationPlan& plan, const EmulatedEnd& end) {
  return std::llround(end.bandwidth_bytes_per_second * plan.bytes_per_payload_byte());
}

std::string indented(std::string_view tool, std::string_view batch) {
  std::string text;
  for (std::size_t begin = 0; begin < batch.size();) {
    const std::size_t end = batch.find('\n', begin);
    text += fmt::format("  {} {}\n", tool, batch.substr(begin, end - begin));
    begin = end + 1;
  }
  return text;
}

}  // namespace

std::vector<EmulationSetting> emulation_settings(const EmulationPlan& plan) {
  const std::string window = fmt::format("4096 {0} {0}", plan.window_bytes);
  return {
      // First, as it resets others.
      {"ipv4/ip_forward", "1"},
      {"ipv4/ip_default_ttl", "255"},
      // The way back may be another one.
      {"ipv4/conf/all/rp_filter", "0"},
      {"ipv4/conf/default/rp_filter", "0"},
      // Nobody is to say anything that was not asked for.
      {"ipv4/conf/all/send_redirects", "0"},
      {"ipv4/conf/default/send_redirects", "0"},
      {"ipv6/conf/all/disable_ipv6", "1"},
      {"ipv6/conf/default/disable_ipv6", "1"},
      // Nothing is lost, so that its window only ever grows.
      {"ipv4/tcp_congestion_control", "reno"},
      {"ipv4/tcp_slow_start_after_idle", "0"},
      {"ipv4/tcp_no_metrics_save", "1"},
      {"ipv4/tcp_rmem", window},
      {"ipv4/tcp_wmem", window},
  };
}

// With the same address at both ends and no ARP, a packet needs no neighbour's address.
std::string link_batch(const EmulationPlan& plan, int node,
                       const std::function<std::string(int node)>& namespace_of) {
  std::string batch;
  for (std::size_t index = 0; index < plan.cables.size(); ++index) {
    const EmulatedCable& cable = plan.cables[index];
    if (cable.ends[0].node != node) continue;
    const std::string device =
        fmt::format("name {} address 02:00:00:{:02x}:{:02x}:{:02x} mtu {}", cable.device,
                    index >> 16 & 255, index >> 8 & 255, index & 255, plan.mtu_bytes);
    batch += fmt::format("link add {} type veth peer {} netns {}\n", device, device,
                         namespace_of(cable.ends[1].node));
  }
  return batch;
}

std::string route_batch(const EmulationPlan& plan, int node) {
  std::string batch = "link set dev lo up\n";
  const std::string& own = address_of(plan, node);
  if (!own.empty()) batch += fmt::format("address add {}/32 dev lo\n", own);
  for (const EmulatedCable& cable : plan.cables) {
    if (cable.ends[0].node != node && cable.ends[1].node != node) continue;
    // One packet at a time reaches a bucket, not a bunch that is divided only there.
    batch += fmt::format("link set dev {} gso_max_segs 1 arp off up\n", cable.device);
  }
  std::set<int> sources;
  for (const EmulatedRoute& route : plan.routes) {
    if (route.node != node) continue;
    batch += fmt::format("route add {}/32 dev {}", address_of(plan, route.destination),
                         plan.cables[static_cast<std::size_t>(route.cable)].device);
    if (!own.empty()) batch += " src " + own;
    if (route.source >= 0) batch += fmt::format(" table {}", first_table + route.source);
    batch += "\n";
    if (route.source < 0 || !sources.insert(route.source).second) continue;
    batch += fmt::format("rule add from {} lookup {}\n", address_of(plan, route.source),
                         first_table + route.source);
  }
  return batch;
}

std::string bucket_batch(const EmulationPlan& plan, int node) {
  std::string batch;
  for (const EmulatedCable& cable : plan.cables) {
    for (const EmulatedEnd& end : cable.ends) {
      if (end.node != node || end.bandwidth_bytes_per_second <= 0.0) continue;
      batch += fmt::format("qdisc add dev {} root tbf rate {}bps burst {} limit {}\n", cable.device,
                           bucket_bytes_per_second(plan, end), plan.burst_bytes(), end.queue_bytes);
    }
  }
  return batch;
}

std::string to_text(const EmulationPlan& plan) {
  std::string text = fmt::format(
      "{}: {} {}, {} namespaces, {} {}\n"
      "MTU {}; buckets hold {} packets and pass {:.4f} bytes for each of payload\n",
      plan.title, plan.ranks(), plan.ranks() == 1 ? "rank" : "ranks", plan.nodes.size(),
      plan.cables.size(), plan.cables.size() == 1 ? "cable" : "cables", plan.mtu_bytes,
      burst_packets, plan.bytes_per_payload_byte());
  if (plan.longest_latency_seconds > 0.0) {
    text += fmt::format("latencies, up to {:.4g} us in the shape, are those of this machine\n",
                        plan.longest_latency_seconds * 1e6);
  }
  for (const std::string& omission : plan.omissions) text += omission + "\n";
  text += "\nin every namespace\n";
  for (const EmulationSetting& setting : emulation_settings(plan)) {
    text += fmt::format("  /proc/sys/net/{} = {}\n", setting.path, setting.value);
  }
  for (std::size_t index = 0; index < plan.nodes.size(); ++index) {
    const EmulatedNode& node = plan.nodes[index];
    text += fmt::format("\n{}", node.name);
    if (!node.ranks.empty())
      text += fmt::format(": {} {}", node.ranks.size() == 1 ? "rank" : "ranks",
                          fmt::join(node.ranks, ", "));
    const int number = static_cast<int>(index);
    const auto name_of_node = [&](int other) {
      return plan.nodes[static_cast<std::size_t>(other)].name;
    };
    text += fmt::format("\n{}{}{}", indented("ip", link_batch(plan, number, name_of_node)),
                        indented("ip", route_batch(plan, number)),
                        indented("tc", bucket_batch(plan, number)));
  }
  return text;
}

}  // namespace tutti
