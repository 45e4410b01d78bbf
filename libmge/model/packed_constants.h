// SPDX-License-Identifier: Apache-2.0
#pragma once
// Constants that lie packed in a file, so that loading packs nothing.

#include <memory>
#include <string_view>

#include "libmge/compile/program.h"
#include "libmge/kernel/packed_copies.h"
#include "libmge/model/model.h"

namespace mge {

// The copies that a program of the graph's keeps of its constants, on this machine. A program finds them
// again if it chooses the same algorithms: with the same threads and the same fast-run cache.
MGE_API PackedConstants pack_constants(const Graph& graph, const CompileOptions& options);

// Whoever packs one of the constants finds its copy, if this is the machine that it was made for; as long as
// `owner` lives, in whose memory they lie. With a `verify` the constants may still be damaged.
void offer_packed(const PackedConstants& packed, const std::shared_ptr<const void>& owner,
                  const std::shared_ptr<const VerifyConstant>& verify = nullptr);
// That machine is this one.
bool is_packed_here(std::string_view machine);

}  // namespace mge
