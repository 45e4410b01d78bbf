// SPDX-License-Identifier: Apache-2.0
// Tensors through the interface of C.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <initializer_list>
#include <numeric>
#include <string>
#include <thread>
#include <vector>

#include "lite-c/global_c.h"

namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::StartsWith;

LiteLayout layout(std::initializer_list<size_t> shape, LiteDataType type = LITE_FLOAT) {
    LiteLayout result{{}, shape.size(), type};
    std::copy(shape.begin(), shape.end(), result.shapes);
    return result;
}

LiteTensor make(const LiteLayout& layout) {
    LiteTensorDesc description = default_desc;
    description.layout = layout;
    LiteTensor tensor = nullptr;
    EXPECT_EQ(LITE_make_tensor(description, &tensor), 0);
    return tensor;
}

template <class T>
T* memory_of(LiteTensor tensor) {
    void* data = nullptr;
    EXPECT_EQ(LITE_get_tensor_memory(tensor, &data), 0) << LITE_get_last_error();
    return static_cast<T*>(data);
}

LiteTensor counting(std::initializer_list<size_t> shape) {
    LiteTensor tensor = make(layout(shape));
    size_t bytes = 0;
    EXPECT_EQ(LITE_get_tensor_total_size_in_byte(tensor, &bytes), 0);
    std::iota(memory_of<float>(tensor), memory_of<float>(tensor) + bytes / sizeof(float), 0.f);
    return tensor;
}

std::vector<size_t> shape_of(LiteTensor tensor) {
    LiteLayout found = default_layout;
    EXPECT_EQ(LITE_get_tensor_layout(tensor, &found), 0);
    return {found.shapes, found.shapes + found.ndim};
}

std::vector<float> values_of(LiteTensor tensor) {
    LiteTensor copy = make(default_layout);
    EXPECT_EQ(LITE_tensor_copy(copy, tensor), 0);
    size_t bytes = 0;
    EXPECT_EQ(LITE_get_tensor_total_size_in_byte(copy, &bytes), 0);
    auto* first = memory_of<float>(copy);
    std::vector<float> values(first, first + bytes / sizeof(float));
    EXPECT_EQ(LITE_destroy_tensor(copy), 0);
    return values;
}

TEST(LiteTensorInC, CreatesFromADescription) {
    LiteTensorDesc description = default_desc;
    description.is_pinned_host = 1;
    description.layout = layout({1, 3, 224, 224}, LITE_INT8);
    description.device_id = 9;
    LiteTensor tensor = nullptr, plain = make(default_layout);
    ASSERT_EQ(LITE_make_tensor(description, &tensor), 0);
    int is_pinned = 0, id = 0, is_dense = 0;
    LiteDeviceType type = LITE_NPU;
    size_t bytes = 0;
    EXPECT_EQ(LITE_is_pinned_host(tensor, &is_pinned), 0);
    EXPECT_EQ(LITE_get_tensor_device_type(tensor, &type), 0);
    EXPECT_EQ(LITE_get_tensor_device_id(tensor, &id), 0);
    EXPECT_EQ(LITE_is_memory_continue(tensor, &is_dense), 0);
    EXPECT_EQ(LITE_get_tensor_total_size_in_byte(tensor, &bytes), 0);
    EXPECT_EQ(is_pinned, 1);
    EXPECT_EQ(type, LITE_CPU);
    EXPECT_EQ(id, 9);
    EXPECT_EQ(is_dense, 1);
    EXPECT_EQ(bytes, 3u * 224 * 224);
    EXPECT_EQ(LITE_is_pinned_host(plain, &is_pinned), 0);
    EXPECT_EQ(is_pinned, 0);
    EXPECT_TRUE(shape_of(plain).empty());
    EXPECT_EQ(LITE_destroy_tensor(tensor), 0);
    EXPECT_EQ(LITE_destroy_tensor(plain), 0);
}

TEST(LiteTensorInC, ErrorsAreRecordedAndCleared) {
    LITE_clear_last_error();
    EXPECT_EQ(LITE_get_last_error_code(), OK);
    EXPECT_STREQ(LITE_get_last_error(), "");
    EXPECT_EQ(LITE_make_tensor(default_desc, nullptr), -1);
    EXPECT_EQ(LITE_get_last_error_code(), LITE_INTERNAL_ERROR);
    EXPECT_STREQ(LITE_get_last_error(), "Error: LITE_make_tensor: the argument 'tensor' is null");
    const char* text = LITE_get_last_error();
    LiteTensor tensor = make(default_layout);  // a valid call changes nothing
    EXPECT_EQ(LITE_get_last_error(), text);
    EXPECT_EQ(LITE_get_last_error_code(), LITE_INTERNAL_ERROR);
    LITE_clear_last_error();
    EXPECT_EQ(LITE_get_last_error_code(), OK);
    EXPECT_STREQ(LITE_get_last_error(), "");
    LITE_destroy_tensor(tensor);
}

TEST(LiteTensorInC, ErrorsBelongToTheirThread) {
    LITE_clear_last_error();
    std::thread([] {
        EXPECT_EQ(LITE_get_last_error_code(), OK);
        EXPECT_STREQ(LITE_get_last_error(), "");
        EXPECT_EQ(LITE_destroy_tensor(nullptr), -1);
        EXPECT_EQ(LITE_get_last_error_code(), LITE_INTERNAL_ERROR);
    }).join();
    EXPECT_EQ(LITE_get_last_error_code(), OK);
    EXPECT_STREQ(LITE_get_last_error(), "");
}

TEST(LiteTensorInC, InvalidHandles) {
    LiteTensor tensor = make(layout({2}));
    int number = 7;
    EXPECT_EQ(LITE_is_pinned_host(&number, &number), -1);
    EXPECT_THAT(LITE_get_last_error(), HasSubstr("'tensor' is not a handle of a tensor"));
    EXPECT_EQ(LITE_destroy_tensor(&number), 0);
    EXPECT_EQ(LITE_destroy_tensor(reinterpret_cast<void*>(1)), 0);
    EXPECT_EQ(LITE_destroy_tensor(reinterpret_cast<void*>(~uintptr_t{0})), 0);
    EXPECT_EQ(LITE_destroy_tensor(static_cast<char*>(tensor) + 1), 0);
    EXPECT_EQ(LITE_destroy_tensor(tensor), 0);
    EXPECT_EQ(LITE_destroy_tensor(tensor), 0);
    EXPECT_EQ(LITE_tensor_fill_zero(tensor), -1);
    LiteTensor next = make(layout({2}));  // may have the place of the one before
    EXPECT_NE(next, tensor);
    EXPECT_EQ(LITE_tensor_fill_zero(tensor), -1);
    EXPECT_EQ(LITE_destroy_tensor(tensor), 0);
    EXPECT_EQ(LITE_tensor_fill_zero(next), 0);
    EXPECT_EQ(LITE_destroy_tensor(next), 0);
    EXPECT_EQ(LITE_destroy_tensor(nullptr), -1);
}

TEST(LiteTensorInC, ManyHandles) {
    std::vector<LiteTensor> tensors;
    for (int i = 0; i < 10000; ++i) tensors.push_back(make(layout({size_t(i) + 1})));
    for (size_t i = 0; i < tensors.size(); i += 7)
        EXPECT_EQ(shape_of(tensors[i]), std::vector<size_t>{i + 1});
    for (auto tensor : tensors) EXPECT_EQ(LITE_destroy_tensor(tensor), 0);
    for (auto tensor : tensors) EXPECT_EQ(LITE_tensor_fill_zero(tensor), -1);
}

TEST(LiteTensorInC, DestroysFromAnotherThread) {
    std::vector<LiteTensor> made(4);
    std::vector<std::thread> threads;
    for (auto& tensor : made) threads.emplace_back([&] { tensor = counting({3, 20}); });
    for (auto& thread : threads) thread.join();
    threads.clear();
    for (auto tensor : made)
        threads.emplace_back([tensor] {
            EXPECT_EQ(memory_of<float>(tensor)[59], 59);
            EXPECT_EQ(LITE_destroy_tensor(tensor), 0);
        });
    for (auto& thread : threads) thread.join();
    for (auto tensor : made) EXPECT_EQ(LITE_tensor_fill_zero(tensor), -1);
}

TEST(LiteTensorInC, SettingALayoutKeepsMemoryThatIsLargeEnough) {
    LiteTensor tensor = make(layout({1, 3, 224, 224}));
    auto* before = memory_of<float>(tensor);
    EXPECT_EQ(LITE_set_tensor_layout(tensor, layout({1, 3, 100, 100}, LITE_INT8)), 0);
    EXPECT_EQ(memory_of<float>(tensor), before);
    LiteLayout eight = layout({1, 1, 1, 1, 1, 1, 1});
    eight.ndim = 8;
    EXPECT_EQ(LITE_set_tensor_layout(tensor, eight), -1);
    EXPECT_THAT(LITE_get_last_error(), HasSubstr("a layout has 8 dimensions"));
    LITE_destroy_tensor(tensor);
}

TEST(LiteTensorInC, ResetUsesCallerMemory) {
    std::vector<float> memory(12, 3), other(4, 2);
    LiteTensor tensor = make(layout({3, 4}));
    EXPECT_EQ(LITE_reset_tensor_memory(tensor, memory.data(), 48), 0);
    EXPECT_EQ(memory_of<float>(tensor), memory.data());
    EXPECT_EQ(LITE_reset_tensor_memory(tensor, memory.data(), 47), -1);
    EXPECT_EQ(LITE_reset_tensor(tensor, layout({2, 2}), other.data()), 0);
    EXPECT_THAT(values_of(tensor), ElementsAre(2, 2, 2, 2));
    EXPECT_EQ(LITE_destroy_tensor(tensor), 0);
    EXPECT_EQ(memory[11], 3);
}

TEST(LiteTensorInC, CopiesAndSharedMemory) {
    LiteTensor empty = make(default_layout), source = counting({2, 3}), copy = make(default_layout);
    EXPECT_EQ(LITE_tensor_copy(copy, empty), -1);
    EXPECT_EQ(LITE_tensor_share_memory_with(copy, empty), -1);
    EXPECT_THAT(LITE_get_last_error(), HasSubstr("the tensor has no layout"));
    EXPECT_EQ(LITE_tensor_copy(copy, source), 0);
    EXPECT_EQ(shape_of(copy), shape_of(source));
    EXPECT_NE(memory_of<float>(copy), memory_of<float>(source));
    EXPECT_EQ(LITE_tensor_share_memory_with(copy, source), 0);
    auto* shared = memory_of<float>(source);
    EXPECT_EQ(memory_of<float>(copy), shared);
    EXPECT_EQ(LITE_destroy_tensor(source), 0);
    EXPECT_THAT(values_of(copy), ElementsAre(0, 1, 2, 3, 4, 5));
    LITE_destroy_tensor(empty);
    LITE_destroy_tensor(copy);
}

TEST(LiteTensorInC, Reshape) {
    LiteTensor tensor = counting({8, 8, 10});
    auto* before = memory_of<float>(tensor);
    int wrong[] = {-1, 7}, rest[] = {-1, 20};
    EXPECT_EQ(LITE_tensor_reshape(tensor, wrong, 2), -1);
    EXPECT_EQ(LITE_tensor_reshape(tensor, rest, 2), 0);
    EXPECT_THAT(shape_of(tensor), ElementsAre(32, 20));
    EXPECT_EQ(memory_of<float>(tensor), before);
    EXPECT_EQ(LITE_tensor_reshape(tensor, rest, -1), -1);
    EXPECT_EQ(LITE_tensor_reshape(tensor, rest, 1 << 30), -1);
    EXPECT_THAT(LITE_get_last_error(), HasSubstr("'shape' has 1073741824 numbers"));
    LITE_destroy_tensor(tensor);
}

TEST(LiteTensorInC, Slices) {
    LiteTensor tensor = counting({4, 6}), part = nullptr, spread = nullptr;
    size_t start[] = {1, 1}, end[] = {4, 6}, step[] = {2, 3};
    ASSERT_EQ(LITE_tensor_slice(tensor, start, end, nullptr, 2, &part), 0);
    ASSERT_EQ(LITE_tensor_slice(tensor, start, end, step, 2, &spread), 0);
    EXPECT_THAT(shape_of(part), ElementsAre(3, 5));
    EXPECT_THAT(values_of(spread), ElementsAre(7, 10, 19, 22));
    int is_dense = 1;
    EXPECT_EQ(LITE_is_memory_continue(part, &is_dense), 0);
    EXPECT_EQ(is_dense, 0);
    EXPECT_EQ(LITE_tensor_fill_zero(spread), 0);
    EXPECT_EQ(memory_of<float>(tensor)[22], 0);
    EXPECT_EQ(memory_of<float>(tensor)[21], 21);
    void* element = nullptr;
    size_t index[] = {1, 1};
    EXPECT_EQ(LITE_get_tensor_memory_with_index(part, index, 2, &element), 0);
    EXPECT_EQ(element, memory_of<float>(tensor) + 14);
    EXPECT_EQ(LITE_get_tensor_memory_with_index(part, index, 1, &element), 0);
    EXPECT_EQ(element, memory_of<float>(tensor) + 13);
    EXPECT_EQ(LITE_get_tensor_memory_with_index(part, index, SIZE_MAX, &element), -1);
    EXPECT_EQ(LITE_tensor_slice(tensor, end, start, nullptr, 2, &spread), -1);
    EXPECT_EQ(LITE_tensor_slice(tensor, start, end, step, SIZE_MAX, &spread), -1);
    for (auto each : {tensor, part, spread}) EXPECT_EQ(LITE_destroy_tensor(each), 0);
}

TEST(LiteTensorInC, Concat) {
    LiteTensor tensors[] = {counting({1, 2}), counting({2, 2})}, joined = nullptr;
    ASSERT_EQ(LITE_tensor_concat(tensors, 2, 0, LITE_DEVICE_DEFAULT, -1, &joined), 0);
    EXPECT_THAT(values_of(joined), ElementsAre(0, 1, 0, 1, 2, 3));
    EXPECT_EQ(LITE_destroy_tensor(joined), 0);
    EXPECT_EQ(LITE_tensor_concat(tensors, 2, 1, LITE_DEVICE_DEFAULT, -1, &joined), -1);
    EXPECT_EQ(LITE_tensor_concat(tensors, -1, 0, LITE_DEVICE_DEFAULT, -1, &joined), -1);
    LiteTensor with_null[] = {tensors[0], nullptr};
    EXPECT_EQ(LITE_tensor_concat(with_null, 2, 0, LITE_DEVICE_DEFAULT, -1, &joined), -1);
    EXPECT_THAT(LITE_get_last_error(), HasSubstr("'tensors[1]' is null"));
    EXPECT_EQ(LITE_tensor_concat(nullptr, 0, 0, LITE_DEVICE_DEFAULT, -1, &joined), 0);
    EXPECT_TRUE(shape_of(joined).empty());
    for (auto each : {tensors[0], tensors[1], joined}) EXPECT_EQ(LITE_destroy_tensor(each), 0);
}

TEST(LiteTensorInC, MissingDevices) {
    LiteTensorDesc description = default_desc;
    LiteTensor tensor = nullptr;
    description.device_type = LITE_ATLAS;
    EXPECT_EQ(LITE_make_tensor(description, &tensor), -1);
    EXPECT_THAT(LITE_get_last_error(), HasSubstr("this build has no device ATLAS"));
    description = default_desc;
    description.device_id = 256;
    EXPECT_EQ(LITE_make_tensor(description, &tensor), -1);
    EXPECT_EQ(tensor, nullptr);
}

// Each pointer of each function, null by itself.
TEST(LiteTensorInC, NullArguments) {
    LiteTensor t = make(layout({2, 2})), out = nullptr;
    LiteLayout form = layout({2, 2});
    size_t zeros[] = {0, 0}, bytes = 0;
    float memory[4];
    int shape[] = {4}, number = 0;
    void* data = nullptr;
    LiteDeviceType type;
    auto refused = [](int code, const char* what) {
        EXPECT_EQ(code, -1) << what;
        EXPECT_THAT(LITE_get_last_error(), StartsWith("Error: LITE_")) << what;
        EXPECT_THAT(LITE_get_last_error(), HasSubstr(std::string("'") + what + "' is null"));
    };
    refused(LITE_set_tensor_layout(nullptr, form), "tensor");
    refused(LITE_reset_tensor_memory(nullptr, memory, 16), "tensor");
    refused(LITE_reset_tensor_memory(t, nullptr, 16), "prepared_data");
    refused(LITE_reset_tensor(nullptr, form, memory), "tensor");
    refused(LITE_reset_tensor(t, form, nullptr), "prepared_data");
    refused(LITE_tensor_reshape(nullptr, shape, 1), "tensor");
    refused(LITE_tensor_reshape(t, nullptr, 1), "shape");
    refused(LITE_tensor_slice(nullptr, zeros, zeros, nullptr, 2, &out), "tensor");
    refused(LITE_tensor_slice(t, nullptr, zeros, nullptr, 2, &out), "start");
    refused(LITE_tensor_slice(t, zeros, nullptr, nullptr, 2, &out), "end");
    refused(LITE_tensor_slice(t, zeros, zeros, nullptr, 2, nullptr), "slice_tensor");
    refused(LITE_tensor_fill_zero(nullptr), "tensor");
    refused(LITE_tensor_copy(nullptr, t), "dst_tensor");
    refused(LITE_tensor_copy(t, nullptr), "src_tensor");
    refused(LITE_tensor_share_memory_with(nullptr, t), "dst_tensor");
    refused(LITE_tensor_share_memory_with(t, nullptr), "src_tensor");
    refused(LITE_tensor_concat(nullptr, 1, 0, LITE_CPU, 0, &out), "tensors");
    refused(LITE_tensor_concat(&t, 1, 0, LITE_CPU, 0, nullptr), "result_tensor");
    refused(LITE_get_tensor_memory(nullptr, &data), "tensor");
    refused(LITE_get_tensor_memory(t, nullptr), "data");
    refused(LITE_get_tensor_memory_with_index(nullptr, zeros, 2, &data), "tensor");
    refused(LITE_get_tensor_memory_with_index(t, nullptr, 2, &data), "index");
    refused(LITE_get_tensor_memory_with_index(t, zeros, 2, nullptr), "data");
    refused(LITE_get_tensor_total_size_in_byte(nullptr, &bytes), "tensor");
    refused(LITE_get_tensor_total_size_in_byte(t, nullptr), "size");
    refused(LITE_get_tensor_layout(nullptr, &form), "tensor");
    refused(LITE_get_tensor_layout(t, nullptr), "layout");
    refused(LITE_get_tensor_device_type(nullptr, &type), "tensor");
    refused(LITE_get_tensor_device_type(t, nullptr), "device_type");
    refused(LITE_get_tensor_device_id(nullptr, &number), "tensor");
    refused(LITE_get_tensor_device_id(t, nullptr), "device_id");
    refused(LITE_is_pinned_host(nullptr, &number), "tensor");
    refused(LITE_is_pinned_host(t, nullptr), "is_pinned_host");
    refused(LITE_is_memory_continue(nullptr, &number), "tensor");
    refused(LITE_is_memory_continue(t, nullptr), "is_continue");
    EXPECT_EQ(LITE_destroy_tensor(t), 0);
}

}  // namespace
