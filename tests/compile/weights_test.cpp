// SPDX-License-Identifier: Apache-2.0
// Weights that algorithms pack: the memory of the originals is released.

#include <gtest/gtest.h>

#include <cmath>
#include <cstring>

#include "libmge/base/files/file.h"
#include "libmge/inspect/memory.h"
#include "libmge/mge.h"
#include "libmge/model/model.h"
#include "libmge/ops/nn/convolution/conv2d.h"
#include "tests/new_folder.h"
#include "tests/passes/same_graph.h"

namespace mge::test {
namespace {

constexpr int64_t channels = 64;
constexpr size_t kernel_bytes = channels * channels * 3 * 3 * 4;

Tensor ramp(const Shape& shape, int seed = 1) {
    std::vector<float> values(size_t(shape.numel()));
    for (size_t i = 0; i < values.size(); ++i) values[i] = float(int((i + size_t(seed)) * 7 % 23) - 11) / 40;
    return constant(shape, values);
}

Tensor kernel(int seed) { return ramp({channels, channels, 3, 3}, seed); }

Graph convolutions(const std::vector<int>& seeds) {
    return record({f32({2, channels, 12, 12})}, [&](const Tensors& x) {
        Tensor y = x[0];
        for (int seed : seeds)
            y = ops::relu(
                ops::add(ops::conv2d(y, kernel(seed), {.padding = {1, 1}}), ramp({1, channels, 1, 1}, seed)));
        return Tensors{y};
    });
}

CompileOptions packing(bool on) {
    CompileOptions o;
    o.layout = "nchw";
    o.threads = 1;
    o.switches.pack_weights = on;
    return o;
}

size_t allocated() { return device({}).memory().allocated; }

// Winograd is chosen for packed weights only; each of up to four layers adds its rounding.
void expect_near(const Tensor& got, const Tensor& expected) {
    ASSERT_EQ(got.spec(), expected.spec());
    for (int64_t i = 0; i < got.spec().numel(); ++i)
        ASSERT_NEAR(got.data<float>()[i], expected.data<float>()[i],
                    1e-3 * (1 + std::abs(expected.data<float>()[i])))
            << "element " << i;
}

TEST(WeightPreprocess, OffPacksNothingOnReleasesTheOriginals) {
    Graph graph = convolutions({1, 2, 3});
    auto off = Program::compile(graph, packing(false))->memory();
    EXPECT_EQ(off.packed_weights, 0u);
    EXPECT_GE(off.weights, 3 * kernel_bytes);
    EXPECT_EQ(off.released_weights, 0u);
    auto on = Program::compile(graph, packing(true))->memory();
    EXPECT_GE(on.packed_weights, 3 * kernel_bytes);
    EXPECT_EQ(on.released_weights, 3 * kernel_bytes);
    EXPECT_LE(double(on.weights + on.made_weights + on.packed_weights), 1.05 * double(on.packed_weights));
}

TEST(WeightPreprocess, MemoryIsFreedWithTheGraph) {
    size_t before = allocated();
    Graph graph = convolutions({4, 5, 6});
    auto program = Program::compile(graph, packing(true));
    EXPECT_GE(allocated() - before, 3 * kernel_bytes + program->memory().packed_weights);
    graph = {};
    auto m = program->memory();
    EXPECT_LE(double(allocated() - before), 1.05 * double(m.packed_weights));
    auto context = Context::create(program);
    Tensor x = ramp({2, channels, 12, 12}, 5);
    std::memcpy(context->input(0), x.data(), x.spec().bytes());
    context->run();
    expect_near(context->output(0), Executable(convolutions({4, 5, 6}), packing(false)).run(Tensors{x})[0]);
}

TEST(WeightPreprocess, OtherShapesShareThePackedWeights) {
    size_t before = allocated();
    Executable packed(convolutions({7, 8}), packing(true)), plain(convolutions({7, 8}), packing(false));
    size_t models = allocated() - before;
    for (Shape shape : {Shape{2, channels, 12, 12}, Shape{5, channels, 12, 12}, Shape{1, channels, 9, 17},
                        Shape{2, channels, 12, 12}}) {
        Tensor x = ramp(shape, 3);
        expect_near(packed.run(Tensors{x})[0], plain.run(Tensors{x})[0]);
    }
    std::vector<std::shared_ptr<const Program>> programs;
    Graph graph = convolutions({9, 10});
    before = allocated();
    for (int64_t batch : {1, 2, 3})
        programs.push_back(
            Program::compile(infer_shapes(graph, {f32({batch, channels, 20, 20})}), packing(true)));
    size_t once = programs[0]->memory().packed_weights;
    EXPECT_LE(double(allocated() - before), 1.05 * double(once)) << "three programs, one packed copy";
    EXPECT_GT(models, 4 * kernel_bytes);
}

TEST(WeightPreprocess, FurtherShapesDoNotReadTheOriginals) {
    Executable executable(convolutions({11, 12}), packing(true));
    auto program_of = [&](int64_t batch) { return executable.program_for({f32({batch, channels, 20, 20})}); };
    auto first = program_of(1);
    // Other values would be packed again.
    for (auto& value : executable.graph().values())
        if (value.is_constant() && value.spec == kernel(1).spec())
            std::memset(const_cast<void*>(value.constant.address()), 0, kernel_bytes);
    size_t before = allocated();
    auto second = program_of(2);
    EXPECT_LT(allocated() - before, kernel_bytes);
    auto context = Context::create(second);
    Tensor x = ramp({2, channels, 20, 20}, 5);
    std::memcpy(context->input(0), x.data(), x.spec().bytes());
    context->run();
    expect_near(context->output(0), Executable(convolutions({11, 12}), packing(false)).run(Tensors{x})[0]);
}

TEST(WeightPreprocess, OneWeightInManyStepsIsPackedOnce) {
    Tensor weight = kernel(1);
    Graph graph = record({f32({1, channels, 12, 12})}, [&](const Tensors& x) {
        Tensor y = x[0];
        for (int i = 0; i < 5; ++i) y = ops::conv2d(y, weight, {.padding = {1, 1}});
        return Tensors{y};
    });
    auto m = Program::compile(graph, packing(true))->memory();
    auto single = Program::compile(record({f32({1, channels, 12, 12})},
                                          [&](const Tensors& x) {
                                              return Tensors{ops::conv2d(x[0], weight, {.padding = {1, 1}})};
                                          }),
                                   packing(true));
    EXPECT_EQ(m.packed_weights, single->memory().packed_weights);
    EXPECT_EQ(m.weights, 0u);
}

TEST(WeightPreprocess, AnotherReaderKeepsTheOriginal) {
    Tensor weight = kernel(1);
    Graph graph = record({f32({1, channels, 12, 12})}, [&](const Tensors& x) {
        return Tensors{ops::conv2d(x[0], weight, {.padding = {1, 1}}), ops::mul(weight, ops::sum(x[0]))};
    });
    auto program = Program::compile(graph, packing(true));
    EXPECT_EQ(program->memory().weights, kernel_bytes);
    EXPECT_EQ(program->memory().released_weights, 0u);
    EXPECT_GE(program->memory().packed_weights, kernel_bytes);
    Graph output = record({f32({1, channels, 12, 12})}, [&](const Tensors& x) {
        return Tensors{ops::conv2d(x[0], weight, {.padding = {1, 1}}), ops::reshape(weight, {.shape = {-1}})};
    });
    EXPECT_EQ(Program::compile(output, packing(true))->memory().weights, kernel_bytes) << "it is a result";
}

TEST(WeightPreprocess, ObserversGetOriginals) {
    auto value_of_weight = [](bool keeps) {
        Graph graph = convolutions({1});
        auto options = packing(true);
        options.keeps_weights = keeps;
        auto program = Program::compile(graph, options);
        EXPECT_EQ(program->memory().released_weights, keeps ? 0 : kernel_bytes);
        auto context = Context::create(program);
        for (size_t id = 0; id < program->values().size(); ++id)
            if (program->values()[id].spec == kernel(1).spec()) return context->value(ValueId(id));
        ADD_FAILURE() << "no weight";
        return Tensor();
    };
    Tensor kept = value_of_weight(true);
    ASSERT_TRUE(kept);
    EXPECT_EQ(std::memcmp(kept.data(), kernel(1).data(), kernel_bytes), 0);
    EXPECT_FALSE(value_of_weight(false));
}

// A bias of less than a page is stored between two released kernels: reading it must not bring them back.
TEST(WeightPreprocess, KeptOriginalsDoNotReloadNeighbours) {
    NewFolder folder("mge_weights");
    const std::string path = folder.file("model.mge");
    Graph graph = record({f32({1, channels, 12, 12})}, [&](const Tensors& x) {
        Tensor y = x[0];
        for (int seed : {1, 2, 3, 4}) {
            y = ops::conv2d(y, kernel(seed), {.padding = {1, 1}});
            y = ops::mul(ops::relu(y), ramp({1, channels, 1, 1}, seed));
        }
        return Tensors{y};
    });
    write_model(path, {std::move(graph), {}, {}});
    Model model = read_model(path);
    auto program = Program::compile(model.graph, packing(true));
    size_t small = program->memory().weights_in_file;
    EXPECT_GE(small, 4 * size_t(channels) * sizeof(float));
    Context::create(program)->run();
    constexpr size_t pages_of_each = 4 * 4096;
    EXPECT_LE(resident_bytes(constant_pieces(model.graph, true)).value(), small + 5 * pages_of_each);
}

TEST(WeightPreprocess, PagesOfAModelFileAreReleased) {
    NewFolder folder("mge_weights");
    const std::string path = folder.file("model.mge");
    write_model(path, {convolutions({1, 2, 3, 4}), {}, {}});
    Model model = read_model(path);
    auto resident = [&] { return resident_bytes(constant_pieces(model.graph, true)).value(); };
    EXPECT_GE(resident(), 4 * kernel_bytes);
    EXPECT_EQ(held_weights(model.graph), 0u);
    auto program = Program::compile(model.graph, packing(true));
    EXPECT_LE(resident(), 1u << 16);
    EXPECT_EQ(program->memory().released_weights, 4 * kernel_bytes);
    // They come back for whoever reads them.
    Tensor x = ramp({3, channels, 7, 11}, 5);
    expect_near(Executable(model.graph, packing(true)).run(Tensors{x})[0],
                Executable(convolutions({1, 2, 3, 4}), packing(false)).run(Tensors{x})[0]);
    auto plain = Program::compile(model.graph, packing(false));
    EXPECT_EQ(plain->memory().weights_in_file, plain->memory().weights);
    EXPECT_GE(plain->memory().weights, 4 * kernel_bytes);
}

TEST(WeightPreprocess, HalfPrecisionKeepsOneCopy) {
    Tensor weight = ops::convert(kernel(1), {.dtype = DType::f16});
    auto convolve = [](const Tensor& w) {
        return record({{w.dtype(), {1, channels, 12, 12}, {}}}, [&](const Tensors& x) {
            return Tensors{ops::conv2d(x[0], w, {.padding = {1, 1}})};
        });
    };
    auto wide = Program::compile(convolve(kernel(1)), packing(true));
    CompileOptions options = packing(true);
    options.algorithms = {"f32:" + wide->steps()[0].algorithm};
    auto program = Program::compile(convolve(weight), options);
    EXPECT_EQ(program->memory().packed_weights, wide->memory().packed_weights)
        << "not widened and packed both";
    EXPECT_EQ(program->memory().weights, 0u);
    auto context = Context::create(program);
    Tensor x = ramp({1, channels, 12, 12}, 5), half = ops::convert(x, {.dtype = DType::f16});
    std::memcpy(context->input(0), half.data(), half.spec().bytes());
    context->run();
    Tensor got = ops::convert(context->output(0), {.dtype = DType::f32});
    Tensor expected = Executable(convolve(kernel(1)), packing(true)).run(Tensors{x})[0];
    for (int64_t i = 0; i < got.spec().numel(); ++i)
        ASSERT_NEAR(got.data<float>()[i], expected.data<float>()[i],
                    2e-2 * (1 + std::abs(expected.data<float>()[i])));
}

}  // namespace
}  // namespace mge::test
