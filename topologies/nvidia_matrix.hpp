// The matrix that `nvidia-smi topo -m` prints, as people paste it.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "topologies/import_yaml.hpp"

namespace tutti {

/// What is between two devices, from near to far.
struct NvidiaCell {
  enum class Kind : std::uint8_t {
    nvlink,     ///< NV#: that many links; what the PCIe path is like is not known.
    bridge,     ///< PIX
    bridges,    ///< PXB
    processor,  ///< PHB and NODE
    sockets,    ///< SYS, and SOC of old drivers
    self,       ///< X
  };

  Kind kind = Kind::self;
  int nvlinks = 0;
};

struct NvidiaDevice {
  std::string name;      ///< Unique: "GPU0", "NIC3", "mlx5_0".
  std::string affinity;  ///< Of the CPU; empty where the row says none.
  int line = 0;          ///< Of its row.
  bool is_gpu = false;
};

/// Symmetric: a cell for each two devices.
struct NvidiaMatrix {
  std::vector<NvidiaDevice> devices;
  std::vector<NvidiaCell> cells;  ///< By row, then column.

  const NvidiaCell& at(std::size_t row, std::size_t column) const {
    return cells[row * devices.size() + column];
  }
};

/// Whether the text has the head of such a matrix and a row of it.
bool has_nvidia_matrix(std::string_view text);

/// Reads the first matrix. Escape sequences of terminals, tabs and blanks of any number, lines
/// before the matrix and the legend behind it are passed over; words without a blank between are
/// taken apart. Notes what is suspicious. Throws as refuse_import().
NvidiaMatrix read_nvidia_matrix(std::string_view text, const std::string& origin,
                                ImportNotes& notes);

}  // namespace tutti
