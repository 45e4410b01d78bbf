// SPDX-License-Identifier: Apache-2.0
#pragma once
// Turns the struct of an operator into an OpInfo. The build writes this line for each operator of ours; an
// operator of another library has it in a source.
//
//     constinit const OpInfo Softmax::info = define<Softmax>();
//
// A struct that lacks a member does not compile; one without `gradient` must have `stops_gradient = true`.

#include <algorithm>
#include <concepts>
#include <cstring>

#include "libmge/op/apply.h"
#include "libmge/op/op.h"

namespace mge {

template <class O>
concept OpDefinition = requires(const typename O::Params& p, Specs in) {
    {std::string_view(O::name)};
    {std::string_view(O::doc)};
    { O::inputs.size() } -> std::convertible_to<size_t>;
    {erase_fields(O::fields)};
    { O::infer(p, in) } -> std::same_as<TensorSpecs>;
};
template <class O>
concept Differentiable = requires(const GradientContext<typename O::Params>& g) {
    { O::gradient(g) } -> std::same_as<Tensors>;
};
template <class O>
concept StopsGradient = requires {
    requires O::stops_gradient;
};
template <class O>
concept Resolvable = requires(const typename O::Params& p, std::span<const Tensor> values) {
    { O::resolve(p, values) } -> std::same_as<typename O::Params>;
};
template <class O>
concept NamesOutputs = requires {
    { O::outputs.size() } -> std::convertible_to<size_t>;
};
template <class O>
concept HasTraits = requires {
    { O::traits } -> std::convertible_to<OpTraits>;
};
template <class O>
concept HasInPlace = requires {
    { O::in_place.size() } -> std::convertible_to<size_t>;
};

template <class O>
struct ErasedFields {
    static constexpr auto list = erase_fields(O::fields);
};

template <class O>
concept HasVersion = requires {
    { O::version } -> std::convertible_to<int>;
};

template <class O>
concept Moves = requires(const typename O::Params& p) {
    { O::place(p) } -> std::same_as<DeviceId>;
};

template <class O>
concept MayBePartOfInput = requires(const typename O::Params& p, const TensorSpec& input) {
    { O::part_of_input(p, input) } -> std::same_as<std::optional<int64_t>>;
};

template <class O>
concept Upgrades = requires(ParamMap& params) {
    O::upgrade(1, params);
};

// Optional facts: facts.h.
template <class O>
concept CountsOperations = requires(const typename O::Params& p, Specs specs) {
    { O::operations(p, specs, specs) } -> std::convertible_to<std::optional<double>>;
};
template <class O>
concept HasFootprint = requires(const typename O::Params& p, Specs specs) {
    { O::footprint(p, specs, specs) } -> std::same_as<Footprint>;
};
template <class O>
concept HasBatchIndependence = requires(const typename O::Params& p, Specs specs) {
    { O::batch_independence(p, specs, specs) } -> std::same_as<std::optional<BatchIndependence>>;
};
template <class O>
concept HasShapesOfItems = requires(const Shape& x, const Extent& count) {
    { O::shapes_of_items(x, count) } -> std::same_as<std::vector<Shape>>;
};
template <class O>
concept HasEpilogue = requires {
    { O::epilogue } -> std::convertible_to<const Epilogue&>;
};
template <class O>
concept HasLayouts = requires {
    { O::layouts } -> std::convertible_to<const ImageLayouts&>;
};
template <class O>
concept HasPhysicalForm = requires(const typename O::Params& p, const Layout& layout, Specs specs) {
    { O::physical_form(p, layout, specs, specs) } -> std::same_as<std::optional<PhysicalForm>>;
};
template <class O>
concept TakesDTypes = requires {
    { O::takes } -> std::convertible_to<DTypes>;
};
template <class O>
concept HasAutocast = requires {
    { O::autocast } -> std::convertible_to<Autocast>;
};

template <class O>
constexpr void add_facts(OpInfo& info) {
    using P = typename O::Params;
    if constexpr (CountsOperations<O>)
        info.operations = +[](const void* p, Specs in, Specs out) -> std::optional<double> {
            return O::operations(*static_cast<const P*>(p), in, out);
        };
    if constexpr (HasFootprint<O>)
        info.footprint = +[](const void* p, Specs in, Specs out) {
            return O::footprint(*static_cast<const P*>(p), in, out);
        };
    if constexpr (HasBatchIndependence<O>)
        info.batch_independence = +[](const void* p, Specs in, Specs out) {
            return O::batch_independence(*static_cast<const P*>(p), in, out);
        };
    if constexpr (HasShapesOfItems<O>) info.shapes_of_items = &O::shapes_of_items;
    if constexpr (HasEpilogue<O>) info.epilogue = &O::epilogue;
    if constexpr (HasLayouts<O>) info.layouts = &O::layouts;
    if constexpr (HasPhysicalForm<O>)
        info.physical_form = +[](const void* p, const Layout& layout, Specs in, Specs out) {
            return O::physical_form(*static_cast<const P*>(p), layout, in, out);
        };
    if constexpr (TakesDTypes<O>) info.takes = O::takes;
    if constexpr (HasAutocast<O>) info.autocast = O::autocast;
}

// Numbers are equal if their bits are: NaN to itself, but 0 not to -0, with which an operator may compute
// something else.
template <class T>
bool is_same_param(const T& a, const T& b) {
    if constexpr (std::is_floating_point_v<T>)
        return std::memcmp(&a, &b, sizeof a) == 0;
    else if constexpr (std::is_same_v<T, FloatList>)
        return std::ranges::equal(a, b, is_same_param<double>);
    else
        return a == b;
}
template <class O>
bool are_equal_params(const void* a, const void* b) {
    auto &x = *static_cast<const typename O::Params*>(a), &y = *static_cast<const typename O::Params*>(b);
    return std::apply(
        [&](auto... f) { return (is_same_param(x.*(decltype(f)::member), y.*(decltype(f)::member)) && ...); },
        O::fields);
}
template <class O>
uint64_t hash_params(const void* params) {
    auto& p = *static_cast<const typename O::Params*>(params);
    uint64_t seed = 0;
    std::apply([&](auto... f) { ((seed = hash_mix(seed, hash_param(p.*(decltype(f)::member)))), ...); },
               O::fields);
    return seed;
}
template <class O>
constexpr ParamsType params_type() {
    using P = typename O::Params;
    return {+[]() -> std::shared_ptr<void> { return std::make_shared<P>(); },
            +[](const void* p) -> std::shared_ptr<const void> {
                return std::make_shared<P>(*static_cast<const P*>(p));
            },
            &are_equal_params<O>, &hash_params<O>};
}

// O::infer with checks, compiled once for all operators.
[[gnu::noinline]] inline TensorSpecs infer_checked(const OpInfo& op, const void* params, Specs in,
                                                   TensorSpecs (*infer)(const void* params, Specs in)) {
    check_dtypes(op, in);
    TensorSpecs out = infer(params, in);
    check_dtypes(op, out);
    return out;
}

template <OpDefinition O>
requires(Differentiable<O> || StopsGradient<O>) constexpr OpInfo define() {
    using P = typename O::Params;
    OpInfo info{};
    info.name = O::name;
    info.doc = O::doc;
    info.inputs = O::inputs;
    if constexpr (NamesOutputs<O>) info.outputs = O::outputs;
    info.fields = ErasedFields<O>::list;
    info.params = params_type<O>();
    if constexpr (HasTraits<O>) info.traits = O::traits;
    if constexpr (HasVersion<O>) info.version = O::version;
    if constexpr (HasInPlace<O>) info.in_place = O::in_place;
    info.infer = +[](const void* p, Specs in) {
        return infer_checked(
            O::info, p, in,
            +[](const void* params, Specs specs) { return O::infer(*static_cast<const P*>(params), specs); });
    };
    if constexpr (Differentiable<O>)
        info.gradient = +[](const GradientArguments& a) { return O::gradient(GradientContext<P>(a)); };
    if constexpr (Upgrades<O>) info.upgrade = &O::upgrade;
    if constexpr (Moves<O>) info.place = +[](const void* p) { return O::place(*static_cast<const P*>(p)); };
    if constexpr (MayBePartOfInput<O>)
        info.part_of_input = +[](const void* p, const TensorSpec& input) {
            return O::part_of_input(*static_cast<const P*>(p), input);
        };
    if constexpr (Resolvable<O>)
        info.resolve = +[](const void* p, std::span<const Tensor> values) -> std::shared_ptr<const void> {
            return std::make_shared<P>(O::resolve(*static_cast<const P*>(p), values));
        };
    add_facts<O>(info);
    return info;
}

}  // namespace mge
