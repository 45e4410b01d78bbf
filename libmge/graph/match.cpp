// SPDX-License-Identifier: Apache-2.0
#include "libmge/graph/match.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <span>

#include "libmge/graph/match_walk.h"
#include "libmge/graph/readers.h"
#include "libmge/ops/elementwise/arithmetic.h"

namespace mge::match {
namespace {

// Bounds the factors of a formula's product. Operands beyond it count as one value, so that a node of a long
// chain does not walk all of it.
constexpr int most_multiplications = 8;

std::optional<double> number_in(const Walk& walk, ValueId value) {
    if (walk.maker(value)) return std::nullopt;
    auto& constant = walk.graph().value(value).constant;
    bool is_one = constant && constant.spec().numel() == 1 && constant.dtype() == DType::f32;
    return is_one ? std::optional(double(*constant.data<float>())) : std::nullopt;
}

class Any final : public Part {
public:
    Any(std::string name, bool is_constant) : name_(std::move(name)), is_constant_(is_constant) {}
    bool match(Walk& walk, ValueId value, Next next) const override {
        if (is_constant_ && !walk.graph().value(value).is_constant()) return false;
        auto mark = walk.mark();
        walk.read(value);
        return (walk.bind(name_, value) && next()) || walk.undo(mark);
    }

private:
    std::string name_;
    bool is_constant_;
};

class Number final : public Part {
public:
    Number(std::string name, std::optional<double> wanted) : name_(std::move(name)), wanted_(wanted) {}
    bool match(Walk& walk, ValueId value, Next next) const override {
        auto found = number_in(walk, value);
        if (!found || (wanted_ && !is_near(*found, *wanted_))) return false;
        auto mark = walk.mark();
        if (!wanted_) walk.bind_number(name_, *found);
        return next() || walk.undo(mark);
    }

private:
    std::string name_;
    std::optional<double> wanted_;
};

class Applied final : public Part {
public:
    Applied(NodeTest test, std::vector<Pattern> operands, const OpInfo* op, bool may_swap)
        : test_(std::move(test)), operands_(std::move(operands)), op_(op), may_swap_(may_swap) {}
    bool may_start_at(const Node& root) const override { return !op_ || root.op == op_; }
    bool match(Walk& walk, ValueId value, Next next) const override {
        const Node* node = walk.maker(value);
        if (!node || (op_ && node->op != op_) || node->inputs.size() < operands_.size()) return false;
        if (test_ && !test_(walk, *node)) return false;
        auto mark = walk.mark();
        walk.enter(value);
        return match_operands(walk, *node, 0, false, next) ||
               (may_swap_ && match_operands(walk, *node, 0, true, next)) || walk.undo(mark);
    }

private:
    bool match_operands(Walk& walk, const Node& node, size_t i, bool is_swapped, Next next) const {
        if (i == operands_.size()) return next();
        ValueId operand = node.inputs[is_swapped ? 1 - i : i];
        auto rest = [&] { return match_operands(walk, node, i + 1, is_swapped, next); };
        return operand != no_value && operands_[i].part().match(walk, operand, Next(rest));
    }

    NodeTest test_;
    std::vector<Pattern> operands_;
    const OpInfo* op_;
    bool may_swap_;
};

class OneOf final : public Part {
public:
    explicit OneOf(std::vector<Pattern> patterns) : patterns_(std::move(patterns)) {}
    bool may_start_at(const Node& root) const override {
        return std::ranges::any_of(patterns_, [&](auto& p) { return p.part().may_start_at(root); });
    }
    bool match(Walk& walk, ValueId value, Next next) const override {
        return std::ranges::any_of(patterns_, [&](auto& p) { return p.part().match(walk, value, next); });
    }

private:
    std::vector<Pattern> patterns_;
};

// A part that wraps another one.
class Around : public Part {
public:
    explicit Around(Pattern inside) : inside_(std::move(inside)) {}
    bool may_start_at(const Node& root) const override { return inside().may_start_at(root); }

protected:
    const Part& inside() const { return inside_.part(); }

private:
    Pattern inside_;
};

class Capture final : public Around {
public:
    Capture(std::string name, Pattern inside) : Around(std::move(inside)), name_(std::move(name)) {}
    bool match(Walk& walk, ValueId value, Next next) const override {
        auto rest = [&] {
            auto mark = walk.mark();
            return (walk.bind(name_, value) && next()) || walk.undo(mark);
        };
        return inside().match(walk, value, Next(rest));
    }

private:
    std::string name_;
};

class UsedOnce final : public Around {
public:
    using Around::Around;
    bool match(Walk& walk, ValueId value, Next next) const override {
        return walk.is_used_once(value) && inside().match(walk, value, next);
    }
};

class Shared final : public Around {
public:
    using Around::Around;
    bool match(Walk& walk, ValueId value, Next next) const override {
        auto rest = [&] { return walk.in_shared(-1, next); };
        return walk.in_shared(1, [&] { return inside().match(walk, value, Next(rest)); });
    }
};

class Product final : public Part {
public:
    Product(double factor, std::vector<Pattern> factors) : wanted_(factor), factors_(std::move(factors)) {
        MGE_CHECK(factors_.size() <= most_factors, "a product of ", factors_.size(), " patterns");
    }
    bool may_start_at(const Node& root) const override {
        return root.op == &ops::Mul::info || root.op == &ops::Div::info;
    }
    bool match(Walk& walk, ValueId value, Next next) const override {
        auto mark = walk.mark();
        Flat flat;
        const Node* root = walk.maker(value) == &walk.root() ? &walk.root() : nullptr;
        bool is_flat =
            root && may_start_at(*root) ? multiply(walk, flat, value, *root) : multiply(walk, flat, value);
        bool fits = is_flat && flat.count == factors_.size() &&
                    (wanted_ == 1 ? flat.factor == 1 : is_near(flat.factor, wanted_));
        return (fits && assign(walk, flat, 0, next)) || walk.undo(mark);
    }

private:
    static constexpr size_t most_factors = 4;
    struct Flat {
        double factor = 1;
        std::array<ValueId, most_factors> values{};
        size_t count = 0;
        int multiplications = 0;
    };
    // Returns the node of a product that the match may take over, or nullptr.
    const Node* inner_product(const Walk& walk, ValueId value) const {
        const Node* node = walk.is_used_once(value) ? walk.maker(value) : nullptr;
        return node && may_start_at(*node) ? node : nullptr;
    }
    // Returns false unless the value is a product of numbers and exactly as many values as there are factors.
    bool multiply(Walk& walk, Flat& flat, ValueId value) const {
        const Node* inner =
            flat.multiplications < most_multiplications ? inner_product(walk, value) : nullptr;
        if (inner) return multiply(walk, flat, value, *inner);
        if (auto number = number_in(walk, value)) {
            flat.factor *= *number;
            return true;
        }
        if (flat.count == factors_.size()) return false;
        flat.values[flat.count++] = value;
        return true;
    }
    bool multiply(Walk& walk, Flat& flat, ValueId value, const Node& node) const {
        walk.enter(value);
        ++flat.multiplications;
        if (node.op == &ops::Div::info) {
            auto divisor = number_in(walk, node.inputs[1]);
            if (!divisor) return false;
            if (!multiply(walk, flat, node.inputs[0])) return false;
            flat.factor /= *divisor;
            return true;
        }
        // Visit the other operand first: few nodes of a long chain are walked then.
        size_t chain = inner_product(walk, node.inputs[0]) ? 0 : 1;
        return multiply(walk, flat, node.inputs[1 - chain]) && multiply(walk, flat, node.inputs[chain]);
    }
    bool assign(Walk& walk, Flat& flat, size_t i, Next next) const {
        if (i == factors_.size()) return next();
        for (ValueId& value : std::span(flat.values).first(flat.count)) {
            if (value == no_value) continue;
            ValueId taken = std::exchange(value, no_value);
            auto rest = [&] { return assign(walk, flat, i + 1, next); };
            if (factors_[i].part().match(walk, taken, Next(rest))) return true;
            value = taken;
        }
        return false;
    }

    double wanted_;
    std::vector<Pattern> factors_;
};

class Scaled final : public Around {
public:
    Scaled(std::string name, Pattern inside) : Around(std::move(inside)), name_(std::move(name)) {}
    bool match(Walk& walk, ValueId value, Next next) const override {
        auto mark = walk.mark();
        while (auto operand = behind_number(walk, value)) value = *operand;
        return inside().match(walk, value, next) || walk.undo(mark);
    }

private:
    std::optional<ValueId> behind_number(Walk& walk, ValueId value) const {
        const Node* node = walk.is_used_once(value) ? walk.maker(value) : nullptr;
        bool is_quotient = node && node->op == &ops::Div::info;
        if (!node || (node->op != &ops::Mul::info && !is_quotient)) return std::nullopt;
        size_t side = is_quotient || number_in(walk, node->inputs[1]) ? 1 : 0;
        auto number = number_in(walk, node->inputs[side]);
        ValueId operand = node->inputs[1 - side];
        if (!number || !(walk.spec(operand) == walk.spec(value))) return std::nullopt;
        walk.bind_number(name_, is_quotient ? 1 / *number : *number);
        walk.enter(value);
        return operand;
    }

    std::string name_;
};

template <class P, class... A>
Pattern pattern_of(A&&... arguments) {
    return Pattern(std::make_shared<const P>(std::forward<A>(arguments)...));
}

}  // namespace

bool is_near(double found, double wanted) { return std::abs(found - wanted) <= 1e-5 * std::abs(wanted); }

ValueId Match::operator[](std::string_view name) const {
    auto it = std::ranges::find(values_, name, &std::pair<std::string_view, ValueId>::first);
    return it == values_.end() ? no_value : it->second;
}

const Node& Match::node(std::string_view name) const {
    ValueId value = (*this)[name];
    if (is_root(value)) return *root_;
    const Node* maker = maker_of(graph_, value);
    MGE_CHECK(maker, "no node computes '", name, "'");
    return *maker;
}

double Match::number(std::string_view name) const {
    double product = 1;
    for (auto& [of, number] : numbers_)
        if (of == name) product *= number;
    return product;
}

Pattern any(std::string name) { return pattern_of<Any>(std::move(name), false); }
Pattern constant(std::string name) { return pattern_of<Any>(std::move(name), true); }
Pattern number(std::string name) { return pattern_of<Number>(std::move(name), std::nullopt); }
Pattern number(double wanted) { return pattern_of<Number>("", wanted); }
Pattern node(NodeTest test, std::vector<Pattern> operands, const OpInfo* op, bool either_order) {
    return pattern_of<Applied>(std::move(test), std::move(operands), op, either_order);
}
Pattern capture(std::string name, Pattern p) { return pattern_of<Capture>(std::move(name), std::move(p)); }
Pattern one_of(std::vector<Pattern> patterns) { return pattern_of<OneOf>(std::move(patterns)); }
Pattern used_once(Pattern p) { return pattern_of<UsedOnce>(std::move(p)); }
Pattern shared(Pattern p) { return pattern_of<Shared>(std::move(p)); }
Pattern product(double factor, std::vector<Pattern> factors) {
    return pattern_of<Product>(factor, std::move(factors));
}
Pattern scaled(std::string number, Pattern p) { return pattern_of<Scaled>(std::move(number), std::move(p)); }

}  // namespace mge::match
