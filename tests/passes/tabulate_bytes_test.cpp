// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include "libmge/mge.h"
#include "libmge/ops/quantize/map_bytes.h"
#include "libmge/ops/quantize/quantize.h"
#include "tests/harness/check_op.h"
#include "tests/passes/same_graph.h"

namespace mge::test {
namespace {

Tensor number(double value) { return scalar_tensor(value, DType::f32); }
Tensor zero(int value) { return scalar_tensor(value, DType::i32); }
Tensor real(const Tensor& steps) { return ops::dequantize(steps, number(0.05), zero(3)); }
Tensor steps(const Tensor& x, DType dtype = DType::u8) {
    return ops::quantize(x, number(0.02), zero(7),
                         {.dtype = dtype, .rounding = ops::StepRounding::half_even});
}
Tensor every_byte(DType dtype, const Shape& shape) {
    Tensor all = empty_tensor({dtype, shape, {}}, host_device);
    for (int64_t i = 0; i < shape.numel(); ++i) static_cast<uint8_t*>(all.data())[i] = uint8_t(i);
    return all;
}

// One look-up, with the bits of what it stands for.
void expect_table(DType dtype, const Body& body) {
    Shape shape{3, 100};
    Graph got = tabulate_bytes(record({{dtype, shape, {}}}, body), {});
    verify(got);
    ASSERT_EQ(got.nodes().size(), 1u) << to_text(got);
    EXPECT_EQ(got.nodes()[0].op, &ops::MapBytes::info);
    Tensors x{every_byte(dtype, shape)};
    EXPECT_EQ(values_of(Executable(got, {}).run(x)[0]), values_of(body(x)[0]));
}
void expect_left(const Body& body) { expect_rewrite(tabulate_bytes, {{DType::u8, {4, 5}, {}}}, body, body); }

TEST(TabulateBytes, FunctionChains) {
    for (DType dtype : {DType::u8, DType::i8}) {
        expect_table(dtype, [](const Tensors& x) { return Tensors{steps(ops::gelu(real(x[0])))}; });
        expect_table(dtype, [](const Tensors& x) { return Tensors{steps(real(x[0]), DType::i8)}; });
    }
}

TEST(TabulateBytes, FormulasThatReadTheBytesMoreThanOnce) {
    expect_table(DType::i8, [](const Tensors& x) {
        Tensor half = steps(ops::mul(real(x[0]), number(0.5)));
        Tensor gate = steps(ops::add(ops::erf(real(x[0])), constant({1, 1}, {1})), DType::i8);
        return Tensors{steps(ops::mul(real(half), real(gate)))};
    });
}

TEST(TabulateBytes, StepsThatStayAsTheyAreNeedNoTable) {
    TensorSpecs specs{{DType::i8, {4, 5}, {}}};
    Body half = [](const Tensors& x) { return Tensors{ops::transpose(x[0], {.pattern = {1, 0}})}; };
    expect_rewrite(
        tabulate_bytes, specs,
        [&](const Tensors& x) {
            return Tensors{ops::quantize(ops::dequantize(half(x)[0], number(0.03)), number(0.03))};
        },
        half);
}

TEST(TabulateBytes, KeepsOperatorsOfSeveralOperands) {
    expect_left([](const Tensors& x) {
        return Tensors{steps(ops::mul(real(x[0]), constant({5}, {1, 2, 3, 4, 5})))};
    });
    expect_left([](const Tensors& x) {
        return Tensors{steps(ops::mul(real(x[0]), constant({1, 1, 1}, {2})))};  // with another shape
    });
    expect_left([](const Tensors& x) { return Tensors{steps(ops::softmax(real(x[0]), {.axis = 1}))}; });
    TensorSpecs two{{DType::u8, {4, 5}, {}}, {DType::u8, {4, 5}, {}}};
    Body sum = [](const Tensors& x) { return Tensors{steps(ops::add(real(x[0]), real(x[1])))}; };
    expect_rewrite(tabulate_bytes, two, sum, sum);
}

TEST(TabulateBytes, KeepsSharedRealNumbers) {
    expect_left([](const Tensors& x) {
        Tensor y = ops::relu(real(x[0]));
        return Tensors{steps(y), y};
    });
    expect_left([](const Tensors& x) { return Tensors{ops::gelu(real(x[0]))}; });
}

TEST(TabulateBytes, KeepsOrigins) {
    Graph graph = record({{DType::u8, {4, 5}, {}}},
                         [](const Tensors& x) { return Tensors{steps(ops::gelu(real(x[0])))}; });
    for (size_t i = 0; i < graph.nodes().size(); ++i) graph.node(NodeId(i)).sources = {NodeId(i)};
    Graph got = tabulate_bytes(graph, {});
    ASSERT_EQ(got.nodes().size(), 1u);
    EXPECT_EQ(got.nodes()[0].sources, (std::vector<NodeId>{0, 1, 2}));
}

}  // namespace
}  // namespace mge::test
