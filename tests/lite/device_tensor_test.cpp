// SPDX-License-Identifier: Apache-2.0
// Tensors on a device whose memory the host cannot touch and that works late, and pinned ones.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "libmge/device/device.h"
#include "libmge/device/gpu.h"
#include "libmge/lite/device.h"
#include "libmge/lite/tensor_impl.h"
#include "tests/lite/tensor_values.h"
#include "tests/shadow/shadow_device.h"

namespace lite::test {
namespace {

using testing::Each;
using testing::ElementsAre;
using testing::HasSubstr;

// LITE_CUDA is the shadow device.
class LiteDeviceTensor : public testing::Test {
protected:
    LiteDeviceTensor() {
        mge::test::shadow_device();
        let_cuda_mean("shadow");
    }
    ~LiteDeviceTensor() override { let_cuda_mean("gpu"); }
};

Tensor on_device(const Tensor& tensor, int id = 0) {
    Tensor result(id, LITE_CUDA);
    result.copy_from(tensor);
    return result;
}

// Each is {4, 6} with the same elements: a whole tensor, or a slice of a larger one.
struct Kind {
    const char* name;
    LiteDeviceType device;
    int id;
    bool is_pinned, is_slice;
};
constexpr Kind kinds[] = {
    {"host", LITE_CPU, 0, false, false},          {"slice on the host", LITE_CPU, 0, false, true},
    {"pinned", LITE_CUDA, 0, true, false},        {"slice of pinned", LITE_CUDA, 0, true, true},
    {"device", LITE_CUDA, 0, false, false},       {"slice on a device", LITE_CUDA, 0, false, true},
    {"other device", LITE_CUDA, 1, false, false}, {"slice on another", LITE_CUDA, 1, false, true},
};

struct Sample {
    std::shared_ptr<Tensor> whole, part;
};

Sample make(const Kind& kind) {
    Sample sample;
    sample.whole = std::make_shared<Tensor>(kind.id, 1, kind.device, kind.is_pinned);
    sample.whole->set_layout(kind.is_slice ? layout({9, 14}) : layout({4, 6}));
    sample.whole->fill_zero();
    sample.part = kind.is_slice ? sample.whole->slice({1, 2}, {9, 13}, {2, 2}) : sample.whole;
    return sample;
}

TEST_F(LiteDeviceTensor, CopiesBetweenAllKinds) {
    Tensor numbers = counting<float>(layout({4, 6}));
    auto expected = values_of<float>(numbers);
    for (auto& from : kinds)
        for (auto& to : kinds) {
            SCOPED_TRACE(std::string(from.name) + " to " + to.name);
            Sample source = make(from), target = make(to);
            source.part->copy_from(numbers);
            target.part->copy_from(*source.part);
            EXPECT_EQ(values_of<float>(*target.part), expected);
            float sum = 0, all = 0;
            for (float value : expected) sum += value;
            for (float value : values_of<float>(*target.whole)) all += value;
            EXPECT_EQ(all, sum);  // the elements in between are still 0
        }
}

TEST_F(LiteDeviceTensor, ReportsTheDeviceOfATensor) {
    Tensor tensor(1, LITE_CUDA, layout({2, 3})), pinned(LITE_CUDA, layout({2, 3}), true);
    EXPECT_EQ(tensor.get_device_type(), LITE_CUDA);
    EXPECT_EQ(tensor.get_device_id(), 1);
    EXPECT_FALSE(tensor.is_pinned_host());
    EXPECT_EQ(pinned.get_device_type(), LITE_CUDA);
    EXPECT_TRUE(pinned.is_pinned_host());
    pinned.update_from_implement();
    EXPECT_EQ(pinned.get_device_type(), LITE_CPU);  // its memory is the host's
    EXPECT_TRUE(pinned.is_pinned_host());
    Tensor copy;
    copy.copy_from(tensor);
    EXPECT_EQ(copy.get_device_type(), LITE_CPU);
    EXPECT_FALSE(copy.is_pinned_host());
    EXPECT_EQ(tensor.slice({0}, {1})->get_device_type(), LITE_CUDA);
}

TEST_F(LiteDeviceTensor, MemoryIsOnItsDevice) {
    mge::DeviceId device = mge::test::shadow_device();
    auto figures = [&] { return mge::device(device).memory(); };
    auto before = figures();
    {
        Tensor tensor(LITE_CUDA, layout({1024})), pinned(LITE_CUDA, layout({1024}), true);
        EXPECT_EQ(figures().allocated, before.allocated);
        EXPECT_EQ(figures().page_locked, before.page_locked);
        tensor.get_memory_ptr();
        EXPECT_GE(figures().allocated, before.allocated + 4096);
        static_cast<float*>(pinned.get_memory_ptr())[1023] = 1;
        EXPECT_GE(figures().page_locked, before.page_locked + 4096);
    }
    EXPECT_EQ(figures().page_locked, before.page_locked);
}

TEST_F(LiteDeviceTensor, SettingALayoutKeepsMemoryThatIsLargeEnough) {
    Tensor tensor(LITE_CUDA, layout({1, 3, 224, 224}));
    void* memory = tensor.get_memory_ptr();
    tensor.set_layout(layout({1, 3, 100, 100}, LITE_INT8));
    EXPECT_EQ(tensor.get_memory_ptr(), memory);
}

TEST_F(LiteDeviceTensor, ResetAcceptsDeviceMemory) {
    Tensor source = on_device(counting<float>(layout({6}))), tensor(LITE_CUDA, layout({2, 3}));
    tensor.reset(source.get_memory_ptr(), 24);
    EXPECT_THAT(values_of<float>(tensor), ElementsAre(0, 1, 2, 3, 4, 5));
    tensor.fill_zero();
    EXPECT_THAT(values_of<float>(source), Each(0));
}

TEST_F(LiteDeviceTensor, SlicesOnADevice) {
    Tensor tensor = on_device(counting<float>(layout({4, 8})));
    auto part = tensor.slice({1, 1}, {4, 8}, {2, 3});
    EXPECT_EQ(part->get_memory_ptr(), tensor.get_memory_ptr({1, 1}));
    EXPECT_THAT(values_of<float>(*part), ElementsAre(9, 12, 15, 25, 28, 31));
    part->fill_zero();
    Tensor here;
    here.copy_from(tensor);
    EXPECT_THAT(values_of<float>(*here.slice({1}, {2})), ElementsAre(8, 0, 10, 11, 0, 13, 14, 0));
    EXPECT_THAT(values_of<float>(*here.slice({2}, {3})), ElementsAre(16, 17, 18, 19, 20, 21, 22, 23));
}

TEST_F(LiteDeviceTensor, OverlappingSlices) {
    for (bool is_dense : {false, true}) {
        Tensor here = counting<int16_t>(layout({5, 4}, LITE_INT16)), there = on_device(here);
        size_t columns = is_dense ? 4 : 3;
        for (auto* tensor : {&here, &there})
            tensor->slice({1, 4 - columns}, {5, 4})->copy_from(*tensor->slice({0, 0}, {4, columns}));
        EXPECT_EQ(values_of<int16_t>(there), values_of<int16_t>(here));
    }
}

TEST_F(LiteDeviceTensor, SharedMemoryStaysOnItsSide) {
    Tensor here = counting<float>(layout({4})), there = on_device(here), same(1, LITE_CUDA);
    EXPECT_THAT(error_of([&] { here.share_memory_with(there); }),
                HasSubstr("only one of the tensors is on the host"));
    EXPECT_THAT(error_of([&] { there.share_memory_with(here); }), HasSubstr("copy_from() copies"));
    same.share_memory_with(there);
    EXPECT_EQ(same.get_device_id(), 0);
    EXPECT_EQ(same.get_memory_ptr(), there.get_memory_ptr());
    Tensor pinned(LITE_CUDA, layout({4}), true);
    here.share_memory_with(pinned);
    EXPECT_TRUE(here.is_pinned_host());
}

TEST_F(LiteDeviceTensor, Concat) {
    Tensor here = counting<float>(layout({2, 2})), there = on_device(here, 1);
    auto joined = TensorUtils::concat({there, here, *there.slice({0, 1}, {2, 2})}, 1);
    EXPECT_EQ(joined->get_device_type(), LITE_CUDA);
    EXPECT_EQ(joined->get_device_id(), 1);
    EXPECT_THAT(values_of<float>(*joined), ElementsAre(0, 1, 0, 1, 1, 2, 3, 2, 3, 3));
    EXPECT_EQ(TensorUtils::concat({there, here}, 0, LITE_CPU, 0)->get_device_type(), LITE_CPU);
}

TEST_F(LiteDeviceTensor, DeviceErrorsAreThrown) {
    Tensor tensor(LITE_CUDA, layout({2}));
    mge::test::fail_next_work(mge::test::shadow_device(), "the shadow is gone");
    EXPECT_THAT(error_of([&] { tensor.fill_zero(); }), HasSubstr("the shadow is gone"));
    EXPECT_THAT(error_of([&] { Tensor tensor(2, LITE_CUDA); }), HasSubstr("'shadow2:0' does not exist"));
}

TEST_F(LiteDeviceTensor, SharesMemoryWithTheEngine) {
    auto engine = mge::tensor_from_host({mge::DType::f32, {3}, {}}, std::vector<float>{1, 2, 3}.data(),
                                        mge::test::shadow_device(1, 2));
    Tensor tensor;
    auto& impl = TensorHelper::impl(tensor);
    auto changes = impl.changes();
    impl.hold(engine);
    tensor.update_from_implement();
    EXPECT_GT(impl.changes(), changes);
    EXPECT_EQ(tensor.get_layout(), layout({3}));
    EXPECT_EQ(tensor.get_device_id(), 1);
    EXPECT_EQ(tensor.get_memory_ptr(), engine.address());
    EXPECT_THAT(values_of<float>(tensor), ElementsAre(1, 2, 3));
    EXPECT_EQ(impl.engine_tensor().address(), engine.address());
    EXPECT_EQ(impl.engine_tensor().device(), engine.device());
    tensor.copy_from(counting<float>(layout({2})));  // never into what the engine computed
    EXPECT_NE(tensor.get_memory_ptr(), engine.address());
    Tensor grid(LITE_CPU, layout({2, 2}));
    EXPECT_THAT(error_of([&] {
                    TensorHelper::impl(*grid.slice({0, 0}, {2, 1})).engine_tensor();
                }),
                HasSubstr("with gaps is not a tensor of the engine"));
}

TEST_F(LiteDeviceTensor, HookProvidesMemoryOnDemand) {
    auto engine = mge::tensor_from_host({mge::DType::f32, {2}, {}}, std::vector<float>{5, 6}.data(), {});
    Tensor tensor;
    int queries = 0;
    auto& impl = TensorHelper::impl(tensor);
    impl.set_memory_hook([&] {
        if (queries++ == 0) impl.hold(engine);
    });
    EXPECT_EQ(tensor.get_memory_ptr(), engine.address());
    EXPECT_THAT(values_of<float>(tensor), ElementsAre(5, 6));
    EXPECT_EQ(queries, 2);
    impl.set_memory_hook({});
    tensor.get_memory_ptr();
    EXPECT_EQ(queries, 2);
}

TEST_F(LiteDeviceTensor, Devices) {
    EXPECT_EQ(device_count(LITE_CUDA), 2u);
    EXPECT_EQ(device_count(LITE_CPU), 1u);
    EXPECT_EQ(device_count(LITE_NPU), 0u);
    EXPECT_EQ(device_of(LITE_CUDA, -1, 3), mge::test::shadow_device(0, 3));
    EXPECT_EQ(device_type_of(mge::test::shadow_device()), LITE_CUDA);
}

TEST(LiteGpu, IsAvailableOrGivesTheReason) {
    let_cuda_mean("gpu");
    EXPECT_EQ(device_count(LITE_CUDA), size_t(mge::gpus().count));
    if (mge::gpus().count) return;
    EXPECT_THAT(error_of([&] { Tensor tensor(LITE_CUDA); }),
                testing::AllOf(HasSubstr("device 'gpu0:0' is not available"),
                               HasSubstr(mge::gpus().why_unavailable)));
}

}  // namespace
}  // namespace lite::test
