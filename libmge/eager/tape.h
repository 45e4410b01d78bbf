// SPDX-License-Identifier: Apache-2.0
#pragma once
// Tapes record the operators applied to attached values, in order to compute gradients later. Several tapes
// of a thread may record at once. They share one recorder, which stores each node once with the set of its
// tapes. A backward pass applies ordinary operators, which older tapes record in turn: this gives higher
// derivatives.

#include <functional>
#include <memory>
#include <span>

#include "libmge/op/apply.h"
#include "libmge/tensor/tensor.h"

namespace mge {

struct Recorder;

// A user-defined gradient rule. `output_grads` has null entries for unused outputs, and `needed` says which
// inputs need a gradient. Returns one entry per input, null for a zero gradient.
class MGE_API CustomGradient {
public:
    virtual ~CustomGradient() = default;
    virtual Tensors backward(std::span<const Tensor> output_grads, std::span<const bool> needed) = 0;
};

// A tape belongs to the thread that made it; use on another thread throws UserError. Any thread may destroy
// or release it.
class MGE_API Tape {
public:
    Tape();
    ~Tape();
    Tape(const Tape&) = delete;
    Tape& operator=(const Tape&) = delete;

    // Returns a new handle for the value. Operators applied to it from now on are recorded, also by the tapes
    // that follow `tensor`.
    Tensor attach(const Tensor& tensor);
    void start();
    void stop();
    bool is_recording() const;
    // Returns the gradients of sum(ys · dys) in the order of attaching. A null dy counts as ones. A gradient
    // is null if no y depends on the value, or if the value is itself a y and no recorded operator used it.
    // Stops recording and frees the tape's nodes. `on_ready(i, gradient)` is called with the gradient of
    // attached value i as soon as no later part of the pass adds to it, in the order of arrival_order(ys). It
    // is not called for values that no operator has used.
    using OnReady = std::function<void(size_t, const Tensor&)>;
    Tensors backward(std::span<const Tensor> ys, std::span<const Tensor> dys, const OnReady& on_ready = {});
    // The attached values on which ys depend, as positions in the order of attaching, in the order in which
    // backward(ys) computes their gradients.
    std::vector<size_t> arrival_order(std::span<const Tensor> ys) const;
    // Frees everything that the tape holds.
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

// Pauses recording on this thread for the life of the scope.
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

// True if an active tape of this thread follows the value.
MGE_API bool is_recorded(const Tensor& tensor);

// Records a computation with its own gradient rule on the active tapes. Returns new handles for the outputs.
MGE_API Tensors record_custom(std::span<const Tensor> inputs, std::span<const Tensor> outputs,
                              std::shared_ptr<CustomGradient> gradient);

// Sets the interpreter below the tapes of this thread: a trace, or nullptr for the eager interpreter. Returns
// the previous one.
MGE_API Interpreter* exchange_base_interpreter(Interpreter* base);

}  // namespace mge
