// SPDX-License-Identifier: Apache-2.0
#pragma once
// A graph that an operator holds (ops/control). Operators know it by what they can do with it; what it is
// inside (graph/inner_graph.h) and how it becomes a program (compile/run/inner_program.cpp) are matters of
// later layers, which define the functions below. Like a function it sees nothing but its inputs and its
// constants.

#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "libmge/base/reflect.h"
#include "libmge/kernel/algorithm.h"
#include "libmge/op/footprint.h"
#include "libmge/tensor/tensor.h"

namespace mge {

// Immutable.
class MGE_API Subgraph {
public:
    virtual ~Subgraph() = default;
    virtual size_t input_count() const = 0;
    virtual size_t output_count() const = 0;
    // Shapes are unknown where only a run can tell. UserError when an operator refuses the inputs.
    virtual TensorSpecs infer(std::span<const TensorSpec> inputs) const = 0;
    // Applies its operators, one by one, through the interpreter of this thread.
    virtual Tensors apply(std::span<const Tensor> inputs) const = 0;
    // The inputs, then gradients of the outputs `of`, to the gradients of the inputs `wrt`: zeros where there
    // is none. Both are positions.
    virtual SubgraphRef gradient(const std::vector<size_t>& of, const std::vector<size_t>& wrt) const = 0;
    // With some inputs, by their positions, fixed to constants: they are inputs no more.
    virtual SubgraphRef with_constants(const std::map<size_t, Tensor>& values) const = 0;
    // One run, as far as it can be told: what nobody can tell counts as nothing.
    virtual Footprint footprint(std::span<const TensorSpec> inputs) const = 0;
    // Some operator inside has an effect (OpTraits).
    virtual bool has_effect() const = 0;
    // Equal for graphs that do the same with the same constants.
    virtual uint64_t hash() const = 0;

    // What an operator makes of this graph for itself, made once per key.
    SubgraphRef derived(const std::string& key, const std::function<SubgraphRef()>& make) const;

private:
    mutable std::mutex mutex_;
    mutable std::vector<std::pair<std::string, SubgraphRef>> derived_;
};

// Records what `function` does with tensors of these specs. Other tensors that it uses become constants;
// UserError when one of them is a value of another graph.
MGE_API SubgraphRef make_subgraph(std::span<const TensorSpec> inputs,
                                  const std::function<Tensors(std::span<const Tensor>)>& function);

// A subgraph compiled for fixed specs. One call at a time.
class SubgraphProgram {
public:
    virtual ~SubgraphProgram() = default;
    // Their shapes are unknown where only the run tells.
    virtual const TensorSpecs& outputs() const = 0;
    // Asks the queue for one run on memory of the program's device. An output of unknown shape is null here
    // and taken from output() after the run.
    virtual void run(std::span<const void* const> inputs, std::span<void* const> outputs) = 0;
    virtual Tensor output(size_t i) = 0;
    virtual Queue& queue() = 0;
};

// What several threads may run at once: each call borrows a program, and one is made when none is free.
class MGE_API SubgraphPrograms {
public:
    virtual ~SubgraphPrograms() = default;
    // Bytes in which a program has its values at the place of the operator: a part of the operator's own
    // workspace, so that they are planned with everything around them.
    virtual size_t workspace() const = 0;
    // For one launch of the operator. The program's runs work in `workspace` (aligned to 64) until it is
    // given back.
    virtual std::unique_ptr<SubgraphProgram> borrow(const Launch& launch, void* workspace) const = 0;
    virtual void give_back(std::unique_ptr<SubgraphProgram> program) const = 0;
};
// What the graph is to its operator, for those who look at runs and for messages.
struct SubgraphUse {
    std::string_view parameter;  // that holds it, for ever: "body"
    bool is_repeated = true;     // by one call of the operator
};
MGE_API std::unique_ptr<SubgraphPrograms> compile_subgraph(const Subgraph& graph, const SubgraphUse& use,
                                                           std::span<const TensorSpec> inputs,
                                                           const PrepareContext& context);

// A program for the time of a call.
class BorrowedProgram {
public:
    BorrowedProgram(const SubgraphPrograms& programs, const Launch& launch, void* workspace)
        : programs_(programs), program_(programs.borrow(launch, workspace)) {}
    ~BorrowedProgram() { programs_.give_back(std::move(program_)); }
    BorrowedProgram(const BorrowedProgram&) = delete;
    BorrowedProgram& operator=(const BorrowedProgram&) = delete;
    SubgraphProgram* operator->() const { return program_.get(); }
    SubgraphProgram& operator*() const { return *program_; }

private:
    const SubgraphPrograms& programs_;
    std::unique_ptr<SubgraphProgram> program_;
};

}  // namespace mge
