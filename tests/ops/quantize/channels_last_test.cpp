// SPDX-License-Identifier: Apache-2.0
// Quantised operators on channels-last images, as in compiled programs.
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstring>
#include <optional>
#include <random>

#include "libmge/device/cpu/cpu_device.h"
#include "libmge/kernel/cpu/product/byte_product.h"
#include "libmge/kernel/cpu/product/quad_product.h"
#include "libmge/kernel/select.h"
#include "libmge/mge.h"
#include "libmge/ops/nn/convolution/geometry.h"
#include "libmge/ops/quantize/convolution/quantized_conv2d.h"
#include "tests/harness/check_op.h"
#include "tests/harness/run_candidate.h"
#include "tests/ops/nn/images.h"

namespace mge::test {
namespace {

using Conv = ops::QuantizedConv2d;
using Params = Conv::Params;

Tensor random_steps(const Shape& shape, DType dtype) {
    static std::mt19937 random(7);
    int low = dtype == DType::u8 ? 0 : dtype == DType::i8 ? -128 : -5000;
    std::uniform_int_distribution<int> uniform(low, dtype == DType::i32 ? 5000 : low + 255);
    std::vector<double> values(size_t(shape.numel()));
    for (auto& v : values) v = uniform(random);
    return make_tensor(dtype, shape, values);
}

struct Case {
    Shape x, weight;
    Params params;
};
// Windows of one pixel and of several, of bytes that fill words, tiles, or neither; some over the borders.
const Case dense_cases[] = {
    {{1, 64, 7, 9}, {40, 64, 1, 1}, {}},
    {{2, 24, 11, 11}, {17, 24, 1, 1}, {}},
    {{1, 33, 5, 7}, {33, 33, 1, 1}, {}},
    {{1, 64, 9, 9}, {64, 64, 1, 1}, {.stride = {2, 2}}},
    {{2, 64, 6, 5}, {32, 64, 1, 1}, {.padding = {1, 2}}},
    {{2, 64, 9, 13}, {40, 64, 3, 3}, {.padding = {1, 1}}},
    {{1, 64, 3, 2}, {100, 64, 3, 3}, {.padding = {1, 1}}},
    {{1, 8, 9, 9}, {16, 8, 3, 3}, {.padding = {2, 2}, .dilation = {2, 2}}},
    {{1, 12, 10, 9}, {31, 12, 3, 2}, {.stride = {2, 3}, .padding = {2, 1}, .dilation = {1, 2}}},
    {{2, 3, 23, 31}, {32, 3, 7, 7}, {.stride = {2, 2}, .padding = {3, 3}}},
    {{1, 64, 3, 3}, {8, 64, 3, 3}, {.padding = {4, 4}}},
    {{2, 16, 22, 101}, {40, 16, 3, 3}, {.padding = {1, 0}}},
    {{1, 48, 30, 29}, {33, 48, 3, 3}, {.padding = {1, 1}}},
    {{1, 2, 4, 4}, {1, 2, 3, 3}, {}},
    {{2, 16, 7, 7}, {48, 16, 3, 3}, {.padding = {1, 1}}},
    {{1, 20, 6, 5}, {49, 20, 3, 3}, {.padding = {1, 1}}},
    {{1, 4, 11, 13}, {16, 4, 3, 3}, {.stride = {2, 2}, .padding = {1, 1}}},
    {{1, 8, 4, 43}, {64, 8, 1, 1}, {.stride = {1, 2}}},
    {{5, 16, 1, 1}, {8, 16, 1, 1}, {.stride = {1, 3}, .padding = {0, 1}}},  // the window sees zeros alone
    {{1, 3, 9, 33}, {20, 3, 3, 3}, {.stride = {1, 2}, .padding = {1, 1}, .dilation = {2, 1}}},
};
const Case depthwise_cases[] = {
    {{1, 64, 9, 8}, {64, 1, 1, 3, 3}, {.padding = {1, 1}, .groups = 64}},
    {{2, 37, 9, 10}, {37, 1, 1, 3, 3}, {.stride = {2, 1}, .padding = {1, 1}, .groups = 37}},
    {{1, 80, 5, 70}, {80, 1, 1, 5, 5}, {.stride = {1, 1}, .padding = {2, 2}, .groups = 80}},
    {{1, 16, 7, 7}, {16, 1, 1, 3, 3}, {.padding = {2, 2}, .dilation = {2, 2}, .groups = 16}},
    {{1, 65, 3, 3}, {65, 1, 1, 3, 3}, {.stride = {2, 2}, .padding = {4, 4}, .groups = 65}},
    {{1, 8, 5, 5}, {8, 1, 1, 2, 4}, {.groups = 8}},
    {{1, 32, 10, 11}, {32, 1, 1, 3, 3}, {.padding = {1, 1}, .groups = 32}},
    {{2, 96, 9, 12}, {96, 1, 1, 3, 3}, {.stride = {2, 2}, .padding = {1, 1}, .groups = 96}},
    {{1, 144, 4, 3}, {144, 1, 1, 3, 3}, {.padding = {1, 1}, .groups = 144}},
    {{1, 40, 5, 20},
     {40, 1, 1, 3, 3},
     {.stride = {2, 2}, .padding = {1, 3}, .dilation = {1, 2}, .groups = 40}},
    {{1, 12, 13, 27}, {12, 1, 1, 5, 7}, {.stride = {3, 3}, .padding = {2, 3}, .groups = 12}},
    {{1, 17, 19, 9},
     {17, 1, 1, 3, 3},
     {.stride = {1, 2}, .padding = {3, 3}, .dilation = {3, 2}, .groups = 17}},
    {{1, 40, 1, 1}, {40, 1, 1, 1, 1}, {.groups = 40}},
    // Enough work for two threads, which divide the lines or the channels.
    {{1, 160, 12, 11}, {160, 1, 1, 3, 3}, {.padding = {1, 1}, .groups = 160}},
    {{1, 970, 5, 5}, {970, 1, 1, 3, 3}, {.padding = {1, 1}, .groups = 970}},
};

const Case large_cases[] = {
    {{1, 160, 12, 11}, {33, 160, 3, 3}, {.padding = {1, 1}}},
    {{1, 160, 5, 5}, {33, 160, 1, 1}, {}},
    {{1, 160, 9, 7}, {33, 160, 1, 1}, {.stride = {2, 2}}},
};

// Rows times a matrix.
const Case product_cases[] = {
    {{128, 64, 1, 1}, {48, 64, 1, 1}, {}},
    {{7, 100, 1, 1}, {33, 100, 1, 1}, {}},
    {{1, 512, 1, 1}, {100, 512, 1, 1}, {}},
    {{37, 3, 1, 1}, {2, 3, 1, 1}, {.stride = {2, 2}}},
};

struct Form {
    DType x, y, residual;
    Activation activation;
    ops::StepRounding rounding = ops::StepRounding::half_away;
    struct Steps {
        int x, weight;
    };
    std::optional<Steps> steps{};  // all of them; else random ones
    DType inner = DType::none;
    bool has_shift = false;
};
constexpr auto half_even = ops::StepRounding::half_even;
const Form forms[] = {
    {DType::u8, DType::u8, DType::none, Activation::relu},
    {DType::i8, DType::i8, DType::none, Activation::none},
    {DType::u8, DType::i8, DType::i8, Activation::relu},
    {DType::i8, DType::u8, DType::u8, Activation::hswish},
    {DType::i8, DType::u8, DType::none, Activation::relu6},
    {DType::u8, DType::i32, DType::none, Activation::none},
    {DType::u8, DType::u8, DType::u8, Activation::none, ops::StepRounding::half_even},
    {DType::i8, DType::i8, DType::none, Activation::relu, ops::StepRounding::half_even},
    {DType::u8, DType::u8, DType::none, Activation::none, ops::StepRounding::half_even},
    {DType::u8, DType::i8, DType::none, Activation::none, ops::StepRounding::half_even},
    {DType::u8, DType::u8, DType::u8, Activation::relu, half_even, {}, DType::u8},
    {DType::i8, DType::i8, DType::i8, Activation::none, half_even, {}, DType::i8},
    {DType::u8, DType::u8, DType::none, Activation::none, half_even, {}, DType::u8, true},
    {DType::u8, DType::i8, DType::u8, Activation::relu, half_even, {}, DType::none, true},
    {DType::u8, DType::u8, DType::i32, Activation::none, half_even, {}, DType::i8, true},
    {DType::i8, DType::u8, DType::u8, Activation::hswish, ops::StepRounding::half_away, {}, DType::u8, true},
};

// In the operator's order; without scales where the sums are the result.
Tensors operands(const Case& c, const Form& form, const Shape& y) {
    Tensor x = random_steps(c.x, form.x), weight = random_steps(c.weight, DType::i8);
    if (form.steps) {
        x = make_tensor(form.x, c.x, std::vector<double>(size_t(c.x.numel()), form.steps->x));
        weight = make_tensor(DType::i8, c.weight,
                             std::vector<double>(size_t(c.weight.numel()), form.steps->weight));
    }
    Tensor bias = random_steps({1, y[1], 1, 1}, DType::i32), none;
    Tensor zero = tensor_of<int32_t>({1}, {form.steps ? 0 : form.x == DType::u8 ? 100 : -3});
    if (form.y == DType::i32) return {x, weight, none, bias, none, zero};
    // Rounding to even with powers of two, for which many sums are halfway.
    bool is_even = form.rounding == ops::StepRounding::half_even;
    float y_scale = is_even ? 0x1p-4f : 0.05f;
    std::vector<double> scales;
    for (int64_t i = 0; i < y[1]; ++i) scales.push_back(is_even ? 0x1p-12 : 1e-4 * double(1 + i % 7));
    bool has_residual = form.residual != DType::none, has_inner = form.inner != DType::none;
    std::vector<double> shifts;
    for (int64_t i = 0; i < y[1]; ++i) shifts.push_back(0.03 * double(i % 11) - 0.1);
    return {x,
            weight,
            make_tensor(DType::f32, {y[1]}, scales),
            bias,
            has_residual ? random_steps(y, form.residual) : none,
            zero,
            none,
            tensor_of<float>({1}, {y_scale}),
            tensor_of<int32_t>({1}, {form.y == DType::u8 ? 30 : -5}),
            has_residual ? tensor_of<float>({1}, {0.02f}) : none,
            has_residual ? tensor_of<int32_t>({1}, {7}) : none,
            has_inner ? tensor_of<float>({1}, {is_even ? 0x1p-5f : 0.03f}) : none,
            has_inner ? tensor_of<int32_t>({1}, {form.inner == DType::u8 ? 110 : 2}) : none,
            form.has_shift ? make_tensor(DType::f32, {y[1]}, shifts) : none};
}

// Number of kernels for the layout that were compared with the reference on plain images.
int compare(const Case& c, const Form& form, int threads, const char* layout = "nhwc") {
    Params params = c.params;
    params.dtype = form.y;
    params.activation = form.activation;
    params.rounding = form.rounding;
    if (form.inner != DType::none) params.inner_dtype = form.inner;
    Shape shape = conv_geometry("test", ops::window_of(params), c.x, c.weight).y_shape();
    Tensors inputs = operands(c, form, shape);
    auto problem = [&](const TensorSpecs& in, const TensorSpec& out) {
        return Problem{.op = Conv::name,
                       .params = &params,
                       .fields = Conv::info.fields,
                       .inputs = in,
                       .outputs = {&out, 1},
                       .constant_inputs = 1u << Conv::weight | 1u << Conv::y_scale,
                       .threads = threads};
    };
    TensorSpecs plain, laid_out;
    for (auto& t : inputs) plain.push_back(t ? t.spec() : TensorSpec{});
    TensorSpec y{form.y, shape, {}}, y_laid_out{form.y, shape, Layout::named(layout)};
    auto kernels = find_kernels(Conv::info, default_device());
    auto reference = list_candidates(kernels, problem(plain, y)).back();
    Tensor expected = run_candidate(reference, problem(plain, y), inputs)[0];
    expected = reordered(expected, y_laid_out.layout, true);
    for (size_t i : {size_t(Conv::x), size_t(Conv::residual)})
        if (inputs[i]) inputs[i] = reordered(inputs[i], y_laid_out.layout, true);
    for (auto& t : inputs) laid_out.push_back(t ? t.spec() : TensorSpec{});
    int count = 0;
    for (auto& named : list_candidates(kernels, problem(laid_out, y_laid_out))) {
        count += named.candidate.name.starts_with("channels_last");
        Tensor got = run_candidate(named, problem(laid_out, y_laid_out), inputs)[0];
        EXPECT_EQ(std::memcmp(got.data(), expected.data(), got.spec().bytes()), 0)
            << named.candidate.name << ' ' << c.x << ' ' << c.weight << ' ' << form.x << " to " << form.y
            << ", residual " << form.residual << ", inner " << form.inner << ", shift " << form.has_shift
            << ", threads " << threads;
    }
    return count;
}

// Windows that Winograd's transform is for, where the processor does not multiply bytes.
int transformed(const Case& c) {
    constexpr ops::Pair one{1, 1};
    auto g = conv_geometry("test", ops::window_of(c.params), c.x, c.weight);
    int64_t tiles = (g.out[0] + 3) / 4 * ((g.out[1] + 3) / 4);
    return !cpu::has_quads() && !cpu::dot_product() && tiles >= 6 && c.params.groups == 1 &&
           c.weight[2] == 3 && c.weight[3] == 3 && c.params.stride == one && c.params.dilation == one &&
           c.x[1] % 16 == 0;
}

TEST(ChannelsLast, GivesTheBitsOfTheReference) {
    const int dense = cpu::quad_matrices() ? 2 : 1;
    for (auto& form : forms)
        for (int threads : {1, 2}) {
            for (auto& c : dense_cases) EXPECT_EQ(compare(c, form, threads), dense + transformed(c)) << c.x;
            for (auto& c : product_cases)
                for (auto* layout : {"nchw", "nhwc"})
                    EXPECT_EQ(compare(c, form, threads, layout), dense) << c.x;
            for (auto& c : depthwise_cases)
                EXPECT_EQ(compare(c, form, threads), cpu::has_quads() ? 2 : 1) << c.x;
        }
}

// The largest sums that bytes can give: in 16 bits they saturate, and those of 160 channels are too large for
// Winograd's transform.
TEST(ChannelsLast, GivesTheLargestSums) {
    Form form{DType::u8, DType::i32, DType::none, Activation::none};
    for (form.steps = {255, 0}; int weight : {-128, 127}) {
        form.steps->weight = weight;
        for (auto& c : large_cases) EXPECT_GT(compare(c, form, 1), 0);
    }
}

// Σ (a - zero) * weight with rows of two parts, by a product that has numbers behind the words of its weight.
struct CentredCase {
    int64_t part_bytes, rows, columns;
    int zero, x_spread, weight_spread;
    bool is_signed, is_constant;  // constant: all numbers are at one end
};
void expect_exact(const cpu::ByteProduct& product, const CentredCase& c, std::mt19937& random) {
    SCOPED_TRACE(testing::Message() << "part " << c.part_bytes << ", rows " << c.rows << ", columns "
                                    << c.columns << ", zero " << c.zero << ", spreads " << c.x_spread << ' '
                                    << c.weight_spread << ", signed " << c.is_signed << ", constant "
                                    << c.is_constant);
    auto around = [&](int centre, int spread, int low, int high) {
        const bool is_end = c.is_constant || random() % 4 == 0;
        const int sign = !c.is_constant && random() % 2 ? -1 : 1;
        const int step = is_end ? sign * spread : int(random() % (2 * unsigned(spread) + 1)) - spread;
        return std::clamp(centre + step, low, high);
    };
    const int64_t k = 2 * c.part_bytes, stride = k + 48, panels = cpu::product_columns / product.panel;
    const int low = c.is_signed ? -128 : 0;
    std::vector<uint8_t> x(size_t(c.rows * stride));
    for (auto& byte : x) byte = uint8_t(around(c.zero, c.x_spread, low, low + 255));
    std::vector<int8_t> weight(size_t(k * cpu::product_columns));
    for (auto& w : weight) w = int8_t(around(0, c.weight_spread, -128, 127));
    const int64_t panel_bytes = product.bounds->bytes_of_panel(k);
    std::vector<int8_t> packed(size_t(panels * panel_bytes));
    for (int64_t i = 0; i < k; ++i)
        for (int64_t column = 0; column < cpu::product_columns; ++column) {
            const int64_t at = i / product.word * product.panel * product.word +
                               column % product.panel * product.word + i % product.word;
            packed[size_t(column / product.panel * panel_bytes + at)] =
                weight[size_t(i * cpu::product_columns + column)];
        }
    for (int64_t p = 0; p < panels; ++p) product.bounds->complete_panel(packed.data() + p * panel_bytes, k);
    const std::array<int64_t, 2> parts{0, c.part_bytes + 16};
    std::vector<float> measures(size_t(product.bounds->measures_of_tile(k)));
    cpu::ByteRows rows{.first = x.data(),
                       .stride = stride,
                       .parts = parts,
                       .part_bytes = c.part_bytes,
                       .count = c.rows,
                       .columns = c.columns,
                       .zero = c.zero};
    (c.is_signed ? product.bounds->measure_signed : product.bounds->measure)(rows, measures.data());
    rows.measures = measures.data();
    std::vector<int32_t> sums(size_t(std::max(product.rows, c.rows) * cpu::product_columns));
    (c.is_signed ? product.multiply_signed : product.multiply)(rows, packed.data(), sums.data());
    for (int64_t r = 0; r < c.rows; ++r)
        for (int64_t column = 0; column < c.columns; ++column) {
            int32_t sum = 0;
            for (int64_t i = 0; i < k; ++i) {
                const int64_t part = i / c.part_bytes;
                const uint8_t byte = x[size_t(r * stride + parts[size_t(part)] + i % c.part_bytes)];
                sum += ((c.is_signed ? int(int8_t(byte)) : int(byte)) - c.zero) *
                       weight[size_t(i * cpu::product_columns + column)];
            }
            ASSERT_EQ(sums[size_t(r * cpu::product_columns + column)], sum) << r << ' ' << column;
        }
}

// Sums that fit in 16 bits, those that do with the lowest byte subtracted, those that do not, and the limits
// between them: 255 * (64 + 64) and 8 * 255 * 16 just fit.
TEST(BoundedProduct, IsExact) {
    auto* product = cpu::bounded_product();
    if (!product) GTEST_SKIP() << "for processors with AVX2 alone";
    std::mt19937 random(11);
    for (bool is_signed : {false, true})
        for (int zero : {0, 3, 100, 128, 255})
            for (int x_spread : {0, 9, 40, 128, 255})
                for (int weight_spread : {1, 15, 16, 17, 40, 63, 64, 65, 100, 128})
                    for (bool is_constant : {false, true}) {
                        const int64_t part_bytes = random() % 2 ? 16 : 80;
                        const auto rows = int64_t(1 + random() % size_t(product->rows));
                        expect_exact(*product,
                                     {part_bytes, rows, random() % 2 ? 32 : 9, is_signed ? zero - 128 : zero,
                                      x_spread, weight_spread, is_signed, is_constant},
                                     random);
                    }
}

// Parts of whole and of broken vectors, up to two tiles of rows, and the largest sums of either sign.
TEST(DotProduct, IsExact) {
    auto* product = cpu::dot_product();
    if (!product || !product->bounds) GTEST_SKIP() << "for Arm processors with products of four bytes";
    std::mt19937 random(12);
    for (bool is_signed : {false, true})
        for (int zero : {0, 3, 128, 255})
            for (int spread : {9, 255})
                for (int64_t part_bytes : {4, 12, 16, 28, 64})
                    for (int64_t rows = 1; rows <= 2 * product->rows; ++rows)
                        for (int64_t columns : {1, 8, 9, 16, 24, 32})
                            for (bool is_constant : {false, true})
                                expect_exact(*product,
                                             {part_bytes, rows, columns, is_signed ? zero - 128 : zero,
                                              spread, 128, is_signed, is_constant},
                                             random);
}

// All numbers of 24 bits whose steps are near to a half.
TEST(QuadSteps, RoundShortlyOnlyWhereThatIsExact) {
    std::mt19937 random(3);
    std::uniform_real_distribution<float> scales(0x1p-8f, 1);
    auto is_exact = [](float scale) {
        const float inverse = 1 / scale, rounded_off = float(1 / double(scale) - double(inverse));
        for (int i = 0; i <= 256; ++i)
            for (int j = -20; j <= 20; ++j) {
                const float half = float((i + 0.5) * double(scale)), x = half + float(j) * half * 0x1p-24f;
                if (std::rint(x / scale) != std::rint(std::fma(x, inverse, x * rounded_off))) return false;
            }
        return true;
    };
    int short_ones = 0;
    for (int i = 0; i < 200; ++i) {
        const float scale = scales(random);
        short_ones += cpu::rounds_shortly(scale);
        EXPECT_EQ(cpu::rounds_shortly(scale), is_exact(scale)) << scale;
    }
    EXPECT_GT(short_ones, 100);
    for (float scale : {0.f, -1.f, 0x1p-100f, INFINITY, NAN}) EXPECT_FALSE(cpu::rounds_shortly(scale));
}

}  // namespace
}  // namespace mge::test
