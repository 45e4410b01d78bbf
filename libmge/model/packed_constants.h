// SPDX-License-Identifier: Apache-2.0
#pragma once
// Constants that are stored packed in a file, so that loading does not pack them.

#include <memory>
#include <string_view>

#include "libmge/compile/program.h"
#include "libmge/kernel/packed_copies.h"
#include "libmge/model/model.h"

namespace mge {

// The copies that a program of the graph's keeps of its constants, on this machine. A program finds them
// again if it chooses the same algorithms: with the same threads and the same fast-run cache.
MGE_API PackedConstants pack_constants(const Graph& graph, const CompileOptions& options);

// Packing one of the constants then finds its copy, if it was made for this machine, as long as `owner`
// lives, which owns their memory. With a `verify` the constants may still be damaged.
void offer_packed(const PackedConstants& packed, const std::shared_ptr<const void>& owner,
                  const std::shared_ptr<const VerifyConstant>& verify = nullptr);
// Whether that machine is this one.
bool is_packed_here(std::string_view machine);

}  // namespace mge
