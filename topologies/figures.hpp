// What the builders of fabrics have in common: checks of figures, and how names show them.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "topologies/fabric.hpp"

namespace tutti {

/// Throws ShapeError "'key' is VALUE, expected SMALLEST to LARGEST" unless it is.
void require_within(std::string_view key, std::int64_t value, std::int64_t smallest,
                    std::int64_t largest);

/// Throws ShapeError that names `key` for a bandwidth that is not positive, a negative latency or
/// overhead, and anything infinite. `key` may be empty.
void require_link(std::string_view key, const LinkSpec& spec);

/// The product of figures from 0 up, or something larger than any limit if it does not fit.
std::int64_t saturating_product(const std::vector<int>& figures);

/// The link of `level`, of links with one for each of `levels` or one for all. Throws ShapeError
/// unless there are 1 or `levels`.
const LinkSpec& link_of_level(const std::vector<LinkSpec>& links, std::size_t level,
                              std::size_t levels);

/// The same link with half the latency: two of them in a row are as long as it. The overhead
/// counts once on a route, so both have it.
LinkSpec half_of(const LinkSpec& spec);

/// "12.5 GB/s, 5 us", then "1 us a message" and "shared" where that is so.
std::string shown_link(const LinkSpec& spec);
/// That of each, with "; " between different ones.
std::string shown_links(const std::vector<LinkSpec>& specs);

/// "4x4x2".
std::string shown_sizes(const std::vector<int>& sizes);

}  // namespace tutti
