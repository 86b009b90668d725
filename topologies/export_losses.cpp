#include "topologies/export_losses.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

namespace tutti {

std::vector<std::string> export_losses(const Shape& shape, ExportFormat format) {
  std::vector<std::string> losses;
  const auto lose_if_any = [&](const auto& has, const char* what) {
    if (std::any_of(shape.hosts.begin(), shape.hosts.end(), has)) losses.emplace_back(what);
  };
  lose_if_any([](const Host& host) { return host.reduction_bytes_per_second.has_value(); },
              "reduction speeds");
  lose_if_any(
      [](const Host& host) {
        return host.send_overhead_seconds > 0.0 || host.receive_overhead_seconds > 0.0;
      },
      "overheads of messages");
  const bool has_overheads =
      std::any_of(shape.links.begin(), shape.links.end(),
                  [](const Link& link) { return link.overhead_seconds > 0.0; });
  if (has_overheads) losses.emplace_back("overheads of links");
  if (format == ExportFormat::astra) {
    lose_if_any([](const Host& host) { return host.cores != 1; }, "cores of hosts");
    lose_if_any([](const Host& host) { return host.speed != 1.0; }, "speeds of hosts");
  }
  if (!shape.placement.empty()) losses.emplace_back("the placement of ranks");
  return losses;
}

std::string sentence_of_losses(const Shape& shape, ExportFormat format) {
  const std::vector<std::string> losses = export_losses(shape, format);
  return losses.empty() ? "" : fmt::format(" Lost: {}.", fmt::join(losses, ", "));
}

}  // namespace tutti
