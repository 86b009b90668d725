// Rendezvous: how ranks that were started apart, on any hosts, find each other.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>

#include "exec/tcp_transport.hpp"

namespace tutti {

struct Rendezvous {
  int rank = -1;
  int size = 0;
  Endpoint master;        ///< Where rank 0 listens and the others find it.
  std::string interface;  ///< A numeric address of this host; "" for the one that reaches rank 0.
  std::string world;      ///< Ranks of differently named worlds do not meet.
  int local_size = 1;     ///< Ranks on this host.
  double timeout_seconds = 30.0;
  /// Takes what the user should know: who was refused, why.
  std::function<void(const std::string&)> warn = {};
};

/// From WORLD_SIZE, RANK, MASTER_ADDR (127.0.0.1), MASTER_PORT (29500) and LOCAL_WORLD_SIZE (1);
/// what is not there stays as it is in a Rendezvous{}. Throws Error(usage) where one is no number.
Rendezvous rendezvous_of_environment();

/// Rank 0 takes in all who ask, until all ranks are there, and refuses those who make no sense: of
/// another world, version or size, or whose rank is taken. The others ask it until it answers. They
/// all throw Error(usage) where they are refused or their own flags make no sense, Error(timeout)
/// that names who is missing, Error(system) where the master's port cannot be had.
std::unique_ptr<TcpTransport> join_tcp(const Rendezvous& rendezvous);

}  // namespace tutti
