// SPDX-License-Identifier: Apache-2.0
// Attention of random sizes by every algorithm, beside the reference.
#include <gtest/gtest.h>

#include <algorithm>
#include <limits>

#include "libmge/mge.h"
#include "tests/ops/random_problem.h"

namespace mge::test {
namespace {

using Params = ops::AttentionParams;

struct Sizes {
    int64_t batch, heads, shared, queries, keys, width, value_width;
};

Sizes random_sizes(Choice& choice) {
    auto extent = [&] {
        return choice.of<int64_t>({0, 1, 1, 2, 3, 5, 8, 15, 16, 17, 31, 33, 63, 64, 65, 130, 200});
    };
    auto width = [&] { return choice.of<int64_t>({1, 2, 3, 7, 8, 16, 17, 32, 33, 64, 80}); };
    int64_t shared = choice.of<int64_t>({1, 1, 2, 3});
    return {choice.between(1, 3),
            shared * choice.of<int64_t>({1, 1, 2, 4}),
            shared,
            extent(),
            extent(),
            width(),
            width()};
}

// Some keys are masked.
Tensor random_mask(Choice& choice, const Sizes& s, DType dtype, Precision precision) {
    Shape shape;
    for (int64_t size : {s.batch, s.heads, s.queries, s.keys}) shape.push_back(choice.flip() ? size : 1);
    for (int64_t axes = choice.between(0, 3); axes > 0; --axes) shape.erase(0);
    Tensor mask = random_factors(shape, dtype, precision);
    auto values = values_of(mask);
    for (auto& v : values)
        if (choice.between(0, 3) == 0) v = -std::numeric_limits<double>::infinity();
    return choice.flip() ? mask : make_tensor(dtype, shape, values);
}

TEST(RandomAttention, AllAlgorithmsAgree) {
    auto& op = ops::Attention::info;
    for (int seed = 0; seed < random_cases(); ++seed) {
        Choice choice(seed);
        Sizes s = random_sizes(choice);
        Params params{choice.flip() ? 0 : 0.3, choice.flip(), choice.flip(), choice.flip()};
        DType dtype = choice.of<DType>({DType::f32, DType::f32, DType::f16, DType::bf16});
        Precision precision = choice.of<Precision>({Precision::strict, Precision::relaxed, Precision::fast});
        auto factors = [&](int64_t heads, int64_t rows, int64_t width) {
            Shape shape =
                params.side_by_side ? Shape{s.batch, rows, heads, width} : Shape{s.batch, heads, rows, width};
            return random_factors(shape, dtype, precision);
        };
        Tensors inputs{factors(s.heads, s.queries, s.width), factors(s.shared, s.keys, s.width),
                       factors(s.shared, s.keys, s.value_width)};
        if (choice.flip()) inputs.push_back(random_mask(choice, s, dtype, precision));
        TensorSpecs specs = specs_of(inputs), outputs = ops::Attention::infer(params, specs);
        Problem problem{op.name, &params, op.fields, specs, outputs};
        Tensors expected = by_reference<ops::Attention>(params, inputs);
        problem.threads = int(choice.between(1, 3));
        problem.precision = precision;
        // Other precisions round the weights.
        auto rounded = [&](const Tensor& x) {
            return precision == Precision::strict ? x : ops::convert(x, {.dtype = DType::bf16});
        };
        for_each_algorithm(op, problem, inputs, [&](const Tensors& got, const std::string& what) {
            for (size_t i : {0u, 1u})
                expect_close(rounded(got[i]), rounded(expected[i]), std::max(s.keys, s.width) * 4, 4, what);
        });
        if (testing::Test::HasFailure()) FAIL() << "seed " << seed;
    }
}

}  // namespace
}  // namespace mge::test
