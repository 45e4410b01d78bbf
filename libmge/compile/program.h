// SPDX-License-Identifier: Apache-2.0
#pragma once
// Graph → Program: a flat list of steps with chosen, prepared algorithms and buffers at fixed offsets in one
// arena. A Program never changes; each Context on it has its own arena, so several can run at once.

#include <cstdint>
#include <exception>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "libmge/compile/options/options.h"
#include "libmge/compile/run/context_memory.h"
#include "libmge/graph/footprint.h"
#include "libmge/graph/graph.h"
#include "libmge/tensor/tensor.h"

namespace mge {

struct StepReport {
    std::string op;
    std::string name;  // node_label(): its name in every tool
    std::string algorithm;
    ChoiceSource source = ChoiceSource::heuristic;
    double milliseconds = 0;   // as measured by fast-run; 0 when it was not
    bool is_doubtful = false;  // measured beside other work, so that the time is not trusted
    DeviceId device;           // the device that runs it
    int thread = 0;            // the requesting thread: 0 the caller, others of the context
                               // (async_exec_level)
    size_t workspace = 0, workspace_offset = 0;  // size in bytes, and offset in the arena
    // The operators of the source graph that the step computes: several for a fusion, empty for a step added
    // by the passes (a reorder).
    std::vector<SourceNode> sources;
    // Ids into values(); no_value for an absent optional input. A view has its own id but no step.
    std::vector<ValueId> inputs, outputs;
    bool is_repeated = false;  // recomputes the released result of an earlier step
    Footprint footprint;
    // The dtype of its products and sums; no CPU kernel computes in half precision.
    DType compute = DType::none;
    std::string problem;  // the key in the fast-run cache; empty when chosen at run time
};

// A value of the compiled graph and its location while the program runs.
struct ValueReport {
    enum class Place : uint8_t { none, arena, input, output, constant, dynamic };
    std::string name;  // value_label() of computed values; the names of inputs and constants
    std::vector<std::string> other_names;  // names of equal values of the source graph
    std::vector<ValueOrigin> origins;      // those values; empty for values added by the passes
    TensorSpec spec;
    DeviceId device;
    Place place = Place::none;  // none: never computed; dynamic: its memory is allocated during the run
    size_t offset = 0;  // offset of that memory in the arena; otherwise the index of the input's or output's
                        // memory
    size_t bytes = 0;   // size of its memory, which views share; 0 for a constant that is only read as packed
                        // copies
    ValueId view_of = no_value;  // the value whose memory, or a part of it, this shows in another shape
    int first = -1,
        last = -1;  // steps between which that memory is in use; -1 for constants and dynamic values
};
MGE_API std::string_view name_of(ValueReport::Place place);
// Returns the name of a step in messages: "conv2d 'conv1'".
MGE_API std::string operator_text(const StepReport& step);

struct MemoryReport {
    size_t weights = 0;           // constants of the graph that a step still reads
    size_t weights_in_file = 0;   // the part in a mapped file
    size_t released_weights = 0;  // constants of the graph that the program no longer needs
    size_t made_weights = 0;      // constants that passes computed and a step reads
    size_t constants = 0;         // constants of the compiled graph, including those read as packed copies
    size_t packed_weights = 0;    // copies made by prepared algorithms, each piece once
    size_t plan = 0;              // the arena: activations and workspaces
    size_t plan_lower_bound = 0;  // no plan for the chosen algorithms can be smaller
    size_t inputs_outputs = 0;
    size_t program = 0;            // graph, steps and generated code, each piece once: an estimate
    size_t repeated_segments = 0;  // pieces of the graph that recomputation runs again
    size_t swapped_values = 0;     // that wait in host memory for their last readers
};

// A value that passes compute in another way than the graph that was compiled.
struct ReplacedValue {
    std::string name;                 // value_label() in that graph
    std::vector<std::string> passes;  // in the order in which they ran
};

// An option that was given but has no effect, and why.
struct IgnoredOption {
    std::string option, given, reason;
};

struct PortInfo {
    std::string name;
    TensorSpec spec;
    ValueId value = no_value;  // its id in values()
    DeviceId device;
    OpenDimensions dimensions;  // empty unless it is an input
};
MGE_API TensorSpecs specs_of(std::span<const PortInfo> ports);

struct ProgramParts;

// Immutable, and the same for all of its contexts.
class MGE_API Program : public std::enable_shared_from_this<Program> {
public:
    // Runs the passes, chooses layouts and algorithms, plans memory, prepares (compile/stages.cpp). The
    // graph's input specs must be known.
    static std::shared_ptr<const Program> compile(const Graph& graph, const CompileOptions& options);
    // The same for inputs of these specs, regardless of the graph's.
    static std::shared_ptr<const Program> compile(const Graph& graph, const TensorSpecs& inputs,
                                                  const CompileOptions& options);
    explicit Program(std::unique_ptr<const ProgramParts> parts);
    ~Program();
    // Returns a number that increases over the graphs and programs of the process: "graph 3" in messages.
    uint64_t id() const;
    // The graph after the passes, in the order of its steps; empty with comp_node_seq_record_level 2.
    const Graph& graph() const;
    const std::vector<PortInfo>& inputs() const;
    const std::vector<PortInfo>& outputs() const;  // shapes may be unknown until run
    // The devices it runs on, each with its queue.
    const std::vector<DeviceId>& places() const;
    const std::vector<StepReport>& steps() const;
    // By value id.
    const std::vector<ValueReport>& values() const;
    // The operators of the source graph by number, as the origins of steps and values.
    const std::vector<SourceNode>& sources() const;
    MemoryReport memory() const;
    // The memory of constants made by passes and of packed copies, each piece once.
    std::vector<std::span<const std::byte>> made_constants() const;
    // The values that each run checks; empty unless the level is below zero.
    const std::vector<ReplacedValue>& replaced() const;
    // Options without an effect; a warning listed them, unless log_level is 0.
    const std::vector<IgnoredOption>& options_without_effect() const;
    // The internal state, for the sources of this folder.
    const ProgramParts& parts() const { return *parts_; }

private:
    std::unique_ptr<const ProgramParts> parts_;
};

// Returns, by value, the step after which it is available; -1: from the beginning, or never.
MGE_API std::vector<int> ready_steps(const Program& program);

class Context;

// A run of a step's inner graph, such as the body of a loop or a branch.
struct InnerRun {
    Context& outer;
    size_t step;             // step of the outer program
    std::string_view graph;  // the parameter with the inner graph: "body"
    int64_t iteration = -1;  // counted from the beginning of the step; -1: it runs once in a step
    bool is_first() const { return iteration <= 0; }
};
// Returns the graph with its iteration, "body[3]"; without the number if it runs once.
MGE_API std::string graph_text(std::string_view graph, int64_t iteration);

// Memory that a run has taken.
struct Allocation {
    DeviceId device;
    size_t bytes = 0;
    bool is_arena = false;  // arena of the planned values, if it differs from the previous run's
};

// Observes the runs of a context, on the thread that requests the work; steps are indices into
// Program::steps(). Exceptions of before_run(), before_step(), after_step() and after_run() end the run.
class MGE_API StepObserver {
public:
    virtual ~StepObserver() = default;
    virtual void before_run(Context&) {}
    // All work has been enqueued.
    virtual void after_run(Context&) {}
    // The run ended early; its caller gets the error.
    virtual void after_failure(const std::exception_ptr&, Context&) {}
    virtual void before_step(size_t, Context&) {}
    virtual void after_step(size_t, Context&) {}
    virtual void allocated(const Allocation&, Context&) {}
    // An inner graph of a step begins; its context is `inner`. Returns the observer of that run, from its
    // before_run() to its after_run() or after_failure(); null: no observer.
    virtual StepObserver* inside(const InnerRun&, [[maybe_unused]] Context& inner) { return nullptr; }
};

class MGE_API Context {
public:
    // Null: its own memory.
    static std::unique_ptr<Context> create(std::shared_ptr<const Program> program,
                                           std::shared_ptr<ContextMemory> memory = nullptr);
    virtual ~Context() = default;
    virtual const Program& program() const = 0;
    // Returns the address of an input on its device; fill it before run(). It does not change while the
    // context lives.
    virtual void* input(size_t i) = 0;
    // Copies all inputs, in plain layout and the program's specs, from any device.
    void fill_inputs(std::span<const Tensor> inputs);
    // Lets an input be read from the caller's memory on the input's device instead (plain layout, alive until
    // the run is over); null: back to input().
    virtual void bind_input(size_t i, const void* data) = 0;
    // Makes a run write an output to the caller's memory on its device, which must be large enough and live
    // until it is replaced; null: back to the context's own. Views, inputs, constants and values that are two
    // outputs have no separate memory, unless force_output_use_user_specified_memory gives it to them.
    virtual void bind_output(size_t i, void* data, size_t bytes) = 0;
    // Returns the memory of intermediate values, which other contexts may share.
    virtual const std::shared_ptr<ContextMemory>& memory() const = 0;
    // Enqueues the work on the program's devices, after the previous run: on a CPU it is done when the call
    // returns, unless async_exec_level lets a thread of the context enqueue it.
    virtual void run() = 0;
    // The next run computes nothing and does not change its outputs.
    virtual void fake_next_exec() = 0;
    virtual void start() = 0;  // run() on this context's own worker
    // Waits until all work is done. Throws the first error of a thread or queue; run() and start() throw an
    // error left by an earlier run. The message names graph and operator. The outputs are invalid after an
    // error, and the next run works.
    virtual void wait() = 0;
    // Records an external error that invalidates the run: wait() throws it. Thread-safe.
    virtual void record_async_error(std::exception_ptr error) = 0;
    // The result of the last run, after wait(); shares the context's memory until the next run. `copy_output`
    // does not.
    virtual Tensor output(size_t i) = 0;
    virtual Tensor copy_output(size_t i) = 0;
    // Sets the only observer from the next run on; null: no observer. It must outlive its runs; without an
    // observer a step has no overhead.
    virtual void observe(StepObserver* observer) = 0;
    // Adds an observer after the existing ones, or removes one, from the next run on.
    virtual void attach(StepObserver& observer) = 0;
    virtual void detach(StepObserver& observer) = 0;
    // `callback` gets the output in each run as soon as its step is enqueued; null: no callback. Its memory
    // belongs to the run (copy_plain() values that must be kept), and with CompileOptions::callback_outputs
    // later steps reuse it. Steps run in order, and so do callbacks.
    virtual void on_output(size_t i, std::function<void(const Tensor&)> callback) = 0;
    // The current value, sharing memory that later steps overwrite; an observer may read the inputs and
    // outputs of the current step. An absent tensor if it has no memory (not yet, or no longer).
    virtual Tensor value(ValueId id) = 0;
    // Runs once and returns the milliseconds of each step, timed one by one.
    virtual std::vector<double> time_steps() = 0;
};

// A graph that runs for any input shapes: programs are compiled per set of shapes and kept.
class MGE_API Executable {
public:
    // Its programs share `memory`, as large as the largest needs; null: their own. So they run one after the
    // other, on any threads.
    Executable(Graph graph, CompileOptions options, std::shared_ptr<ContextMemory> memory = nullptr);
    ~Executable();
    // `observer` observes this run; null: no observer. An input with `is_donated` (by input; empty: no
    // input) has no later readers and no other owners: an output may reuse its memory.
    Tensors run(std::span<const Tensor> inputs, StepObserver* observer = nullptr,
                const std::vector<bool>& is_donated = {});
    // The next run, with any shapes, compiles and allocates but computes nothing: its outputs are zeros, and
    // absent if only a run determines their shapes.
    void fake_next_exec();
    std::shared_ptr<const Program> program_for(const TensorSpecs& inputs);
    const Graph& graph() const;
    std::shared_ptr<ContextMemory> memory() const;

private:
    struct State;
    std::unique_ptr<State> state_;
};

}  // namespace mge
