// SPDX-License-Identifier: Apache-2.0
// Matrix products of random sizes by every algorithm, beside the reference.
#include <gtest/gtest.h>

#include "libmge/mge.h"
#include "tests/ops/random_problem.h"

namespace mge::test {
namespace {

struct RandomProduct {
    Shape a, b;
    ops::Matmul::Params params;
    int64_t terms;  // in each of its sums
};

// A matrix, or several whose number is 1 or that of other operands.
Shape random_stack(Choice& choice, Shape matrix) {
    for (int64_t count : {7, 3}) {
        if (choice.between(0, 2)) break;
        matrix.insert(0, choice.flip() ? 1 : count);
    }
    return matrix;
}

RandomProduct random_product(Choice& choice) {
    auto extent = [&] {
        return choice.of<int64_t>({0, 1, 1, 2, 3, 4, 7, 8, 15, 16, 17, 31, 32, 33, 64, 65, 100, 257});
    };
    int64_t m = extent(), k = extent(), n = extent();
    RandomProduct r{{m, k}, {k, n}, {.transpose_a = choice.flip(), .transpose_b = choice.flip()}, k};
    if (r.params.transpose_a) r.a = {k, m};
    if (r.params.transpose_b) r.b = {n, k};
    bool is_vector_a = choice.between(0, 7) == 0, is_vector_b = choice.between(0, 7) == 0;
    r.a = is_vector_a ? Shape{k} : random_stack(choice, r.a);
    r.b = is_vector_b ? Shape{k} : random_stack(choice, r.b);
    r.params.activation = choice.of<Activation>({Activation::none, Activation::none, Activation::relu,
                                                 Activation::gelu, Activation::tanh, Activation::silu});
    return r;
}

TEST(RandomProducts, AllAlgorithmsAgree) {
    auto& op = ops::Matmul::info;
    for (int seed = 0; seed < random_cases(); ++seed) {
        Choice choice(seed);
        RandomProduct r = random_product(choice);
        DType dtype = choice.of<DType>({DType::f32, DType::f32, DType::f32, DType::f16, DType::bf16});
        Precision precision = choice.of<Precision>({Precision::strict, Precision::relaxed, Precision::fast});
        auto factors = [&](const Shape& shape) { return random_factors(shape, dtype, precision); };
        Tensors inputs{factors(r.a), factors(r.b)};
        Shape y = ops::Matmul::infer(r.params, specs_of(inputs))[0].shape;
        bool has_residual = choice.between(0, 2) == 0;
        int64_t columns = r.b.rank() == 1 ? 1 : y[y.rank() - 1];
        if (has_residual || choice.flip()) inputs.push_back(factors({columns}));
        if (has_residual) inputs.push_back(factors(y));
        TensorSpecs specs = specs_of(inputs), outputs = ops::Matmul::infer(r.params, specs);
        Problem problem{op.name, &r.params, op.fields, specs, outputs};
        Tensor expected = by_reference<ops::Matmul>(r.params, inputs)[0];
        problem.threads = int(choice.between(1, 3));
        problem.precision = precision;
        problem.constant_inputs = choice.of<uint32_t>({0, 1, 2, 2, 6, 6});
        for_each_algorithm(op, problem, inputs, [&](const Tensors& got, const std::string& what) {
            expect_close(got[0], expected, r.terms, 4, what);
        });
        if (testing::Test::HasFailure()) FAIL() << "seed " << seed;
    }
}

}  // namespace
}  // namespace mge::test
