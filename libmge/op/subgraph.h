// SPDX-License-Identifier: Apache-2.0
#pragma once
// A graph nested in an operator (ops/control), as seen by operators. Higher layers implement it
// (graph/inner_graph.h), compile it (compile/run/inner_program.cpp) and define the functions below. It
// depends only on its inputs and constants.

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
    // Shapes known only at run time are unknown. Throws UserError if an operator refuses the inputs.
    virtual TensorSpecs infer(Specs inputs) const = 0;
    // Applies its operators one by one through the interpreter of this thread.
    virtual Tensors apply(std::span<const Tensor> inputs) const = 0;
    // Returns a graph from the inputs, followed by gradients of the outputs `of`, to the gradients of the
    // inputs `wrt`. Missing gradients are zeros. Both lists are positions.
    virtual SubgraphRef gradient(const std::vector<size_t>& of, const std::vector<size_t>& wrt) const = 0;
    // Returns the graph with inputs at these positions replaced by constants.
    virtual SubgraphRef with_constants(const std::map<size_t, Tensor>& values) const = 0;
    // The footprint of one run. Unknown parts count as 0.
    virtual Footprint footprint(Specs inputs) const = 0;
    // True if an operator inside has an effect (OpTraits).
    virtual bool has_effect() const = 0;
    // Equal for graphs that do the same with the same constants.
    virtual uint64_t hash() const = 0;

    // Returns a graph that an operator derives from this one. Made once per key.
    SubgraphRef derived(const std::string& key, const std::function<SubgraphRef()>& make) const;

private:
    mutable std::mutex mutex_;
    mutable std::vector<std::pair<std::string, SubgraphRef>> derived_;
};

// Records `function` on tensors of these specs. Other tensors that it uses become constants. Throws UserError
// if one of them is a value of another graph.
MGE_API SubgraphRef make_subgraph(Specs inputs,
                                  const std::function<Tensors(std::span<const Tensor>)>& function);

// A subgraph compiled for fixed specs. Not thread-safe.
class SubgraphProgram {
public:
    virtual ~SubgraphProgram() = default;
    // Shapes known only at run time are unknown.
    virtual const TensorSpecs& outputs() const = 0;
    // Enqueues a run on the program's device. For outputs of unknown shape, pass nullptr and call output()
    // after the run.
    virtual void run(std::span<const void* const> inputs, std::span<void* const> outputs) = 0;
    virtual Tensor output(size_t i) = 0;
    virtual Queue& queue() = 0;
};

// A thread-safe pool: each call borrows a program, which is compiled if none is free.
class MGE_API SubgraphPrograms {
public:
    virtual ~SubgraphPrograms() = default;
    // Bytes of a program's values on the operator's device. They are part of the operator's workspace, so
    // that they are planned with everything around them.
    virtual size_t workspace() const = 0;
    // Borrows a program for one launch of the operator. It uses `workspace` (aligned to 64) until it is
    // returned.
    virtual std::unique_ptr<SubgraphProgram> borrow(const Launch& launch, void* workspace) const = 0;
    virtual void give_back(std::unique_ptr<SubgraphProgram> program) const = 0;
};
// The role of the graph in its operator, for observers and messages.
struct SubgraphUse {
    std::string_view parameter;  // name of the parameter, a static string: "body"
    bool is_repeated = true;     // runs several times per call of the operator
};
MGE_API std::unique_ptr<SubgraphPrograms> compile_subgraph(const Subgraph& graph, const SubgraphUse& use,
                                                           Specs inputs, const PrepareContext& context);

// Borrows a program for the life of the object.
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
