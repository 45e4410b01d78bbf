// SPDX-License-Identifier: Apache-2.0
// Links libmge.so as users do and loads a second backend into it.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <vector>

#include "libmge/mge.h"
#include "libmge/op/backend.h"

namespace mge {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

DeviceId fake_device() {
    static const uint8_t kind = load_backend(MGE_FAKE_BACKEND, "mge_fake_backend");
    DeviceId id = parse_device("fake0");
    EXPECT_EQ(id.kind, kind);
    return id;
}

Tensor on_fake(std::vector<float> values) {
    return tensor_from_host({DType::f32, {int64_t(values.size())}, {}}, values.data(), fake_device());
}
std::vector<float> values_of(const Tensor& tensor) {
    std::vector<float> values(size_t(tensor.spec().numel()));
    queue_of(tensor.device()).copy_to_host(values.data(), tensor.address(), tensor.spec().bytes());
    return values;
}

template <class Fn>
std::string device_error_of(Fn&& fn) {
    try {
        fn();
    } catch (const DeviceError& e) {
        return e.what();
    }
    return "no DeviceError";
}

TEST(Backend, MovesDataAndRunsItsOwnKernels) {
    Tensor a = on_fake({1, 2, 3}), b = on_fake({10, 20, 30});
    EXPECT_THROW(a.data<float>(), UserError);  // not host memory
    Tensor sum = ops::add(a, b);
    EXPECT_EQ(physical_name(sum.device()), "fake0:0");
    EXPECT_THAT(values_of(sum), ElementsAre(11, 22, 33));
    EXPECT_THAT(values_of(ops::full_like(sum, {.value = 7})), ElementsAre(7, 7, 7));
}

TEST(Backend, MakesViewsWithoutAKernel) {
    Tensor a = on_fake({1, 2, 3, 4});
    Tensor square = ops::reshape(a, {.shape = {2, 2}});
    EXPECT_EQ(square.address(), a.address());
    EXPECT_THAT(values_of(ops::add(square, square)), ElementsAre(2, 4, 6, 8));
}

TEST(Backend, NamesAnOperatorThatItLacks) {
    Tensor a = on_fake({1, 2});
    EXPECT_EQ(device_error_of([&] { ops::transpose(a, {.pattern = {0}}); }),
              "[transpose] is not available on fake0:0");
    EXPECT_THAT(device_error_of([&] { ops::add(a, on_fake({1})); }),
                HasSubstr("only f32 tensors of equal shape"));
}

TEST(Backend, KeepsDevicesApart) {
    float one = 1;
    Tensor here = tensor_from_host({DType::f32, {1}, {}}, &one), there = on_fake({1});
    EXPECT_THROW(ops::add(here, there), UserError);
    EXPECT_THAT(device_error_of([] { fake_device(), parse_device("fake1"); }), HasSubstr("does not exist"));
}

TEST(Backend, CountsItsOwnMemory) {
    auto& fake = device(fake_device());
    size_t before = fake.memory().allocated;
    {
        Tensor a = on_fake({1, 2, 3});
        EXPECT_EQ(fake.memory().allocated, before + 12);
        fake.set_memory_limit(before + 20);
        EXPECT_THROW(ops::add(a, a), MemoryError);
        fake.set_memory_limit(0);
    }
    EXPECT_EQ(fake.memory().allocated, before);
}

TEST(Backend, RefusesInvalidLibraries) {
    EXPECT_THAT(device_error_of([] { load_backend("/nowhere/libnone.so", "f"); }),
                HasSubstr("cannot load backend"));
    EXPECT_THAT(device_error_of([] { load_backend(MGE_FAKE_BACKEND, "nothing"); }),
                HasSubstr("it has no function nothing"));
    EXPECT_THAT(device_error_of([] { load_backend(MGE_FAKE_BACKEND, "mge_fake_backend_of_the_future"); }),
                HasSubstr("was built for interface"));
    fake_device();
    EXPECT_THROW(load_backend(MGE_FAKE_BACKEND, "mge_fake_backend"), UserError);  // twice
}

}  // namespace
}  // namespace mge
