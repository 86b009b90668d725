// What is lost in other tools' formats, as the comment that their files begin with says it.
#pragma once

#include <string>

#include "topologies/export.hpp"

namespace tutti {

/// " Lost: reduction speeds, the placement of ranks.", or nothing if nothing is.
std::string sentence_of_losses(const Shape& shape, ExportFormat format);

}  // namespace tutti
