// Symbols: the values of a proof.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

namespace tutti {

/// A value, as an index into Symbols.
using Symbol = std::int32_t;

/// Memory that was never written.
inline constexpr Symbol unset = -1;

/// All values of a proof: contributions, each one element of one rank, and folds of two values.
/// Equal folds are one symbol; the two sides of a fold are interchangeable, because every op is
/// commutative to the bit.
class Symbols {
 public:
  explicit Symbols(int ranks);

  /// Rank `rank`'s contribution of element `element`; a new value each time it is called.
  Symbol contribution(int rank, std::size_t element);

  /// The fold of two values, or `unset` where they share a contribution or stem from different
  /// elements: no promise holds for such a value.
  Symbol fold(Symbol a, Symbol b);

  std::size_t element_of(Symbol symbol) const { return nodes_[index(symbol)].element; }

  /// True where every rank has contributed.
  bool is_complete(Symbol symbol) const { return nodes_[index(symbol)].contributions == ranks_; }

  /// How many ranks have contributed.
  int contributions_of(Symbol symbol) const { return nodes_[index(symbol)].contributions; }

  /// The first rank that has not contributed, -1 where all have.
  int missing_from(Symbol symbol) const;

  /// True where the two values hold a contribution of the same rank.
  bool overlap(Symbol a, Symbol b) const;

  /// The single rank of a contribution; -1 for a fold.
  int rank_of(Symbol symbol) const { return nodes_[index(symbol)].rank; }

  /// "((0 + 1) + 2)".
  std::string text_of(Symbol symbol) const;

 private:
  struct Node {
    Symbol left = unset;
    Symbol right = unset;
    int rank = -1;
    int contributions = 1;
    std::size_t element = 0;
    Symbol newest_fold = unset;    // The latest of which it is the right side.
    Symbol previous_fold = unset;  // The one before this with the same right side.
  };

  static std::size_t index(Symbol symbol) { return static_cast<std::size_t>(symbol); }
  Symbol add(const Node& node);

  int ranks_;
  std::size_t words_;  // Of the set of one node.
  std::vector<Node> nodes_;
  std::vector<std::uint64_t> sets_;  // Of each node, one after the other: a bit a rank.
};

}  // namespace tutti
