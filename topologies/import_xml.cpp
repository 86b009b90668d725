#include "topologies/import_xml.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "topologies/fields.hpp"
#include "topologies/words.hpp"

namespace tutti {
namespace {

constexpr std::string_view blank = " \t\r\n";

/// What follows the first `end` in `text`; nothing if there is none.
std::string_view after(std::string_view text, std::string_view end) {
  const std::size_t at = text.find(end);
  return at == std::string_view::npos ? std::string_view() : text.substr(at + end.size());
}

/// The length of a document type declaration, whose quoted and bracketed parts may hold a '>'.
std::size_t declaration_bytes(std::string_view text) {
  char quote_mark = '\0';
  int brackets = 0;
  for (std::size_t i = 0; i < text.size(); ++i) {
    const char c = text[i];
    if (quote_mark != '\0') {
      if (c == quote_mark) quote_mark = '\0';
    } else if (c == '"' || c == '\'') {
      quote_mark = c;
    } else if (c == '[' || c == ']') {
      brackets += c == '[' ? 1 : -1;
    } else if (c == '>' && brackets == 0) {
      return i + 1;
    }
  }
  return text.size();
}

/// The text from its first element.
std::string_view skip_prolog(std::string_view text) {
  if (text.starts_with(byte_order_mark)) text.remove_prefix(byte_order_mark.size());
  while (!text.empty()) {
    text.remove_prefix(std::min(text.find_first_not_of(blank), text.size()));
    if (text.starts_with("<?")) {
      text = after(text, "?>");
    } else if (text.starts_with("<!--")) {
      text = after(text, "-->");
    } else if (text.starts_with("<!")) {
      text.remove_prefix(declaration_bytes(text));
    } else {
      break;
    }
  }
  return text;
}

}  // namespace

bool xml_begins_with(std::string_view text, std::string_view element) {
  text = skip_prolog(text.substr(0, std::size_t{1} << 16));
  if (!text.starts_with('<')) return false;
  text.remove_prefix(1);
  if (!text.starts_with(element)) return false;
  text.remove_prefix(element.size());
  return text.empty() || text.find_first_of(" \t\r\n/>") == 0;
}

XmlText::XmlText(std::string_view text, const std::string& origin)
    : origin_(origin), places_(text) {
  if (text.size() > maximum_import_bytes) {
    refuse_import(origin_, {}, fmt::format("larger than {} bytes", maximum_import_bytes));
  }
  const auto elements = static_cast<std::size_t>(std::count(text.begin(), text.end(), '<'));
  if (elements > 2 * maximum_xml_elements) {
    refuse_import(origin_, {}, fmt::format("more than {} elements", maximum_xml_elements));
  }
  const auto attributes = static_cast<std::size_t>(std::count(text.begin(), text.end(), '='));
  if (attributes > maximum_xml_attributes) {
    refuse_import(origin_, {}, fmt::format("more than {} attributes", maximum_xml_attributes));
  }
  constexpr unsigned options = pugi::parse_default | pugi::parse_doctype;
  const pugi::xml_parse_result result = document_.load_buffer(text.data(), text.size(), options);
  if (!result) {
    const auto offset = static_cast<std::size_t>(std::max<std::ptrdiff_t>(result.offset, 0));
    refuse_import(origin_, places_.place_of(offset),
                  fmt::format("not XML: {}", result.description()));
  }
  check_structure();
}

void XmlText::check_structure() const {
  int outermost = 0;
  for (const pugi::xml_node node : document_.children()) {
    if (node.type() == pugi::node_element) ++outermost;
    if (outermost > 1) refuse(node, "is a second outermost element, expected one");
    if (node.type() != pugi::node_doctype) continue;
    if (std::string_view(node.value()).find('[') == std::string_view::npos) continue;
    refuse_import(origin_, {}, "the DOCTYPE declares entities of its own, expected none");
  }
  if (outermost == 0) refuse_import(origin_, {}, "no element, expected XML");
  // Without recursion: a hostile text may be as deep as it is long.
  int depth = 1;
  for (pugi::xml_node node = root(); node;) {
    if (depth > maximum_xml_depth) {
      refuse(node, fmt::format("is more than {} elements deep", maximum_xml_depth));
    }
    if (node.first_child()) {
      node = node.first_child();
      ++depth;
      continue;
    }
    while (node && node != root() && !node.next_sibling()) {
      node = node.parent();
      --depth;
    }
    if (node == root()) break;
    node = node.next_sibling();
  }
}

int XmlText::line_of(pugi::xml_node element) const {
  const std::ptrdiff_t offset = element.offset_debug();
  return offset < 0 ? 0 : places_.line_of(static_cast<std::size_t>(offset));
}

Place XmlText::place_of(pugi::xml_node element) const {
  const std::ptrdiff_t offset = element.offset_debug();
  return offset < 0 ? Place{} : places_.place_of(static_cast<std::size_t>(offset));
}

Place XmlText::place_of(pugi::xml_node element, const char* attribute) const {
  const pugi::xml_attribute found = element.attribute(attribute);
  const std::ptrdiff_t offset = element.offset_debug();
  if (!found || offset < 0) return place_of(element);
  // Both point into the one copy of the text that is parsed in place.
  return places_.place_of(static_cast<std::size_t>(offset + (found.value() - element.name())));
}

void XmlText::refuse(pugi::xml_node element, std::string_view reason) const {
  refuse_import(origin_, place_of(element), fmt::format("<{}>: {}", shown(element.name()), reason));
}

void XmlText::refuse(pugi::xml_node element, const char* attribute, std::string_view reason) const {
  refuse_import(origin_, place_of(element, attribute),
                fmt::format("<{}>: {}", shown(element.name()), reason));
}

void XmlText::check_name(pugi::xml_node element, const char* attribute,
                         std::string_view name) const {
  const std::string fault = fault_of_import_name(name);
  if (!fault.empty()) refuse_import(origin_, place_of(element, attribute), fault);
}

std::string XmlText::required(pugi::xml_node element, const char* attribute) const {
  const pugi::xml_attribute found = element.attribute(attribute);
  if (!found) {
    std::vector<std::string_view> given;
    for (const pugi::xml_attribute other : element.attributes()) given.push_back(other.name());
    const std::string_view nearest = nearest_word(attribute, given);
    refuse(element, nearest.empty() ? "" : std::string(nearest).c_str(),
           fmt::format("the attribute '{}' is missing{}", attribute,
                       nearest.empty() ? "" : fmt::format(", found {}", quote(nearest))));
  }
  if (*found.value() == '\0') refuse(element, attribute, fmt::format("'{}' is empty", attribute));
  return found.value();
}

std::string XmlText::optional(pugi::xml_node element, const char* attribute,
                              std::string_view otherwise) const {
  const pugi::xml_attribute found = element.attribute(attribute);
  return found ? found.value() : std::string(otherwise);
}

int XmlText::whole(pugi::xml_node element, const char* attribute, int smallest, int largest) const {
  const std::string text = required(element, attribute);
  try {
    return static_cast<int>(parse_whole(text, smallest, largest));
  } catch (const ShapeError& error) {
    refuse(element, attribute, fmt::format("{}: {}", attribute, error.what()));
  }
}

std::string shown_attribute(pugi::xml_node element, const char* attribute) {
  return fmt::format("'{}' is {}", attribute, quote(element.attribute(attribute).value()));
}

}  // namespace tutti
