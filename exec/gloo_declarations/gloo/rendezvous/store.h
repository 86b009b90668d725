// As much of gloo as c10d/ProcessGroupGloo.hpp names: Debian's libtorch-dev ships that header, but
// not gloo's, which it includes. Where gloo's own headers are installed they are found first.
#pragma once

#include <chrono>
#include <string>
#include <vector>

namespace gloo {

class Context;

namespace transport {
class Device;
class UnboundBuffer;
}  // namespace transport

namespace rendezvous {

// Of the same layout as gloo's: c10d derives from it.
class Store {
 public:
  static constexpr std::chrono::milliseconds kDefaultTimeout = std::chrono::seconds(30);

  virtual ~Store();
  virtual void set(const std::string& key, const std::vector<char>& data) = 0;
  virtual std::vector<char> get(const std::string& key) = 0;
  virtual void wait(const std::vector<std::string>& keys) = 0;
  virtual void wait(const std::vector<std::string>& keys, const std::chrono::milliseconds&) {
    wait(keys);
  }
};

}  // namespace rendezvous
}  // namespace gloo
