// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <memory>
#include <vector>

#include "libmge/kernel/activation.h"
#include "libmge/kernel/algorithm.h"
#include "libmge/kernel/cpu/onednn/memory_desc.h"
#include "libmge/kernel/packed_copies.h"

namespace mge::onednn {

// The source of one argument of a primitive: an input or output of the Problem. If the primitive needs
// another layout than `given`, a reorder is inserted before (or after) it: once for a constant input;
// otherwise in every run, through the workspace.
struct Operand {
    int argument;  // DNNL_ARG_…
    bool is_output;
    size_t index;
    MemoryDesc given;
    const void* constant = nullptr;
};
inline Operand input(int argument, size_t index, const MemoryDesc& given, const void* constant = nullptr) {
    return {argument, false, index, given, constant};
}
inline Operand output(int argument, size_t index, const MemoryDesc& given) {
    return {argument, true, index, given, nullptr};
}

// A primitive, the reorders around it and their arguments, ready to run any number of times and from several
// threads at once. In the steady state our code neither allocates nor locks.
class Call {
public:
    // `residual`: an input whose values the primitive reads from its destination (post-operation sum). It is
    // copied there unless it is the same memory already. `packing`: the records and the cache of packed
    // constants; null: no record. `activation`: the one that the primitive applies.
    Call(const PrimitiveDesc& desc, const std::vector<Operand>& operands, const Operand* residual = nullptr,
         const Packing& packing = {}, Activation activation = Activation::none);
    ~Call();
    Call(Call&&) noexcept;
    Call& operator=(Call&&) noexcept;

    size_t workspace() const;
    const PackedInputs& packed() const;
    std::vector<MemoryPiece> code() const;
    // On at most `threads` threads: those it was made for when they are fewer than the context's.
    void run(const Launch& launch, int threads) const;

private:
    struct Plan;
    std::unique_ptr<Plan> plan_;
};

// The state of an algorithm that runs a Call on at most `threads` threads, or the base of one; run_call is
// its `run`.
struct CallState {
    Call call;
    int threads;
};
template <class State>
Prepared prepared(State state) {
    size_t workspace = state.call.workspace();
    PackedInputs packed = state.call.packed();
    auto code = state.call.code();
    return Prepared::make(std::move(state), workspace, std::move(packed)).with_code(std::move(code));
}
void run_call(const Prepared& prepared, const Launch& launch);

}  // namespace mge::onednn
