// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <gtest/gtest.h>

#include <cstring>
#include <functional>
#include <map>

#include "libmge/graph/builder.h"
#include "libmge/passes/pass.h"

namespace mge::test {

// A graph as a function of symbolic tensors: what passes are given and what they are expected to make.
using Body = std::function<Tensors(const Tensors& inputs)>;
inline Graph record(const TensorSpecs& inputs, const Body& body) {
    GraphBuilder builder;
    Tensors symbols;
    for (auto& spec : inputs) symbols.push_back(builder.input(spec, text("x", symbols.size())));
    InterpreterScope scope(builder);
    builder.set_outputs(body(symbols));
    return builder.take();
}

// Equal up to the numbering of values: same nodes in the same order with the same parameters, wired alike,
// with constants of equal contents.
inline void expect_same(const Graph& got, const Graph& expected) {
    std::map<ValueId, ValueId> paired;
    auto pair_values = [&](ValueId a, ValueId b, const std::string& where) {
        if (a == no_value || b == no_value) {
            EXPECT_EQ(a, b) << where;
            return;
        }
        auto &x = got.value(a), &y = expected.value(b);
        EXPECT_EQ(x.spec, y.spec) << where;
        ASSERT_EQ(x.is_constant(), y.is_constant()) << where;
        if (x.is_constant() && x.spec == y.spec)
            EXPECT_EQ(std::memcmp(x.constant.data(), y.constant.data(), x.spec.bytes()), 0) << where;
        else
            EXPECT_EQ(paired.try_emplace(a, b).first->second, b) << where;
    };
    auto pair_lists = [&](const std::vector<ValueId>& a, const std::vector<ValueId>& b,
                          const std::string& where) {
        ASSERT_EQ(a.size(), b.size()) << where;
        for (size_t i = 0; i < a.size(); ++i) pair_values(a[i], b[i], text(where, " ", i));
    };
    SCOPED_TRACE(text("got\n", to_text(got), "expected\n", to_text(expected)));
    pair_lists(got.inputs(), expected.inputs(), "graph input");
    ASSERT_EQ(got.nodes().size(), expected.nodes().size());
    for (size_t i = 0; i < got.nodes().size(); ++i) {
        auto &a = got.nodes()[i], &b = expected.nodes()[i];
        ASSERT_EQ(a.op->name, b.op->name) << "node " << i;
        EXPECT_EQ(params_text(a.op->fields, a.params.get()), params_text(b.op->fields, b.params.get()));
        pair_lists(a.inputs, b.inputs, text("node ", i, " input"));
        pair_lists(a.outputs, b.outputs, text("node ", i, " output"));
    }
    pair_lists(got.outputs(), expected.outputs(), "graph output");
}

using PassFunction = Graph (*)(Graph, const PassOptions&);
inline void expect_rewrite(PassFunction pass, const TensorSpecs& inputs, const Body& before,
                           const Body& after) {
    Graph got = pass(record(inputs, before), {});
    verify(got);
    expect_same(got, record(inputs, after));
}

inline TensorSpec f32(Shape shape) { return {DType::f32, shape, {}}; }
inline Tensor constant(Shape shape, std::vector<float> values) {
    size_t given = values.size();
    values.resize(size_t(shape.numel()));
    for (size_t i = given; i < values.size(); ++i) values[i] = values[i % given];
    return tensor_from_host(f32(shape), values.data());
}

}  // namespace mge::test
