// SPDX-License-Identifier: Apache-2.0
#include "libmge/graph/symbolic/symbolic_values.h"

#include <algorithm>
#include <cmath>
#include <unordered_map>
#include <utility>

#include "libmge/ops/create/full.h"
#include "libmge/ops/elementwise/arithmetic.h"
#include "libmge/ops/elementwise/bits.h"
#include "libmge/ops/elementwise/comparison.h"
#include "libmge/ops/elementwise/convert/convert.h"
#include "libmge/ops/elementwise/where.h"
#include "libmge/ops/index/slice/slice.h"
#include "libmge/ops/index/slice/slice_items.h"
#include "libmge/ops/index/take.h"
#include "libmge/ops/reduce/cumsum.h"
#include "libmge/ops/reduce/reduce.h"
#include "libmge/ops/shape/broadcast.h"
#include "libmge/ops/shape/concat.h"
#include "libmge/ops/shape/reshape.h"
#include "libmge/ops/shape/shape_of.h"
#include "libmge/ops/shape/split.h"
#include "libmge/ops/shape/wait_for.h"
#include "libmge/tensor/dtype_dispatch.h"
#include "libmge/tensor/undecided.h"

namespace mge {
namespace {

using ExtentElements = std::vector<Extent>;

class ValueArguments {
public:
    ValueArguments(const SymbolicApplication& in, size_t count) : count(count), in_(in) {}
    const Node& node() const { return in_.node; }
    const size_t count;  // elements of the result
    size_t size() const { return in_.elements.size(); }
    DType dtype() const { return in_.outputs[0].dtype; }
    const Shape& shape(size_t i) const { return in_.shapes[i]; }
    const ExtentElements& value(size_t i) const { return *in_.elements[i]; }
    // Element of an operand that broadcasts from one element.
    const Extent& element(size_t i, size_t k) const { return value(i)[value(i).size() == 1 ? 0 : k]; }
    bool is_repeated(size_t i) const { return value(i).size() == 1 || value(i).size() == count; }
    bool is_vector(size_t i) const { return shape(i).rank() == 1; }
    // The symbol of an element, if such elements become symbols.
    Extent named(size_t i, const std::string& name, const ExtentBounds& bounds) const {
        in_.unknown(0, i);
        return Extent::symbol(name, bounds);
    }
    // The elements that f computes. The others become symbols.
    template <class F>
    ExtentElements each(F f) const {
        ExtentElements elements;
        for (size_t i = 0; i < count; ++i) {
            try {
                elements.push_back(f(i));
            } catch (const UserError&) {
                elements.push_back(in_.unknown(0, i));
            }
        }
        return elements;
    }

private:
    const SymbolicApplication& in_;
};

// Rules throw Undecidable for results that they do not know.
[[noreturn]] void throw_unknown() { throw_unknown_element(); }

// The same form for sizes that may be 0. Symbols that begin with "?" have their bounds already.
Extent with_zeros(const Extent& extent) {
    return substitute(extent, [](std::string_view name) {
        return name.starts_with('?') ? std::nullopt : std::optional(Extent::symbol(name));
    });
}

bool decided(const std::optional<bool>& answer, const std::optional<bool>& with_zeros) {
    if (!answer || answer != with_zeros) throw_unknown();
    return *answer;
}
bool are_equal(const Extent& a, const Extent& b) {
    if (a.is(b)) return true;
    if (!is_equal(a, b)) UndecidedScope::note({Undecided::Question::is_equal, a, b});
    return decided(is_equal(a, b), is_equal(with_zeros(a), with_zeros(b)));
}
bool reaches(const Extent& a, const Extent& b) {
    if (!is_at_least(a, b)) UndecidedScope::note({Undecided::Question::is_at_least, a, b});
    return decided(is_at_least(a, b), is_at_least(with_zeros(a), with_zeros(b)));
}
bool is_true(const Extent& flag) { return flag.number() != 0; }

ExtentElements extents_of_shape(const ValueArguments& in) {
    ExtentElements extents;
    int axis = in.node().as<ops::ShapeOf::Params>().axis;
    for (int i = 0; i < in.shape(0).rank(); ++i)
        if (axis == -1 || axis == i) extents.push_back(in.shape(0).extent(i));
    return extents;
}

ExtentElements same_elements(const ValueArguments& in) { return in.value(0); }

ExtentElements converted(const ValueArguments& in) {
    bool is_flag = in.dtype() == DType::boolean;
    bool is_wide = in.dtype() == DType::i32 || in.dtype() == DType::i64 || is_float(in.dtype());
    if (!is_flag && !is_wide) throw_unknown();  // it may wrap around
    if (!is_flag) return in.value(0);
    return in.each([&](size_t i) -> Extent { return !are_equal(in.value(0)[i], 0); });
}

ExtentElements repeated_element(const ValueArguments& in) {
    if (!in.is_repeated(0)) throw_unknown();
    return in.each([&](size_t i) { return in.element(0, i); });
}

ExtentElements filled(const ValueArguments& in) {
    double value = in.node().as<ops::Full::Params>().value;
    if (value != std::floor(value) || std::abs(value) > INT32_MAX) throw_unknown();
    return ExtentElements(in.count, int64_t(value));
}

ExtentElements joined(const ValueArguments& in) {
    ExtentElements all;
    for (size_t i = 0; i < in.size(); ++i) {
        if (!in.is_vector(i)) throw_unknown();
        all.insert(all.end(), in.value(i).begin(), in.value(i).end());
    }
    return all;
}

// The places of a vector that basic indexing names. The inputs from `first` on are bounds.
std::vector<size_t> places_of_slice(const ValueArguments& in, size_t first) {
    if (!in.is_vector(0)) throw_unknown();
    IntList numbers;
    for (size_t i = first; i < in.size(); ++i)
        for (const Extent& bound : in.value(i)) numbers.push_back(bound.number());
    Tensor bounds =
        tensor_from_host({DType::i64, {int64_t(numbers.size())}, {}}, numbers.data(), host_device);
    std::string_view who = in.node().op->name;
    auto items = ops::resolve_items(who, in.node().as<ops::Slice::Params>().items, {&bounds, 1});
    auto range = ops::ranges_of(who, items, in.shape(0)).front();
    std::vector<size_t> places;
    for (int64_t i = 0; i < range.count; ++i) places.push_back(size_t(range.first + i * range.step));
    return places;
}

ExtentElements sliced(const ValueArguments& in) {
    ExtentElements elements;
    for (size_t place : places_of_slice(in, 1)) elements.push_back(in.value(0)[place]);
    return elements;
}

ExtentElements slice_changed(const ValueArguments& in) {
    auto places = places_of_slice(in, 2);
    if (in.value(1).size() != 1 && in.value(1).size() != places.size()) throw_unknown();
    ExtentElements elements = in.value(0);
    for (size_t i = 0; i < places.size(); ++i) elements[places[i]] = in.element(1, i);
    return elements;
}

// The element of a vector that an index names.
size_t place_of(const Extent& index, size_t count) {
    int64_t i = index.number() < 0 ? index.number() + int64_t(count) : index.number();
    if (i < 0 || i >= int64_t(count)) throw_unknown();
    return size_t(i);
}

ExtentElements taken(const ValueArguments& in) {
    if (!in.is_vector(0) || in.size() != 2) throw_unknown();
    return in.each([&](size_t i) { return in.value(0)[place_of(in.value(1)[i], in.value(0).size())]; });
}

ExtentElements changed(const ValueArguments& in) {
    if (!in.is_vector(0) || in.size() != 3) throw_unknown();
    auto &values = in.value(1), &places = in.value(2);
    if (values.size() != 1 && values.size() != places.size()) throw_unknown();
    ExtentElements elements = in.value(0);
    for (size_t i = 0; i < places.size(); ++i)
        elements[place_of(places[i], elements.size())] = in.element(1, i);
    return elements;
}

template <Extent (*F)(const Extent&)>
ExtentElements each_element(const ValueArguments& in) {
    return in.each([&](size_t i) { return F(in.value(0)[i]); });
}

template <Extent (*F)(const Extent&, const Extent&)>
ExtentElements elementwise(const ValueArguments& in) {
    if (!in.is_repeated(0) || !in.is_repeated(1)) throw_unknown();
    return in.each([&](size_t i) { return F(in.element(0, i), in.element(1, i)); });
}

// The name of an undecided a == b.
std::string equality_name(const Extent& a, const Extent& b) {
    std::string first = text(a), second = text(b);
    if (second < first) std::swap(first, second);
    return text("?equal(", first, ", ", second, ')');
}

ExtentElements equalities(const ValueArguments& in) {
    if (!in.is_repeated(0) || !in.is_repeated(1)) throw_unknown();
    return in.each([&](size_t i) -> Extent {
        auto &a = in.element(0, i), &b = in.element(1, i);
        try {
            return are_equal(a, b);
        } catch (const Undecidable&) {
            return in.named(i, equality_name(a, b), {.lower = 0, .upper = 1});
        }
    });
}

// The second choice is the result of where(a == b, a, b), of where(k*a == 0, a, k*a), and of
// where(s == 1, a, b) if both are the same at s = 1.
bool is_second_choice(const Extent& mask, const Extent& a, const Extent& b) {
    if (a.is(b)) return true;
    if (mask.is_number()) return false;
    const std::string name = text(mask);
    if (name == equality_name(a, b)) return true;
    if (auto k = exact_quotient(b, a); k && k->is_number() && name == equality_name(b, 0)) return true;
    for (auto& symbol : symbols_of(b)) {
        auto one = [&](std::string_view other) {
            return other == symbol ? std::optional<Extent>(1) : std::nullopt;
        };
        if (name == equality_name(Extent::symbol(symbol), 1) && substitute(a, one).is(substitute(b, one)))
            return true;
    }
    return false;
}

ExtentElements chosen(const ValueArguments& in) {
    for (size_t i = 0; i < 3; ++i)
        if (!in.is_repeated(i)) throw_unknown();
    return in.each([&](size_t i) {
        auto &mask = in.element(0, i), &a = in.element(1, i), &b = in.element(2, i);
        return !is_second_choice(mask, a, b) && is_true(mask) ? a : b;
    });
}

template <Extent (*F)(const Extent&, const Extent&)>
ExtentElements reduced_elements(const ValueArguments& in) {
    if (in.count != 1 || in.value(0).empty()) throw_unknown();
    Extent result = in.value(0)[0];
    for (size_t i = 1; i < in.value(0).size(); ++i) result = F(result, in.value(0)[i]);
    return {result};
}

ExtentElements running_sums(const ValueArguments& in) {
    if (!in.is_vector(0)) throw_unknown();
    ExtentElements sums;
    for (const Extent& extent : in.value(0)) sums.push_back(sums.empty() ? extent : sums.back() + extent);
    return sums;
}

// The remainder of real numbers has the sign of the dividend.
template <Extent (*F)(const Extent&, const Extent&)>
ExtentElements elementwise_of_integers(const ValueArguments& in) {
    if (!is_int(in.dtype())) throw_unknown();
    return elementwise<F>(in);
}

Extent sum_of(const Extent& a, const Extent& b) { return a + b; }
Extent difference_of(const Extent& a, const Extent& b) { return a - b; }
Extent product_of(const Extent& a, const Extent& b) { return a * b; }
Extent quotient_of(const Extent& a, const Extent& b) {
    if (b.is(0)) throw_unknown();
    if (auto exact = exact_quotient(a, b)) return *exact;
    return floor_div(a, b);
}
// The quotient of real numbers, if it is whole.
Extent whole_quotient_of(const Extent& a, const Extent& b) {
    auto exact = exact_quotient(a, b);
    if (!exact) throw_unknown();
    return *exact;
}
Extent remainder_of(const Extent& a, const Extent& b) {
    if (b.is(0)) throw_unknown();
    return a - b * quotient_of(a, b);
}
// Throw if only sizes of 0 decide otherwise.
Extent larger_of(const Extent& a, const Extent& b) {
    Extent larger = max_of(a, b);
    if (!a.is(b) && (larger.is(a) || larger.is(b))) reaches(a, b);
    return larger;
}
Extent smaller_of(const Extent& a, const Extent& b) {
    Extent smaller = min_of(a, b);
    if (!a.is(b) && (smaller.is(a) || smaller.is(b))) reaches(a, b);
    return smaller;
}
Extent negative_of(const Extent& a) { return -a; }
Extent absolute_of(const Extent& a) { return reaches(a, 0) ? a : reaches(0, a) ? -a : (throw_unknown(), a); }
Extent opposite_of(const Extent& flag) { return !is_true(flag); }
Extent unchanged(const Extent& a) { return a; }

Extent inequality(const Extent& a, const Extent& b) { return !are_equal(a, b); }
Extent at_least(const Extent& a, const Extent& b) { return reaches(a, b); }
Extent at_most(const Extent& a, const Extent& b) { return reaches(b, a); }
Extent above(const Extent& a, const Extent& b) { return !reaches(b, a); }
Extent below(const Extent& a, const Extent& b) { return !reaches(a, b); }
Extent both(const Extent& a, const Extent& b) {
    if (a.is(0) || b.is(0)) return 0;
    return a.is(1) ? b : b.is(1) ? a : Extent(is_true(a) && is_true(b));
}
Extent either(const Extent& a, const Extent& b) { return 1 - both(1 - a, 1 - b); }

using ValueRule = ExtentElements (*)(const ValueArguments&);
ValueRule find_rule(const OpInfo* op) {
    static const std::unordered_map<const OpInfo*, ValueRule> rules{
        {&ops::ShapeOf::info, extents_of_shape},
        {&ops::Convert::info, converted},
        {&ops::Copy::info, same_elements},
        {&ops::WaitFor::info, same_elements},
        {&ops::BroadcastTo::info, repeated_element},
        {&ops::BroadcastLike::info, repeated_element},
        {&ops::Full::info, filled},
        {&ops::Concat::info, joined},
        {&ops::Slice::info, sliced},
        {&ops::SetSlice::info, slice_changed},
        {&ops::Take::info, taken},
        {&ops::SetTake::info, changed},
        {&ops::Where::info, chosen},
        {&ops::Add::info, elementwise<sum_of>},
        {&ops::Sub::info, elementwise<difference_of>},
        {&ops::Mul::info, elementwise<product_of>},
        {&ops::Div::info, elementwise<whole_quotient_of>},
        {&ops::FloorDiv::info, elementwise<quotient_of>},
        {&ops::Mod::info, elementwise_of_integers<remainder_of>},
        {&ops::Maximum::info, elementwise<larger_of>},
        {&ops::Minimum::info, elementwise<smaller_of>},
        {&ops::Neg::info, each_element<negative_of>},
        {&ops::Abs::info, each_element<absolute_of>},
        {&ops::Floor::info, each_element<unchanged>},
        {&ops::Ceil::info, each_element<unchanged>},
        {&ops::Round::info, each_element<unchanged>},
        {&ops::RoundToEven::info, each_element<unchanged>},
        {&ops::Equal::info, equalities},
        {&ops::NotEqual::info, elementwise<inequality>},
        {&ops::GreaterEqual::info, elementwise<at_least>},
        {&ops::LessEqual::info, elementwise<at_most>},
        {&ops::Greater::info, elementwise<above>},
        {&ops::Less::info, elementwise<below>},
        {&ops::LogicalAnd::info, elementwise<both>},
        {&ops::LogicalOr::info, elementwise<either>},
        {&ops::LogicalNot::info, each_element<opposite_of>},
        {&ops::Cumsum::info, running_sums},
        {&ops::Sum::info, reduced_elements<sum_of>},
        {&ops::Prod::info, reduced_elements<product_of>},
    };
    auto found = rules.find(op);
    if (found != rules.end()) return found->second;
    return op->traits.view ? same_elements : nullptr;
}

bool may_be_whole(DType dtype) {
    return is_int(dtype) || dtype == DType::boolean || dtype == DType::f32 || dtype == DType::f64;
}

// The number of elements of a small tensor.
std::optional<size_t> small_count(const TensorSpec& spec) {
    if (!may_be_whole(spec.dtype) || !spec.shape.is_known() || spec.shape.has_symbols()) return std::nullopt;
    int64_t count = spec.numel();
    return count <= known_value_limit ? std::optional(size_t(count)) : std::nullopt;
}

std::vector<ExtentList> split_elements(const SymbolicApplication& in) {
    std::vector<ExtentList> parts(in.outputs.size());
    auto& whole = in.elements[0];
    if (in.shapes[0].rank() != 1 || !whole) return parts;
    size_t from = 0;
    for (size_t i = 0; i < parts.size(); ++i) {
        auto count = small_count(in.outputs[i]);
        if (!count || from + *count > whole->size()) return parts;
        auto begin = whole->begin() + ptrdiff_t(from);
        parts[i] = ExtentElements(begin, begin + ptrdiff_t(*count));
        from += *count;
    }
    return parts;
}

// The operand beyond the first is an example, or the shape of the result.
bool reads_first_value(const OpInfo* op) {
    return op->traits.view || op == &ops::BroadcastLike::info || op == &ops::WaitFor::info ||
           op == &ops::BroadcastTo::info;
}

}  // namespace

void throw_unknown_element() { throw Undecidable("the value of an operator is unknown"); }

ExtentList extents_of(const Tensor& constant) {
    if (!constant || !small_count(constant.spec())) return std::nullopt;
    ExtentElements extents;
    bool is_whole = true;
    dispatch_dtype(constant.dtype(), AllTypes{}, [&]<class T>(std::type_identity<T>) {
        auto* data = constant.data<T>();
        for (int64_t i = 0; i < constant.spec().numel() && is_whole; ++i) {
            constexpr double most = 1e15;  // whole numbers are exact
            auto value = double(ComputedAs<T>(data[i]));
            if constexpr (std::is_integral_v<T>)
                is_whole = Extent::from_raw(int64_t(data[i])).is_number();  // no handle
            else
                is_whole = std::abs(value) <= most && value == std::floor(value);
            if (is_whole) extents.emplace_back(int64_t(ComputedAs<T>(data[i])));
        }
    });
    return is_whole ? ExtentList(std::move(extents)) : std::nullopt;
}

Tensor constant_of(const std::vector<Extent>& elements, const TensorSpec& spec) {
    if (!std::ranges::all_of(elements, &Extent::is_number)) return {};
    Tensor constant = empty_tensor(spec, host_device);
    dispatch_dtype(spec.dtype, AllTypes{}, [&]<class T>(std::type_identity<T>) {
        auto* data = constant.data<T>();
        for (const Extent& extent : elements) *data++ = T(ComputedAs<T>(extent.number()));
    });
    return constant;
}

std::vector<ExtentList> symbolic_outputs(const SymbolicApplication& in) {
    std::vector<ExtentList> unknown(in.outputs.size());
    auto* op = in.node.op;
    if (op == &ops::Split::info) return split_elements(in);
    ValueRule rule = in.outputs.size() == 1 ? find_rule(op) : nullptr;
    auto count = rule ? small_count(in.outputs[0]) : std::nullopt;
    if (!count) return unknown;
    size_t needed = reads_first_value(op) ? 1 : op == &ops::Full::info ? 0 : in.elements.size();
    for (size_t i = 0; i < needed; ++i)
        if (!in.elements[i] && !op->traits.reads_only_specs) return unknown;
    try {
        return {rule({in, *count})};
    } catch (const UserError&) {
        return unknown;
    }
}

}  // namespace mge
