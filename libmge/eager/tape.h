// SPDX-License-Identifier: Apache-2.0
#pragma once
// Tapes remember the operators that were applied to certain values, so that gradients can be computed
// afterwards. Several tapes may record at once on a thread; one recorder does the work for all of them: a
// node is kept once and says which tapes it belongs to. A tape's backward pass applies ordinary operators,
// which the tapes that began before it record in turn: that gives derivatives of higher order.

#include <memory>
#include <span>

#include "libmge/op/apply.h"
#include "libmge/tensor/tensor.h"

namespace mge {

struct Recorder;

// A gradient rule written by the user. `output_grads` has null entries for outputs that were not used,
// `needed` says per input whether its gradient is wanted; the result has one entry per input, null where
// there is no gradient.
class MGE_API CustomGradient {
public:
    virtual ~CustomGradient() = default;
    virtual Tensors backward(std::span<const Tensor> output_grads, std::span<const bool> needed) = 0;
};

// A tape belongs to the thread that made it; UserError when another one uses it. Destroying or releasing it
// from elsewhere is fine.
class MGE_API Tape {
public:
    Tape();
    ~Tape();
    Tape(const Tape&) = delete;
    Tape& operator=(const Tape&) = delete;

    // A new handle for the value; what is applied to it from now on is recorded, as it is by the tapes that
    // knew the value before.
    Tensor attach(const Tensor& tensor);
    void start();
    void stop();
    bool is_recording() const;
    // Returns the gradients of sum(ys · dys) in the order of attaching. A null dy counts as ones. The
    // gradient is null where no y depends on the value. It is also null if the value itself is a y and no
    // recorded operator took it. The tape stops recording and frees its nodes on the way.
    Tensors backward(std::span<const Tensor> ys, std::span<const Tensor> dys);
    // Forgets everything and lets go of its memory.
    void release();

private:
    void check_thread(const char* what) const;

    std::shared_ptr<Recorder> recorder_;
    int bit_ = -1;  // -1: released
    uint64_t first_node_ = 0;
    uint64_t age_ = 0;
    std::vector<uint64_t> leaves_;
    friend struct Recorder;
};

// Nothing is recorded on this thread for the life of the scope.
class MGE_API RecordingPaused {
public:
    RecordingPaused();
    ~RecordingPaused();
    RecordingPaused(const RecordingPaused&) = delete;
    RecordingPaused& operator=(const RecordingPaused&) = delete;

private:
    std::shared_ptr<Recorder> recorder_;
    uint64_t active_;
};

// True when an active tape of this thread follows the value.
MGE_API bool is_recorded(const Tensor& tensor);

// Puts a computation with its own gradient rule on the active tapes; gives new handles for the outputs.
MGE_API Tensors record_custom(std::span<const Tensor> inputs, std::span<const Tensor> outputs,
                              std::shared_ptr<CustomGradient> gradient);

// What lies below the tapes of this thread: a trace, or null for the eager interpreter. Returns what lay
// there before.
MGE_API Interpreter* exchange_base_interpreter(Interpreter* base);

}  // namespace mge
