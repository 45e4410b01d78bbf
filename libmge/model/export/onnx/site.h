// SPDX-License-Identifier: Apache-2.0
#pragma once
// An operator during its translation: its inputs, and functions that make ONNX nodes.

#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <string_view>

#include "libmge/graph/copy_node.h"
#include "libmge/graph/graph.h"
#include "libmge/model/export/onnx/record.h"
#include "libmge/model/export/onnx/shapes.h"
#include "libmge/model/unsupported.h"

namespace mge::to_onnx {

// A graph on its way to a record: names, each given once, and constants, equal small ones once.
class GraphWriter {
public:
    explicit GraphWriter(int opset) : opset(opset), names_(std::make_shared<Names>()) {}
    // For an inner graph of an operator: names are shared with the outer graph.
    GraphWriter(const GraphWriter& outer, std::string name) : opset(outer.opset), names_(outer.names_) {
        record.name = std::move(name);
    }
    const int opset;

    std::string unique(const std::string& name);
    // One node with as many outputs, which get generated names.
    Operands emit(const std::string& type, Operands inputs, Attributes attributes, size_t outputs);
    Operand constant(const Tensor& value, const std::string& name = "constant");
    // The initialiser of that name under another shape.
    void reshape_constant(const Operand& name, const Shape& shape);
    // An int64 operand with the values of this int32 one; empty: unknown.
    Operand wide_form(const Operand& narrow) const;
    void note_wide_form(const Operand& narrow, const Operand& wide) { wide_forms_[narrow] = wide; }

    size_t node_count() const { return record.nodes.size(); }
    // Renames a value made by a node since `first`; if there is no such node, adds a node that copies it.
    void rename(size_t first, const Operand& from, const std::string& to);
    // The nodes since `first` are the work of the operator of that name.
    void name_nodes(size_t first, const std::string& name, const Operand& result);
    Operand add_input(const std::string& name, const TensorSpec& spec);
    void add_output(const Operand& operand, const TensorSpec& spec);
    // A copy of the value under a separate name.
    Operand copied(const Operand& operand);
    // The record without nodes that no output depends on.
    GraphRecord finish();

    GraphRecord record;

private:
    struct Names {
        std::set<std::string> taken;
        std::map<std::string, int> counts;  // how often a name was wanted again
    };
    std::shared_ptr<Names> names_;
    std::map<std::string, std::string> small_constants_;  // names by content
    std::map<Operand, Operand> wide_forms_;
};

class Site {
public:
    Site(GraphWriter& writer, const Graph& graph, const Node& node, const Shapes& shapes,
         const std::vector<Operand>& names, const std::vector<int>& uses)
        : node(node), shapes(shapes), writer_(writer), graph_(graph), names_(names), uses_(uses) {}
    const Node& node;
    const Shapes& shapes;
    std::string_view type;  // type from the operator's row

    int opset() const { return writer_.opset; }
    void require_opset(int least) const;
    template <class O>
    const typename O::Params& params() const {
        return node.as<typename O::Params>();
    }

    size_t size() const { return node.inputs.size(); }
    bool has(size_t i) const { return i < node.inputs.size() && node.inputs[i] != no_value; }
    // Empty when it is absent.
    Operand in(size_t i) const { return has(i) ? names_[size_t(node.inputs[i])] : Operand(); }
    Operands all(size_t from = 0) const;
    const TensorSpec& spec(size_t i) const { return graph_.value(node.inputs.at(i)).spec; }
    const TensorSpec& out(size_t i = 0) const { return graph_.value(node.outputs.at(i)).spec; }
    ValueId id(size_t i) const { return node.inputs.at(i); }
    ValueId out_id(size_t i = 0) const { return node.outputs.at(i); }
    DType dtype(size_t i = 0) const { return spec(i).dtype; }
    // Unsupported if it is known only at run time.
    int rank(size_t i) const;
    int out_rank(size_t i = 0) const;
    // Valid for every batch size; Unsupported if it depends on the batch or is known only at run time.
    int64_t extent(size_t i, int axis) const;
    Shape fixed_shape(size_t i) const { return fixed_shape_of(id(i)); }
    bool is_read(size_t output) const {
        return output < node.outputs.size() && uses_[size_t(node.outputs[output])] > 0;
    }
    // Null if it is not a constant.
    Tensor constant_of(size_t i) const { return has(i) ? graph_.value(id(i)).constant : Tensor(); }
    // The value of an input that is known before a run, for every batch size; null if unknown.
    Tensor known(size_t i) const { return has(i) ? shapes.value(id(i)) : Tensor(); }

    Tensor known_out() const { return shapes.value(out_id()); }

    // A node with one output, or with several.
    Operand emit(const std::string& onnx_type, Operands inputs, Attributes attributes = {}) {
        return writer_.emit(onnx_type, std::move(inputs), std::move(attributes), 1)[0];
    }
    Operands emit_many(const std::string& onnx_type, Operands inputs, Attributes attributes, size_t outputs) {
        return writer_.emit(onnx_type, std::move(inputs), std::move(attributes), outputs);
    }
    Operand constant(const Tensor& value) { return writer_.constant(value); }
    Operand number(double value, DType dtype);
    // An int64 vector, and a number.
    Operand integers(const IntList& values);
    Operand integer(int64_t value);

    // An input in another shape of known sizes; a constant is written in that shape.
    Operand reshaped(size_t i, const Shape& shape);
    Operand cast(const Operand& x, DType dtype);
    // Returns x itself if it has that dtype.
    Operand cast(const Operand& x, DType from, DType to) { return from == to ? x : cast(x, to); }
    Operand reshape(const Operand& x, const IntList& shape);
    Operand transpose(const Operand& x, const IntList& pattern);
    Operand unsqueeze(const Operand& x, const IntList& axes);
    Operand squeeze(const Operand& x, const IntList& axes);
    // An operator with numbers that are an input, or in older operator sets an attribute of that name.
    Operands emit_with(const std::string& onnx_type, const Operand& x, const char* name,
                       const IntList& numbers, Attributes attributes = {}, size_t outputs = 1);
    // "Add", "Sub", "Mul" or "Div" of numbers of that dtype.
    Operand arithmetic(const std::string& onnx_type, const Operand& a, const Operand& b, DType of);
    // "Max" or "Min"; a >= b.
    Operand extreme(const std::string& onnx_type, const Operand& a, const Operand& b, DType of);
    Operand at_least(const Operand& a, const Operand& b);
    // An int32 result, made of the int64 one that ONNX has.
    Operand narrowed(const Operand& wide);
    // An integer or an integer vector (a host value of the operator, say) as int64.
    Operand wide(size_t i);
    // The shape of an input or output as int64 vector.
    Operand shape_operand(ValueId id, const Operand& value);
    Operand shape_of(size_t i) { return shape_operand(id(i), in(i)); }
    // The specs of the inputs from that index.
    TensorSpecs specs(size_t from) const {
        return specs_of(graph_, {node.inputs.begin() + ptrdiff_t(from), node.inputs.end()});
    }
    // The value repeated to the shape that the result has.
    Operand expanded(const Operand& x, ValueId x_id, ValueId like, const Operand& dynamic_shape);

    // The operator's label; and functions for operators with inner graphs.
    std::string label() const;
    GraphWriter inner_writer(std::string_view parameter) { return {writer_, text(label(), '/', parameter)}; }
    GraphWriter& writer() { return writer_; }

private:
    Shape fixed_shape_of(ValueId id) const;

    GraphWriter& writer_;
    const Graph& graph_;
    const std::vector<Operand>& names_;
    const std::vector<int>& uses_;
};

// A host tensor.
Tensor number_tensor(double value, DType dtype);
Tensor integer_tensor(const IntList& values);
IntList integers_of(const Tensor& tensor);

}  // namespace mge::to_onnx
