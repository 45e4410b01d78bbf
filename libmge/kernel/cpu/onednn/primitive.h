// SPDX-License-Identifier: Apache-2.0
#pragma once
// Primitives with their generated code. Equal ones share one object: the repeated layers of a net, programs
// of one model, threads that load it. oneDNN's own cache would do the same, but must be disabled while
// implementations are enumerated.

#include <memory>
#include <vector>

#include "libmge/kernel/algorithm.h"
#include "libmge/kernel/cpu/onednn/operation.h"

namespace mge::onednn {

// May run on several threads at once: the caller provides its scratchpad.
using Primitive = std::shared_ptr<dnnl_primitive>;

Primitive make_primitive(const_dnnl_primitive_desc_t desc);
Primitive make_reorder(const MemoryDesc& from, const MemoryDesc& to);

// The scratchpad that each run needs as DNNL_ARG_SCRATCHPAD; of 0 bytes if not needed.
MemoryDesc scratchpad_of(const Primitive& primitive);

// Whether its shares of work never wait for each other, so that one thread may do them one after another.
// Some implementations wait in internal loops: the general matrix product and gradients of weights, which sum
// up the results of threads, and normalisations.
bool has_independent_shares(const Primitive& primitive);

// The memory of the primitive and its code: an estimate, because oneDNN does not report it.
std::vector<MemoryPiece> pieces_of(const Primitive& primitive);

}  // namespace mge::onednn
