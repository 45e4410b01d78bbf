// SPDX-License-Identifier: Apache-2.0
// Products with a matrix that is packed ahead.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

#include "libmge/device/cpu/cpu_device.h"
#include "libmge/kernel/cpu/product/bf16_tiles.h"
#include "libmge/kernel/select.h"
#include "libmge/mge.h"
#include "tests/harness/random_tensor.h"
#include "tests/harness/run_candidate.h"

namespace mge::test {
namespace {

// A product of one row (n, k).
struct RowProduct {
    int64_t n, k;
    ops::Matmul::Params params;
    Tensors inputs = {random_tensor({1, k}), random_tensor(params.transpose_b ? Shape{n, k} : Shape{k, n}),
                      random_tensor({n}), random_tensor({1, n})};
    TensorSpecs specs = {inputs[0].spec(), inputs[1].spec(), inputs[2].spec(), inputs[3].spec()};
    TensorSpec out{DType::f32, {1, n}, {}};
    Problem problem() const {
        Problem p{ops::Matmul::name, &params, ops::Matmul::info.fields, specs, {&out, 1}, 2};
        p.threads = 2;
        return p;
    }
    std::vector<NamedCandidate> candidates() const {
        return list_candidates(find_kernels(ops::Matmul::info, default_device()), problem());
    }
};

// With a packed matrix: columns that do not fill a panel, odd depths, both orders.
TEST(Matmul, ComputesARowWithAPackedMatrix) {
    for (Shape size : {Shape{17, 1}, {24, 84}, {64, 16}, {150, 37}, {1024, 256}})
        for (bool transpose_b : {false, true})
            for (Activation activation : {Activation::none, Activation::gelu}) {
                RowProduct row{size[0], size[1], {.transpose_b = transpose_b, .activation = activation}};
                auto list = row.candidates();
                ASSERT_EQ(list.at(0).candidate.name, "row");
                Tensor expected = run_candidate(list.back(), row.problem(), row.inputs)[0];
                expect_close(run_candidate(list[0], row.problem(), row.inputs)[0], expected, row.k, 1,
                             text(size));
            }
}

TEST(Matmul, DoesNotPackMatricesReadInPlace) {
    auto first = [](int64_t n, int64_t k, bool transpose_b) {
        return RowProduct{n, k, {.transpose_b = transpose_b}}.candidates().at(0).candidate.name;
    };
    EXPECT_EQ(first(16, 84, true), "small");
    EXPECT_EQ(first(784, 784, true), "small");
    // Rows that are read side by side are measured with AVX-512 only.
    EXPECT_EQ(first(784, 784, false), cpu_isa() >= Isa::avx512 ? "small" : "row");
    EXPECT_EQ(first(2048, 1025, false), "small");
    EXPECT_EQ(first(512, 512, false), "row");
}

class PackedMatmul : public testing::TestWithParam<DType> {};

TEST_P(PackedMatmul, AgreesWithTheReference) {
    DType dtype = GetParam();
    Tensor a = random_tensor({40, 64}, dtype), b = random_tensor({80, 64}, dtype),
           bias = random_tensor({80}, dtype);
    ops::Matmul::Params params{.transpose_b = true, .activation = Activation::gelu};
    Tensor expected = ops::matmul(a, b, bias, {}, params);
    TensorSpec specs[] = {a.spec(), b.spec(), bias.spec()}, out = expected.spec();
    Problem problem{ops::Matmul::name, &params, ops::Matmul::info.fields, specs, {&out, 1}, 2};
    const void* constants[] = {nullptr, b.data(), nullptr};
    size_t packed = 0;
    for (auto& named : list_candidates(find_kernels(ops::Matmul::info, default_device()), problem)) {
        expect_close(run_candidate(named, problem, {a, b, bias})[0], expected, 64, 1, named.candidate.name);
        packed += named.algorithm->prepare({problem, named.candidate, constants}).packed().pieces.size();
    }
    if (cpu_isa() >= Isa::avx512) {
        EXPECT_GT(packed, 0u);
    }
}
// A row, several of whose panels are read side by side: some left over, more columns than a part has.
TEST_P(PackedMatmul, MultipliesARow) {
    const DType dtype = GetParam();
    for (int64_t n : {17, 128, 300})
        for (int64_t k : {5, 1100}) {
            Tensor a = random_tensor({1, k}, dtype), b = random_tensor({k, n}, dtype),
                   bias = random_tensor({n}, dtype), residual = random_tensor({1, n}, dtype);
            ops::Matmul::Params params{.activation = Activation::relu};
            TensorSpec specs[] = {a.spec(), b.spec(), bias.spec(), residual.spec()}, out = residual.spec();
            Problem problem{ops::Matmul::name, &params, ops::Matmul::info.fields, specs, {&out, 1}, 2};
            auto list = list_candidates(find_kernels(ops::Matmul::info, default_device()), problem);
            Tensor expected = run_candidate(list.back(), problem, {a, b, bias, residual})[0];
            for (auto& named : list)
                expect_close(run_candidate(named, problem, {a, b, bias, residual})[0], expected, k, 1,
                             text(named.candidate.name, " n ", n, " k ", k));
        }
}
INSTANTIATE_TEST_SUITE_P(Matmul, PackedMatmul, testing::Values(DType::f32, DType::f16, DType::bf16));

struct HalfExtents {
    int64_t m, k, n;
};

class HalfMatmul : public testing::TestWithParam<DType> {};

// Weights stay halves when they are packed. One and two rows, tiles and blocks of rows with a rest, sums of
// several blocks, panels with a rest.
TEST_P(HalfMatmul, PacksHalvesAndAgreesWithTheReference) {
    if (GetParam() == DType::f16 && cpu_isa() == Isa::sse4) GTEST_SKIP() << "no instructions that widen f16";
    for (auto [m, k, n] :
         {HalfExtents{1, 37, 16}, {1, 1100, 150}, {2, 513, 33}, {15, 64, 331}, {131, 3, 64}, {260, 520, 129}})
        for (bool transpose_b : {false, true})
            for (bool is_in_place : {false, true}) {
                Tensor a = random_tensor({m, k}, GetParam()),
                       b = random_tensor(transpose_b ? Shape{n, k} : Shape{k, n}, GetParam()),
                       bias = random_tensor({n}, GetParam()), residual = random_tensor({m, n}, GetParam());
                ops::Matmul::Params params{.transpose_b = transpose_b, .activation = Activation::silu};
                TensorSpec specs[] = {a.spec(), b.spec(), bias.spec(), residual.spec()},
                           out = residual.spec();
                Problem problem{ops::Matmul::name, &params, ops::Matmul::info.fields, specs, {&out, 1}, 2};
                problem.threads = 2;
                auto list = list_candidates(find_kernels(ops::Matmul::info, default_device()), problem);
                auto found = std::ranges::find_if(
                    list, [](auto& named) { return named.candidate.name == "packed_halves"; });
                ASSERT_NE(found, list.end());
                const Tensors inputs{a, b, bias, residual};
                const InPlace in_place{0, 3};
                expect_close(run_candidate(*found, problem, inputs, is_in_place ? &in_place : nullptr)[0],
                             run_candidate(list.back(), problem, inputs)[0], k, 1, text(m, ' ', k, ' ', n));
                const void* constants[] = {nullptr, b.data(), nullptr, nullptr};
                const Prepared prepared = found->algorithm->prepare({problem, found->candidate, constants});
                const auto& packed = prepared.packed();
                ASSERT_EQ(packed.pieces.size(), 1u);
                const int64_t whole_blocks = (k + 15) / 16 * 16 * ((n + 31) / 32 * 32);
                EXPECT_EQ(packed.pieces[0].bytes, size_t(whole_blocks) * size_of(GetParam()));
            }
}

// By matrix instructions, to bf16 and to f32: tiles and blocks with a rest, shares of rows and of columns.
TEST(Matmul, MultipliesBFloat16InTiles) {
    if (!cpu::has_bf16_tiles()) GTEST_SKIP() << "no matrix instructions";
    for (auto [m, k, n] : {HalfExtents{8, 32, 1}, {17, 96, 70}, {33, 64, 331}, {131, 32, 64}, {260, 512, 33}})
        for (DType dtype : {DType::bf16, DType::f32})
            for (Activation activation : {Activation::none, Activation::gelu})
                for (bool has_others : {false, true}) {
                    Tensor a = random_tensor({m, k}, DType::bf16), b = random_tensor({n, k}, DType::bf16),
                           bias = random_tensor({n}, dtype), residual = random_tensor({m, n}, dtype);
                    ops::Matmul::Params params{.transpose_b = true, .activation = activation};
                    Tensors inputs{a, b};
                    if (has_others) inputs.insert(inputs.end(), {bias, residual});
                    TensorSpecs specs;
                    for (auto& input : inputs) specs.push_back(input.spec());
                    const TensorSpec out = residual.spec();
                    Problem problem{ops::Matmul::name, &params, ops::Matmul::info.fields, specs,
                                    {&out, 1},         2};
                    problem.threads = 2;
                    auto list = list_candidates(find_kernels(ops::Matmul::info, default_device()), problem);
                    auto found = std::ranges::find_if(
                        list, [](auto& named) { return named.candidate.name == "amx_tiles"; });
                    ASSERT_NE(found, list.end());
                    Tensors wide;
                    TensorSpecs wide_specs;
                    for (auto& input : inputs) {
                        wide.push_back(ops::convert(input, {.dtype = DType::f32}));
                        wide_specs.push_back(wide.back().spec());
                    }
                    const TensorSpec wide_out{DType::f32, {m, n}, {}};
                    Problem exact = problem;
                    exact.inputs = wide_specs;
                    exact.outputs = {&wide_out, 1};
                    auto exact_list =
                        list_candidates(find_kernels(ops::Matmul::info, default_device()), exact);
                    Tensor expected =
                        ops::convert(run_candidate(exact_list.back(), exact, wide)[0], {.dtype = dtype});
                    expect_close(run_candidate(*found, problem, inputs)[0], expected, k, 1,
                                 text(m, ' ', k, ' ', n, ' ', dtype));
                }
}

// oneDNN moves halves as bf16, in which these bits are not a normal number. The matrix is large enough for
// that.
TEST(Matmul, PacksTheSmallestHalves) {
    if (cpu_isa() == Isa::sse4) GTEST_SKIP() << "no instructions that widen f16";
    constexpr int64_t side = 512;
    const float smallest = std::ldexp(1.0f, -24);
    auto filled = [](const Shape& shape, double value) {
        return make_tensor(DType::f16, shape, std::vector<double>(size_t(shape.numel()), value));
    };
    Tensor a = filled({4, side}, 1024), b = filled({side, side}, smallest);
    ops::Matmul::Params params;
    TensorSpec specs[] = {a.spec(), b.spec()}, out = a.spec();
    const Problem problem{ops::Matmul::name, &params, ops::Matmul::info.fields, specs, {&out, 1}, 2};
    for (auto& named : list_candidates(find_kernels(ops::Matmul::info, default_device()), problem))
        if (named.candidate.name == "packed_halves") {
            EXPECT_EQ(values_of(run_candidate(named, problem, {a, b})[0])[0], side * 1024.0f * smallest);
            return;
        }
    FAIL() << "nothing packs halves";
}
INSTANTIATE_TEST_SUITE_P(Matmul, HalfMatmul, testing::Values(DType::f16, DType::bf16));

}  // namespace
}  // namespace mge::test
