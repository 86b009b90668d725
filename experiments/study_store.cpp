#include "experiments/study_store.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/file.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <optional>
#include <string_view>
#include <utility>
#include <vector>

#include "collectives/error.hpp"
#include "experiments/files.hpp"

namespace tutti {
namespace {

namespace fs = std::filesystem;

constexpr auto part_ending = ".part";
constexpr std::string_view row_beginning = R"({"key":")";

std::optional<int> number_of(const char* variable) {
  const char* const text = std::getenv(variable);
  if (text == nullptr) return std::nullopt;
  int number = 0;
  const char* const end = text + std::strlen(text);
  const auto [rest, status] = std::from_chars(text, end, number);
  if (status != std::errc{} || rest != end || number < 0) return std::nullopt;
  return number;
}

[[noreturn]] void fail(const std::string& file, const char* what) {
  throw Error(ErrorKind::system,
              fmt::format("cannot {} '{}': {}", what, file, std::strerror(errno)));
}

// Those that are there, in the order of their names.
std::vector<std::string> part_files(const std::string& file) {
  std::vector<std::string> found;
  const fs::path folder = fs::absolute(file).parent_path();
  const std::string beginning = fs::path(file).filename().string() + part_ending;
  std::error_code unreadable;
  for (const fs::directory_entry& entry : fs::directory_iterator(folder, unreadable)) {
    const std::string name = entry.path().filename().string();
    const bool is_part =
        name.starts_with(beginning) && name.size() > beginning.size() &&
        name.find_first_not_of("0123456789", beginning.size()) == std::string::npos;
    if (is_part) found.push_back(entry.path().string());
  }
  std::sort(found.begin(), found.end());
  return found;
}

}  // namespace

StudyPart part_of_environment() {
  // SLURM_PROCID alone is also set in a batch script, which is one process.
  constexpr std::pair<const char*, const char*> launchers[] = {
      {"OMPI_COMM_WORLD_RANK", "OMPI_COMM_WORLD_SIZE"},
      {"PMI_RANK", "PMI_SIZE"},
      {"SLURM_PROCID", "SLURM_STEP_NUM_TASKS"}};
  for (const auto& [rank, size] : launchers) {
    const std::optional<int> index = number_of(rank), count = number_of(size);
    if (index && count && *index < *count) return {*index, *count};
  }
  return {};
}

StudyStore::StudyStore(const std::string& file, StudyPart part) : file_(file) {
  if (file.empty()) return;
  const bool is_part = part.count > 1;
  own_file_ = is_part ? fmt::format("{}{}{}", file, part_ending, part.index) : file;
  open(own_file_);
  read(own_file_, true);
  if (!is_part) {
    take_over_parts();
    return;
  }
  if (is_readable(file)) read(file, false);
  for (const std::string& other : part_files(file)) {
    if (!fs::equivalent(other, own_file_)) read(other, false);
  }
}

void FileDescriptor::set(int number) {
  if (number_ >= 0) close(number_);
  number_ = number;
}

void StudyStore::open(const std::string& name) {
  descriptor_.set(::open(name.c_str(), O_RDWR | O_CREAT | O_APPEND | O_CLOEXEC, 0666));
  if (descriptor_.get() < 0) fail(name, "write the results to");
  if (flock(descriptor_.get(), LOCK_EX | LOCK_NB) == 0 || errno != EWOULDBLOCK) return;
  throw Error(
      ErrorKind::system,
      fmt::format("'{}' is in use by another tutti whatif; wait for it, or use another file",
                  name));
}

void StudyStore::read(const std::string& name, bool is_own) {
  if (!fs::is_regular_file(name)) return;  // Such as a terminal, which holds nothing.
  const std::string text = read_file(name);
  const auto refuse = [&](std::size_t line) {
    throw Error(
        ErrorKind::usage,
        fmt::format("{}:{}: no result of tutti whatif; choose another file for -o", name, line));
  };
  std::size_t begin = 0, line = 1;
  for (; begin < text.size(); ++line) {
    const std::size_t end = text.find('\n', begin);
    if (end == std::string::npos) break;
    Json row = Json::parse(text.begin() + static_cast<std::ptrdiff_t>(begin),
                           text.begin() + static_cast<std::ptrdiff_t>(end), nullptr, false);
    if (!row.is_object() || !row.contains("key") || !row["key"].is_string()) refuse(line);
    const std::string key = row["key"];
    rows_[key] = std::move(row);
    begin = end + 1;
  }
  // A torn last line: of a process that was killed, or still writes.
  if (begin == text.size() || !is_own) return;
  const std::string_view torn = std::string_view(text).substr(begin);
  if (!torn.starts_with(row_beginning) && !row_beginning.starts_with(torn)) refuse(line);
  if (ftruncate(descriptor_.get(), static_cast<off_t>(begin)) != 0)
    fail(name, "cut a torn line off");
}

void StudyStore::take_over_parts() {
  for (const std::string& part : part_files(file_)) {
    const std::map<std::string, Json> before = rows_;
    read(part, false);
    for (const auto& [key, row] : rows_) {
      const auto known = before.find(key);
      if (known == before.end() || known->second != row) append(row);
    }
    std::error_code kept;
    fs::remove(part, kept);
  }
}

const Json* StudyStore::find(const std::string& key) const {
  const auto found = rows_.find(key);
  return found == rows_.end() ? nullptr : &found->second;
}

bool StudyStore::has_result(const std::string& key) const {
  const Json* const row = find(key);
  return row != nullptr && !row->contains("error");
}

void StudyStore::add(Json row) {
  append(row);
  const std::string key = row["key"];
  rows_[key] = std::move(row);
}

void StudyStore::append(const Json& row) {
  if (descriptor_.get() < 0) return;
  const std::string line = row.dump() + "\n";
  // One write, so that lines stay whole; what a full disk cut off is taken back.
  const off_t before = lseek(descriptor_.get(), 0, SEEK_END);
  ssize_t written = 0;
  do {
    written = write(descriptor_.get(), line.data(), line.size());
  } while (written < 0 && errno == EINTR);
  if (written == static_cast<ssize_t>(line.size())) return;
  if (written >= 0) errno = ENOSPC;
  const int why = errno;
  if (before >= 0 && ftruncate(descriptor_.get(), before) != 0) errno = why;
  errno = why;
  fail(own_file_, "write the results to");
}

}  // namespace tutti
