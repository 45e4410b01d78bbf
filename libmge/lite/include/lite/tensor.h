// SPDX-License-Identifier: Apache-2.0
#pragma once
// Memory with a shape and an element type, on the host or on a device; the inputs and outputs of networks.
//
//     lite::Tensor tensor(LiteDeviceType::LITE_CPU, lite::Layout{{4, 8}, 2, LiteDataType::LITE_FLOAT});
//     auto* data = static_cast<float*>(tensor.get_memory_ptr());

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <variant>
#include <vector>

#include "lite/common_enum_c.h"
#include "lite/error.h"
#include "lite/macro.h"

namespace lite {

// The shape and element type of a tensor.
struct LITE_API Layout {
    static constexpr size_t MAXDIM = 7;
    size_t shapes[MAXDIM];  // the first `ndim` are valid
    size_t ndim = 0;        // 0: no tensor yet
    LiteDataType data_type = LiteDataType::LITE_FLOAT;

    // Returns the bytes of one element.
    size_t get_elem_size() const;
    bool operator==(const Layout& other) const;
};

// A handle: copies refer to the same tensor, whereas share_memory_with() makes two tensors with one block of
// memory. Elements are dense in row-major order, except in slices. Memory is allocated at its first use.
// Throws lite::Error. One tensor must not be used by two threads at once.
class LITE_API Tensor {
public:
    class TensorImplBase;

    Tensor();
    // A tensor on the CPU, or on a device. A pinned tensor is in host memory from which copies to the device
    // are fastest. Throws if this build or machine lacks the device.
    Tensor(LiteDeviceType device_type, bool is_pinned_host = false);
    Tensor(LiteDeviceType device_type, const Layout& layout, bool is_pinned_host = false);
    Tensor(int device_id, LiteDeviceType device_type, const Layout& layout = {}, bool is_pinned_host = false);
    Tensor(int device_id, int stream_id, LiteDeviceType device_type, bool is_pinned_host = false);
    Tensor(LiteBackend backend, LiteDeviceType device_type = LiteDeviceType::LITE_CPU, int device_id = 0,
           const Layout& layout = {}, bool is_pinned_host = false);
    ~Tensor();

    LiteDeviceType get_device_type() const { return device_type_; }
    int get_device_id() const { return device_id_; }
    Layout get_layout() const { return layout_; }
    bool is_pinned_host() const { return is_pinned_host_; }

    // Returns the address of the first element, on the tensor's device. It is valid until the layout grows,
    // the memory is replaced or the tensor is destroyed. Throws for a tensor without a layout.
    void* get_memory_ptr() const;
    // Returns the address of the element at `index`; omitted last dimensions are 0.
    void* get_memory_ptr(const std::vector<size_t>& index) const;
    // Returns the bytes of all elements; 0 without a layout.
    size_t get_tensor_total_size_in_byte() const;
    // Returns false for a slice with gaps.
    bool is_continue_memory() const;

    // Sets shape and element type. The memory is kept if it is large enough; otherwise the contents are lost.
    void set_layout(const Layout& layout);
    // Makes the tensor use the caller's memory, which must be large enough and outlive this use.
    void reset(void* prepared_data, size_t data_length_in_byte);
    void reset(void* prepared_data, const Layout& layout);
    // Changes the shape; the number of elements stays. One size may be -1 and is inferred. Throws for a slice
    // with gaps.
    void reshape(const std::vector<int>& shape);
    // Returns a slice that shares the memory: from `start` to `end` (exclusive) in steps of `step` (default
    // 1) along the first dimensions, and all of the others. Requires 0 <= start <= end <= size and step >= 1.
    std::shared_ptr<Tensor> slice(const std::vector<size_t>& start, const std::vector<size_t>& end,
                                  const std::vector<size_t>& step = {});
    // Sets all elements to 0; those of a slice only.
    void fill_zero();
    // Copies the elements of `src` from any device. The tensor takes the layout of `src`; a slice with gaps
    // keeps its own, which must be equal.
    void copy_from(const Tensor& src);
    // Makes the tensor use layout and memory of `src`, which may be destroyed afterwards. Both must be on the
    // host, or both on one device.
    void share_memory_with(const Tensor& src);
    // Updates the values of the getters after changes through another handle.
    void update_from_implement();

private:
    friend class TensorHelper;
    bool is_pinned_host_ = false;
    int device_id_ = 0;
    Layout layout_{};
    LiteDeviceType device_type_ = LiteDeviceType::LITE_CPU;
    std::shared_ptr<TensorImplBase> tensor_impl_;
};

class LITE_API TensorUtils {
public:
    // Returns a new tensor on `dst_device` with the tensors joined along `dim`, from -ndim to ndim - 1. All
    // other sizes and the element types must be equal. LITE_DEVICE_DEFAULT and -1 select the device of the
    // first tensor. Without tensors the result is empty.
    static std::shared_ptr<Tensor> concat(const std::vector<Tensor>& tensors, int dim,
                                          LiteDeviceType dst_device = LiteDeviceType::LITE_DEVICE_DEFAULT,
                                          int dst_device_id = -1);
};

// A value of one of a few types: a setting in the information of a packed model.
class LITE_API LiteAny {
public:
    enum Type {
        STRING = 0,
        INT32 = 1,
        UINT32 = 2,
        UINT8 = 3,
        INT8 = 4,
        INT64 = 5,
        UINT64 = 6,
        BOOL = 7,
        VOID_PTR8 = 8,
        FLOAT = 9,
        NONE = 10,
    };

    LiteAny() = default;
    LiteAny(std::string value) : value_(std::move(value)) {}
    LiteAny(const char* value) : value_(std::string(value)) {}
    LiteAny(int32_t value) : value_(value) {}
    LiteAny(uint32_t value) : value_(value) {}
    LiteAny(uint8_t value) : value_(value) {}
    LiteAny(int8_t value) : value_(value) {}
    LiteAny(int64_t value) : value_(value) {}
    LiteAny(uint64_t value) : value_(value) {}
    LiteAny(bool value) : value_(value) {}
    LiteAny(void* value) : value_(value) {}
    LiteAny(float value) : value_(value) {}

    Type type() const { return types[value_.index()]; }
    // Returns the value. Throws if it has another type.
    template <class T>
    T safe_cast() const {
        if (auto* value = std::get_if<T>(&value_)) return *value;
        throw Error("a LiteAny holds a value of another type than the requested one");
    }
    // Stores the value in `value` and returns true if it has this type; otherwise returns false.
    template <class T>
    bool try_cast(T& value) const {
        auto* held = std::get_if<T>(&value_);
        if (held) value = *held;
        return held != nullptr;
    }

private:
    // Indexed by the variant's index.
    static constexpr Type types[] = {NONE,  STRING, INT32, UINT32, UINT8,    INT8,
                                     INT64, UINT64, BOOL,  FLOAT,  VOID_PTR8};
    std::variant<std::monostate, std::string, int32_t, uint32_t, uint8_t, int8_t, int64_t, uint64_t, bool,
                 float, void*>
        value_;
};

}  // namespace lite
