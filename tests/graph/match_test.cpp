// SPDX-License-Identifier: Apache-2.0
#include "libmge/graph/match.h"

#include <gtest/gtest.h>

#include "libmge/mge.h"
#include "tests/passes/same_graph.h"

namespace mge::match {
namespace {

using test::Body, test::constant, test::f32, test::record;

// A rule that answers the value named "x", wherever the pattern matches.
Graph put_x(const Body& body, Pattern pattern, Against against = Against::source, size_t inputs = 2) {
    const Table<int> rules{
        {std::move(pattern), [](const Match& m, const int&) -> std::optional<New> { return New(m["x"]); }}};
    return replace_matches(record(TensorSpecs(inputs, f32({2, 3})), body), rules, 0, nullptr, against);
}
std::vector<std::string_view> operators(const Graph& graph) {
    std::vector<std::string_view> names;
    for (auto& node : graph.nodes()) names.push_back(node.op->name);
    return names;
}
using Names = std::vector<std::string_view>;
Tensor number_of(float value) { return constant({}, {value}); }

TEST(Match, OperatorsAreMatchedFromTheRoot) {
    auto body = [](auto& in) { return Tensors{ops::neg(ops::exp(ops::relu(in[0])))}; };
    EXPECT_EQ(operators(put_x(body, op<ops::Neg>(op<ops::Exp>(any("x"))))), Names{"relu"});
    EXPECT_EQ(operators(put_x(body, op<ops::Exp>(op<ops::Neg>(any("x"))))), (Names{"relu", "exp", "neg"}));
}

TEST(Match, NameMatchesOneValue) {
    auto product_of = [](bool same) {
        return [same](auto& in) { return Tensors{ops::mul(in[0], ops::sigmoid(in[same ? 0 : 1]))}; };
    };
    const Pattern gated = op<ops::Mul>(any("x"), op<ops::Sigmoid>(any("x")));
    EXPECT_EQ(operators(put_x(product_of(true), gated)), Names{});
    EXPECT_EQ(operators(put_x(product_of(false), gated)), (Names{"sigmoid", "mul"}));
}

TEST(Match, EitherOrderTriesBothAndBacktracks) {
    // Only as exp(y) · (relu(y) + y), whose operands are each swapped.
    auto body = [](auto& in) {
        return Tensors{ops::mul(ops::add(in[0], ops::relu(in[0])), ops::exp(in[0]))};
    };
    auto sum = either_order<ops::Add>(op<ops::Relu>(any("x")), any("x"));
    EXPECT_EQ(operators(put_x(body, either_order<ops::Mul>(op<ops::Exp>(any("x")), sum))), Names{});
    // any("x") first takes the sum, which then is not what exp is applied to.
    EXPECT_EQ(operators(put_x([](auto& in) { return Tensors{ops::add(ops::exp(in[0]), in[0])}; },
                              either_order<ops::Add>(any("x"), op<ops::Exp>(any("x"))))),
              Names{});
}

TEST(Match, ARuleThatDeclinesSeesTheNextAlternative) {
    const Table<int> rules{{either_order<ops::Add>(any("x"), any("y")),
                            [](const Match& m, const int& wanted) -> std::optional<New> {
                                return m["x"] == wanted ? std::optional(New(m["x"])) : std::nullopt;
                            }}};
    auto body = [](auto& in) { return Tensors{ops::add(in[0], in[1])}; };
    for (int wanted : {0, 1}) {
        Graph got = replace_matches(record({f32({2}), f32({2})}, body), rules, wanted);
        EXPECT_EQ(got.outputs(), std::vector{got.inputs()[size_t(wanted)]});
    }
    EXPECT_EQ(operators(replace_matches(record({f32({2}), f32({2})}, body), rules, 7)), Names{"add"});
}

TEST(Match, ReplacedValuesMayHaveNoOtherReaders) {
    auto body = [](auto& in) {
        Tensor inner = ops::exp(in[0]);
        return Tensors{ops::neg(inner), inner};
    };
    EXPECT_EQ(operators(put_x(body, op<ops::Neg>(op<ops::Exp>(any("x"))))), (Names{"exp", "neg"}));
    EXPECT_EQ(operators(put_x(body, op<ops::Neg>(shared(op<ops::Exp>(any("x")))))), Names{"exp"});
    EXPECT_EQ(operators(put_x(body, op<ops::Neg>(used_once(shared(op<ops::Exp>(any("x"))))))),
              (Names{"exp", "neg"}));
}

TEST(Match, ReadersWithinTheMatchCount) {
    auto body = [](auto& in) {
        Tensor inner = ops::exp(in[0]);
        return Tensors{ops::mul(inner, ops::neg(inner))};
    };
    auto pattern = op<ops::Mul>(capture("inner", op<ops::Exp>(any("x"))), op<ops::Neg>(any("inner")));
    EXPECT_EQ(operators(put_x(body, pattern)), Names{});
}

TEST(Match, ProductsAreMultipliedOut) {
    auto pattern = product(6, {any("x"), op<ops::Exp>(any("x"))});
    auto matches = [&](const Body& body) { return operators(put_x(body, pattern)).empty(); };
    EXPECT_TRUE(matches([](auto& in) {
        return Tensors{ops::mul(ops::mul(number_of(2), ops::exp(in[0])), ops::mul(in[0], number_of(3)))};
    }));
    EXPECT_TRUE(matches(
        [](auto& in) { return Tensors{ops::div(ops::mul(ops::exp(in[0]), in[0]), number_of(1 / 6.f))}; }));
    EXPECT_FALSE(matches([](auto& in) { return Tensors{ops::mul(ops::exp(in[0]), in[0])}; }));
    EXPECT_FALSE(matches([](auto& in) {
        return Tensors{ops::mul(ops::mul(ops::exp(in[0]), in[1]), ops::mul(in[0], number_of(6)))};
    }));
    EXPECT_FALSE(
        matches([](auto& in) { return Tensors{ops::div(number_of(6), ops::mul(ops::exp(in[0]), in[0]))}; }));
}

TEST(Match, NumbersAroundAPatternAreCaptured) {
    const Table<double> rules{{op<ops::Neg>(scaled("scale", op<ops::Exp>(any("x")))),
                               [](const Match& m, const double& wanted) -> std::optional<New> {
                                   return is_near(m.number("scale"), wanted) ? std::optional(New(m["x"]))
                                                                             : std::nullopt;
                               }}};
    auto scaled_by = [](bool twice) {
        return [twice](auto& in) {
            Tensor y = ops::exp(in[0]);
            if (twice) y = ops::div(ops::mul(number_of(6), y), number_of(4));
            return Tensors{ops::neg(y)};
        };
    };
    for (auto [twice, scale] : {std::pair{false, 1.}, {true, 1.5}}) {
        EXPECT_EQ(operators(replace_matches(record({f32({2})}, scaled_by(twice)), rules, scale)), Names{});
        EXPECT_FALSE(operators(replace_matches(record({f32({2})}, scaled_by(twice)), rules, 2.)).empty());
    }
}

TEST(Match, TheOutermostMatchWinsInTheSource) {
    auto body = [](auto& in) { return Tensors{ops::neg(ops::neg(ops::neg(in[0])))}; };
    auto twice = op<ops::Neg>(op<ops::Neg>(any("x")));
    EXPECT_EQ(operators(put_x(body, twice)), Names{"neg"});
    Graph got = put_x([](auto& in) { return Tensors{ops::exp(ops::neg(ops::neg(ops::neg(in[0]))))}; },
                      one_of({op<ops::Neg>(op<ops::Neg>(op<ops::Neg>(any("x")))), twice}));
    EXPECT_EQ(operators(got), Names{"exp"});
}

TEST(Match, ChainsCollapseInTheTarget) {
    // relu(relu(x)) => relu(x), for a chain without other readers.
    const Table<int> rules{
        {op<ops::Relu>(op<ops::Relu>(any("x"))),
         [](const Match& m, const int&) -> std::optional<New> { return made<ops::Relu>({}, {m["x"]}); }}};
    auto chain = [&](bool is_read_between) {
        auto body = [&](auto& in) {
            Tensor second = ops::relu(ops::relu(in[0])), last = ops::relu(ops::relu(second));
            return is_read_between ? Tensors{last, second} : Tensors{last};
        };
        return replace_matches(record({f32({2})}, body), rules, 0, nullptr, Against::target);
    };
    auto steps_to = [](const Graph& graph, ValueId value) {
        int steps = 0;
        for (; graph.value(value).producer >= 0; ++steps)
            value = graph.node(graph.value(value).producer).inputs[0];
        return steps;
    };
    Graph alone = chain(false), read = chain(true);
    EXPECT_EQ(steps_to(alone, alone.outputs()[0]), 1);
    EXPECT_EQ(steps_to(read, read.outputs()[0]), 2);
    EXPECT_EQ(steps_to(read, read.outputs()[1]), 1);
}

TEST(Match, ReplacementInheritsAllOrigins) {
    Graph graph = record({f32({2})}, [](auto& in) { return Tensors{ops::neg(ops::exp(ops::relu(in[0])))}; });
    for (size_t i = 0; i < graph.nodes().size(); ++i) graph.node(NodeId(i)).sources = {NodeId(i)};
    const Table<int> rules{
        {op<ops::Neg>(op<ops::Exp>(any("x"))), [](const Match& m, const int&) -> std::optional<New> {
             return made<ops::Tanh>({}, {m["x"]}).named("both");
         }}};
    Graph got = replace_matches(graph, rules, 0);
    ASSERT_EQ(operators(got), (Names{"relu", "tanh"}));
    EXPECT_EQ(got.nodes()[1].sources, (std::vector<NodeId>{1, 2}));
    EXPECT_EQ(got.nodes()[1].name, "both");
}

TEST(Match, ARuleIsCalledOnceForAMatchThatItAccepts) {
    const Table<int*> rules{
        {op<ops::Neg>(any("x")), [](const Match&, int* const& count) -> std::optional<New> {
             ++*count;
             return New(constant({2}, {1, 2}));
         }}};
    for (Against against : {Against::source, Against::target}) {
        int count = 0;
        Graph got = replace_matches(record({f32({2})}, [](auto& in) { return Tensors{ops::neg(in[0])}; }),
                                    rules, &count, nullptr, against);
        EXPECT_EQ(count, 1);
        EXPECT_TRUE(got.value(got.outputs()[0]).is_constant());
    }
}

TEST(Match, ARootThatMayNotMatchIsCopied) {
    const Table<int> rules{{op<ops::Neg>(any("x")),
                            [](const Match& m, const int&) -> std::optional<New> { return New(m["x"]); }}};
    auto is_wide = [](const Match& m) { return m.result().numel() > 2; };
    for (int64_t extent : {2, 3}) {
        Graph got = replace_matches(
            record({f32({extent})}, [](auto& in) { return Tensors{ops::neg(in[0])}; }), rules, 0, +is_wide);
        EXPECT_EQ(operators(got).size(), extent > 2 ? 0 : 1);
    }
}

TEST(Match, NodeWithOtherReadResultsIsNotARoot) {
    const Table<int> rules{{node([](const Match&, const Node& node) { return node.outputs.size() == 2; }),
                            [](const Match& m, const int&) -> std::optional<New> {
                                return New(constant(m.result().shape, {1}));
                            }}};
    auto body_with = [](bool second) {
        return [second](auto& in) {
            Tensors parts = ops::split(in[0], {.sizes = {1, 1}});
            return second ? Tensors{parts[0], parts[1]} : Tensors{parts[0]};
        };
    };
    EXPECT_EQ(operators(replace_matches(record({f32({2})}, body_with(false)), rules, 0)), Names{});
    EXPECT_EQ(operators(replace_matches(record({f32({2})}, body_with(true)), rules, 0)), Names{"split"});
}

TEST(Match, ReplacementOfAnotherShapeIsAnInternalError) {
    const Table<int> rules{{op<ops::Neg>(any("x")), [](const Match&, const int&) -> std::optional<New> {
                                return New(constant({1}, {0}));
                            }}};
    Graph graph = record({f32({2})}, [](auto& in) { return Tensors{ops::neg(in[0])}; });
    EXPECT_THROW(replace_matches(graph, rules, 0), InternalError);
}

}  // namespace
}  // namespace mge::match
