// SPDX-License-Identifier: Apache-2.0
#pragma once
// Graph → Program: a flat list of steps with chosen, prepared algorithms and buffers at fixed places of one
// arena. A Program never changes; each Context on it has an arena of its own, so several can run at once.

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
    std::string name;  // node_label(): what every tool calls it
    std::string algorithm;
    ChoiceSource source = ChoiceSource::heuristic;
    double milliseconds = 0;   // as measured by fast-run; 0 when it was not
    bool is_doubtful = false;  // measured beside other work, so that the time is not trusted
    DeviceId device;           // where it runs
    int thread = 0;            // that asks for it: 0 the caller, others of the context (async_exec_level)
    size_t workspace = 0, workspace_offset = 0;  // bytes, and where they lie in the arena
    // The operators of the source graph whose work the step does: several for a fusion, none for what the
    // passes added (a reorder).
    std::vector<SourceNode> sources;
    // Ids into values(); no_value for an absent optional input. A view has an id of its own but no step.
    std::vector<ValueId> inputs, outputs;
    bool is_repeated = false;  // computes again what an earlier step did, whose result was given up
    Footprint footprint;
    // In which its products and sums are made; no kernel of a CPU does arithmetic in half precision.
    DType compute = DType::none;
    std::string problem;  // the key under which the fast-run cache knows it; empty when chosen at run time
};

// A value of the compiled graph and where it lies while the program runs.
struct ValueReport {
    enum class Place : uint8_t { none, arena, input, output, constant, dynamic };
    std::string name;  // value_label() of what is computed; of inputs and constants the name that they have
    std::vector<std::string> other_names;  // of the values of the source graph that are equal to it
    std::vector<ValueOrigin> origins;      // those values; none for what the passes made up
    TensorSpec spec;
    DeviceId device;
    Place place = Place::none;  // none: never computed; dynamic: its memory is found during the run
    size_t offset = 0;  // of that memory in the arena; else the index of the input's or output's memory
    size_t bytes = 0;   // of the memory it lies in, which views share; 0 for a constant of which the steps
                        // read packed copies
    ValueId view_of = no_value;  // the value whose memory this is, or a part of it, under another shape
    int first = -1,
        last = -1;  // steps between which that memory is in use; -1 for constants and dynamic values
};
MGE_API std::string_view name_of(ValueReport::Place place);
// "conv2d 'conv1'": how messages speak of a step.
MGE_API std::string operator_text(const StepReport& step);

struct MemoryReport {
    size_t weights = 0;           // constants as they came that a step still reads
    size_t weights_in_file = 0;   // of those, in a mapped file
    size_t released_weights = 0;  // constants as they came that the program needs no more
    size_t made_weights = 0;      // constants that passes computed and a step reads
    size_t constants = 0;         // of the compiled graph, those read as packed copies too
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

// An option that was given and could not act, and why.
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
    // graph's input specs have to be known.
    static std::shared_ptr<const Program> compile(const Graph& graph, const CompileOptions& options);
    // The same for inputs of these specs, whatever the graph says of them.
    static std::shared_ptr<const Program> compile(const Graph& graph, const TensorSpecs& inputs,
                                                  const CompileOptions& options);
    explicit Program(std::unique_ptr<const ProgramParts> parts);
    ~Program();
    // Rises over the graphs and programs of the process: "graph 3" in messages.
    uint64_t id() const;
    // What the passes made of the graph, in the order of its steps; comp_node_seq_record_level 2 leaves no
    // nodes.
    const Graph& graph() const;
    const std::vector<PortInfo>& inputs() const;
    const std::vector<PortInfo>& outputs() const;  // shapes may be unknown until run
    // The devices it runs on, each with its queue.
    const std::vector<DeviceId>& places() const;
    const std::vector<StepReport>& steps() const;
    // By value id.
    const std::vector<ValueReport>& values() const;
    // The operators of the source graph by number, which steps and values come from.
    const std::vector<SourceNode>& sources() const;
    MemoryReport memory() const;
    // Where the constants lie that passes made and the copies that algorithms packed, each piece once.
    std::vector<std::span<const std::byte>> made_constants() const;
    // What each run checks; empty unless the level is below zero.
    const std::vector<ReplacedValue>& replaced() const;
    // Of the options that it was compiled with; a warning told them, unless log_level is 0.
    const std::vector<IgnoredOption>& options_without_effect() const;
    // Its inside, for the files of this folder.
    const ProgramParts& parts() const { return *parts_; }

private:
    std::unique_ptr<const ProgramParts> parts_;
};

// By value, the step after which it is there; -1: from the beginning, or never.
MGE_API std::vector<int> ready_steps(const Program& program);

class Context;

// A run of a graph that a step holds: the body of a loop, a branch.
struct InnerRun {
    Context& outer;
    size_t step;             // of the outer program
    std::string_view graph;  // the parameter that holds it: "body"
    int64_t iteration = -1;  // counted from the beginning of the step; -1: it runs once in a step
    bool is_first() const { return iteration <= 0; }
};
// "body[3]": the graph and which time it runs, without the number where it runs once.
MGE_API std::string graph_text(std::string_view graph, int64_t iteration);

// Memory that a run has taken.
struct Allocation {
    DeviceId device;
    size_t bytes = 0;
    bool is_arena = false;  // of the planned values, when it is not where the run before had it
};

// Is told what happens in the runs of a context, on the thread that asks for the work; steps are indices into
// Program::steps(). What before_run(), before_step(), after_step() and after_run() throw ends the run.
class MGE_API StepObserver {
public:
    virtual ~StepObserver() = default;
    virtual void before_run(Context&) {}
    // The queues have been asked for all of it.
    virtual void after_run(Context&) {}
    // It ended early; whoever asked for it gets the error.
    virtual void after_failure(const std::exception_ptr&, Context&) {}
    virtual void before_step(size_t, Context&) {}
    virtual void after_step(size_t, Context&) {}
    virtual void allocated(const Allocation&, Context&) {}
    // A graph begins that a step holds; its context is `inner`. Who is told of that run, from its
    // before_run() to its after_run() or after_failure(); null: nobody.
    virtual StepObserver* inside(const InnerRun&, [[maybe_unused]] Context& inner) { return nullptr; }
};

class MGE_API Context {
public:
    // Null: memory of its own.
    static std::unique_ptr<Context> create(std::shared_ptr<const Program> program,
                                           std::shared_ptr<ContextMemory> memory = nullptr);
    virtual ~Context() = default;
    virtual const Program& program() const = 0;
    // Address of the input on its device; fill it before run(). It stays the same for the life of the
    // context.
    virtual void* input(size_t i) = 0;
    // Copies all inputs in, in plain layout and of the program's specs, from wherever they lie.
    void fill_inputs(std::span<const Tensor> inputs);
    // Lets an input be read from the caller's memory on the input's device instead (plain layout, alive until
    // the run is over); null: back to input().
    virtual void bind_input(size_t i, const void* data) = 0;
    // Lets an output be written into the caller's memory on its device, which has to be as large and to live
    // until it is replaced; null: back to the context's own. Views, inputs, constants and values that are two
    // outputs have none of their own, unless force_output_use_user_specified_memory gives it to them.
    virtual void bind_output(size_t i, void* data, size_t bytes) = 0;
    // Where it lies between its inputs and outputs; for contexts that are to share it.
    virtual const std::shared_ptr<ContextMemory>& memory() const = 0;
    // Asks the queues of the program's devices for the work, after the run before: on a CPU it is done when
    // the call returns, unless async_exec_level says that a thread of the context asks.
    virtual void run() = 0;
    // The next run computes nothing and leaves its outputs as they are.
    virtual void fake_next_exec() = 0;
    virtual void start() = 0;  // run() on this context's own worker
    // Until all of it is done. Throws the first thing that went wrong in a thread or on a queue; run() and
    // start() throw what an earlier run has left. The text names graph and operator. What the outputs hold
    // is lost, the next run works.
    virtual void wait() = 0;
    // An error from elsewhere that makes the run useless: wait() throws it. From any thread.
    virtual void record_async_error(std::exception_ptr error) = 0;
    // The result of the last run, after wait(); shares the context's memory until the next run. `copy_output`
    // does not.
    virtual Tensor output(size_t i) = 0;
    virtual Tensor copy_output(size_t i) = 0;
    // From the next run on this observer is told, and no other; null: none. It has to outlive its runs;
    // without one a step costs nothing more.
    virtual void observe(StepObserver* observer) = 0;
    // From the next run on one more, told after those that are there, or one less.
    virtual void attach(StepObserver& observer) = 0;
    virtual void detach(StepObserver& observer) = 0;
    // `callback` gets the output in each run as soon as its step has been asked for; null: nobody. Its memory
    // is the run's (copy_plain() what has to stay), and with CompileOptions::callback_outputs it is given to
    // later steps. Steps run in their order, so do callbacks.
    virtual void on_output(size_t i, std::function<void(const Tensor&)> callback) = 0;
    // A value as it is now, sharing memory that later steps overwrite; an observer may read what the step it
    // is told about reads or writes. An absent tensor when it has no memory (not yet, or no more).
    virtual Tensor value(ValueId id) = 0;
    // Milliseconds of each step in one run, timed one by one.
    virtual std::vector<double> time_steps() = 0;
};

// A graph that runs for whatever input shapes come: programs are made per set of shapes and kept.
class MGE_API Executable {
public:
    // Its programs share `memory`, as large as the largest needs; null: their own. So they run one after the
    // other, whichever threads ask.
    Executable(Graph graph, CompileOptions options, std::shared_ptr<ContextMemory> memory = nullptr);
    ~Executable();
    // `observer` is told of this run; null: nobody. An input of which `is_given_up` (by input; empty: none)
    // is not read by anybody any more, and its memory is nobody else's: an output may lie there.
    Tensors run(std::span<const Tensor> inputs, StepObserver* observer = nullptr,
                const std::vector<bool>& is_given_up = {});
    // The next run, whatever its shapes, compiles and allocates but computes nothing: its outputs are zeros,
    // and those absent whose shape only a run finds out.
    void fake_next_exec();
    std::shared_ptr<const Program> program_for(const TensorSpecs& inputs);
    const Graph& graph() const;
    std::shared_ptr<ContextMemory> memory() const;

private:
    struct State;
    std::unique_ptr<State> state_;
};

}  // namespace mge
