// SPDX-License-Identifier: Apache-2.0
// Pooling of images with their channels last, so many that a thread has a pack of channels.
#include <gtest/gtest.h>

#include "libmge/kernel/launch.h"
#include "libmge/kernel/select.h"
#include "libmge/mge.h"
#include "libmge/op/backend.h"
#include "tests/harness/check_op.h"
#include "tests/harness/other_device.h"

namespace mge::test {
namespace {

DeviceId gpu() { return other_device().id; }

Tensor with_channels_last(const Tensor& plain) { return ops::transpose(plain, {.pattern = {0, 2, 3, 1}}); }

// The elements in memory order.
template <class O>
Tensor pooled_there(const typename O::Params& params, const Tensor& x) {
    TensorSpecs in{x.spec()}, out = O::info.infer(&params, in);
    out.resize(1);
    in[0].layout = out[0].layout = Layout::named("nhwc");
    Problem problem = make_problem(O::info, &params, in, out);
    problem.device = problem.output_device = gpu();
    Choice choice = select(find_kernels(O::info, gpu()), problem, {}, {});
    Tensor data = to_device(with_channels_last(x), gpu()), there = empty_tensor(in[0], gpu()),
           result = empty_tensor(out[0], gpu());
    queue_of(gpu()).copy(there.address(), data.address(), in[0].bytes());
    launch(*choice.algorithm, choice.prepared, {queue_of(gpu())}, Tensors{there}, Tensors{result});
    auto& y = out[0].shape;
    Tensor plain = empty_tensor({x.dtype(), {y[0], y[2], y[3], y[1]}, {}}, gpu());
    queue_of(gpu()).copy(plain.address(), result.address(), plain.spec().bytes());
    return to_host(plain);
}

TEST(CudaPool, ChannelPacksGiveTheBitsOfSingleChannels) {
    const Shape shape{2, 16, 257, 259};  // over 65536 packs of results
    std::vector<double> values(size_t(shape.numel()));
    for (size_t i = 0; i < values.size(); ++i) values[i] = double(i * 37 % 1009) / 64 - 7;
    for (DType dtype : {DType::f32, DType::f16}) {
        Tensor x = make_tensor(dtype, shape, values);
        ops::MaxPool2d::Params largest{{3, 3}, {2, 2}, {1, 1}};
        ops::AvgPool2d::Params mean{{2, 2}, {2, 2}, {0, 0}};
        EXPECT_EQ(values_of(pooled_there<ops::MaxPool2d>(largest, x)),
                  values_of(with_channels_last(ops::max_pool2d(x, largest))));
        EXPECT_EQ(values_of(pooled_there<ops::AvgPool2d>(mean, x)),
                  values_of(with_channels_last(ops::avg_pool2d(x, mean))));
    }
}

// Sums of these are exact, in whatever order.
TEST(CudaPool, MeansOfWholeImagesHaveTheBitsOfTheCpu) {
    const Shape shape{3, 24, 8, 16};
    std::vector<double> values(size_t(shape.numel()));
    for (size_t i = 0; i < values.size(); ++i) values[i] = double(i * 37 % 16);
    for (DType dtype : {DType::f32, DType::f16}) {
        Tensor x = make_tensor(dtype, shape, values);
        ops::AvgPool2d::Params whole{{8, 16}, {1, 1}, {0, 0}};
        EXPECT_EQ(values_of(pooled_there<ops::AvgPool2d>(whole, x)),
                  values_of(with_channels_last(ops::avg_pool2d(x, whole))));
    }
}

}  // namespace
}  // namespace mge::test
