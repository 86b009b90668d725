// What other libraries call our algorithms.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace tutti {

enum class Library { openmpi, mpich, ucc, nccl, simgrid };

/// One algorithm of one library.
struct LibraryAlgorithm {
  std::string_view collective;  ///< Ours.
  std::string_view ours;        ///< The algorithm that it corresponds to.
  std::string_view name;        ///< Theirs.
  int number = 0;               ///< Open MPI's.
  bool is_segmented = false;    ///< Whether it cuts messages into segments of a size it is told.
};

/// What corresponds to an algorithm, named as ours or as in a log ("ring_ompi", "nccl_tree");
/// nothing where the library has none.
std::optional<LibraryAlgorithm> counterpart(Library library, std::string_view collective,
                                            std::string_view algorithm);

/// All that have one, for reports: "ring, recursive_doubling".
std::string algorithms_known(Library library, std::string_view collective);

}  // namespace tutti
