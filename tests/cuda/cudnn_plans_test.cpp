// SPDX-License-Identifier: Apache-2.0
// If cuDNN is installed, it makes plans for a device described by its properties: so it checks our operation
// graphs without a GPU.
#include <dlfcn.h>
#include <gtest/gtest.h>

#include <algorithm>

#include "libmge/mge.h"
#include "libmge/ops/nn/attention/cudnn_operations.cuda.h"
#include "libmge/ops/nn/attention/geometry.h"
#include "libmge/ops/nn/convolution/cudnn_operations.cuda.h"

namespace mge::ops {
namespace {

constexpr std::string_view h200 =
    R"({"cudaDeviceId":0,"deviceVer":900,"driverVer":13000,"deviceName":"NVIDIA H200",)"
    R"("maxGridSize":[2147483647,65535,65535],"maxBlockSize":[1024,1024,64],"regsPerBlock":65536,)"
    R"("multiProcessorCount":132,"warpSize":32,"maxSharedMemoryPerBlock":49152,)"
    R"("maxSharedMemoryPerBlockOptin":232448,"reservedSharedMemoryPerBlock":1024,)"
    R"("maxRegistersPerSM":65536,"maxCtasPerSM":32,"maxThreadsPerBlock":1024,"maxThreadsPerSM":2048,)"
    R"("pciDeviceId":0,"isTccDriver":0,"supportCoopLaunch":1,"smClockRateKHz":1980000,)"
    R"("memClockRateKHz":3201000,"l2CacheSize":62914560,"totalGlobalMem":150754820096})";

const Conv2d::Params forward{.padding = {1, 1}, .activation = Activation::relu};
const Conv2dBackwardData::Params backward_data{.padding = {1, 1}};
const Conv2dBackwardWeight::Params backward_weight{.padding = {1, 1}};

// The best candidate of a convolution of images (8, 64, 28, 28) and weights of 3 x 3, or of its gradients.
struct Best {
    std::string name;
    size_t workspace = 0;
};
Best best_plan(std::string_view op, DType dtype, const Layout& layout) {
    TensorSpec image{dtype, {8, 64, 28, 28}, layout}, weight{dtype, {64, 64, 3, 3}, {}};
    TensorSpec bias{dtype, {1, 64, 1, 1}, {}};
    TensorSpecs inputs{image, weight, bias, image}, outputs{image};
    Problem p;
    p.op = op;
    p.params = &forward;
    if (op == Conv2dBackwardData::name) {
        p.params = &backward_data;
        inputs = {weight, image, image};
    }
    if (op == Conv2dBackwardWeight::name) {
        p.params = &backward_weight;
        inputs = {image, image, weight};
        outputs = {weight};
    }
    p.inputs = inputs;
    p.outputs = outputs;
    cuda::CudnnTarget target(h200);
    auto candidates = cudnn_candidates(p, target);
    if (candidates.empty()) return {};
    auto& name = candidates.front().name;
    return {name, cudnn_candidate_plan(p, name, target).workspace};
}

class CudnnPlans : public testing::Test {
protected:
    void SetUp() override {
        if (!cuda::cudnn().why_not.empty()) GTEST_SKIP() << cuda::cudnn().why_not;
    }
    Layout channels_last = Layout::named("nhwc");
};

TEST_F(CudnnPlans, FusesBiasResidualAndRelu) {
    for (DType dtype : {DType::f32, DType::f16, DType::bf16})
        for (auto& layout : {Layout(), channels_last})
            EXPECT_TRUE(is_fused_candidate(best_plan(Conv2d::name, dtype, layout).name)) << dtype << layout;
}

// The copy is in the workspace: tensor cores need channels last, strict f32 plain images.
TEST_F(CudnnPlans, CopiesImagesToTheOtherLayout) {
    for (std::string_view op : {Conv2d::name, Conv2dBackwardData::name, Conv2dBackwardWeight::name}) {
        auto plain = best_plan(op, DType::f16, {}), last = best_plan(op, DType::f16, channels_last);
        EXPECT_FALSE(plain.name.empty() || last.name.empty()) << op;
        EXPECT_LT(last.workspace, plain.workspace) << op;
    }
    EXPECT_LT(best_plan(Conv2d::name, DType::f32, {}).workspace,
              best_plan(Conv2d::name, DType::f32, channels_last).workspace);
}

// Sums of steps: with and without groups, for a kernel and for one pixel. Nothing is copied.
TEST_F(CudnnPlans, SumsOfStepsNeedNoCopies) {
    struct Case {
        Shape x, weight;
        int64_t groups;
    };
    for (auto& c : {Case{{8, 64, 28, 28}, {64, 64, 3, 3}, 1}, Case{{8, 64, 28, 28}, {128, 64, 1, 1}, 1},
                    Case{{8, 64, 28, 28}, {2, 32, 32, 3, 3}, 2}, Case{{8, 3, 32, 32}, {16, 3, 3, 3}, 1},
                    Case{{8, 64, 28, 28}, {64, 1, 1, 3, 3}, 64}}) {
        auto g = conv_geometry("test", {{1, 1}, {1, 1}, {1, 1}, c.groups}, c.x, c.weight);
        cuda::CudnnTarget target(h200);
        auto engines = cuda::cudnn_engines(step_convolution_graph(g, target), target);
        std::erase_if(engines, [&](auto& engine) { return !engine.is_ready(); });
        ASSERT_FALSE(engines.empty()) << c.x << c.weight;
        auto plan = cuda::cudnn_plan(engines.front().config, target);
        ASSERT_TRUE(plan) << engines.front().name;
        EXPECT_EQ(plan->workspace, 0U) << engines.front().name;
    }
}

// Engines that compile their code are named where there is a driver, or what a toolkit has in its place to
// link with; that loads nothing, so plans are made on a GPU alone.
TEST_F(CudnnPlans, AttentionHasEnginesForwardAndBackward) {
    void* driver = dlopen("libcuda.so.1", RTLD_NOW | RTLD_GLOBAL);
    if (!driver) driver = dlopen(MGE_CUDA_DRIVER_STUB, RTLD_NOW | RTLD_GLOBAL);
    if (!driver) GTEST_SKIP() << "there is neither a driver nor its stub";
    struct Case {
        Shape q, k, v;
        AttentionParams params;
    };
    cuda::CudnnTarget target(h200);
    for (auto& c : {Case{{2, 8, 128, 64}, {2, 8, 128, 64}, {2, 8, 128, 64}, {}},
                    Case{{2, 8, 128, 64}, {2, 2, 256, 64}, {2, 2, 256, 64}, {.causal = true}},
                    Case{{2, 8, 37, 64}, {2, 4, 53, 64}, {2, 4, 53, 64}, {.causal = true, .from_end = true}},
                    Case{{2, 100, 8, 128}, {2, 100, 8, 128}, {2, 100, 8, 128}, {.side_by_side = true}},
                    Case{{1, 3, 19, 24}, {1, 3, 23, 24}, {1, 3, 23, 40}, {.scale = 0.5}}})
        for (DType dtype : {DType::f16, DType::bf16}) {
            const TensorSpec in[] = {{dtype, c.q, {}}, {dtype, c.k, {}}, {dtype, c.v, {}}};
            AttentionShape s = attention_shape("test", c.params, in, TensorSpec{});
            EXPECT_FALSE(cuda::cudnn_engines(attention_graph(s, dtype, target), target).empty())
                << c.q << dtype;
            EXPECT_FALSE(cuda::cudnn_engines(attention_backward_graph(s, dtype, target), target).empty())
                << c.q << dtype;
        }
}

}  // namespace
}  // namespace mge::ops
