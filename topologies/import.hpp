// Imports cluster descriptions that people already have.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "topologies/shape.hpp"

namespace tutti {

/// What a format allows but no shape can say. Its own simulator may take the file as it is.
class UnmodelledError : public ShapeError {
 public:
  using ShapeError::ShapeError;
};

/// What somebody should know about an import.
struct ImportNote {
  enum class Kind : std::uint8_t {
    ignored,     ///< In the file, but of no use here.
    assumed,     ///< Not in the file, chosen by the importer.
    suspicious,  ///< Taken as it stands, but probably not what was meant.
  };

  Kind kind = Kind::ignored;
  int line = 0;  ///< From 1; 0 where it is about the whole file.
  std::string text;
};

/// A description in our own format.
struct Import {
  std::string kind;  ///< "SimGrid platform XML 4.1".
  std::string yaml;  ///< What load_shape() reads, commented.
  std::vector<ImportNote> notes;
};

/// One format.
struct Importer {
  std::string_view name;         ///< "simgrid", for --from.
  std::string_view description;  ///< "SimGrid platform XML, versions 4.0 and 4.1".

  /// Whether the text looks like it: cheap, never throws.
  bool (*recognises)(std::string_view text);

  /// Throws ShapeError "ORIGIN:LINE: what was found, what is expected". Time and memory linear in
  /// the text and in the number of nodes and links that result, which is limited.
  Import (*import)(std::string_view text, const std::string& origin);
};

/// All formats, the most specific first.
const std::vector<Importer>& importers();

/// Imports by the importer of that name, or the first that recognises the content if `name` is
/// empty. Throws ShapeError that lists the formats where none does.
Import import_topology(std::string_view text, const std::string& origin,
                       std::string_view name = {});

/// Texts larger than this are refused before they are parsed.
inline constexpr std::size_t maximum_import_bytes = std::size_t{64} << 20;

/// The class of links that are none: they join the ways of an imported platform, and are as wide as
/// needed.
inline constexpr std::string_view imported_joint_class = "joint";

}  // namespace tutti
