// XML texts for importers: parsed within limits, with the place of each element
// and attribute.
#pragma once

#include <cstddef>
#include <pugixml.hpp>
#include <string>
#include <string_view>

#include "topologies/import_yaml.hpp"

namespace tutti {

/// Texts with more elements or attributes than this, or deeper ones, are refused: a bound on
/// memory, as attributes take some ten times the memory of their text.
inline constexpr std::size_t maximum_xml_elements = std::size_t{1} << 19;
inline constexpr std::size_t maximum_xml_attributes = std::size_t{1} << 22;
inline constexpr int maximum_xml_depth = 64;

/// Whether the first element of the text has one of these names: looks at its beginning only.
bool xml_begins_with(std::string_view text, std::string_view element);

/// A parsed text. Entities other than XML's own five are refused rather than expanded.
class XmlText {
 public:
  /// Throws ShapeError "ORIGIN:LINE:COLUMN: what" for what is not XML with one outermost element,
  /// has entities of its own, or is beyond the limits. Both must live longer.
  XmlText(std::string_view text, const std::string& origin);

  const std::string& origin() const { return origin_; }
  pugi::xml_node root() const { return document_.document_element(); }

  /// Of an element's name.
  int line_of(pugi::xml_node element) const;
  Place place_of(pugi::xml_node element) const;

  /// Of an attribute's value; of the element's name where it has no such attribute.
  Place place_of(pugi::xml_node element, const char* attribute) const;

  /// Throws ShapeError "ORIGIN:LINE:COLUMN: <name>: reason", with the place of the element's name
  /// or of the attribute's value.
  [[noreturn]] void refuse(pugi::xml_node element, std::string_view reason) const;
  [[noreturn]] void refuse(pugi::xml_node element, const char* attribute,
                           std::string_view reason) const;

  /// Refuses a name that fault_of_import_name() finds fault with, at an attribute.
  void check_name(pugi::xml_node element, const char* attribute, std::string_view name) const;

  /// The value of an attribute; refuses an element without it (with the one that has a similar
  /// name), or with an empty one.
  std::string required(pugi::xml_node element, const char* attribute) const;

  /// The value, or `otherwise` where the element has none.
  std::string optional(pugi::xml_node element, const char* attribute,
                       std::string_view otherwise = {}) const;

  /// A whole number from `smallest` to `largest`; refuses anything else.
  int whole(pugi::xml_node element, const char* attribute, int smallest, int largest) const;

 private:
  void check_structure() const;

  const std::string& origin_;
  PlaceIndex places_;
  pugi::xml_document document_;
};

/// "'bandwidth' is '1e9 Bps'": an attribute, for errors and notes.
std::string shown_attribute(pugi::xml_node element, const char* attribute);

}  // namespace tutti
