// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <oneapi/dnnl/dnnl_version.h>

#include <array>
#include <initializer_list>
#include <memory>
#include <optional>
#include <span>
#include <string>

#include "libmge/kernel/cpu/onednn/engine.h"
#include "libmge/tensor/spec.h"

namespace mge::onednn {

// How a layout places elements, in elements.
struct Blocking {
    std::array<int64_t, DNNL_MAX_NDIMS> strides;      // between neighbouring blocks along each axis
    std::array<int64_t, DNNL_MAX_NDIMS> padded_dims;  // whole blocks
    int blocks;                                       // from the outermost to the innermost:
    std::array<int64_t, DNNL_MAX_NDIMS> block_sizes, block_axes;
    int64_t offset;  // number of elements before the first one
};

// Shape, dtype and layout of a tensor, as oneDNN describes them. The default has no axes and no bytes.
class MemoryDesc {
public:
#if DNNL_VERSION_MAJOR == 2
    using Handle = const dnnl_memory_desc_t*;
#else
    using Handle = const_dnnl_memory_desc_t;
#endif
    MemoryDesc() = default;
    explicit MemoryDesc(Handle desc);  // a copy; of null the default

    Handle get() const;
    int rank() const;
    std::span<const int64_t> dims() const;
    dnnl_data_type_t type() const;
    size_t bytes() const { return dnnl_memory_desc_get_size(get()); }
    std::optional<Blocking> blocking() const;  // nullopt: only oneDNN can read the layout
    // Names the layout in files, together with oneDNN's version; nullopt: oneDNN does not say what it is.
    std::optional<std::string> text() const;

    friend bool operator==(const MemoryDesc& a, const MemoryDesc& b) {
        return dnnl_memory_desc_equal(a.get(), b.get()) != 0;
    }

private:
    std::optional<std::string> opaque_text() const;

#if DNNL_VERSION_MAJOR == 2
    dnnl_memory_desc_t desc_{};
#else
    std::shared_ptr<const dnnl_memory_desc> desc_;
#endif
};

// nullopt for dtypes and layouts that oneDNN does not have (i64, u16, blocks outside the innermost digits).
std::optional<dnnl_data_type_t> data_type(DType dtype);
std::optional<MemoryDesc> memory_desc(const TensorSpec& spec);
// The same of a layout that is not plain.
std::optional<MemoryDesc> blocked(const TensorSpec& spec, dnnl_data_type_t type);
// Describes this shape in one of oneDNN's named layouts.
MemoryDesc tagged(std::span<const int64_t> dims, dnnl_format_tag_t tag, dnnl_data_type_t type = dnnl_f32);
inline MemoryDesc tagged(std::initializer_list<int64_t> dims, dnnl_format_tag_t tag,
                         dnnl_data_type_t type = dnnl_f32) {
    return tagged(std::span(dims.begin(), dims.size()), tag, type);
}
// The same shape and dtype; oneDNN chooses the layout.
MemoryDesc any_layout(const MemoryDesc& desc);
MemoryDesc strided(std::span<const int64_t> dims, std::span<const int64_t> strides, dnnl_data_type_t type);

// The elements [begin, begin + count) along an axis of a memory, which start `bytes` behind the memory's
// address. nullopt: the layout cannot be cut there.
struct Part {
    MemoryDesc desc;
    size_t bytes;
};
std::optional<Part> part_of(const MemoryDesc& whole, int axis, int64_t begin, int64_t count);

// "abcd", "aBcd16b", "wino", "rnn": letters from the outermost to the innermost axis, capitals are blocked.
std::string layout_name(const MemoryDesc& desc);

}  // namespace mge::onednn
