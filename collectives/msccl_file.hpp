// MscclFile: what an MSCCL XML file says, before it becomes a plan.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace tutti {

/// One instruction of a threadblock, as MSCCL's runtime executes it. "source" and "target" are
/// chunks of the own rank; what a type does not use is not checked.
struct MscclStep {
  enum class Type : std::uint8_t {
    send,                   ///< s: sends the source.
    recv,                   ///< r: receives into the target.
    recv_copy_send,         ///< rcs: r, then sends the target.
    recv_reduce_copy,       ///< rrc: target = message + source.
    recv_reduce_send,       ///< rrs: sends message + source, and keeps nothing.
    recv_reduce_copy_send,  ///< rrcs: rrc, then sends the target.
    copy,                   ///< cpy: target = source.
    reduce,                 ///< re: target = target + source.
    nop,                    ///< Waits only.
  };
  struct Place {
    char buffer = 'i';  ///< 'i', 'o' or 's'.
    std::size_t chunk = 0;
  };

  Type type = Type::nop;
  Place source;
  Place target;
  std::size_t count = 0;  ///< Chunks.
  int awaited = -1;       ///< Index of a threadblock of the rank whose step ends before; or -1.
  std::size_t awaited_step = 0;
  bool is_awaited = false;  ///< hasdep.
  std::size_t line = 0;     ///< In the text, from 1.

  bool receives() const;
  bool sends() const;
};

struct MscclThreadblock {
  int id = 0;
  int send = -1;  ///< The rank to which it sends, or -1.
  int recv = -1;
  int channel = 0;
  std::vector<MscclStep> steps;
};

struct MscclGpu {
  std::size_t input_chunks = 0;
  std::size_t output_chunks = 0;
  std::size_t scratch_chunks = 0;
  std::vector<MscclThreadblock> threadblocks;
};

struct MscclFile {
  static constexpr std::size_t most_text_bytes = std::size_t{1} << 28;
  static constexpr int most_chunks = 1 << 20;  ///< Of a buffer.

  std::string name;
  std::string collective;      ///< As written; "custom" if there is none.
  bool in_place = true;        ///< Input and output share their memory.
  std::size_t line = 1;        ///< Of <algo>.
  std::size_t chunks = 0;      ///< Into which the larger of input and output is cut.
  std::vector<MscclGpu> gpus;  ///< By rank; those that the file leaves out do nothing.
};

/// Reads the XML of microsoft/msccl-tools (msccl/language/ir.py), as its runtime does
/// (mscclGetAlgoFromXmlFile). Throws Error(usage) "line N: what was found, what was expected" for
/// anything else, and for what the runtime could not execute: two threadblocks on one connection,
/// a send without a peer, a wait for a step that says that nobody waits for it (hasdep). Cost:
/// linear in the text in time and memory.
MscclFile parse_msccl_file(std::string_view text);

}  // namespace tutti
