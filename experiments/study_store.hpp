// StudyStore: results of what-if points in a file of JSON lines, so that a study can be resumed.
#pragma once

#include <map>
#include <string>

#include "experiments/output.hpp"

namespace tutti {

/// Which share of a study a process computes: those points whose number is `index` modulo `count`.
struct StudyPart {
  int index = 0;
  int count = 1;
};

/// What mpirun (Open MPI, MPICH) or srun have told this process: its rank and their number. One
/// part where they have not started it.
StudyPart part_of_environment();

/// Closed with its owner; -1 is none.
class FileDescriptor {
 public:
  FileDescriptor() = default;
  ~FileDescriptor() { set(-1); }
  FileDescriptor(const FileDescriptor&) = delete;
  FileDescriptor& operator=(const FileDescriptor&) = delete;

  void set(int number);
  int get() const { return number_; }

 private:
  int number_ = -1;
};

/// Rows by their "key". Lines are appended whole, and at once, so that the file is valid whenever
/// the process ends. A row with an "error" is of a point that failed: a later one replaces it.
class StudyStore {
 public:
  /// Without a file name rows are only kept in memory. Otherwise reads the file and those of parts
  /// ("FILE.part3"), and appends to it, or to the file of the own part. A torn last line is cut
  /// off. The whole (part.count 1) takes over what parts hold and deletes them. Throws Error(usage)
  /// for a file with other lines than results, Error(system) where it cannot be read or written, or
  /// is in use.
  StudyStore(const std::string& file, StudyPart part);

  /// Null where there is none.
  const Json* find(const std::string& key) const;

  /// Whether there is a result that is no failure.
  bool has_result(const std::string& key) const;

  /// Throws Error(system) if it cannot be written.
  void add(Json row);

 private:
  void open(const std::string& name);
  void read(const std::string& name, bool is_own);
  void take_over_parts();
  void append(const Json& row);

  std::string file_;
  std::string own_file_;
  FileDescriptor descriptor_;
  std::map<std::string, Json> rows_;
};

}  // namespace tutti
