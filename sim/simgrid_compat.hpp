// The calls whose names or spelling differ between SimGrid 3.32 (Debian 12) and 4.x.
#pragma once

#include <simgrid/kernel/routing/NetZoneImpl.hpp>
#include <simgrid/s4u.hpp>

// Needs macros of the former.
#include <simgrid/version.h>

#include <functional>
#include <string>

namespace tutti::simgrid_compat {

/// The smallest difference in time that SimGrid tells apart, in seconds.
inline constexpr const char* timing_precision_key =
#if SIMGRID_VERSION >= 40000
    "precision/timing";
#else
    "surf/precision";
#endif

/// Makes a new zone the platform's only one; before 4.0 the first zone is the root by itself.
inline void adopt_zone(simgrid::kernel::routing::NetZoneImpl& zone) {
#if SIMGRID_VERSION >= 40000
  zone.set_parent(simgrid::s4u::Engine::get_instance()->get_netzone_root()->get_impl());
#else
  static_cast<void>(zone);
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

inline simgrid::s4u::ActorPtr create_actor(const std::string& name, simgrid::s4u::Host* host,
                                           const std::function<void()>& code) {
#if SIMGRID_VERSION >= 40000
  return host->add_actor(name, code);
#else
  return simgrid::s4u::Actor::create(name, host, code);
#endif
}

}  // namespace tutti::simgrid_compat
