// SPDX-License-Identifier: Apache-2.0
// A graph is inferred in rounds. Each collects what operators demand of extents; what this says about symbols
// goes into the shapes of the next round: a symbol equals a number or other symbols, or has a lower bound.
#include "libmge/graph/symbolic/symbolic_shapes.h"

#include <algorithm>
#include <cmath>
#include <set>
#include <tuple>
#include <utility>

#include "libmge/graph/infer.h"
#include "libmge/graph/symbolic/symbolic_values.h"
#include "libmge/ops/create/arange.h"
#include "libmge/ops/create/full.h"
#include "libmge/ops/index/slice/slice.h"
#include "libmge/ops/shape/broadcast.h"
#include "libmge/ops/shape/reshape.h"
#include "libmge/tensor/extent_terms.h"

namespace mge {
namespace {

// Each round solves some symbols. Symbols that are left after the last one count as unknown.
constexpr int most_rounds = 3;

// Larger forms become symbols of their own: chains of operators must not make forms of their length.
constexpr int most_factors = 64;

int factors_of(const Extent& extent) {
    if (extent.is_number()) return 0;
    int count = 0;
    for (auto& [product, k] : terms_of(extent))
        for (const ExtentAtom* atom : product) {
            count += 1 + factors_of(atom->a) + factors_of(atom->b);
            if (count > most_factors) return count;
        }
    return count;
}

// Symbols by name: those that are solved, and the bounds of the others.
class Symbols {
public:
    Extent get(const std::string& name, int64_t lower) {
        bounds_.try_emplace(name, ExtentBounds{.lower = lower});
        return find(name).value();
    }
    // Returns true if the guard says something new.
    bool learn(const Guard& guard) {
        try {
            Extent difference = up_to_date(guard.a) - up_to_date(guard.b);
            if (difference.is_number()) return false;
            if (guard.relation == Guard::Relation::equal) return learn_zero(difference);
            return guard.relation == Guard::Relation::at_least && learn_not_negative(difference);
        } catch (const UserError&) {
            return false;  // a form that has no numbers any more, or too large ones
        }
    }
    std::map<std::string, Extent, std::less<>> solved() {
        for (auto& [name, extent] : solved_) extent = up_to_date(extent);
        return solved_;
    }

private:
    // The value of a solved symbol may hold symbols that were solved later.
    std::optional<Extent> find(std::string_view name) {
        if (auto found = solved_.find(name); found != solved_.end())
            return found->second = up_to_date(found->second);
        auto bounds = bounds_.find(name);
        return bounds == bounds_.end() ? std::nullopt : std::optional(Extent::symbol(name, bounds->second));
    }
    // Symbols with other bounds are other symbols.
    Extent up_to_date(const Extent& extent) {
        return substitute(extent, [&](std::string_view name) { return find(name); });
    }
    bool learn_zero(const Extent& form) {
        if (auto number = solve(form, 0)) return set(number->name, number->value);
        if (auto other = express(form)) return set(other->name, other->value);
        return false;
    }
    bool set(const std::string& name, const Extent& value) {
        solved_.insert_or_assign(name, value);
        return true;
    }
    // form >= 0 excludes the least values of its only symbol.
    bool learn_not_negative(const Extent& form) {
        auto names = symbols_of(form);
        if (names.size() != 1) return false;
        auto bounds = bounds_.find(names[0]);
        if (bounds == bounds_.end()) return false;
        auto at = [&](int64_t value) { return evaluate(form, {{names[0], value}}); };
        constexpr int64_t most_steps = 64;
        const int64_t before = bounds->second.lower;
        while (bounds->second.lower < before + most_steps && at(bounds->second.lower) < 0)
            ++bounds->second.lower;
        return bounds->second.lower > before;
    }

    std::map<std::string, Extent, std::less<>> solved_;
    std::map<std::string, ExtentBounds, std::less<>> bounds_;
};

// The parameters of these operators hold the values of host inputs as they are, handles of extents included.
bool keeps_host_values(const OpInfo* op) {
    const OpInfo* const all[] = {&ops::Reshape::info, &ops::BroadcastTo::info, &ops::Full::info,
                                 &ops::Slice::info,   &ops::SetSlice::info,    &ops::AddSlice::info};
    return std::ranges::find(all, op) != std::end(all);
}

Tensor raw_values(const std::vector<Extent>& extents) {
    std::vector<int64_t> raw;
    for (const Extent& extent : extents) raw.push_back(extent.raw());
    return tensor_from_host({DType::i64, {int64_t(raw.size())}, {}}, raw.data(), host_device);
}

// The number of elements of a list of whole numbers, whose ends may follow from shapes.
std::optional<Extent> count_of_range(const Node& node, const std::vector<ExtentList>& values) {
    auto& p = node.as<ops::Arange::Params>();
    Extent first, last, gap;
    Extent* const numbers[] = {&first, &last, &gap};
    const double given[] = {p.start, p.stop, p.step};
    for (size_t i = 0; i < 3; ++i) {
        if (i < node.inputs.size() && node.inputs[i] != no_value) {
            if (!values[i] || values[i]->size() != 1) return std::nullopt;
            *numbers[i] = values[i]->front();
        } else {
            if (std::abs(given[i]) > INT32_MAX || given[i] != std::floor(given[i])) return std::nullopt;
            *numbers[i] = int64_t(given[i]);
        }
    }
    if (!gap.is_number() || gap.is(0)) return std::nullopt;
    return max_of(0, ceil_div(last - first, gap));
}

bool are_numbers(const std::vector<Extent>& extents) {
    return std::ranges::all_of(extents, &Extent::is_number);
}

// One round.
class SymbolicRound {
public:
    SymbolicRound(const Graph& graph, Symbols& symbols)
        : graph_(graph), symbols_(symbols), shapes_(graph.values().size()), values_(graph.values().size()) {
        for (size_t i = 0; i < shapes_.size(); ++i) start(ValueId(i));
        start_inputs();
        for (auto& node : graph.nodes()) infer(node);
    }
    std::vector<Shape> shapes() && { return std::move(shapes_); }
    const std::vector<Guard>& guards() const { return guards_; }

private:
    void start(ValueId id) {
        auto& value = graph_.value(id);
        if (value.producer >= 0) return;
        shapes_[size_t(id)] = value.spec.shape;
        if (value.is_constant()) values_[size_t(id)] = extents_of(value.constant);
    }
    void start_inputs() {
        std::set<std::string> names;
        for (ValueId id : graph_.inputs()) {
            auto& value = graph_.value(id);
            bool is_usable = !value.name.empty() && value.name[0] != '?' && names.insert(value.name).second;
            std::string name = is_usable ? value.name : text("?input ", id);
            for (int axis = 0; axis < value.spec.shape.rank(); ++axis)
                shapes_[size_t(id)].set(
                    axis, symbols_.get(text(name, '.', axis), std::min<int64_t>(value.spec.shape[axis], 1)));
        }
    }

    void infer(const Node& node) {
        TensorSpecs inputs, outputs;
        std::vector<Shape> shapes;
        std::vector<ExtentList> values;
        for (ValueId id : node.inputs) {
            bool is_given = id != no_value;
            inputs.push_back(is_given ? TensorSpec{graph_.value(id).spec.dtype, shapes_[size_t(id)], {}}
                                      : TensorSpec{});
            shapes.push_back(inputs.back().shape);
            values.push_back(is_given ? values_[size_t(id)] : std::nullopt);
        }
        outputs = infer_outputs(node, inputs, values);
        for (size_t i = 0; i < outputs.size(); ++i) shapes_[size_t(node.outputs[i])] = outputs[i].shape;
        auto computed = symbolic_outputs(node, shapes, values, outputs);
        for (size_t i = 0; i < computed.size(); ++i)
            values_[size_t(node.outputs[i])] = std::move(computed[i]);
    }

    TensorSpecs infer_outputs(const Node& node, const TensorSpecs& inputs,
                              const std::vector<ExtentList>& values) {
        size_t plain = node.op->plain_inputs(inputs.size());
        bool is_known = !node.op->traits.runtime_shape;
        for (size_t i = 0; i < plain; ++i)
            is_known = is_known && (inputs[i].is_absent() || inputs[i].shape.is_known());
        if (!is_known) return recorded(node, false);
        try {
            if (auto count = node.op == &ops::Arange::info ? count_of_range(node, values) : std::nullopt) {
                TensorSpec spec{graph_.value(node.outputs[0]).spec.dtype, {}, {}};
                spec.shape.push_back(*count);
                return {spec};
            }
            auto params = resolved(node, inputs, values, plain);
            if (!params) return recorded(node, keeps_rank(inputs, plain));
            GuardScope scope;
            auto outputs = node.op->infer(params.get(), std::span(inputs).first(plain));
            MGE_CHECK(outputs.size() == node.outputs.size(), node.op->name, " changed its outputs");
            for (auto& guard : scope.guards()) add(guard);
            for (size_t i = 0; i < outputs.size(); ++i) limit_forms(outputs[i].shape, node.outputs[i]);
            return outputs;
        } catch (const UserError&) {
            return recorded(node, keeps_rank(inputs, plain));
        }
    }

    void limit_forms(Shape& shape, ValueId id) {
        if (!shape.has_symbols()) return;
        for (int axis = 0; axis < shape.rank(); ++axis)
            if (factors_of(shape.extent(axis)) > most_factors)
                shape.set(axis, symbols_.get(text('?', id, '.', axis), 0));
    }

    // Null if a host value is unknown, or if the operator cannot use it.
    static std::shared_ptr<const void> resolved(const Node& node, const TensorSpecs& inputs,
                                                const std::vector<ExtentList>& values, size_t plain) {
        Tensors host;
        bool is_needed = false;
        for (size_t i = plain; i < inputs.size(); ++i) {
            host.emplace_back();
            if (inputs[i].is_absent()) continue;
            is_needed = true;
            if (!values[i] || (!are_numbers(*values[i]) && !keeps_host_values(node.op))) return nullptr;
            host.back() = raw_values(*values[i]);
        }
        return is_needed ? node.op->resolve(node.params.get(), host) : node.params;
    }

    // Ranks follow from the ranks of inputs and the numbers of host values.
    static bool keeps_rank(const TensorSpecs& inputs, size_t plain) {
        return std::ranges::none_of(std::span(inputs).subspan(plain), [](auto& spec) {
            return !spec.is_absent() && (!spec.shape.is_known() || spec.shape.has_symbols());
        });
    }

    TensorSpecs recorded(const Node& node, bool keeps_rank) {
        TensorSpecs outputs;
        for (ValueId id : node.outputs) {
            auto& spec = graph_.value(id).spec;
            outputs.push_back({spec.dtype, Shape::unknown(), {}});
            if (!keeps_rank || !spec.shape.is_known()) continue;
            Shape shape = spec.shape;
            for (int axis = 0; axis < shape.rank(); ++axis)
                shape.set(axis, symbols_.get(text('?', id, '.', axis), 0));
            outputs.back().shape = shape;
        }
        return outputs;
    }

    void add(const Guard& guard) {
        if (seen_.insert({guard.relation, guard.a.raw(), guard.b.raw()}).second) guards_.push_back(guard);
    }

    const Graph& graph_;
    Symbols& symbols_;
    std::vector<Shape> shapes_;
    std::vector<ExtentList> values_;
    std::vector<Guard> guards_;
    std::set<std::tuple<Guard::Relation, int64_t, int64_t>> seen_;
};

}  // namespace

SymbolicShapes symbolic_shapes(const Graph& graph) {
    Symbols symbols;
    for (int i = 1;; ++i) {
        SymbolicRound round(graph, symbols);
        bool has_learned = false;
        for (auto& guard : round.guards()) has_learned |= symbols.learn(guard);
        if (!has_learned || i == most_rounds)
            return {std::move(round).shapes(), round.guards(), symbols.solved()};
    }
}

}  // namespace mge
