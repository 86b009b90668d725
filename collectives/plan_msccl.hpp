// MSCCL XML: plans in the format that MSCCL and RCCL execute and ASTRA-sim imports.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>

#include "collectives/catalogue.hpp"
#include "collectives/closed_form.hpp"
#include "collectives/plan.hpp"
#include "collectives/proof.hpp"

namespace tutti {

/// The plan of one collective as the XML of microsoft/msccl-tools (msccl/language/ir.py).
/// `whole_bytes` is the size of buffer 0 of every rank, which is cut into as many equal chunks as
/// the messages need. Each rank has one threadblock for every peer and direction, and one for local
/// work; all are on channel 0. The steps of different threadblocks depend on each other where they
/// touch the same chunks, and only there.
///
/// Throws Error(usage) for what the format cannot say or its runtimes do not know: collectives
/// other than allreduce, broadcast, allgather and reduce_scatter; several lanes; ghosts; averages
/// and other work than copies and reductions; more than 65,536 chunks; parts of allgather and
/// reduce_scatter that are not equal. A number of chunks that a runtime cannot hold is not refused
/// (MSCCL 0.7 knows 256 steps a threadblock and 72 chunks a message).
std::string to_msccl(const Plan& plan, Collective collective, std::size_t whole_bytes,
                     std::string_view name);

/// How parse_msccl() reads a file.
struct MscclOptions {
  /// Of the larger of input and output, which the file cuts into its chunks. 0: whole chunks of
  /// 1 MiB or a little more.
  std::size_t bytes = 0;
  int root = 0;  ///< Of a rooted collective; the format does not name it.
  CostModel model{.alpha_seconds = 5e-6, .beta_seconds_per_byte = 8e-11};
};

/// A plan of an MSCCL file, and what it should compute.
struct MscclPlan {
  Plan plan;                       ///< Of uint8 and sums.
  std::string name;                ///< Of the algorithm.
  std::string collective;          ///< As the file writes it.
  std::optional<Promise> promise;  ///< In chunks; none where the collective is custom or unknown.
  std::size_t bytes = 0;
  std::string race;        ///< What MSCCL itself could execute in either order; empty if nothing.
  bool knows_race = true;  ///< False where that would take too long to tell.
};

/// The plan of an MSCCL XML file, as its runtime executes it: the steps of a threadblock one after
/// the other, those of different threadblocks where depid and deps say so, the messages of one
/// sender, receiver and channel in order. In place, input and output are one buffer. What rrs and
/// its like do not keep is in a Scratch.
///
/// The graph becomes one program a rank, as with parse_goal(), and executes as long as any order of
/// MSCCL's own does: MSCCL copies what it sends, so that a threadblock goes on behind a send at
/// once. Here it may go on too, but a chunk is written only after its send is over; where that
/// would be a deadlock, as in an exchange in place, what is sent is copied to a Scratch first.
///
/// Of to_msccl()'s files, this gives back messages of the same sizes between the same ranks in the
/// same order, and the proof. The dependencies are those that chunks force: waits of the original
/// beyond these are lost, so that it may be faster; reductions and copies of one rank never
/// overlap.
///
/// Throws Error(usage) "line N: what was found, what was expected" for text that is no MSCCL XML,
/// a size that the chunks do not divide, and more than 2^28 bytes of text, 2^16 ranks, 2^20 chunks
/// a buffer or 2^25 in all; Error(mismatch) for messages that do not match, Error(deadlock) for
/// what waits for itself. Cost: n log n time and linear memory in the text and the chunks that are
/// moved, but see accesses_of().
MscclPlan parse_msccl(std::string_view text, const MscclOptions& options = {});

/// What could be found out about a file.
struct MscclVerdict {
  enum class Status { proved, wrong, unknown };

  Status status = Status::unknown;
  std::string text;  ///< "proved: allreduce, in place"; "wrong: ..." and why; "not proved: ...".
};

/// Whether the plan computes what its file's collective promises, in whatever order its
/// threadblocks execute, for every input. Unknown where it promises nothing, or where that would
/// take too long or over 2 GiB.
MscclVerdict prove_msccl(const MscclPlan& imported);

}  // namespace tutti
