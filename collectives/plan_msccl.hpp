// MSCCL XML: plans in the format that MSCCL and RCCL execute and ASTRA-sim imports.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

#include "collectives/catalogue.hpp"
#include "collectives/plan.hpp"

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

}  // namespace tutti
