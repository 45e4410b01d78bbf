// SPDX-License-Identifier: Apache-2.0
#include "libmge/model/export/onnx/site.h"

#include <algorithm>

#include "libmge/device/device.h"
#include "libmge/graph/origins.h"
#include "libmge/model/onnx_dtypes.h"
#include "libmge/op/apply.h"
#include "libmge/tensor/narrow.h"

namespace mge::to_onnx {
namespace {

// Larger ones are equal too seldom to be compared.
constexpr size_t small_bytes = 64;

// Graphs inside of an operator read names outside of them.
void add_reads(const NodeRecord& node, std::set<Operand>& read) {
    read.insert(node.inputs.begin(), node.inputs.end());
    for (auto& attribute : node.attributes)
        if (auto* graph = std::get_if<std::shared_ptr<GraphRecord>>(&attribute.value))
            for (auto& inner : (*graph)->nodes) add_reads(inner, read);
}

ValueRecord describe(const std::string& name, const TensorSpec& spec) {
    ValueRecord record{name, spec.dtype, spec.shape.is_known(), {}};
    for (int axis = 0; axis < spec.shape.rank(); ++axis) {
        Extent extent = spec.shape.extent(axis);
        record.extents.push_back({extent.is_number() ? extent.number() : -1, {}});
    }
    return record;
}

}  // namespace

int type_number(DType dtype) {
    auto row = std::ranges::find(onnx_dtypes, dtype, &OnnxDType::dtype);
    // ONNX packs narrower elements, tensors have one in each byte.
    const bool is_packed = is_narrow(dtype) && narrow_width(dtype) < 8;
    return row == std::end(onnx_dtypes) || is_packed ? 0 : row->number;
}

Tensor integer_tensor(const IntList& values) {
    Tensor result = empty_tensor({DType::i64, {int64_t(values.size())}, {}}, host_device);
    std::ranges::copy(values, result.data<int64_t>());
    return result;
}

Tensor number_tensor(double value, DType dtype) {
    Tensor result;
    if (dtype == DType::f64) {
        result = empty_tensor({dtype, {}, {}}, host_device);
        *result.data<double>() = value;
    } else if (is_float(dtype)) {
        result = empty_tensor({DType::f32, {}, {}}, host_device);
        *result.data<float>() = float(value);
    } else {
        result = integer_tensor({int64_t(value)}).with_shape({});
    }
    return result.dtype() == dtype ? result : convert_dtype(result, dtype);
}

IntList integers_of(const Tensor& tensor) {
    Tensor wide = tensor.dtype() == DType::i64 ? tensor : convert_dtype(tensor, DType::i64);
    return {wide.data<int64_t>(), wide.data<int64_t>() + wide.spec().numel()};
}

// --- GraphWriter ---

std::string GraphWriter::unique(const std::string& name) {
    std::string result = name;
    while (!names_->taken.insert(result).second) result = text(name, '_', ++names_->counts[name]);
    return result;
}

Operands GraphWriter::emit(const std::string& type, Operands inputs, Attributes attributes, size_t outputs) {
    NodeRecord node{type, {}, std::move(inputs), {}, std::move(attributes)};
    for (size_t i = 0; i < outputs; ++i) node.outputs.push_back(unique(type));
    while (!node.inputs.empty() && node.inputs.back().empty()) node.inputs.pop_back();
    record.nodes.push_back(std::move(node));
    return record.nodes.back().outputs;
}

Operand GraphWriter::constant(const Tensor& value, const std::string& name) {
    std::string content;
    if (value.spec().bytes() <= small_bytes) {
        content = text(value.spec(), ':');
        content.append(static_cast<const char*>(value.data()), value.spec().bytes());
        if (auto found = small_constants_.find(content); found != small_constants_.end())
            return found->second;
    }
    record.initialisers.emplace_back(unique(name), value);
    if (!content.empty()) small_constants_[content] = record.initialisers.back().first;
    return record.initialisers.back().first;
}

void GraphWriter::reshape_constant(const Operand& name, const Shape& shape) {
    auto found = std::ranges::find(record.initialisers, name, [](auto& constant) { return constant.first; });
    found->second = found->second.with_shape(shape);
}

Operand GraphWriter::wide_form(const Operand& narrow) const {
    auto found = wide_forms_.find(narrow);
    return found == wide_forms_.end() ? Operand() : found->second;
}

void GraphWriter::rename(size_t first, const Operand& from, const std::string& to) {
    bool is_made = false;
    for (size_t i = first; i < record.nodes.size(); ++i) {
        auto& node = record.nodes[i];
        is_made |= std::ranges::find(node.outputs, from) != node.outputs.end();
        if (!is_made) continue;
        std::ranges::replace(node.inputs, from, to);
        std::ranges::replace(node.outputs, from, to);
    }
    if (!is_made) {
        record.nodes.push_back({"Identity", {}, {from}, {to}, {}});
        if (Operand wide = wide_form(from); !wide.empty()) wide_forms_[to] = wide;
        return;
    }
    auto replace = [&](Operand& operand) {
        if (operand == from) operand = to;
    };
    for (auto& [narrow, wide] : wide_forms_) replace(wide);
    if (auto found = wide_forms_.extract(from)) {
        found.key() = to;
        wide_forms_.insert(std::move(found));
    }
}

void GraphWriter::name_nodes(size_t first, const std::string& name, const Operand& result) {
    for (size_t i = first; i < record.nodes.size(); ++i) {
        auto& node = record.nodes[i];
        bool is_last = std::ranges::find(node.outputs, result) != node.outputs.end();
        node.name = is_last ? name : text(name, '/', node.type, '_', i - first);
    }
}

Operand GraphWriter::add_input(const std::string& name, const TensorSpec& spec) {
    record.inputs.push_back(describe(unique(name), spec));
    return record.inputs.back().name;
}

void GraphWriter::add_output(const Operand& operand, const TensorSpec& spec) {
    record.outputs.push_back(describe(copied(operand), spec));
}

Operand GraphWriter::copied(const Operand& operand) {
    Operand copy = unique(operand);
    record.nodes.push_back({"Identity", copy, {operand}, {copy}, {}});
    return copy;
}

GraphRecord GraphWriter::finish() {
    std::set<Operand> read;
    for (auto& output : record.outputs) read.insert(output.name);
    std::vector<NodeRecord> kept;
    for (size_t i = record.nodes.size(); i-- > 0;) {
        auto& node = record.nodes[i];
        if (!std::ranges::any_of(node.outputs, [&](auto& name) { return read.contains(name); })) continue;
        add_reads(node, read);
        kept.push_back(std::move(node));
    }
    std::ranges::reverse(kept);
    record.nodes = std::move(kept);
    std::erase_if(record.initialisers, [&](auto& constant) { return !read.contains(constant.first); });
    return std::move(record);
}

// --- Site ---

std::string Site::label() const { return node_label(graph_, node); }

void Site::require_opset(int least) const {
    if (opset() < least) unsupported("it needs operator set ", least, ", but ", opset(), " is requested");
}

Operands Site::all(size_t from) const {
    Operands result;
    for (size_t i = from; i < size(); ++i) result.push_back(in(i));
    return result;
}

int Site::rank(size_t i) const {
    if (!spec(i).shape.is_known()) unsupported("an input whose rank is known only at run time");
    return spec(i).shape.rank();
}

int Site::out_rank(size_t i) const {
    if (!out(i).shape.is_known()) unsupported("a result whose rank is known only at run time");
    return out(i).shape.rank();
}

int64_t Site::extent(size_t i, int axis) const {
    auto result = shapes.extent(id(i), axis);
    if (!result) unsupported("size ", axis, " of an input is known only at run time");
    return *result;
}

Shape Site::fixed_shape_of(ValueId id) const {
    auto result = shapes.fixed(id);
    if (!result) unsupported("a shape that is known only at run time");
    return *result;
}

Operand Site::number(double value, DType dtype) { return constant(number_tensor(value, dtype)); }
Operand Site::integers(const IntList& values) { return constant(integer_tensor(values)); }
Operand Site::integer(int64_t value) { return constant(integer_tensor({value}).with_shape({})); }

Operand Site::reshaped(size_t i, const Shape& shape) {
    if (spec(i).shape == shape) return in(i);
    Tensor value = constant_of(i);
    if (!value) return reshape(in(i), {shape.begin(), shape.end()});
    // A named constant with one reader gets the form that this one reads. An unnamed one may represent equal
    // constants of other readers.
    if (uses_[size_t(id(i))] > 1 || graph_.value(id(i)).name.empty())
        return writer_.constant(value.with_shape(shape), in(i));
    writer_.reshape_constant(in(i), shape);
    return in(i);
}

Operand Site::cast(const Operand& x, DType dtype) { return emit("Cast", {x}, {{"to", type_number(dtype)}}); }

Operand Site::reshape(const Operand& x, const IntList& shape) {
    Attributes attributes;
    if (std::ranges::find(shape, 0) != shape.end()) {
        require_opset(14);
        attributes.push_back({"allowzero", 1});
    }
    return emit("Reshape", {x, integers(shape)}, attributes);
}

Operand Site::transpose(const Operand& x, const IntList& pattern) {
    if (std::ranges::is_sorted(pattern)) return x;
    return emit("Transpose", {x}, {{"perm", pattern}});
}

Operand Site::unsqueeze(const Operand& x, const IntList& axes) {
    return axes.empty() ? x : emit_with("Unsqueeze", x, "axes", axes)[0];
}
Operand Site::squeeze(const Operand& x, const IntList& axes) {
    return axes.empty() ? x : emit_with("Squeeze", x, "axes", axes)[0];
}

// They became inputs.
Operands Site::emit_with(const std::string& onnx_type, const Operand& x, const char* name,
                         const IntList& numbers, Attributes attributes, size_t outputs) {
    if (opset() >= 13) return emit_many(onnx_type, {x, integers(numbers)}, attributes, outputs);
    attributes.push_back({name, numbers});
    return emit_many(onnx_type, {x}, attributes, outputs);
}

// Before operator set 14 not of integers below four bytes: those of int32 wrap around alike.
Operand Site::arithmetic(const std::string& onnx_type, const Operand& a, const Operand& b, DType of) {
    if (opset() >= 14 || is_float(of) || size_of(of) >= 4) return emit(onnx_type, {a, b});
    return cast(emit(onnx_type, {cast(a, DType::i32), cast(b, DType::i32)}), of);
}

// Before operator set 12 of real numbers only.
Operand Site::extreme(const std::string& onnx_type, const Operand& a, const Operand& b, DType of) {
    if (opset() >= 12 || is_float(of)) return emit(onnx_type, {a, b});
    Operand is_first = emit(onnx_type == "Max" ? "Greater" : "Less", {a, b});
    return emit("Where", {is_first, a, b});
}

// Its operator came with set 12.
Operand Site::at_least(const Operand& a, const Operand& b) {
    if (opset() >= 12) return emit("GreaterOrEqual", {a, b});
    return emit("Or", {emit("Greater", {a, b}), emit("Equal", {a, b})});
}

Operand Site::narrowed(const Operand& wide) {
    Operand result = cast(wide, DType::i32);
    writer_.note_wide_form(result, wide);
    return result;
}

Operand Site::wide(size_t i) {
    if (Tensor value = known(i))
        return constant(value.dtype() == DType::i64 ? value : convert_dtype(value, DType::i64));
    if (dtype(i) == DType::i64) return in(i);
    Operand known_form = writer_.wide_form(in(i));
    return known_form.empty() ? cast(in(i), DType::i64) : known_form;
}

Operand Site::shape_operand(ValueId id, const Operand& value) {
    if (auto shape = shapes.fixed(id)) return integers({shape->begin(), shape->end()});
    return emit("Shape", {value});
}

Operand Site::expanded(const Operand& x, ValueId x_id, ValueId like, const Operand& dynamic_shape) {
    if (shapes.is_same(x_id, like)) return x;
    auto &from = graph_.value(x_id).spec.shape, &to = graph_.value(like).spec.shape;
    IntList target;
    for (int i = 0; i < to.rank(); ++i) {
        auto extent = shapes.extent(like, i);
        int own = i - to.rank() + from.rank();
        // A size of 1 in the target keeps that of x.
        if (!extent && own >= 0 && from.is_known() && shapes.is_same_extent(x_id, own, like, i)) extent = 1;
        if (extent) target.push_back(*extent);
    }
    if (to.is_known() && int(target.size()) == to.rank()) return emit("Expand", {x, integers(target)});
    if (dynamic_shape.empty()) unsupported("a shape that is known only at run time");
    return emit("Expand", {x, dynamic_shape});
}

}  // namespace mge::to_onnx
