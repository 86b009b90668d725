// The calls whose names or spelling differ between SimGrid 3.32 (Debian 12) and 4.x.
#pragma once

#include <simgrid/s4u.hpp>

// Needs macros of the former.
#include <simgrid/version.h>

#include <functional>
#include <string>
#include <vector>

namespace tutti::simgrid_compat {

/// The smallest difference in time that SimGrid tells apart, in seconds.
inline constexpr const char* timing_precision_key =
#if SIMGRID_VERSION >= 40000
    "precision/timing";
#else
    "surf/precision";
#endif

/// The zone that holds all hosts, with a route for each ordered pair.
inline simgrid::s4u::NetZone* create_zone(simgrid::s4u::Engine& engine, const std::string& name) {
#if SIMGRID_VERSION >= 40000
  return engine.get_netzone_root()->add_netzone_full(name);
#else
  static_cast<void>(engine);
  return simgrid::s4u::create_full_zone(name);
#endif
}

inline simgrid::s4u::Host* create_host(simgrid::s4u::NetZone& zone, const std::string& name,
                                       double speed) {
#if SIMGRID_VERSION >= 40000
  return zone.add_host(name, speed);
#else
  return zone.create_host(name, speed);
#endif
}

inline simgrid::s4u::Link* create_link(simgrid::s4u::NetZone& zone, const std::string& name,
                                       double bandwidth) {
#if SIMGRID_VERSION >= 40000
  return zone.add_link(name, bandwidth);
#else
  return zone.create_link(name, bandwidth);
#endif
}

/// One direction only.
inline void add_route(simgrid::s4u::NetZone& zone, simgrid::s4u::Host* from, simgrid::s4u::Host* to,
                      const std::vector<simgrid::s4u::LinkInRoute>& links) {
#if SIMGRID_VERSION >= 40000
  zone.add_route(from, to, links, false);
#else
  zone.add_route(from->get_netpoint(), to->get_netpoint(), nullptr, nullptr, links, false);
#endif
}

inline simgrid::s4u::ActorPtr create_actor(const std::string& name, simgrid::s4u::Host* host,
                                           const std::function<void()>& code) {
#if SIMGRID_VERSION >= 40000
  return host->add_actor(name, code);
#else
  return simgrid::s4u::Actor::create(name, host, code);
#endif
}

}  // namespace tutti::simgrid_compat
