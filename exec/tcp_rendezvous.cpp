#include "exec/tcp_rendezvous.hpp"

#include <poll.h>
#include <sys/socket.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <charconv>
#include <chrono>
#include <cstdlib>
#include <cstring>
#include <random>
#include <thread>

#include "exec/clock.hpp"
#include "exec/cores.hpp"

namespace tutti {
namespace {

constexpr double retry_seconds = 0.1;
constexpr double handshake_seconds = 10.0;
constexpr std::size_t most_guests = 4096;
constexpr int most_ranks = 4096;
// A rank with a processor of its own looks for longer than a sleep and a wake-up cost.
constexpr int yields_alone = 150, yields_shared = 20;

// FNV-1a; the same everywhere.
std::uint64_t hash_of(std::string_view name) {
  std::uint64_t hash = 0xcbf29ce484222325;
  for (const char letter : name) {
    hash = (hash ^ static_cast<unsigned char>(letter)) * 0x100000001b3;
  }
  return hash;
}

void warn(const Rendezvous& rendezvous, const std::string& text) {
  if (rendezvous.warn) rendezvous.warn(text);
}

void check_flags(const Rendezvous& rendezvous) {
  if (rendezvous.size < 1 || rendezvous.size > most_ranks) {
    throw Error(ErrorKind::usage,
                fmt::format("{} ranks, expected 1 to {}; see --ranks and WORLD_SIZE",
                            rendezvous.size, most_ranks));
  }
  if (rendezvous.rank < 0 || rendezvous.rank >= rendezvous.size) {
    throw Error(ErrorKind::usage, fmt::format("rank {}, expected 0 to {}; see --rank and RANK",
                                              rendezvous.rank, rendezvous.size - 1));
  }
  if (rendezvous.size > 1 && rendezvous.master.port == 0) {
    throw Error(ErrorKind::usage, "the master needs a port; see --master and MASTER_PORT");
  }
}

// Reads what has arrived. False once the connection is at its end.
bool read_into(const Descriptor& socket, std::string& bytes, std::size_t most_bytes) {
  std::array<char, 4096> part;
  while (bytes.size() < most_bytes) {
    const ssize_t count =
        recv(socket.value(), part.data(), std::min(part.size(), most_bytes - bytes.size()), 0);
    if (count < 0 && (errno == EAGAIN || errno == EINTR)) return true;
    if (count <= 0) return false;
    bytes.append(part.data(), static_cast<std::size_t>(count));
  }
  return true;
}

// Rank 0's side.
class Host {
 public:
  explicit Host(const Rendezvous& rendezvous)
      : rendezvous_(rendezvous),
        listener_(listen_at({rendezvous.interface, rendezvous.master.port})),
        joined_(static_cast<std::size_t>(rendezvous.size)),
        members_(static_cast<std::size_t>(rendezvous.size)) {}

  TcpSetup gather() {
    const double end_seconds = monotonic_seconds() + rendezvous_.timeout_seconds;
    while (!missing().empty()) {
      wait();
      accept_all();
      for (Guest& guest : guests_) listen_to(guest);
      std::erase_if(guests_, [](const Guest& guest) { return !guest.socket.is_open(); });
      drop_those_gone();
      if (monotonic_seconds() > end_seconds) {
        throw Error(ErrorKind::timeout,
                    fmt::format("rank 0 waited {:.3f} s at {} for {} of {} ranks to join: {}",
                                rendezvous_.timeout_seconds, describe(local_member(listener_)),
                                missing_count_, rendezvous_.size, missing()));
      }
    }
    return welcome();
  }

 private:
  struct Guest {
    Descriptor socket;
    std::string bytes;
    double end_seconds = 0.0;
  };

  // "1, 3", at most some of them.
  std::string missing() {
    constexpr int most_named = 16;
    std::string text;
    missing_count_ = 0;
    for (int rank = 1; rank < rendezvous_.size; ++rank) {
      if (joined_[static_cast<std::size_t>(rank)].is_open()) continue;
      ++missing_count_;
      if (missing_count_ <= most_named) {
        text += fmt::format("{}rank {}", text.empty() ? "" : ", ", rank);
      }
    }
    return missing_count_ > most_named ? text + ", ..." : text;
  }

  void wait() const {
    std::vector<pollfd> events{{listener_.value(), POLLIN, 0}};
    for (const Guest& guest : guests_) events.push_back({guest.socket.value(), POLLIN, 0});
    for (const Descriptor& socket : joined_) events.push_back({socket.value(), POLLIN, 0});
    poll(events.data(), events.size(), 100);
  }

  void accept_all() {
    while (guests_.size() < most_guests) {
      Descriptor socket = accept_from(listener_);
      if (!socket.is_open()) return;
      guests_.push_back({std::move(socket), "", monotonic_seconds() + handshake_seconds});
    }
  }

  void listen_to(Guest& guest) {
    const bool is_open = read_into(guest.socket, guest.bytes, Hello::encoded_bytes);
    try {
      const auto hello = decode_hello(guest.bytes);
      if (hello) return admit(guest, *hello);
    } catch (const Error& error) {
      return refuse(guest, error.what());
    }
    if (!is_open) return guest.socket.reset();
    if (monotonic_seconds() > guest.end_seconds) refuse(guest, "it does not say who it is");
  }

  void admit(Guest& guest, const Hello& hello) {
    const int size = rendezvous_.size;
    if (hello.purpose != Hello::Purpose::join || hello.world != hash_of(rendezvous_.world)) {
      return refuse(guest, "it is of another world; see --world");
    }
    if (hello.size != size) {
      return refuse(guest, fmt::format("it is rank {} of a world of {}, expected {}", hello.rank,
                                       hello.size, size));
    }
    if (hello.rank < 1 || hello.rank >= size) {
      return refuse(guest, fmt::format("rank {} is not one of 1 to {}", hello.rank, size - 1));
    }
    const auto index = static_cast<std::size_t>(hello.rank);
    if (joined_[index].is_open()) {
      return refuse(guest, fmt::format("rank {} has joined already, from {}", hello.rank,
                                       describe(remote_member(joined_[index]))));
    }
    members_[index] = {hello.address, hello.port};
    joined_[index] = std::move(guest.socket);
  }

  void refuse(Guest& guest, const std::string& why) {
    const std::string frame = encode(Frame{Frame::Kind::refused, why});
    const Member who = remote_member(guest.socket);
    send(guest.socket.value(), frame.data(), frame.size(), MSG_NOSIGNAL);
    guest.socket.reset();
    warn(rendezvous_, fmt::format("rank 0 refused {}: {}", describe(who), why));
  }

  // One that has joined says nothing more until it is welcomed.
  void drop_those_gone() {
    for (std::size_t rank = 1; rank < joined_.size(); ++rank) {
      if (!joined_[rank].is_open()) continue;
      char byte = 0;
      const ssize_t count = recv(joined_[rank].value(), &byte, 1, MSG_PEEK);
      if (count > 0 || (count < 0 && (errno == EAGAIN || errno == EINTR))) continue;
      joined_[rank].reset();
      warn(rendezvous_, fmt::format("rank {} has gone before all had joined", rank));
    }
  }

  TcpSetup welcome() {
    TcpSetup setup;
    std::random_device random;
    setup.session = std::uint64_t{random()} << 32 | random();
    const std::string frame =
        encode(Frame{Frame::Kind::welcome, encode(Welcome{setup.session, members_})});
    for (std::size_t rank = 1; rank < joined_.size(); ++rank) {
      send(joined_[rank].value(), frame.data(), frame.size(), MSG_NOSIGNAL);
      setup.controls.emplace(static_cast<int>(rank), std::move(joined_[rank]));
    }
    setup.listener = std::move(listener_);
    setup.members = std::move(members_);
    setup.members[0] = {rendezvous_.master.host, rendezvous_.master.port};
    return setup;
  }

  const Rendezvous& rendezvous_;
  Descriptor listener_;
  std::vector<Descriptor> joined_;
  std::vector<Member> members_;
  std::vector<Guest> guests_;
  int missing_count_ = 0;
};

// The side of the others.
class Joiner {
 public:
  explicit Joiner(const Rendezvous& rendezvous)
      : rendezvous_(rendezvous),
        end_seconds_(monotonic_seconds() + rendezvous.timeout_seconds),
        listener_(listen_at({rendezvous.interface, 0})) {}

  TcpSetup join() {
    for (;;) {
      for (const Member& member : addresses()) {
        if (auto setup = ask(member)) return std::move(*setup);
      }
      if (monotonic_seconds() > end_seconds_) {
        throw Error(ErrorKind::timeout,
                    fmt::format("rank {} waited {:.3f} s for rank 0 at {}:{}: {}", rendezvous_.rank,
                                rendezvous_.timeout_seconds, rendezvous_.master.host,
                                rendezvous_.master.port, last_error_),
                    rendezvous_.rank);
      }
      std::this_thread::sleep_for(std::chrono::duration<double>(retry_seconds));
    }
  }

 private:
  std::vector<Member> addresses() {
    try {
      return resolve(rendezvous_.master.host, rendezvous_.master.port);
    } catch (const Error& error) {
      last_error_ = error.what();
      return {};
    }
  }

  // Nothing where nobody answers there.
  std::optional<TcpSetup> ask(const Member& member) {
    Descriptor socket;
    try {
      socket = start_connecting(member, rendezvous_.interface);
    } catch (const Error& error) {
      last_error_ = error.what();
      return {};
    }
    constexpr double patience_seconds = 2.0;
    const double patient_seconds = monotonic_seconds() + patience_seconds;
    if (!wait_for(socket, POLLOUT, std::min(end_seconds_, patient_seconds))) {
      last_error_ = "no answer";
      return {};
    }
    if (const int error = connect_error(socket); error != 0) {
      last_error_ = std::strerror(error);
      return {};
    }
    const Member own = local_member(socket);
    const std::string address = rendezvous_.interface.empty() ? own.address : rendezvous_.interface;
    const std::string hello = encode(Hello{.purpose = Hello::Purpose::join,
                                           .world = hash_of(rendezvous_.world),
                                           .rank = rendezvous_.rank,
                                           .size = rendezvous_.size,
                                           .port = local_member(listener_).port,
                                           .address = address});
    send(socket.value(), hello.data(), hello.size(), MSG_NOSIGNAL);
    return wait_for_welcome(std::move(socket), member);
  }

  std::optional<TcpSetup> wait_for_welcome(Descriptor socket, const Member& member) {
    FrameReader reader;
    for (;;) {
      if (!wait_for(socket, POLLIN, end_seconds_)) {
        last_error_ = "it has not answered: not all ranks have joined";
        return {};
      }
      std::string bytes;
      // Not a byte more than the answer: what follows is for the transport.
      const bool is_open = read_into(socket, bytes, 1);
      if (bytes.empty() && !is_open) {
        last_error_ = "it hung up";
        return {};
      }
      std::optional<Frame> frame;
      try {
        reader.append(bytes);
        frame = reader.next();
      } catch (const Error& error) {
        throw Error(ErrorKind::usage, fmt::format("what listens at {} is no rank 0 of tutti: {}",
                                                  describe(member), error.what()));
      }
      if (frame) return setup_of(*frame, std::move(socket), member);
    }
  }

  TcpSetup setup_of(const Frame& frame, Descriptor socket, const Member& member) {
    if (frame.kind != Frame::Kind::welcome) {
      throw Error(ErrorKind::usage,
                  fmt::format("rank 0 at {} refuses rank {} of {}: {}", describe(member),
                              rendezvous_.rank, rendezvous_.size, frame.body),
                  rendezvous_.rank);
    }
    Welcome welcome = decode_welcome(frame.body, rendezvous_.size);
    welcome.members[0] = member;
    TcpSetup setup;
    setup.session = welcome.session;
    setup.listener = std::move(listener_);
    setup.members = std::move(welcome.members);
    setup.controls.emplace(0, std::move(socket));
    return setup;
  }

  // Looks once at least.
  static bool wait_for(const Descriptor& socket, short event, double end_seconds) {
    for (;;) {
      const double left_seconds = std::max(end_seconds - monotonic_seconds(), 0.0);
      pollfd wanted{socket.value(), event, 0};
      if (poll(&wanted, 1, static_cast<int>(left_seconds * 1e3)) > 0) return true;
      if (left_seconds < 1e-3) return false;
    }
  }

  const Rendezvous& rendezvous_;
  const double end_seconds_;
  Descriptor listener_;
  std::string last_error_ = "it does not answer";
};

std::optional<int> number_in_environment(const char* name, int most) {
  const char* const text = std::getenv(name);
  if (text == nullptr) return {};
  const char* const end = text + std::strlen(text);
  int number = 0;
  const auto result = std::from_chars(text, end, number);
  if (result.ec != std::errc() || result.ptr != end || number < 0 || number > most) {
    throw Error(ErrorKind::usage,
                fmt::format("{} is '{}', expected a number from 0 to {}", name, text, most));
  }
  return number;
}

}  // namespace

Rendezvous rendezvous_of_environment() {
  constexpr int default_port = 29500;
  Rendezvous rendezvous;
  rendezvous.rank = number_in_environment("RANK", most_ranks).value_or(rendezvous.rank);
  rendezvous.size = number_in_environment("WORLD_SIZE", most_ranks).value_or(rendezvous.size);
  rendezvous.local_size = number_in_environment("LOCAL_WORLD_SIZE", most_ranks).value_or(1);
  const char* const host = std::getenv("MASTER_ADDR");
  rendezvous.master.host = host == nullptr ? "127.0.0.1" : host;
  rendezvous.master.port = static_cast<std::uint16_t>(
      number_in_environment("MASTER_PORT", 65535).value_or(default_port));
  return rendezvous;
}

std::unique_ptr<TcpTransport> join_tcp(const Rendezvous& rendezvous) {
  check_flags(rendezvous);
  TcpSetup setup;
  if (rendezvous.size == 1) {
    setup.listener = listen_at({"127.0.0.1", 0});
    setup.members.resize(1);
  } else if (rendezvous.rank == 0) {
    setup = Host(rendezvous).gather();
  } else {
    setup = Joiner(rendezvous).join();
  }
  constexpr double linger_seconds = 2.0;
  setup.rank = rendezvous.rank;
  setup.source = rendezvous.interface;
  setup.timeout_seconds = rendezvous.timeout_seconds;
  setup.linger_seconds = linger_seconds;
  setup.yields = rendezvous.local_size <= available_cores() ? yields_alone : yields_shared;
  setup.warn = rendezvous.warn;
  return std::make_unique<TcpTransport>(std::move(setup));
}

}  // namespace tutti
