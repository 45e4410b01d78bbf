// SPDX-License-Identifier: Apache-2.0
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <numeric>
#include <string>

#include "libmge/device/cpu/cpu_device.h"
#include "libmge/mge.h"
#include "tests/harness/check_op.h"

namespace mge::test {
namespace {

Layout layout_of(const std::string& name) { return name == "plain" ? Layout() : Layout::named(name); }

// Runs one algorithm; memory that it should write is poisoned before.
std::vector<float> reordered(const std::string& algorithm_name, const std::vector<float>& x,
                             const Shape& shape, const std::string& from, const std::string& to) {
    ops::Reorder::Params params{to};
    TensorSpecs inputs{{DType::f32, shape, layout_of(from)}};
    TensorSpecs outputs = ops::Reorder::info.infer(&params, inputs);
    auto& info = ops::Reorder::info;
    Problem problem{info.name, &params, info.fields, inputs, outputs, 0, default_device(), 2};
    std::vector<float> y(outputs[0].bytes() / sizeof(float), -1);
    for (auto& algorithm : find_kernels(info, default_device())) {
        if (algorithm.name != algorithm_name || !algorithm.supports(problem)) continue;
        Prepared prepared = algorithm.prepare({problem, {algorithm.name}, {}});
        const void* in[] = {x.data()};
        void* out[] = {y.data()};
        algorithm.run(prepared, {in, out, nullptr, 2, nullptr});
        return y;
    }
    return {};
}

TEST(Reorder, AlgorithmsAgreeAndRoundTrip) {
    for (Shape shape : {Shape{2, 32, 3, 5}, Shape{1, 24, 7, 7}, Shape{1, 3, 9, 4}, Shape{2, 16, 1, 1}}) {
        std::vector<float> x(size_t(shape.numel()));
        std::iota(x.begin(), x.end(), 1.0F);
        for (std::string name : {"nhwc", "nChw16c", "nChw8c", "NHWCD4"}) {
            auto there = reordered("strided", x, shape, "plain", name);
            EXPECT_EQ(there, reordered("reference", x, shape, "plain", name)) << shape << name;
            EXPECT_EQ(reordered("strided", there, shape, name, "plain"), x) << shape << name;
            auto channels_last = reordered("reference", x, shape, "plain", "nhwc");
            EXPECT_EQ(reordered("strided", channels_last, shape, "nhwc", name), there) << shape << name;
        }
    }
}

TEST(Reorder, FollowsLayoutNames) {
    std::vector<float> x{1, 2, 3, 4, 5, 6};  // (1, 3, 1, 2)
    EXPECT_THAT(reordered("strided", x, {1, 3, 1, 2}, "plain", "nhwc"),
                testing::ElementsAre(1, 3, 5, 2, 4, 6));
    EXPECT_THAT(reordered("strided", x, {1, 3, 1, 2}, "plain", "nChw4c"),
                testing::ElementsAre(1, 3, 5, 0, 2, 4, 6, 0));
}

TEST(Reorder, DifferentBlockSizesUseTheReference) {
    std::vector<float> x(32);
    std::iota(x.begin(), x.end(), 1.0F);
    auto eight = reordered("strided", x, {1, 32, 1, 1}, "plain", "nChw8c");
    EXPECT_THAT(reordered("strided", eight, {1, 32, 1, 1}, "nChw8c", "nChw16c"), testing::IsEmpty());
    EXPECT_EQ(reordered("reference", eight, {1, 32, 1, 1}, "nChw8c", "nChw16c"), x);
}

Support onednn_supports(DType dtype) {
    ops::Reorder::Params params{"nhwc"};
    auto& info = ops::Reorder::info;
    TensorSpecs inputs{{dtype, {1, 6, 28, 28}, {}}}, outputs = info.infer(&params, inputs);
    Problem problem{info.name, &params, info.fields, inputs, outputs, 0, default_device(), 2};
    for (auto& algorithm : find_kernels(info, default_device()))
        if (algorithm.name == std::string("onednn")) return algorithm.supports(problem);
    return {"no such algorithm"};
}

// It would move them one by one, a hundred times slower than the others.
TEST(Reorder, OneDnnHandlesGeneratedReorders) {
    EXPECT_TRUE(onednn_supports(DType::f32));
    EXPECT_LE(bool(onednn_supports(DType::bf16)), cpu_isa() >= Isa::avx512);
    EXPECT_LE(bool(onednn_supports(DType::f16)), cpu_isa() >= Isa::avx512);
}

TEST(Reorder, RejectsInvalidArguments) {
    try {
        ops::reorder(tensor_of<float>({2}, {1, 2}), {.layout = "nhwc"});
        FAIL();
    } catch (const UserError& e) {
        EXPECT_STREQ(e.what(), "[reorder] layout nhwc is for tensors (N, C, H, W), got shape (2,)");
    }
    EXPECT_THROW(ops::reorder(tensor_of<float>({2}, {1, 2}), {.layout = "nwhc"}), UserError);
}

}  // namespace
}  // namespace mge::test
