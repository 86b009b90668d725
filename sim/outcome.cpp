#include "sim/outcome.hpp"

#include <algorithm>
#include <string>

namespace tutti {

void Outcome::record(int rank_failed, std::exception_ptr failure) {
  if (status != Status::unfinished) return;
  const std::string who =
      rank_failed >= 0 ? fmt::format("rank {}", rank_failed) : std::string("the simulation");
  try {
    std::rethrow_exception(failure);
  } catch (const Error& error) {
    set(Status::error, error.kind(), rank_failed >= 0 ? rank_failed : error.rank(), error.what());
  } catch (const ContractError& error) {
    set(Status::contract, {}, rank_failed, fmt::format("{}: {}", who, error.what()));
  } catch (const std::exception& error) {
    set(Status::error, ErrorKind::system, rank_failed,
        fmt::format("{} failed: {}", who, error.what()));
  } catch (...) {
    set(Status::error, ErrorKind::system, rank_failed,
        fmt::format("{} threw something that is no std::exception", who));
  }
}

void Outcome::rethrow() const {
  if (status == Status::error) throw Error(kind, text.data(), rank);
  if (status == Status::contract) throw ContractError(text.data());
}

void Outcome::set(Status new_status, ErrorKind new_kind, int new_rank, std::string_view new_text) {
  kind = new_kind;
  rank = new_rank;
  new_text.copy(text.data(), text.size() - 1);
  status = new_status;
}

}  // namespace tutti
