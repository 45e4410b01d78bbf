// SPDX-License-Identifier: Apache-2.0
#pragma once
// Primitives with their generated code. Equal ones are one object, whoever asks for them: the repeated layers
// of a net, programs of one model, threads that each load it. oneDNN's own cache would do the same, but
// cannot be on while implementations are enumerated.

#include <memory>
#include <vector>

#include "libmge/kernel/algorithm.h"
#include "libmge/kernel/cpu/onednn/memory_desc.h"

namespace mge::onednn {

// May run on several threads at once: its scratchpad is the caller's.
using Primitive = std::shared_ptr<dnnl_primitive>;

Primitive make_primitive(const_dnnl_primitive_desc_t desc);
Primitive make_reorder(const MemoryDesc& from, const MemoryDesc& to);

// The scratchpad that each run needs as DNNL_ARG_SCRATCHPAD; of 0 bytes when the primitive needs none.
MemoryDesc scratchpad_of(const Primitive& primitive);

// Whether its shares of work never wait for each other, so that one thread may do them one after another.
// Some implementations wait in loops of their own, which nobody sees from outside: the general matrix product
// and gradients of weights, which sum up what threads have computed, and normalisations.
bool has_independent_shares(const Primitive& primitive);

// What it takes with its code: estimates, since oneDNN does not tell.
std::vector<MemoryPiece> pieces_of(const Primitive& primitive);

}  // namespace mge::onednn
