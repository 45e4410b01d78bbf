// SPDX-License-Identifier: Apache-2.0
// Indices on a GPU that the operators' own tests do not cover: many for one position, and those out of range,
// which are reported at the next wait.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <functional>

#include "libmge/mge.h"
#include "tests/harness/check_op.h"
#include "tests/harness/expect_error.h"
#include "tests/harness/other_device.h"
#include "tests/shadow/values.h"

namespace mge::test {
namespace {

using testing::ElementsAre;

DeviceId gpu() { return other_device().id; }
Tensor ints(const Shape& shape, std::vector<double> values) {
    return to_device(make_tensor(DType::i32, shape, values), gpu());
}

TEST(CudaIndex, ManyValuesForOnePlaceKeepTheirOrder) {
    for (int64_t count : {300, 2500}) {
        InputSpec index{.shape = {count}, .low = -70, .high = 69, .dtype = DType::i32};
        CheckOptions options{.reduction = count, .gradient = false};
        check_op<ops::ScatterAdd>({}, {{.shape = {70}}, index, {.shape = {count}}}, options);
        check_op<ops::Scatter>({}, {{.shape = {70}}, index, {.shape = {count}}}, options);
        check_op<ops::SetTake>({.axes = {0}}, {{.shape = {70, 3}}, {.shape = {count, 3}}, index}, options);
        check_op<ops::EmbeddingBackward>({.num_embeddings = 70}, {index, {.shape = {count, 2}}}, options);
    }
}

TEST(CudaIndex, LongListsAreSorted) {
    InputSpec index{.shape = {9000}, .low = -70, .high = 69, .dtype = DType::i32};
    check_op<ops::ScatterAdd>({}, {{.shape = {70}}, index, {.shape = {9000}}},
                              {.dtypes = {DType::i32}, .gradient = false});
}

TEST(CudaIndex, ManyPlacesAreSortedByAllTheirBits) {
    InputSpec index{.shape = {3000}, .low = 0, .high = 69999, .dtype = DType::i32};
    check_op<ops::ScatterAdd>({}, {{.shape = {70000}}, index, {.shape = {3000}}}, {.gradient = false});
}

TEST(CudaIndex, MaskedElementsKeepTheirOrder) {
    InputSpec mask{.shape = {100, 99}, .dtype = DType::boolean, .values = {1, 0, 0, 1, 1, 0, 0, 0, 0}};
    check_op<ops::CondTake>({}, {{.shape = {100, 99}}, mask}, {.gradient = false});
}

TEST(CudaIndex, IndexErrorsAreThrownByWait) {
    Tensor x = to_device(make_tensor(DType::f32, {2, 3}, {0, 1, 2, 3, 4, 5}), gpu());
    Tensor one = ints({1}, {0}), value = to_device(make_tensor(DType::f32, {1, 1}, {7}), gpu());
    auto expect = [&](const char* message, const std::function<Tensor()>& work) {
        Tensor y = work();  // without an error before a wait
        expect_user_error(ErrorClass::index, message, [&] { to_host(y); });
        EXPECT_THAT(floats_of(ops::take({x, ints({1}, {1})}, {.axes = {0}})), ElementsAre(3, 4, 5))
            << "the queue can be used again";
    };
    expect("[take] index 3 is out of range for axis 1 with size 3", [&] {
        return ops::take({x, one, ints({1}, {3})}, {.axes = {0, 1}});
    });
    expect("[set_take] index -3 is out of range for axis 0 with size 2", [&] {
        return ops::set_take({x, value, ints({1}, {-3})}, {.axes = {0}});
    });
    expect("[embedding] index 1000000 is out of range for axis 0 with size 2",
           [&] { return ops::embedding(x, ints({1}, {1000000})); });
    expect("[gather] index 2 is out of range for axis 0 with size 2", [&] {
        return ops::gather(x, ints({1, 1}, {2}));
    });
    expect("[scatter] index -4 is out of range for axis 1 with size 3", [&] {
        return ops::scatter(x, ints({1, 1}, {-4}), value, {.axis = 1});
    });
    expect("[indexing_one_hot] index -1 is out of range for axis 1 with size 3", [&] {
        return ops::indexing_one_hot(x, ints({2}, {0, -1}));
    });
    expect("[one_hot] index 3 is out of range for axis 1 with size 3",
           [&] { return ops::one_hot(ints({1}, {3}), {.num_classes = 3}); });
}

TEST(CudaIndex, FirstOfSeveralIndexErrorsIsReported) {
    Tensor x = to_device(make_tensor(DType::f32, {2}, {0, 1}), gpu());
    Tensor first = ops::take({x, ints({1}, {5})}, {.axes = {0}});
    Tensor second = ops::gather(x, ints({1}, {6}));
    expect_user_error(ErrorClass::index, "[take] index 5 is out of range for axis 0 with size 2",
                      [] { device(gpu()).synchronize(); });
    EXPECT_THAT(floats_of(second), ElementsAre(0)) << "nothing is read where there is nothing";
}

}  // namespace
}  // namespace mge::test
