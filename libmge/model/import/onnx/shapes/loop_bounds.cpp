// SPDX-License-Identifier: Apache-2.0
#include "libmge/model/import/onnx/shapes/loop_bounds.h"

#include <algorithm>

#include "libmge/graph/readers.h"
#include "libmge/model/import/onnx/parts.h"
#include "libmge/op/apply.h"
#include "libmge/ops/elementwise/arithmetic.h"
#include "libmge/ops/elementwise/bits.h"
#include "libmge/ops/elementwise/comparison.h"
#include "libmge/ops/elementwise/convert/convert.h"
#include "libmge/ops/shape/reshape.h"

namespace mge::onnx {
namespace {

// An input, by index, and the number added to it.
struct Shifted {
    size_t input = 0;
    int64_t more = 0;
    bool operator==(const Shifted&) const = default;
};

class Reader {
public:
    Reader(const Site& site, const CountingBody& body) : site_(site), body_(body) {}

    // Null: it is not a comparison of a counter with a constant number, nor several of them.
    Tensor steps_until_false(ValueId condition) const {
        condition = before_moves(condition);
        const Node* node = producer(condition);
        if (!node) return {};
        if (node->op == &ops::Less::info) return steps_below(node->inputs[0], node->inputs[1]);
        if (node->op == &ops::Greater::info) return steps_below(node->inputs[1], node->inputs[0]);
        if (node->op != &ops::LogicalAnd::info) return {};
        if (is_true(node->inputs[0])) return steps_until_false(node->inputs[1]);
        if (is_true(node->inputs[1])) return steps_until_false(node->inputs[0]);
        Tensor a = steps_until_false(node->inputs[0]), b = steps_until_false(node->inputs[1]);
        return a && b ? Tensor(ops::minimum(a, b)) : Tensor();
    }

private:
    const Value& value(ValueId id) const { return body_.graph.value(id); }
    const Node* producer(ValueId id) const { return maker_of(body_.graph, id); }
    size_t carried() const { return body_.start.size(); }

    // Skips operators that keep a single number unchanged.
    ValueId before_moves(ValueId id) const {
        for (const Node* node = producer(id); node; node = producer(id)) {
            bool moves = node->op == &ops::Copy::info || node->op == &ops::Convert::info ||
                         node->op == &ops::Reshape::info || node->op == &ops::AddAxis::info ||
                         node->op == &ops::RemoveAxis::info;
            if (!moves) break;
            id = node->inputs[0];
        }
        return id;
    }
    std::optional<int64_t> whole_number(ValueId id) const {
        const Tensor& constant = value(before_moves(id)).constant;
        bool is_one = constant && is_int(constant.dtype()) && constant.spec().numel() == 1;
        return is_one ? std::optional(numbers_in(constant)[0]) : std::nullopt;
    }
    bool is_true(ValueId id) const {
        const Tensor& constant = value(before_moves(id)).constant;
        return constant && constant.dtype() == DType::boolean && constant.spec().numel() == 1 &&
               numbers_in(constant)[0];
    }

    std::optional<Shifted> shifted(ValueId id) const {
        id = before_moves(id);
        const Node* node = producer(id);
        if (!node) {
            if (!value(id).is_input || !is_int(value(id).spec.dtype)) return std::nullopt;
            auto& inputs = body_.graph.inputs();
            return Shifted{size_t(std::ranges::find(inputs, id) - inputs.begin())};
        }
        if (node->op != &ops::Add::info) return std::nullopt;
        for (size_t side : {0, 1})
            if (auto more = whole_number(node->inputs[1 - side]))
                if (auto found = shifted(node->inputs[side]); found && std::abs(*more) < INT32_MAX)
                    return Shifted{found->input, found->more + *more};
        return std::nullopt;
    }

    // The number added to the step number: for the count, or for a counter that grows by 1.
    std::optional<int64_t> shifted_count(ValueId id) const {
        auto found = shifted(id);
        if (!found || found->input == 0) return found ? std::optional(found->more) : std::nullopt;
        if (found->input > carried()) return std::nullopt;
        if (shifted(body_.graph.outputs()[found->input]) != Shifted{found->input, 1}) return std::nullopt;
        Tensor start = find_value(body_.start[found->input - 1]);
        if (!start || start.spec().numel() != 1) return std::nullopt;
        return found->more + numbers_in(start)[0];
    }

    // A number that is the same in each step; null: it is not.
    Tensor staying(ValueId id) const {
        if (auto number = whole_number(id)) return whole(*number);
        auto found = shifted(id);
        if (!found || found->more || found->input == 0) return {};
        Tensor outside;
        if (found->input > carried())
            outside = body_.captured[found->input - 1 - carried()];
        else if (shifted(body_.graph.outputs()[found->input]) == Shifted{found->input, 0})
            outside = body_.start[found->input - 1];
        bool is_one = outside && outside.shape().is_known() && outside.shape().numel() == 1;
        return is_one ? as_scalar(as_dtype(outside, DType::i64)) : Tensor();
    }

    // step + more < bound holds after the steps 0, 1, … before bound - more.
    Tensor steps_below(ValueId count, ValueId bound) const {
        auto more = shifted_count(count);
        Tensor limit = more ? staying(bound) : Tensor();
        if (!limit) return {};
        return ops::maximum(ops::add(limit, whole(1 - *more)), whole(1));
    }

    const Site& site_;
    const CountingBody& body_;
};

}  // namespace

Tensor find_steps(const Site& site, const CountingBody& body) {
    return Reader(site, body).steps_until_false(body.graph.outputs()[0]);
}

}  // namespace mge::onnx
