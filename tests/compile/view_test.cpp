// SPDX-License-Identifier: Apache-2.0
// Dense slices share the memory of their input and are not steps.

#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>
#include <functional>

#include "libmge/mge.h"
#include "libmge/ops/index/slice/slice.h"
#include "tests/passes/same_graph.h"

namespace mge::test {
namespace {

constexpr int64_t out = INT64_MIN;  // a bound that is left out

Tensor rows(const Tensor& x, int64_t begin, int64_t end) {
    return ops::slice(Tensors{x}, {.items = {0, begin, end, out, 0}});
}
Tensor row(const Tensor& x, int64_t at) { return ops::slice(Tensors{x}, {.items = {0, at, out, out, 1}}); }
Tensor columns(const Tensor& x, int64_t begin, int64_t end) {
    return ops::slice(Tensors{x}, {.items = {1, begin, end, out, 0}});
}

CompileOptions unfused(bool shares = true) {
    CompileOptions o;
    o.level = 0;
    o.threads = 1;
    o.plan.in_place = shares;
    return o;
}

size_t slices_in(const Graph& graph, const CompileOptions& options) {
    auto program = Program::compile(graph, options);
    return size_t(std::ranges::count_if(program->steps(), [](auto& step) { return step.op == "slice"; }));
}

Tensor numbered(const Shape& shape) {
    std::vector<float> values(size_t(shape.numel()));
    for (size_t i = 0; i < values.size(); ++i) values[i] = float(i);
    return constant(shape, values);
}

void expect_same_bytes(const Tensor& got, const Tensor& wanted) {
    ASSERT_EQ(got.spec(), wanted.spec());
    EXPECT_EQ(std::memcmp(got.data(), wanted.data(), wanted.spec().bytes()), 0);
}

void expect_all_same(const Tensors& got, const Tensors& wanted) {
    ASSERT_EQ(got.size(), wanted.size());
    for (size_t i = 0; i < got.size(); ++i) expect_same_bytes(got[i], wanted[i]);
}

Tensors run(const Graph& graph, const CompileOptions& options, const Tensors& inputs) {
    return Executable(graph, options).run(inputs);
}

// The slice between two operators, so that neither an input nor an output is part of it.
Graph between(const TensorSpec& spec, const std::function<Tensor(const Tensor&)>& slice) {
    return record({spec}, [&](const Tensors& x) { return Tensors{ops::exp(slice(ops::neg(x[0])))}; });
}

void expect_view(bool is_view, const TensorSpec& spec, const std::function<Tensor(const Tensor&)>& slice) {
    Graph graph = between(spec, slice);
    EXPECT_EQ(slices_in(graph, unfused()), is_view ? 0u : 1u);
    EXPECT_GE(slices_in(graph, unfused(false)), 1u);
    Tensors x{numbered(spec.shape)};
    expect_same_bytes(run(graph, unfused(), x)[0], run(graph, unfused(false), x)[0]);
}

TEST(Views, DenseSliceIsAView) {
    expect_view(true, f32({6, 5}), [](auto& x) { return rows(x, 2, 4); });
    expect_view(true, f32({6, 5}), [](auto& x) { return rows(x, -3, out); });
    expect_view(true, f32({6, 5}), [](auto& x) { return row(x, 5); });
    expect_view(true, f32({1, 8, 3}), [](auto& x) { return columns(x, 4, 7); });
    expect_view(true, f32({4, 8, 3}), [](auto& x) { return columns(row(x, 2), 0, out); });
    expect_view(true, f32({4, 8}), [](auto& x) {
        return ops::slice(Tensors{x}, {.items = {0, 1, out, out, 1, 1, 2, 5, out, 0}});
    });
}

TEST(Views, OtherSlicesAreGathered) {
    expect_view(false, f32({6, 5}), [](auto& x) { return columns(x, 1, 3); });
    expect_view(false, f32({6, 5}), [](auto& x) {
        return ops::slice(Tensors{x}, {.items = {0, 0, 6, 2, 0}});
    });
    expect_view(false, f32({6, 5}), [](auto& x) {
        return ops::slice(Tensors{x}, {.items = {0, out, out, -1, 0}});
    });
    expect_view(false, f32({6, 5}), [](auto& x) { return rows(x, 4, 2); });
}

// A caller that holds an output holds its memory, which must not contain the value that it was cut from.
TEST(Views, OutputsAreNotViews) {
    Graph graph = record({f32({6, 5})}, [](const Tensors& x) {
        Tensor y = ops::exp(x[0]);
        return Tensors{rows(x[0], 1, 3), ops::reshape(rows(y, 2, 4), {.shape = {5, 2}}), y};
    });
    EXPECT_EQ(slices_in(graph, unfused()), 2u);
    Tensors x{numbered({6, 5})};
    expect_all_same(run(graph, unfused(), x), run(graph, unfused(false), x));
}

TEST(Views, ValuesReadLaterAreNotOverwritten) {
    Graph graph = record({f32({6, 5})}, [](const Tensors& x) {
        Tensor y = ops::exp(x[0]);
        Tensor top = rows(y, 0, 3), bottom = rows(y, 3, 6);
        Tensor sum = ops::add(ops::neg(top), bottom);
        return Tensors{ops::add(ops::mul(sum, top), ops::neg(bottom)), ops::neg(y)};
    });
    Tensors x{numbered({6, 5})};
    expect_all_same(run(graph, unfused(), x), run(graph, unfused(false), x));
}

TEST(Views, ViewsOfConstantsAndInputs) {
    Graph graph = record({f32({6, 5})}, [](const Tensors& x) {
        return Tensors{ops::add(rows(x[0], 1, 3), rows(numbered({4, 5}), 2, 4))};
    });
    EXPECT_EQ(slices_in(graph, unfused()), 0u);
    Tensors x{numbered({6, 5})};
    expect_same_bytes(run(graph, unfused(), x)[0], run(graph, unfused(false), x)[0]);
}

TEST(Views, FollowMovedMemory) {
    auto slice = [](const Tensor& x) { return rows(x, 2, 4); };
    Graph graph = between(f32({6, 5}), slice);
    Tensors x{numbered({6, 5})};
    Tensor wanted = run(graph, unfused(false), x)[0];
    CompileOptions dynamic = unfused();
    dynamic.force_dynamic_alloc = true;
    expect_same_bytes(run(graph, dynamic, x)[0], wanted);
    auto context = Context::create(Program::compile(graph, unfused()));
    for (int i = 0; i < 2; ++i) {
        context->fill_inputs(x);
        context->run();
        expect_same_bytes(context->output(0), wanted);
        context->memory()->clear();
    }
}

TEST(Views, AreReportedWithTheirMemory) {
    auto program = Program::compile(between(f32({6, 5}), [](auto& x) { return rows(x, 2, 4); }), unfused());
    auto& values = program->values();
    auto view = std::ranges::find_if(values, [](auto& value) { return value.view_of != no_value; });
    ASSERT_NE(view, values.end());
    EXPECT_EQ(view->bytes, 6u * 5 * 4);
    EXPECT_EQ(view->offset, values[size_t(view->view_of)].offset);
}

TEST(Views, RunTimeShapes) {
    Graph graph = record({f32({6, 5})}, [](const Tensors& x) {
        Tensor found = ops::cond_take(x[0], ops::greater(x[0], constant({1}, {-1.f})))[0];
        return Tensors{ops::exp(rows(found, 10, 13)),
                       ops::exp(ops::slice(Tensors{found}, {.items = {0, 0, out, 2, 0}}))};
    });
    Tensors x{numbered({6, 5})};
    expect_all_same(run(graph, unfused(), x), run(graph, unfused(false), x));
}

TEST(Views, EagerSlicesShareTheirMemory) {
    Tensor x = numbered({6, 5});
    Tensor piece = rows(x, 2, 4);
    EXPECT_EQ(piece.data<float>(), x.data<float>() + 10);
    Tensor again = row(rows(x, 1, 5), 3);
    EXPECT_EQ(again.data<float>(), x.data<float>() + 20);
    EXPECT_EQ(*columns(x, 1, 2).data<float>(), 1);
    EXPECT_NE(columns(x, 1, 2).data<float>(), x.data<float>() + 1);
}

}  // namespace
}  // namespace mge::test
