// SPDX-License-Identifier: Apache-2.0
// Tensors on the host.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <memory>

#include "libmge/device/device.h"
#include "tests/lite/tensor_values.h"

namespace lite::test {
namespace {

using testing::Each;
using testing::ElementsAre;
using testing::HasSubstr;

using Size = std::vector<size_t>;

size_t allocated() { return mge::device(mge::host_device).memory().allocated; }

TEST(LiteTensor, EnumValues) {
    EXPECT_EQ(LITE_CPU, 0);
    EXPECT_EQ(LITE_CUDA, 1);
    EXPECT_EQ(LITE_ATLAS, 3);
    EXPECT_EQ(LITE_NPU, 4);
    EXPECT_EQ(LITE_CAMBRICON, 5);
    EXPECT_EQ(LITE_DEVICE_DEFAULT, 7);
    EXPECT_EQ(LITE_UINT16, 7);
    EXPECT_EQ(LITE_INT64, 8);
    EXPECT_EQ(LITE_BOOL, 16);
    EXPECT_EQ(LITE_DOUBLE, 17);
}

TEST(LiteTensor, Constructions) {
    Layout image = layout({1, 3, 224, 224});
    Tensor empty, on_cpu(LITE_CPU), of_layout(LITE_CPU, image), with_id(5, LITE_CPU, image),
        with_stream(1, 2, LITE_CPU), of_backend(LITE_DEFAULT, LITE_CPU, 255, image),
        by_default(LITE_DEVICE_DEFAULT, image);
    EXPECT_EQ(empty.get_layout().ndim, 0u);
    EXPECT_EQ(empty.get_tensor_total_size_in_byte(), 0u);
    EXPECT_EQ(on_cpu.get_device_type(), LITE_CPU);
    EXPECT_EQ(on_cpu.get_device_id(), 0);
    EXPECT_EQ(of_layout.get_layout(), image);
    EXPECT_EQ(of_layout.get_tensor_total_size_in_byte(), 3u * 224 * 224 * 4);
    EXPECT_EQ(with_id.get_device_id(), 5);
    EXPECT_EQ(with_stream.get_device_id(), 1);
    EXPECT_EQ(of_backend.get_device_id(), 255);
    EXPECT_EQ(of_backend.get_layout(), image);
    EXPECT_EQ(by_default.get_device_type(), LITE_CPU);
    EXPECT_FALSE(of_layout.is_pinned_host());
    EXPECT_TRUE(Tensor(LITE_CPU, image, true).is_pinned_host());
    EXPECT_THROW(Tensor(LiteBackend(1)), Error);
}

TEST(LiteTensor, MemoryIsAllocatedOnDemand) {
    size_t before = allocated();
    {
        Tensor tensor(LITE_CPU, layout({256, 1024}));
        EXPECT_EQ(allocated(), before);
        void* memory = tensor.get_memory_ptr();
        EXPECT_GE(allocated(), before + (1 << 20));
        EXPECT_EQ(tensor.get_memory_ptr(), memory);
    }
    EXPECT_EQ(allocated(), before);
}

TEST(LiteTensor, MissingDevices) {
    for (auto type : {LITE_ATLAS, LITE_NPU, LITE_CAMBRICON})
        EXPECT_THAT(error_of([&] { Tensor tensor(type); }), HasSubstr("this build has no device"));
    EXPECT_THAT(error_of([&] { Tensor tensor(LITE_NPU); }), HasSubstr("there are CPU, and CUDA"));
    EXPECT_THAT(error_of([&] { Tensor tensor(LiteDeviceType(2)); }), HasSubstr("no type of device 2"));
    EXPECT_THAT(error_of([&] { Tensor tensor(256, LITE_CPU); }), HasSubstr("number 256 of device CPU"));
    EXPECT_THAT(error_of([&] { Tensor tensor(-2, LITE_CPU); }), HasSubstr("number -2 of device CPU"));
    EXPECT_THAT(error_of([&] { Tensor tensor(0, 256, LITE_CPU); }), HasSubstr("stream 256"));
}

TEST(LiteTensor, InvalidLayouts) {
    Layout seven = layout({1, 2, 1, 2, 1, 2, 2});
    Tensor tensor(LITE_CPU, seven);
    EXPECT_EQ(tensor.get_tensor_total_size_in_byte(), 64u);
    EXPECT_NE(tensor.get_memory_ptr(), nullptr);
    Layout eight = seven;
    eight.ndim = 8;
    EXPECT_THAT(error_of([&] { tensor.set_layout(eight); }), HasSubstr("a layout has 8 dimensions"));
    EXPECT_THAT(error_of([&] {
                    tensor.set_layout(layout({size_t(1) << 40, 0, size_t(1) << 40}));
                }),
                HasSubstr("more bytes than the address space holds"));
    EXPECT_THAT(error_of([&] { tensor.set_layout(layout({1}, LiteDataType(9))); }),
                HasSubstr("no data type 9"));
    EXPECT_EQ(tensor.get_layout(), seven);
}

TEST(LiteTensor, EveryTypeOfElements) {
    constexpr std::pair<LiteDataType, size_t> types[] = {
        {LITE_FLOAT, 4}, {LITE_HALF, 2},   {LITE_INT, 4},   {LITE_INT16, 2}, {LITE_INT8, 1},  {LITE_UINT8, 1},
        {LITE_UINT, 4},  {LITE_UINT16, 2}, {LITE_INT64, 8}, {LITE_BOOL, 1},  {LITE_DOUBLE, 8}};
    for (auto [type, size] : types) {
        Tensor tensor(LITE_CPU, layout({3, 4}, type)), copy;
        EXPECT_EQ(tensor.get_tensor_total_size_in_byte(), 12 * size);
        auto* bytes = static_cast<uint8_t*>(tensor.get_memory_ptr());
        std::iota(bytes, bytes + 12 * size, uint8_t(0));
        auto columns = tensor.slice({0, 1}, {3, 3});
        copy.copy_from(*columns);
        EXPECT_EQ(copy.get_layout(), layout({3, 2}, type));
        EXPECT_EQ(values_of<uint8_t>(copy)[0], size);
        EXPECT_EQ(static_cast<uint8_t*>(copy.get_memory_ptr({2, 1}))[0], 10 * size) << type;
    }
}

TEST(LiteTensor, SettingALayoutKeepsMemoryThatIsLargeEnough) {
    Tensor tensor(LITE_CPU, layout({1, 3, 224, 224}));
    void* memory = tensor.get_memory_ptr();
    tensor.set_layout(layout({1, 3, 100, 100}, LITE_INT8));
    EXPECT_EQ(tensor.get_memory_ptr(), memory);
    EXPECT_EQ(tensor.get_tensor_total_size_in_byte(), 30000u);
    tensor.set_layout(layout({1, 3, 224, 224}));
    EXPECT_EQ(tensor.get_memory_ptr(), memory);
    tensor.set_layout(layout({2, 3, 224, 224}));
    write(tensor, std::vector<float>(2 * 3 * 224 * 224, 1));
    EXPECT_EQ(tensor.get_layout(), layout({2, 3, 224, 224}));
}

TEST(LiteTensor, ResetUsesCallerMemory) {
    auto memory = std::make_unique<float[]>(24), other = std::make_unique<float[]>(6);
    {
        Tensor tensor(LITE_CPU, layout({4, 6}));
        tensor.get_memory_ptr();
        tensor.reset(memory.get(), 96);
        EXPECT_EQ(tensor.get_memory_ptr(), memory.get());
        memory[7] = 2.5f;
        EXPECT_EQ(values_of<float>(tensor)[7], 2.5f);
        tensor.reset(other.get(), layout({2, 3}));
        EXPECT_EQ(tensor.get_memory_ptr(), other.get());
        EXPECT_EQ(tensor.get_layout(), layout({2, 3}));
        tensor.fill_zero();
    }
    EXPECT_EQ(memory[7], 2.5f);
    EXPECT_EQ(other[5], 0);
}

TEST(LiteTensor, InvalidResets) {
    float memory[4];
    Tensor empty, tensor(LITE_CPU, layout({2, 4}));
    EXPECT_THAT(error_of([&] { empty.reset(memory, 16); }), HasSubstr("reset: the tensor has no layout"));
    EXPECT_THAT(error_of([&] { tensor.reset(memory, 16); }),
                HasSubstr("16 bytes for a tensor of float32 {2, 4}, which needs 32"));
    EXPECT_THAT(error_of([&] { tensor.reset(nullptr, 32); }), HasSubstr("the address is null"));
}

TEST(LiteTensor, MemoryNeedsALayout) {
    Tensor empty;
    EXPECT_THAT(error_of([&] { empty.get_memory_ptr(); }),
                HasSubstr("get_memory_ptr: the tensor has no layout"));
    EXPECT_THAT(error_of([&] { empty.fill_zero(); }), HasSubstr("fill_zero: the tensor has no layout"));
    EXPECT_THAT(error_of([&] { empty.reshape({1}); }), HasSubstr("reshape: the tensor has no layout"));
    EXPECT_THAT(error_of([&] { empty.slice({}, {}); }), HasSubstr("slice: the tensor has no layout"));
    EXPECT_THAT(error_of([&] { Tensor().copy_from(empty); }),
                HasSubstr("copy_from: the tensor has no layout"));
    EXPECT_THAT(error_of([&] { Tensor().share_memory_with(empty); }),
                HasSubstr("share_memory_with: the tensor has no layout"));
    EXPECT_EQ(empty.is_continue_memory(), true);
}

TEST(LiteTensor, CopiesKeepTheirMemory) {
    Tensor source = counting<float>(layout({1, 3, 22, 22})), target(3, LITE_CPU, layout({1, 3, 22, 22}));
    void *from = source.get_memory_ptr(), *to = target.get_memory_ptr();
    target.copy_from(source);
    EXPECT_EQ(values_of<float>(target), values_of<float>(source));
    EXPECT_EQ(source.get_memory_ptr(), from);
    EXPECT_EQ(target.get_memory_ptr(), to);
    EXPECT_EQ(target.get_device_id(), 3);
    target.set_layout(layout({7}, LITE_INT16));
    target.copy_from(counting<int8_t>(layout({5, 5}, LITE_INT8)));
    EXPECT_EQ(target.get_layout(), layout({5, 5}, LITE_INT8));
    EXPECT_EQ(target.get_memory_ptr(), to);
}

TEST(LiteTensor, HandlesAreTheSameTensor) {
    Tensor tensor = counting<float>(layout({4})), handle = tensor;
    EXPECT_EQ(handle.get_memory_ptr(), tensor.get_memory_ptr());
    handle.set_layout(layout({2}));
    EXPECT_EQ(tensor.get_layout(), layout({4}));
    tensor.update_from_implement();
    EXPECT_EQ(tensor.get_layout(), layout({2}));
}

TEST(LiteTensor, SharedMemoryOutlivesItsSource) {
    Tensor tensor(4, LITE_CPU);
    void* memory;
    {
        Tensor source = counting<float>(layout({2, 4}));
        memory = source.get_memory_ptr();
        tensor.share_memory_with(source);
        static_cast<float*>(memory)[1] = 20;
    }
    EXPECT_EQ(tensor.get_memory_ptr(), memory);
    EXPECT_EQ(tensor.get_layout(), layout({2, 4}));
    EXPECT_EQ(tensor.get_device_id(), 0);
    EXPECT_THAT(values_of<float>(tensor), ElementsAre(0, 20, 2, 3, 4, 5, 6, 7));
}

TEST(LiteTensor, SharedMemoryMayBeASlice) {
    Tensor source = counting<float>(layout({2, 4})), tensor;
    tensor.share_memory_with(*source.slice({0, 1}, {2, 3}));
    EXPECT_FALSE(tensor.is_continue_memory());
    EXPECT_THAT(values_of<float>(tensor), ElementsAre(1, 2, 5, 6));
    tensor.set_layout(layout({2, 2}));  // its current layout
    EXPECT_THAT(values_of<float>(tensor), ElementsAre(1, 2, 5, 6));
    tensor.set_layout(layout({4}));
    tensor.fill_zero();
    EXPECT_EQ(values_of<float>(source)[1], 1);
}

TEST(LiteTensor, Reshape) {
    Tensor tensor = counting<int>(layout({8, 8, 100, 100}, LITE_INT));
    void* memory = tensor.get_memory_ptr();
    auto error = [&](std::vector<int> shape) { return error_of([&] { tensor.reshape(shape); }); };
    EXPECT_THAT(error({-1, 8, -1}), HasSubstr("dimensions 0 and 2 are both -1"));
    EXPECT_THAT(error({-1, 7}),
                HasSubstr("has 640000 elements, which do not fill int32 {1, 7} times another size"));
    EXPECT_THAT(error({8, 8, 100}), HasSubstr("do not fill int32 {8, 8, 100}"));
    EXPECT_THAT(error({0, -1}), HasSubstr("do not fill"));
    EXPECT_THAT(error({-3}), HasSubstr("dimension 0 is -3"));
    EXPECT_THAT(error({}), HasSubstr("reshape to 0 dimensions"));
    EXPECT_THAT(error({1, 1, 1, 1, 1, 1, 1, 640000}), HasSubstr("reshape to 8 dimensions"));
    EXPECT_THAT(error({1 << 30, 1 << 30, 1 << 30}), HasSubstr("do not fill"));
    EXPECT_EQ(tensor.get_layout(), layout({8, 8, 100, 100}, LITE_INT));
    tensor.reshape({-1, 200});
    EXPECT_EQ(tensor.get_layout(), layout({3200, 200}, LITE_INT));
    tensor.reshape({640000});
    EXPECT_EQ(tensor.get_memory_ptr(), memory);
    EXPECT_EQ(static_cast<int*>(tensor.get_memory_ptr())[639999], 639999);
    Tensor grid = counting<float>(layout({4, 4}));
    EXPECT_THAT(error_of([&] { grid.slice({0, 1}, {4, 2})->reshape({4}); }), HasSubstr("slice with gaps"));
    auto rows = grid.slice({1}, {3});
    rows->reshape({8});
    EXPECT_EQ(values_of<float>(*rows).front(), 4);
}

TEST(LiteTensor, SlicesShareMemory) {
    Tensor tensor = counting<float>(layout({4, 8}));
    auto part = tensor.slice({1, 4}, {3, 8});
    EXPECT_EQ(part->get_layout(), layout({2, 4}));
    EXPECT_FALSE(part->is_continue_memory());
    EXPECT_EQ(part->get_memory_ptr(), tensor.get_memory_ptr({1, 4}));
    EXPECT_THAT(values_of<float>(*part), ElementsAre(12, 13, 14, 15, 20, 21, 22, 23));
    auto rows = tensor.slice({2}, {4});
    EXPECT_TRUE(rows->is_continue_memory());
    EXPECT_EQ(rows->get_layout(), layout({2, 8}));
    auto spread = tensor.slice({0, 1}, {4, 8}, {2, 3});
    EXPECT_THAT(values_of<float>(*spread), ElementsAre(1, 4, 7, 17, 20, 23));
    auto of_slice = spread->slice({1, 0}, {2, 3}, {1, 2});
    EXPECT_THAT(values_of<float>(*of_slice), ElementsAre(17, 23));
    *static_cast<float*>(of_slice->get_memory_ptr({0, 1})) = -1;
    EXPECT_EQ(values_of<float>(tensor)[23], -1);
    EXPECT_EQ(tensor.slice({1, 1}, {1, 8})->get_tensor_total_size_in_byte(), 0u);
    EXPECT_THAT(values_of<float>(*tensor.slice({0, 0}, {1, 8}, {1, SIZE_MAX})), ElementsAre(0));
}

TEST(LiteTensor, InvalidSlices) {
    Tensor tensor(LITE_CPU, layout({4, 8}));
    auto error = [&](Size start, Size end, Size step = {}) {
        return error_of([&] { tensor.slice(start, end, step); });
    };
    EXPECT_THAT(error({1}, {2, 3}), HasSubstr("start, end and step have 1, 2 and 0 numbers"));
    EXPECT_THAT(error({1, 2}, {2, 3}, {1}), HasSubstr("2, 2 and 1 numbers;"));
    EXPECT_THAT(error({0, 0, 0}, {1, 1, 1}), HasSubstr("3 numbers for a tensor of float32 {4, 8}"));
    EXPECT_THAT(error({3}, {2}), HasSubstr("the start is after the end"));
    EXPECT_THAT(error({0, 3}, {4, 9}),
                HasSubstr("dimension 1 from 3 to 9 in steps of 1: the dimension has 8 elements"));
    EXPECT_THAT(error({0}, {4}, {0}), HasSubstr("steps are 1 or more"));
}

// The elements of a 4 × 8 tensor of zeros, after `columns` of it became 1, 2, 3, …
std::vector<float> with_columns(size_t begin, size_t end, size_t step, const Tensor& source) {
    Tensor tensor(LITE_CPU, layout({4, 8}));
    tensor.fill_zero();
    tensor.slice({0, begin}, {4, end}, {1, step})->copy_from(source);
    return values_of<float>(tensor);
}

TEST(LiteTensor, CopiesFromAndIntoSlices) {
    Tensor plain = counting<float>(layout({4, 4})), wide = counting<float>(layout({4, 8}));
    auto half = wide.slice({0, 4}, {4, 8});
    auto into_half = with_columns(0, 4, 1, plain), from_half = with_columns(0, 7, 2, *half);
    EXPECT_THAT(std::vector<float>(into_half.begin(), into_half.begin() + 16),
                ElementsAre(0, 1, 2, 3, 0, 0, 0, 0, 4, 5, 6, 7, 0, 0, 0, 0));
    EXPECT_THAT(std::vector<float>(from_half.begin() + 8, from_half.begin() + 24),
                ElementsAre(12, 0, 13, 0, 14, 0, 15, 0, 20, 0, 21, 0, 22, 0, 23, 0));
    plain.copy_from(*half);
    EXPECT_THAT(values_of<float>(plain),
                ElementsAre(4, 5, 6, 7, 12, 13, 14, 15, 20, 21, 22, 23, 28, 29, 30, 31));
    EXPECT_THAT(error_of([&] { half->copy_from(wide); }),
                HasSubstr("float32 {4, 8} into a slice of float32 {4, 4} with gaps"));
    EXPECT_THAT(error_of([&] {
                    half->copy_from(counting<int>(layout({4, 4}, LITE_INT)));
                }),
                HasSubstr("int32 {4, 4} into a slice of float32 {4, 4}"));
}

TEST(LiteTensor, FillsHalvesSeparately) {
    Tensor tensor(LITE_CPU, layout({20, 20}));
    auto left = tensor.slice({0, 0}, {20, 10}), right = tensor.slice({0, 10}, {20, 20});
    Tensor counted = counting<float>(layout({20, 10}));
    left->copy_from(counted);
    right->copy_from(counted);
    auto* values = static_cast<float*>(tensor.get_memory_ptr());
    for (int i = 0; i < 400; ++i) ASSERT_EQ(values[i], i / 20 * 10 + i % 10) << i;
    left->fill_zero();
    for (int i = 0; i < 400; ++i) ASSERT_EQ(values[i], i % 20 < 10 ? 0 : i / 20 * 10 + i % 10) << i;
}

TEST(LiteTensor, OverlappingSlicesInOneTensor) {
    auto moved = [](Size from, Size to, Size shape) {
        Tensor tensor = counting<float>(layout({4, 8}));
        auto end = [&](const Size& start) { return Size{start[0] + shape[0], start[1] + shape[1]}; };
        tensor.slice(to, end(to))->copy_from(*tensor.slice(from, end(from)));
        return values_of<float>(tensor);
    };
    for (auto [from, to] : {std::pair<Size, Size>{{0, 0}, {1, 1}}, {{1, 1}, {0, 0}}, {{0, 1}, {1, 0}}}) {
        auto values = moved(from, to, {3, 5});
        for (size_t i = 0; i < 4; ++i)
            for (size_t j = 0; j < 8; ++j) {
                bool is_target = i - to[0] < 3 && j - to[1] < 5;
                size_t place = is_target ? (i - to[0] + from[0]) * 8 + j - to[1] + from[1] : i * 8 + j;
                ASSERT_EQ(values[i * 8 + j], float(place)) << i << ' ' << j;
            }
    }
    Tensor rows = counting<float>(layout({5}));
    rows.slice({1}, {5})->copy_from(*rows.slice({0}, {4}));
    EXPECT_THAT(values_of<float>(rows), ElementsAre(0, 0, 1, 2, 3));
}

TEST(LiteTensor, DenseSliceNeverWritesPastItsEnd) {
    Tensor tensor = counting<float>(layout({4, 2}));
    auto row = tensor.slice({1}, {2});
    row->copy_from(counting<float>(layout({3, 2})));
    EXPECT_EQ(row->get_layout(), layout({3, 2}));
    EXPECT_THAT(values_of<float>(tensor), ElementsAre(0, 1, 2, 3, 4, 5, 6, 7));
}

TEST(LiteTensor, ElementAddresses) {
    Tensor tensor = counting<int8_t>(layout({4, 3, 5}, LITE_INT8));
    auto* first = static_cast<int8_t*>(tensor.get_memory_ptr());
    EXPECT_EQ(tensor.get_memory_ptr({2, 1, 3}), first + 38);
    EXPECT_EQ(tensor.get_memory_ptr({2}), first + 30);
    EXPECT_EQ(tensor.get_memory_ptr(Size{}), first);
    auto part = tensor.slice({1, 0, 1}, {4, 3, 5}, {2, 2, 2});
    EXPECT_EQ(part->get_memory_ptr({1, 1, 1}), first + 3 * 15 + 2 * 5 + 3);
    EXPECT_THAT(error_of([&] { part->get_memory_ptr({2}); }), HasSubstr("index 2 of dimension 0"));
    EXPECT_THAT(error_of([&] { part->get_memory_ptr({0, 0, 0, 0}); }), HasSubstr("an index of 4 numbers"));
}

TEST(LiteTensor, FillZero) {
    Tensor tensor = counting<float>(layout({3, 3}));
    tensor.slice({1, 1}, {2, 2})->fill_zero();
    EXPECT_THAT(values_of<float>(tensor), ElementsAre(0, 1, 2, 3, 0, 5, 6, 7, 8));
    tensor.fill_zero();
    EXPECT_THAT(values_of<float>(tensor), Each(0));
}

TEST(LiteTensor, Concat) {
    std::vector<Tensor> tensors;
    for (int i = 0; i < 4; ++i) {
        tensors.emplace_back(LITE_CPU, layout({5, 5, 5}));
        write(tensors.back(), std::vector<float>(125, float(i)));
    }
    for (int dim : {0, 1, 2, -1, -3}) {
        auto joined = TensorUtils::concat(tensors, dim);
        auto axis = size_t(dim < 0 ? dim + 3 : dim);
        Layout expected = layout({5, 5, 5});
        expected.shapes[axis] = 20;
        EXPECT_EQ(joined->get_layout(), expected);
        for (size_t i = 0; i < 20; ++i) {
            Size index{1, 2, 3};
            index[axis] = i;
            EXPECT_EQ(*static_cast<float*>(joined->get_memory_ptr(index)), float(i / 5));
        }
    }
}

TEST(LiteTensor, ConcatVariants) {
    EXPECT_EQ(TensorUtils::concat({}, 0)->get_layout().ndim, 0u);
    Tensor grid = counting<float>(layout({2, 4})), none(LITE_CPU, layout({2, 0}));
    auto joined = TensorUtils::concat({none, *grid.slice({0, 1}, {2, 3}), none, grid}, 1, LITE_CPU, 7);
    EXPECT_EQ(joined->get_device_id(), 7);
    EXPECT_THAT(values_of<float>(*joined), ElementsAre(1, 2, 0, 1, 2, 3, 5, 6, 4, 5, 6, 7));
    auto error = [&](const Tensor& other, int dim) {
        return error_of([&] { TensorUtils::concat({grid, other}, dim); });
    };
    EXPECT_THAT(error(grid, 2), HasSubstr("concat: dimension 2 of tensors with 2 dimensions"));
    EXPECT_THAT(error(grid, -3), HasSubstr("dimension -3"));
    EXPECT_THAT(error(counting<float>(layout({3, 4})), 1),
                HasSubstr("tensors of float32 {3, 4} and of float32 {2, 4}"));
    EXPECT_THAT(error(counting<int>(layout({2, 4}, LITE_INT)), 0), HasSubstr("int32 {2, 4}"));
    EXPECT_THAT(error(counting<float>(layout({2, 4, 1})), 0), HasSubstr("float32 {2, 4, 1}"));
    EXPECT_THAT(error_of([&] { TensorUtils::concat({Tensor()}, 0); }), HasSubstr("with 0 dimensions"));
}

TEST(LiteTensor, LayoutsCompareByValue) {
    Layout a = layout({1, 2, 3}), b = layout({1, 2, 4});
    EXPECT_FALSE(a == b);
    b.ndim = 2;
    EXPECT_EQ(b, layout({1, 2}));
    EXPECT_FALSE(layout({1, 2}, LITE_INT8) == b);
}

TEST(LiteAny, HoldsAValueAndItsType) {
    LiteAny text("some"), number(int32_t(3)), none;
    EXPECT_EQ(text.type(), LiteAny::STRING);
    EXPECT_EQ(text.safe_cast<std::string>(), "some");
    EXPECT_EQ(number.type(), LiteAny::INT32);
    EXPECT_EQ(none.type(), LiteAny::NONE);
    EXPECT_EQ(LiteAny(true).type(), LiteAny::BOOL);
    EXPECT_EQ(LiteAny(1.f).type(), LiteAny::FLOAT);
    EXPECT_THROW(number.safe_cast<bool>(), Error);
    int32_t value = 0;
    float other = 1;
    EXPECT_TRUE(number.try_cast(value));
    EXPECT_EQ(value, 3);
    EXPECT_FALSE(number.try_cast(other));
    EXPECT_EQ(other, 1);
}

}  // namespace
}  // namespace lite::test
