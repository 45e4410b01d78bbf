// SPDX-License-Identifier: Apache-2.0
#pragma once
// Nets on which options of compilation act, and what their tests ask of programs.

#include <gtest/gtest.h>

#include <cmath>
#include <functional>
#include <string>
#include <vector>

#include "libmge/mge.h"
#include "libmge/ops/nn/convolution/conv2d.h"
#include "tests/passes/same_graph.h"

namespace mge::test {

inline TensorSpec image(int64_t channels) { return f32({2, channels, 12, 12}); }

inline Tensor ramp(const Shape& shape, int seed = 1) {
    std::vector<float> values(size_t(shape.numel()));
    for (size_t i = 0; i < values.size(); ++i) values[i] = float(int((i + size_t(seed)) * 7 % 23) - 11) / 40;
    return constant(shape, values);
}

// Three convolutions with bias and ReLU; the third adds the first's output before its ReLU. Ten nodes.
inline Graph conv_net() {
    return record({image(16)}, [](const Tensors& x) {
        auto convolve = [](const Tensor& t, int seed) {
            Tensor y = ops::conv2d(t, ramp({16, 16, 3, 3}, seed), {.padding = {1, 1}});
            return ops::add(y, ramp({1, 16, 1, 1}, seed));
        };
        Tensor first = ops::relu(convolve(x[0], 1));
        Tensor second = ops::relu(convolve(first, 2));
        return Tensors{ops::relu(ops::add(convolve(second, 3), first))};
    });
}

inline CompileOptions options(int level) {
    CompileOptions o;
    o.level = level;
    o.layout = "nchw";
    o.threads = 1;
    o.switches.fuse_elementwise = 0;
    return o;
}

inline void expect_refused(const std::function<void()>& compile, const std::string& words) {
    try {
        compile();
        ADD_FAILURE() << "no error; expected: " << words;
    } catch (const UserError& e) {
        EXPECT_NE(std::string(e.what()).find(words), std::string::npos) << e.what();
    }
}

inline size_t count_steps(const Graph& graph, const CompileOptions& o, std::string_view op = {}) {
    auto program = Program::compile(graph, o);
    size_t count = 0;
    for (auto& step : program->steps()) count += op.empty() || step.op == op;
    return count;
}

inline Tensors run(const Graph& graph, const CompileOptions& o, const Tensors& inputs) {
    return Executable(graph, o).run(inputs);
}

inline void expect_near(const Tensor& got, const Tensor& expected) {
    ASSERT_EQ(got.spec(), expected.spec());
    for (int64_t i = 0; i < got.spec().numel(); ++i)
        ASSERT_NEAR(got.data<float>()[i], expected.data<float>()[i],
                    1e-4 * (1 + std::abs(expected.data<float>()[i])))
            << "element " << i;
}

}  // namespace mge::test
