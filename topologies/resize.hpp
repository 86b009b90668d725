// Sizes a shape by the ranks that it is to have room for.
#pragma once

#include <string>
#include <vector>

namespace tutti {

/// Settings for load_shape(), to follow `settings`, that make the file's shape the smallest of its
/// kind with room for `ranks`: hosts of a star, ring or fully_connected shape; dimensions of a
/// torus or mesh, as many as it has and as equal as can be with exactly so many hosts; dimensions
/// of a hypercube, leaves of a leaf_spine, an even radix of a fat_tree, groups of a dragonfly. What
/// is inside its hosts stays as it is. Throws ShapeError for a shape of another kind, and what
/// load_shape() throws.
std::vector<std::string> settings_for_ranks(const std::string& file,
                                            const std::vector<std::string>& settings, int ranks);

/// `count` divided into as many factors, ascending, whose largest is as small as can be: 24 into
/// three is 2 x 3 x 4. Cost: the root of the count for each factor, in the worst case to the power
/// of their number.
std::vector<int> balanced_factors(int count, int factors);

}  // namespace tutti
