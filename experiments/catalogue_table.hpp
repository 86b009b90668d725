// catalogue: which algorithms are there, what do they cost, and are they proved?
#pragma once

#include <string>

#include "experiments/output.hpp"

namespace tutti {

/// The flags of catalogue, as typed.
struct CatalogueFlags {
  std::string collective = "all";
  int prove = 16;  ///< Ranks of the proof sweep; 0 for none.
  bool json = false;
};

/// Prints one row an algorithm. Returns whether no proof failed.
bool print_catalogue(const CatalogueFlags& flags, Output& output);

}  // namespace tutti
