#include "exec/mpi_module.hpp"

#include "exec/mpi_transport.hpp"

extern "C" __attribute__((visibility("default"))) std::unique_ptr<tutti::JoinedTransport>
tutti_mpi_join(std::string& message) {
  try {
    return std::make_unique<tutti::MpiTransport>(std::make_unique<tutti::MpiCalls>());
  } catch (const std::exception& error) {
    message = error.what();
    return nullptr;
  }
}
