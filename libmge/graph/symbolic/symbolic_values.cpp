// SPDX-License-Identifier: Apache-2.0
#include "libmge/graph/symbolic/symbolic_values.h"

#include <algorithm>
#include <unordered_map>

#include "libmge/ops/elementwise/arithmetic.h"
#include "libmge/ops/elementwise/convert/convert.h"
#include "libmge/ops/index/slice/slice.h"
#include "libmge/ops/index/slice/slice_items.h"
#include "libmge/ops/index/take.h"
#include "libmge/ops/reduce/reduce.h"
#include "libmge/ops/shape/broadcast.h"
#include "libmge/ops/shape/concat.h"
#include "libmge/ops/shape/reshape.h"
#include "libmge/ops/shape/shape_of.h"
#include "libmge/ops/shape/split.h"
#include "libmge/ops/shape/wait_for.h"

namespace mge {
namespace {

using ExtentElements = std::vector<Extent>;

struct ValueArguments {
    const Node& node;
    std::span<const Shape> shapes;
    std::span<const ExtentList> values;
    size_t count;  // elements of the result

    const ExtentElements& value(size_t i) const { return *values[i]; }
    bool is_vector(size_t i) const { return shapes[i].rank() == 1; }
};

// A rule throws Undecidable for values that it does not know.
[[noreturn]] void throw_unknown() { throw Undecidable("the value of an operator is unknown"); }

ExtentElements extents_of_shape(const ValueArguments& in) {
    ExtentElements extents;
    int axis = in.node.as<ops::ShapeOf::Params>().axis;
    for (int i = 0; i < in.shapes[0].rank(); ++i)
        if (axis == -1 || axis == i) extents.push_back(in.shapes[0].extent(i));
    return extents;
}

ExtentElements same_elements(const ValueArguments& in) { return in.value(0); }

ExtentElements repeated_element(const ValueArguments& in) {
    if (in.value(0).size() == in.count) return in.value(0);
    if (in.value(0).size() != 1) throw_unknown();
    return ExtentElements(in.count, in.value(0)[0]);
}

ExtentElements joined(const ValueArguments& in) {
    ExtentElements all;
    for (size_t i = 0; i < in.values.size(); ++i) {
        if (!in.is_vector(i)) throw_unknown();
        all.insert(all.end(), in.value(i).begin(), in.value(i).end());
    }
    return all;
}

ExtentElements sliced(const ValueArguments& in) {
    if (!in.is_vector(0)) throw_unknown();
    auto range =
        ops::ranges_of(in.node.op->name, in.node.as<ops::Slice::Params>().items, in.shapes[0]).front();
    ExtentElements elements;
    for (int64_t i = 0; i < range.count; ++i)
        elements.push_back(in.value(0)[size_t(range.first + i * range.step)]);
    return elements;
}

ExtentElements taken(const ValueArguments& in) {
    if (!in.is_vector(0) || in.values.size() != 2) throw_unknown();
    ExtentElements elements;
    auto count = int64_t(in.value(0).size());
    for (const Extent& index : in.value(1)) {
        int64_t i = index.number() < 0 ? index.number() + count : index.number();
        if (i < 0 || i >= count) throw_unknown();
        elements.push_back(in.value(0)[size_t(i)]);
    }
    return elements;
}

template <Extent (*F)(const Extent&, const Extent&)>
ExtentElements elementwise(const ValueArguments& in) {
    ExtentElements elements;
    size_t a = in.value(0).size(), b = in.value(1).size();
    if ((a != in.count && a != 1) || (b != in.count && b != 1)) throw_unknown();
    for (size_t i = 0; i < in.count; ++i)
        elements.push_back(F(in.value(0)[a == 1 ? 0 : i], in.value(1)[b == 1 ? 0 : i]));
    return elements;
}

template <Extent (*F)(const Extent&, const Extent&)>
ExtentElements reduced_elements(const ValueArguments& in) {
    if (in.count != 1 || in.value(0).empty()) throw_unknown();
    Extent result = in.value(0)[0];
    for (size_t i = 1; i < in.value(0).size(); ++i) result = F(result, in.value(0)[i]);
    return {result};
}

Extent sum_of(const Extent& a, const Extent& b) { return a + b; }
Extent difference_of(const Extent& a, const Extent& b) { return a - b; }
Extent product_of(const Extent& a, const Extent& b) { return a * b; }
// Operators give 0 where the divisor is 0.
Extent quotient_of(const Extent& a, const Extent& b) {
    if (b.lower() < 1) throw_unknown();
    return floor_div(a, b);
}
Extent remainder_of(const Extent& a, const Extent& b) {
    if (b.lower() < 1) throw_unknown();
    return a % b;
}

using ValueRule = ExtentElements (*)(const ValueArguments&);
ValueRule find_rule(const OpInfo* op) {
    static const std::unordered_map<const OpInfo*, ValueRule> rules{
        {&ops::ShapeOf::info, extents_of_shape},
        {&ops::Convert::info, same_elements},
        {&ops::Copy::info, same_elements},
        {&ops::WaitFor::info, same_elements},
        {&ops::BroadcastTo::info, repeated_element},
        {&ops::BroadcastLike::info, repeated_element},
        {&ops::Concat::info, joined},
        {&ops::Slice::info, sliced},
        {&ops::Take::info, taken},
        {&ops::Add::info, elementwise<sum_of>},
        {&ops::Sub::info, elementwise<difference_of>},
        {&ops::Mul::info, elementwise<product_of>},
        {&ops::FloorDiv::info, elementwise<quotient_of>},
        {&ops::Mod::info, elementwise<remainder_of>},
        {&ops::Maximum::info, elementwise<max_of>},
        {&ops::Minimum::info, elementwise<min_of>},
        {&ops::Sum::info, reduced_elements<sum_of>},
        {&ops::Prod::info, reduced_elements<product_of>},
    };
    auto found = rules.find(op);
    if (found != rules.end()) return found->second;
    return op->traits.view ? same_elements : nullptr;
}

// The number of elements of a small tensor of integers.
std::optional<size_t> small_count(const TensorSpec& spec) {
    if (!is_int(spec.dtype) || !spec.shape.is_known() || spec.shape.has_symbols()) return std::nullopt;
    int64_t count = spec.numel();
    return count <= known_value_limit ? std::optional(size_t(count)) : std::nullopt;
}

std::vector<ExtentList> split_elements(const Node& node, std::span<const Shape> shapes,
                                       std::span<const ExtentList> values, const TensorSpecs& outputs) {
    std::vector<ExtentList> parts(node.outputs.size());
    if (shapes[0].rank() != 1 || !values[0]) return parts;
    size_t from = 0;
    for (size_t i = 0; i < parts.size(); ++i) {
        auto count = small_count(outputs[i]);
        if (!count || from + *count > values[0]->size()) return parts;
        auto begin = values[0]->begin() + ptrdiff_t(from);
        parts[i] = ExtentElements(begin, begin + ptrdiff_t(*count));
        from += *count;
    }
    return parts;
}

}  // namespace

ExtentList extents_of(const Tensor& constant) {
    if (!constant || (constant.dtype() != DType::i32 && constant.dtype() != DType::i64)) return std::nullopt;
    if (!small_count(constant.spec())) return std::nullopt;
    ExtentElements extents;
    for (int64_t number : host_values(constant)) {
        if (!Extent::from_raw(number).is_number()) return std::nullopt;
        extents.emplace_back(number);
    }
    return extents;
}

std::vector<ExtentList> symbolic_outputs(const Node& node, std::span<const Shape> shapes,
                                         std::span<const ExtentList> values, const TensorSpecs& outputs) {
    std::vector<ExtentList> none(outputs.size());
    if (node.op == &ops::Split::info) return split_elements(node, shapes, values, outputs);
    ValueRule rule = outputs.size() == 1 ? find_rule(node.op) : nullptr;
    auto count = rule ? small_count(outputs[0]) : std::nullopt;
    if (!count) return none;
    // The second input of a view is an example, if there is one.
    bool reads_first = node.op->traits.view || node.op == &ops::BroadcastLike::info ||
                       node.op == &ops::WaitFor::info || node.op == &ops::BroadcastTo::info;
    for (size_t i = 0; i < values.size(); ++i)
        if (!values[i] && !node.op->traits.reads_only_specs && (i == 0 || !reads_first)) return none;
    try {
        return {rule({node, shapes, values, *count})};
    } catch (const UserError&) {
        return none;
    }
}

}  // namespace mge
