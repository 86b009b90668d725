#include "sim/shape_zone.hpp"

#include <simgrid/kernel/routing/NetPoint.hpp>

#include "sim/simgrid_compat.hpp"

namespace tutti {

ShapeZone& ShapeZone::create(const Shape& shape, std::size_t ranks) {
  // SimGrid's engine owns its zones.
  auto* const zone = new ShapeZone(shape);
  simgrid_compat::adopt_zone(*zone);
  for (std::size_t rank = 0; rank < ranks; ++rank) {
    zone->add_host(static_cast<std::size_t>(shape.host_of(static_cast<int>(rank))));
  }
  zone->add_used_links(ranks);
  zone->get_iface()->seal();
  return *zone;
}

ShapeZone::ShapeZone(const Shape& shape)
    : NetZoneImpl("shape"),
      shape_(shape),
      hosts_(shape.hosts.size(), nullptr),
      links_(shape.links.size(), nullptr) {}

simgrid::s4u::Host* ShapeZone::host_of(int rank) const {
  return hosts_[static_cast<std::size_t>(shape_.host_of(rank))];
}

void ShapeZone::add_host(std::size_t index) {
  if (hosts_[index] != nullptr) return;
  const Host& host = shape_.hosts[index];
  const double speed = host.reduction_bytes_per_second.value_or(1.0) * host.speed;
  hosts_[index] = simgrid_compat::create_host(*get_iface(), host.name, speed);
  hosts_[index]->set_core_count(host.cores);
  const std::size_t point = hosts_[index]->get_netpoint()->id();
  if (host_of_point_.size() <= point) host_of_point_.resize(point + 1, -1);
  host_of_point_[point] = static_cast<int>(index);
}

void ShapeZone::add_link(std::size_t index) {
  if (links_[index] != nullptr) return;
  const Link& link = shape_.links[index];
  links_[index] =
      simgrid_compat::create_link(*get_iface(), link.name, link.bandwidth_bytes_per_second);
  links_[index]->set_latency(link.latency_seconds)->seal();
}

void ShapeZone::add_used_links(std::size_t ranks) {
  // Few ranks use few links of a large shape; among many ranks, looking at all pairs costs more.
  if (ranks * ranks > links_.size()) {
    for (std::size_t index = 0; index < links_.size(); ++index) {
      if (!shape_.links[index].failed) add_link(index);
    }
    return;
  }
  const int size = static_cast<int>(ranks);
  for (int from = 0; from < size; ++from) {
    for (int to = 0; to < size; ++to) {
      if (from == to) continue;
      for (const int link : shape_.route_of_ranks(from, to)) {
        add_link(static_cast<std::size_t>(link));
      }
    }
  }
}

void ShapeZone::get_local_route(const simgrid::kernel::routing::NetPoint* source,
                                const simgrid::kernel::routing::NetPoint* target,
                                simgrid::kernel::routing::Route* into, double* latency_seconds) {
  const int from = host_of_point_[source->id()], to = host_of_point_[target->id()];
  for (const int index : shape_.route(from, to)) {
    const auto link = static_cast<std::size_t>(index);
    into->link_list_.push_back(links_[link]->get_impl());
    if (latency_seconds != nullptr) *latency_seconds += shape_.links[link].latency_seconds;
  }
}

}  // namespace tutti
