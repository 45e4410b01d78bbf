// SPDX-License-Identifier: Apache-2.0
// A graph with gradients that was recorded for one batch size serves any other: no gradient rule may write a
// shape of the recording into its result.
#include <gtest/gtest.h>

#include <functional>

#include "libmge/graph/builder.h"
#include "libmge/mge.h"
#include "libmge/ops/index/slice/slice_items.h"
#include "tests/harness/check_op.h"

namespace mge::test {
namespace {

using Function = std::function<Tensor(const Tensor& x)>;

TensorSpec batch_of(int64_t n) { return {DType::f32, {n, 4, 3}, {}}; }

// x → gradient of sum(f(x)²), recorded for a batch of n.
Graph recorded_for(int64_t n, const Function& f) {
    GraphBuilder builder;
    Tensor x = builder.input(batch_of(n), "x");
    {
        InterpreterScope scope(builder);
        Tensor y = f(x);
        builder.set_outputs({ops::sum(ops::mul(y, y))});
    }
    Graph graph = builder.take();
    ValueId one = graph.add_constant(scalar_tensor(1, DType::f32));
    graph.set_outputs(add_gradient(graph, {graph.outputs()[0]}, {one}, graph.inputs()));
    verify(graph);
    return graph;
}

void expect_serves_other_batches(const char* what, const Function& f) {
    Executable recorded(recorded_for(2, f), {});
    for (int64_t n : {2, 5, 3}) {
        Tensor x = ops::reshape(ops::arange({.start = -7, .stop = double(12 * n) - 7}), {.shape = {n, 4, 3}});
        Tensor expected = Executable(recorded_for(n, f), {}).run({&x, 1}).at(0);
        Tensor got = recorded.run({&x, 1}).at(0);
        ASSERT_EQ(got.shape(), x.shape()) << what;
        expect_close(got, expected, 12 * n, 1, text(what, " for ", n));
    }
}

constexpr int64_t absent = ops::absent_bound;

Tensor ints(std::vector<double> values) { return make_tensor(DType::i32, {int64_t(values.size())}, values); }

TEST(OtherBatch, ShapeOperators) {
    expect_serves_other_batches("reshape", [](auto& x) { return ops::reshape(x, {.shape = {-1, 12}}); });
    expect_serves_other_batches("flatten", [](auto& x) { return ops::flatten(x, {.start = 1}); });
    expect_serves_other_batches("add_axis", [](auto& x) { return ops::add_axis(x, {.axes = {0, -1}}); });
    expect_serves_other_batches("transpose", [](auto& x) {
        return ops::transpose(x, {.pattern = {2, 0, 1}});
    });
    expect_serves_other_batches("flip", [](auto& x) { return ops::flip(x, {.axes = {0}}); });
    expect_serves_other_batches("concat of batches", [](auto& x) {
        return ops::concat({x, ops::mul(x, x)}, {.axis = 0});
    });
    expect_serves_other_batches("concat", [](auto& x) { return ops::concat({x, x}, {.axis = -1}); });
    expect_serves_other_batches("split", [](auto& x) {
        return ops::split(x, {.axis = 1, .sizes = {1, 3}}).at(1);
    });
    expect_serves_other_batches("broadcast_to", [](auto& x) {
        return ops::broadcast_to(x, {.shape = {6, -1, -1, -1}});
    });
    expect_serves_other_batches("reduce_to_shape", [](auto& x) {
        return ops::reduce_to_shape(x, {.shape = {1, 4, 1}});
    });
    for (auto mode : {ops::PadMode::constant, ops::PadMode::reflect, ops::PadMode::replicate})
        expect_serves_other_batches("pad", [mode](auto& x) {
            return ops::pad(x, {.before = {1, 0, 2}, .after = {0, 1, 1}, .mode = mode});
        });
}

TEST(OtherBatch, IndexOperators) {
    expect_serves_other_batches("slice", [](auto& x) {
        return ops::slice(x, {.items = {0, 1, absent, 1, 0, 1, absent, absent, -2, 0}});
    });
    expect_serves_other_batches("slice with a bound", [](auto& x) {
        return ops::slice({x, ints({-1})}, {.items = {0, ops::bound_from_input, 0, 1, 1}});
    });
    expect_serves_other_batches("set_slice", [](auto& x) {
        Tensor one = ops::slice(x, {.items = {0, 0, 0, 1, 1}});
        return ops::set_slice(x, one, {.items = {0, 1, absent, 1, 0}});
    });
    expect_serves_other_batches("add_slice", [](auto& x) {
        Tensor one = ops::slice(x, {.items = {0, 0, 0, 1, 1}});
        return ops::add_slice(x, one, {.items = {0, 1, absent, 1, 0}});
    });
    expect_serves_other_batches("take", [](auto& x) {
        return ops::take(x, ints({0, -1, 1}), {.axes = {0}});
    });
    expect_serves_other_batches("set_take", [](auto& x) {
        Tensor one = ops::slice(x, {.items = {1, 0, 0, 1, 1}});
        return ops::set_take({x, ops::add_axis(one, {.axes = {1}}), ints({1, 3})}, {.axes = {1}});
    });
    expect_serves_other_batches("sort",
                                [](auto& x) { return ops::sort(x, {.axis = 1, .descending = true}).at(0); });
    expect_serves_other_batches("topk",
                                [](auto& x) { return ops::topk(x, {.k = 2, .kth_only = true}).at(0); });
    expect_serves_other_batches(
        "gather", [](auto& x) { return ops::gather(x, ops::sort(x, {.axis = 1}).at(1), {.axis = 1}); });
}

}  // namespace
}  // namespace mge::test
