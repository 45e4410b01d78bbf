// SPDX-License-Identifier: Apache-2.0
#pragma once
// Graph → Program: a flat list of steps with chosen, prepared algorithms and buffers at fixed places of one
// arena. A Program never changes; each Context on it has an arena of its own, so several can run at once.

#include <memory>
#include <string>
#include <vector>

#include "libmge/compile/options.h"
#include "libmge/graph/graph.h"
#include "libmge/tensor/tensor.h"

namespace mge {

struct StepReport {
    std::string op, name, algorithm;
    ChoiceSource source = ChoiceSource::heuristic;
    double milliseconds = 0;  // as measured by fast-run; 0 when it was not
    size_t workspace = 0;
};

struct MemoryReport {
    size_t weights = 0;           // constants as they came
    size_t packed_weights = 0;    // further copies made by prepared algorithms
    size_t plan = 0;              // the arena: activations and workspaces
    size_t plan_lower_bound = 0;  // no plan for the chosen algorithms can be smaller
    size_t inputs_outputs = 0;
};

struct PortInfo {
    std::string name;
    TensorSpec spec;
};

class MGE_API Program {
public:
    // Runs the passes, chooses layouts and algorithms, plans memory, prepares. The graph's input specs have
    // to be known.
    static std::shared_ptr<const Program> compile(const Graph& graph, const CompileOptions& options);
    virtual ~Program() = default;
    virtual const std::vector<PortInfo>& inputs() const = 0;
    virtual const std::vector<PortInfo>& outputs() const = 0;  // shapes may be unknown until run
    virtual const std::vector<StepReport>& steps() const = 0;
    virtual MemoryReport memory() const = 0;
};

class MGE_API Context {
public:
    static std::unique_ptr<Context> create(std::shared_ptr<const Program> program);
    virtual ~Context() = default;
    // Where the input lies; fill it before run(). It stays the same for the life of the context.
    virtual void* input(size_t i) = 0;
    // Lets an input be read from the caller's memory instead (plain layout, alive until the run is over);
    // null: back to input().
    virtual void bind_input(size_t i, const void* data) = 0;
    virtual void run() = 0;
    virtual void start() = 0;  // run() on this context's own worker
    virtual void wait() = 0;   // rethrows what the worker threw
    // The result of the last run; shares the context's memory until the next run. `copy_output` does not.
    virtual Tensor output(size_t i) = 0;
    virtual Tensor copy_output(size_t i) = 0;
    // Milliseconds of each step in one run, timed one by one.
    virtual std::vector<double> time_steps() = 0;
};

// A graph that runs for whatever input shapes come: programs are made per set of shapes and kept.
class MGE_API Executable {
public:
    Executable(Graph graph, CompileOptions options);
    ~Executable();
    Tensors run(std::span<const Tensor> inputs);
    std::shared_ptr<const Program> program_for(const TensorSpecs& inputs);
    const Graph& graph() const;

private:
    struct State;
    std::unique_ptr<State> state_;
};

}  // namespace mge
