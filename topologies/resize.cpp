#include "topologies/resize.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <numeric>

#include "topologies/document.hpp"
#include "topologies/edits.hpp"
#include "topologies/fields.hpp"
#include "topologies/load.hpp"
#include "topologies/settings.hpp"
#include "topologies/shape.hpp"
#include "topologies/words.hpp"

namespace tutti {
namespace {

int divided_up(int count, int by) {
  return (count + by - 1) / by;
}

int product_of(const std::vector<int>& factors) {
  return std::accumulate(factors.begin(), factors.end(), 1, std::multiplies<>());
}

// The outermost shape of a file as its keys say, and how many ranks it has room for.
class Sizing {
 public:
  Sizing(const std::string& file, const Fields& fields, int size, int ranks)
      : file_(file), fields_(fields), size_(size), ranks_(ranks) {}

  std::string setting() const {
    const std::string kind = fields_.has("shape") ? fields_.word("shape") : "";
    if (kind == "star" || kind == "ring" || kind == "fully_connected") {
      return fmt::format("hosts={}", hosts_needed(fields_.count("hosts")));
    }
    if (kind == "torus" || kind == "mesh") {
      const std::vector<int> now = fields_.counts("dimensions");
      const std::vector<int> dimensions =
          balanced_factors(hosts_needed(product_of(now)), static_cast<int>(now.size()));
      return fmt::format("dimensions={}", fmt::join(dimensions, "x"));
    }
    if (kind == "hypercube") {
      const int now = 1 << fields_.count("dimensions");
      int dimensions = 1;
      while ((1 << dimensions) < hosts_needed(now)) ++dimensions;
      return fmt::format("dimensions={}", dimensions);
    }
    if (kind == "leaf_spine") return fmt::format("leaves={}", leaves());
    if (kind == "fat_tree" && fields_.has("radix")) return fmt::format("radix={}", radix());
    if (kind == "dragonfly") {
      const int in_group = size_ / fields_.count("groups");
      return fmt::format("groups={}", divided_up(ranks_, in_group));
    }
    throw ShapeError(
        fmt::format("{}: a shape of kind {} has no size that could follow the ranks, expected "
                    "star, ring, fully_connected, torus, mesh, hypercube, leaf_spine, fat_tree "
                    "with a radix, or dragonfly; set its keys instead",
                    shown_path(file_), quote(kind)));
  }

 private:
  // Of a shape that now has `hosts`, each with room for as many ranks as the others.
  int hosts_needed(int hosts) const { return divided_up(ranks_, std::max(1, size_ / hosts)); }

  // Of each rail, where there are rails.
  int leaves() const {
    const int rails = fields_.has("rails") ? fields_.count("rails") : 1;
    const int in_pod = size_ / std::max(1, fields_.count("leaves") / rails);
    return rails * divided_up(ranks_, in_pod);
  }

  // A tree's hosts grow with the cube of its radix.
  int radix() const {
    const double now = fields_.count("radix");
    int even = 2;
    while (std::pow(even / now, 3.0) * size_ < ranks_ * (1 - 1e-9)) even += 2;
    return even;
  }

  const std::string& file_;
  const Fields& fields_;
  const int size_;
  const int ranks_;
};

}  // namespace

std::vector<int> balanced_factors(int count, int factors) {
  if (factors <= 1) return {count};
  std::vector<int> best;
  for (int factor = 1; std::pow(factor, factors) <= count * (1 + 1e-9); ++factor) {
    if (count % factor != 0) continue;
    std::vector<int> rest = balanced_factors(count / factor, factors - 1);
    rest.insert(rest.begin(), factor);
    std::sort(rest.begin(), rest.end());
    if (best.empty() || rest.back() <= best.back()) best = std::move(rest);
  }
  return best;
}

std::vector<std::string> settings_for_ranks(const std::string& file,
                                            const std::vector<std::string>& settings, int ranks) {
  Sources sources;
  DocumentNode root = parse_document(read_source(file), sources, sources.add(file));
  std::vector<std::string> keys;  // Without changes to what is built, which may not be there yet.
  for (const std::string& setting : settings) {
    if (is_edit(setting)) continue;
    keys.push_back(setting);
    apply_setting(root, sources, setting);
  }
  const int size = load_shape(file, keys).size();
  return {Sizing(file, Fields(sources, root, ""), size, ranks).setting()};
}

}  // namespace tutti
