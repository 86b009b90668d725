#include "collectives/symbols.hpp"

#include <fmt/format.h>

#include <algorithm>

namespace tutti {

Symbols::Symbols(int ranks) : ranks_(ranks), words_((static_cast<std::size_t>(ranks) + 63) / 64) {}

Symbol Symbols::add(const Node& node) {
  nodes_.push_back(node);
  sets_.resize(sets_.size() + words_, 0);
  return static_cast<Symbol>(nodes_.size()) - 1;
}

Symbol Symbols::contribution(int rank, std::size_t element) {
  const Symbol symbol = add(Node{.rank = rank, .element = element});
  const auto bit = static_cast<std::size_t>(rank);
  sets_[index(symbol) * words_ + bit / 64] |= std::uint64_t{1} << bit % 64;
  return symbol;
}

bool Symbols::overlap(Symbol a, Symbol b) const {
  for (std::size_t word = 0; word < words_; ++word) {
    if ((sets_[index(a) * words_ + word] & sets_[index(b) * words_ + word]) != 0) return true;
  }
  return false;
}

int Symbols::missing_from(Symbol symbol) const {
  for (int rank = 0; rank < ranks_; ++rank) {
    const auto bit = static_cast<std::size_t>(rank);
    if ((sets_[index(symbol) * words_ + bit / 64] >> bit % 64 & 1) == 0) return rank;
  }
  return -1;
}

Symbol Symbols::fold(Symbol a, Symbol b) {
  if (a == unset || b == unset || element_of(a) != element_of(b)) return unset;
  const auto [low, high] = std::minmax(a, b);
  for (Symbol known = nodes_[index(high)].newest_fold; known != unset;
       known = nodes_[index(known)].previous_fold) {
    if (nodes_[index(known)].left == low) return known;
  }
  if (overlap(a, b)) return unset;
  const Symbol symbol = add(Node{
      .left = low,
      .right = high,
      .contributions = nodes_[index(a)].contributions + nodes_[index(b)].contributions,
      .element = element_of(a),
      .previous_fold = nodes_[index(high)].newest_fold,
  });
  nodes_[index(high)].newest_fold = symbol;
  for (std::size_t word = 0; word < words_; ++word) {
    sets_[index(symbol) * words_ + word] =
        sets_[index(a) * words_ + word] | sets_[index(b) * words_ + word];
  }
  return symbol;
}

std::string Symbols::text_of(Symbol symbol) const {
  if (symbol == unset) return "unset";
  const Node& node = nodes_[index(symbol)];
  if (node.rank >= 0) return std::to_string(node.rank);
  return fmt::format("({} + {})", text_of(node.left), text_of(node.right));
}

}  // namespace tutti
