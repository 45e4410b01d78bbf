// SPDX-License-Identifier: Apache-2.0
#pragma once
// Converts a decoded model to a graph of our operators.

#include <array>
#include <map>
#include <set>
#include <string>
#include <string_view>

#include "libmge/graph/builder.h"
#include "libmge/model/import/onnx/node_order.h"
#include "libmge/model/import/onnx/operators.h"
#include "libmge/model/import/onnx/operators/learned/texts.h"
#include "libmge/model/import/onnx/operators/many_axes.h"
#include "libmge/model/import/onnx/operators/sequences.h"
#include "libmge/model/import/onnx/shapes/growth.h"
#include "libmge/model/import/onnx/shapes/open_sizes.h"
#include "libmge/model/import/onnx/wire/weights.h"

namespace mge::onnx {

// The values of a graph by name. An inner graph can use names of the outer graph.
struct Names {
    std::map<std::string, Tensor, std::less<>> values{};
    const Names* outer = nullptr;
    // Null for an unknown name.
    const Tensor* find(std::string_view name) const;
};

// Branches by the name of their first result.
using Branches = std::set<std::string, std::less<>>;

class Importer {
public:
    // `decided`: branches that are taken according to the recorded sizes.
    Importer(const ModelRecord& record, const std::string& label, const OpenSizes& open,
             const Branches& decided);
    // ModelError that lists everything without a counterpart, or describes the fault.
    Graph build();
    // The texts of the built graph.
    TextTable take_texts();
    // Number of outputs for each output of the file that is a sequence: `y.0`, `y.1`, …
    const std::map<std::string, size_t>& sequence_lengths() const { return sequence_lengths_; }
    // Branches whose results have different ranks, or of which one has no counterpart.
    const Branches& undecided() const { return undecided_; }
    void note_undecided(const file::NodeProto& node) { undecided_.insert(node.output(0)); }
    bool is_decided(const file::NodeProto& node) const { return decided_.contains(node.output(0)); }
    // After an attempt that failed: sizes that meet more of what the operators demand; nullopt: there are
    // none, or the attempt failed for another reason.
    std::optional<OpenSizes> better_sizes();
    // Runs check that the axis has at least so many elements: better recorded sizes pass.
    void prefer_at_least(const Tensor& x, int axis, int64_t least);
    // False if other recorded sizes are preferred.
    bool meets_preferences() const { return !onnx::better_sizes(preferences_, sizes_); }
    // True if the inputs read so far have open dimensions.
    bool is_open() const { return !sizes_.empty(); }
    // Approximate memory of the results so far.
    size_t bytes() const { return growth_.made() + inferred_bytes(); }

    // The outputs of an inner graph, which sees the names around its node. Null: one of its nodes has no
    // counterpart.
    Tensors import_inner(const file::GraphProto& graph, std::span<const Tensor> inputs);
    ExternalFiles& external_files() { return files_; }
    GraphBuilder& builder() { return builder_; }
    // For the inference of an inner graph; its results are noted before it ends.
    SymbolicInference::Options symbolic_options(std::function<SymbolicValue(ValueId)> input);
    void note_inner(const SymbolicInference& inference);
    // The model's builder, or that of the inner graph that is being recorded.
    GraphBuilder& builder_at_work();
    Sequences& sequences() { return sequences_; }
    TensorsOfManyAxes& tensors_of_many_axes() { return of_many_axes_; }
    // Throws Unsupported for a sequence, an optional or a tensor with too many axes; `what` describes it.
    void require_tensor(const Tensor& value, std::string_view what) const;
    Texts& texts() { return texts_; }
    // A constant of numbers or texts.
    Tensor constant_of(const file::TensorProto& tensor);

private:
    class InnerScope;
    template <class... Args>
    [[noreturn]] void fail(const Args&... what) const;
    void read_versions();
    // `place` describes the position of the excess.
    template <class Place>
    void check_growth(const Place& place) const;
    int version_of(const std::string& domain) const;
    void add_initializers(Names& names);
    void add_sparse_initializers(const file::GraphProto& graph, Names& names);
    void add_initializer(const Initializer& weight, Names& names);
    void add_inputs(Names& names);
    Tensor add_input(const file::ValueInfoProto& info);
    SymbolicExtent extent_of_dimension(const file::ValueInfoProto& info, int axis);
    int64_t recorded_size(const SymbolicExtent& extent, int axis);
    size_t inferred_bytes() const { return inference_.bytes() + inner_bytes_; }
    void add_outputs(const Names& names);
    std::vector<std::pair<std::string, Tensor>> named_outputs(const Names& names);
    NodeOrder order_of(Names& names);
    void import_nodes(const google::protobuf::RepeatedPtrField<file::NodeProto>& nodes, Names& names);
    void import_node(const file::NodeProto& node, Names& names);
    void translate(const file::NodeProto& node, Names& names);
    Tensors translated(const file::NodeProto& node, std::span<const Tensor> inputs, Names& names);
    Tensors call_function(const file::FunctionProto& function, const file::NodeProto& node,
                          std::span<const Tensor> inputs);
    const file::FunctionProto* find_function(const file::NodeProto& node) const;
    void store(const file::NodeProto& node, const Tensors& outputs, Names& names);
    void define(Names& names, const std::string& name, const Tensor& value);
    void add_problem(const std::string& what);
    void throw_problems() const;
    std::string place(const file::NodeProto& node) const;

    const ModelRecord& record_;
    const std::string& label_;
    OpenSizes open_;
    SymbolTable symbols_;
    ExtentValues sizes_;  // for recording, by symbol
    std::set<std::string, std::less<>> dimension_names_;
    GraphBuilder builder_;
    std::map<ValueId, Shape> input_shapes_;
    size_t graphs_ = 0;  // with inner graphs, so far
    SymbolicInference inference_;
    std::vector<Guard> preferences_;
    std::vector<Guard> inner_guards_;  // demands of inner graphs, which hold only in runs that need them
    size_t inner_bytes_ = 0;
    ExternalFiles files_;
    Sequences sequences_;
    TensorsOfManyAxes of_many_axes_;
    Texts texts_;
    std::vector<std::string> text_values_;  // inputs and outputs
    std::map<std::string, size_t> sequence_lengths_;
    using FunctionName = std::array<std::string_view, 3>;  // domain, name, overload
    std::map<FunctionName, const file::FunctionProto*> functions_;
    std::map<std::string, int, std::less<>> versions_;
    // By address: a reshaped weight is the same.
    std::map<const void*, std::string> constant_names_;
    Names* names_ = nullptr;  // names of the current node
    int depth_ = 0;           // nesting depth of functions and inner graphs
    size_t translated_ = 0;   // nodes of the file, each as often as it was
    Growth growth_;
    std::string problems_;
    std::set<uint64_t> known_problems_;  // checksums: there may be as many as nodes
    size_t problem_count_ = 0, problems_looked_at_ = 0;
    const Branches& decided_;
    Branches undecided_;
};

}  // namespace mge::onnx
