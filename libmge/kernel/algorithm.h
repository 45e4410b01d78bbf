// SPDX-License-Identifier: Apache-2.0
#pragma once
// A computation is described by a Problem, done by an Algorithm, and made ready as a Prepared. Operators list
// their algorithms in order of preference, the reference last; select.h chooses among them.

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "libmge/base/reflect.h"
#include "libmge/tensor/device_id.h"
#include "libmge/tensor/spec.h"

namespace mge {

class Queue;
struct SelectOptions;

// Allowed deviation from exact f32 arithmetic: strict f32 (including FMA and tested Winograd); rounded
// factors of products (bf16, TF32); also rounded values between steps.
enum class Precision : uint8_t { strict, relaxed, fast };

// The operator computes the items of a batch independently; the first axes of its operands are the batch.
struct BatchIndependence {
    size_t batch_input = 0;                          // the input whose first dimension is the batch
    uint32_t shared_inputs = 0, shared_outputs = 0;  // bit i: it has no items regardless of its shape
    bool shares_times = false;  // its algorithms differ so much in speed that one batch is measured for all
};
// Returns nullopt if that does not hold for these parameters and specs, such as a sum over the first axis.
using BatchIndependenceRule = std::optional<BatchIndependence> (*)(const void* params, Specs inputs,
                                                                   Specs outputs);

// Everything an algorithm may base its decision on, and so the key of the fast-run cache.
struct Problem {
    std::string_view op;
    const void* params = nullptr;
    FieldList fields;
    Specs inputs, outputs;  // absent optional inputs have dtype none
    static constexpr size_t constant_bits = 32;
    uint32_t constant_inputs = 0;  // bit i: input i never changes, so prepare() may pack it
    DeviceId device;
    int threads = 1;
    Precision precision = Precision::strict;
    DeviceId output_device;  // the device of the outputs; differs from `device` for data movement
    BatchIndependenceRule batch_independence = nullptr;  // null: items are not independent

    template <class P>
    const P& as() const {
        return *static_cast<const P*>(params);
    }
    bool has_input(size_t i) const { return i < inputs.size() && !inputs[i].is_absent(); }
    // Returns false for inputs beyond the bits, which are not tracked.
    bool is_constant(size_t i) const { return i < constant_bits && constant_inputs >> i & 1; }
    // Stable text of all of the above except the devices' names: the key in the fast-run cache and in logs.
    MGE_API std::string key() const;
};

// Whether an algorithm supports a problem, and if not, why: MGE_LOG=dispatch prints the reason.
struct Support {
    const char* reason = nullptr;
    explicit operator bool() const { return !reason; }
};
inline constexpr Support supported{};

struct Attributes {
    bool reproducible = true;  // same inputs and number of threads, same bits
    bool naive = false;        // a reference: fast-run measures it only if there is no other algorithm
    bool accuracy_depends_on_batch = false;
    bool usable_depends_on_shape = false;
    bool locks = false;       // takes a lock or allocates much while running: loses ties
    bool unmeasured = false;  // on made-up inputs it might never end: never measured
};

// One member of a family of algorithms, e.g. one oneDNN implementation with one weight layout.
struct Candidate {
    std::string name;  // stable: stored in the fast-run cache; equal to Algorithm::name for plain algorithms
    uint64_t id = 0;   // opaque to all but the family
    Attributes attributes{};
};

struct MemoryPiece {
    const void* address;  // equal for pieces that several prepared algorithms share
    size_t bytes;
};

// Copies of constant inputs made by prepare().
struct PackedInputs {
    std::vector<MemoryPiece> pieces;
    uint32_t inputs = 0;  // bit i: run() reads its copy of input i, never the input
};

// State that can be made once and reused for every run of one Problem: primitives, packed weights, resolved
// loops.
class Prepared {
public:
    Prepared() = default;
    // Moves `state` in; `workspace` bytes (64-byte aligned) will be handed to each run.
    template <class State>
    static Prepared make(State state, size_t workspace = 0, PackedInputs packed = {}) {
        Prepared p;
        p.state_ = {std::make_unique<State>(std::move(state)).release(),
                    +[](void* s) { std::unique_ptr<State>{static_cast<State*>(s)}; }};
        p.workspace_ = workspace;
        p.packed_ = std::move(packed);
        return p;
    }
    template <class State>
    const State& state() const {
        return *static_cast<const State*>(state_.get());
    }
    size_t workspace() const { return workspace_; }
    const PackedInputs& packed() const { return packed_; }
    // Code that was generated for it; sizes are estimates.
    const std::vector<MemoryPiece>& code() const { return code_; }
    Prepared with_code(std::vector<MemoryPiece> pieces) && {
        code_ = std::move(pieces);
        return std::move(*this);
    }

private:
    std::unique_ptr<void, void (*)(void*)> state_{nullptr, +[](void*) {}};
    size_t workspace_ = 0;
    PackedInputs packed_;
    std::vector<MemoryPiece> code_;
};

struct PrepareContext {
    const Problem& problem;
    const Candidate& candidate;
    std::span<const void* const> constants;  // addresses of constant inputs, null for the others
    const SelectOptions* select = nullptr;   // by which it was chosen; null: the engine's own
};

struct ProgramRun;  // compile/run/program_run.h

// Allocates outputs whose shapes the kernel determines.
class OutputAllocator {
public:
    virtual ~OutputAllocator() = default;
    virtual void* allocate(size_t output, const TensorSpec& spec) = 0;
};

// One run. Addresses are those of the Problem's device, in the layouts of its specs; absent optional inputs
// are null. On a CPU the work is done when run() returns; elsewhere run() only enqueues it.
struct Launch {
    std::span<const void* const> inputs;
    std::span<void* const> outputs;
    void* workspace = nullptr;
    int threads = 1;
    OutputAllocator* allocator = nullptr;  // set only if shapes are determined at run time
    Queue* queue = nullptr;                // queue of the work; null on CPUs
    const ProgramRun* run = nullptr;       // run of the program that contains this step; null: an eager
                                           // operator

    template <class T>
    const T* in(size_t i) const {
        return static_cast<const T*>(inputs[i]);
    }
    // Returns null for an absent input and for those after the last given one.
    template <class T>
    const T* in_if_given(size_t i) const {
        return i < inputs.size() ? in<T>(i) : nullptr;
    }
    template <class T>
    T* out(size_t i) const {
        return static_cast<T*>(outputs[i]);
    }
};

struct Algorithm {
    const char* name;  // stable: stored in the fast-run cache
    Support (*supports)(const Problem&);
    Prepared (*prepare)(const PrepareContext&);
    void (*run)(const Prepared&, const Launch&);
    Attributes attributes{};
    // A family lists its members for a problem, best guess first; prepare() takes the chosen one. Null: a
    // single algorithm.
    std::vector<Candidate> (*candidates)(const Problem&) = nullptr;
};
using KernelList = std::span<const Algorithm>;

inline Support always(const Problem&) { return supported; }

// For kernels whose state is only a copy of the Problem.
struct OwnedProblem {
    explicit OwnedProblem(const Problem& p)
        : inputs(p.inputs.begin(), p.inputs.end()), outputs(p.outputs.begin(), p.outputs.end()) {}
    TensorSpecs inputs, outputs;
};
template <class Params>
struct ProblemState : OwnedProblem {
    explicit ProblemState(const Problem& p) : OwnedProblem(p), params(p.as<Params>()) {}
    Params params;
};
template <class Params>
Prepared copy_problem(const PrepareContext& context) {
    return Prepared::make(ProblemState<Params>(context.problem));
}

}  // namespace mge
