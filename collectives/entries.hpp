// The catalogue's entries, which each family of algorithms provides beside its code.
#pragma once

#include <span>
#include <string_view>

#include "collectives/catalogue.hpp"

namespace tutti {

inline constexpr std::string_view thakur = "Thakur, Rabenseifner, Gropp, IJHPCA 2005";
inline constexpr std::string_view patarasuk = "Patarasuk, Yuan, JPDC 2009";

std::span<const Algorithm> bruck_entries();
std::span<const Algorithm> exchange_entries();
std::span<const Algorithm> butterfly_entries();
std::span<const Algorithm> direct_entries();
std::span<const Algorithm> hierarchical_entries();
std::span<const Algorithm> linear_entries();
std::span<const Algorithm> pipeline_entries();
std::span<const Algorithm> recursive_entries();
std::span<const Algorithm> ring_entries();
std::span<const Algorithm> scatter_allgather_entries();
std::span<const Algorithm> tree_entries();

}  // namespace tutti
