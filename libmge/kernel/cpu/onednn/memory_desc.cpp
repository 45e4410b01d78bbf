// SPDX-License-Identifier: Apache-2.0
#include "libmge/kernel/cpu/onednn/memory_desc.h"

#include <algorithm>
#include <array>
#include <numeric>

#include "libmge/base/error.h"

namespace mge::onednn {
namespace {

void set_plain_strides(MemoryDesc& desc) {
    int64_t stride = 1;
    for (int axis = desc.ndims; axis-- > 0;) {
        desc.format_desc.blocking.strides[axis] = stride;
        stride *= std::max<int64_t>(desc.padded_dims[axis], 1);
    }
}

// Digits with blocks first, from the innermost outwards; then the rest of the axes. False if a block is
// outside of an unblocked digit, which oneDNN cannot describe.
bool set_strides(MemoryDesc& desc, const Layout& layout) {
    auto& blocking = desc.format_desc.blocking;
    int outer = layout.size();
    while (outer > 0 && layout[outer - 1].block) --outer;
    for (int i = 0; i < outer; ++i)
        if (layout[i].block) return false;
    std::array<int64_t, max_rank> block;
    block.fill(1);
    int64_t stride = 1;
    for (int i = outer; i < layout.size(); ++i) {
        blocking.inner_blks[blocking.inner_nblks] = layout[i].block;
        blocking.inner_idxs[blocking.inner_nblks++] = layout[i].axis;
        block[layout[i].axis] *= layout[i].block;
        stride *= layout[i].block;
    }
    for (int axis = 0; axis < desc.ndims; ++axis)
        desc.padded_dims[axis] = (desc.dims[axis] + block[axis] - 1) / block[axis] * block[axis];
    for (int i = outer; i-- > 0;) {
        int axis = layout[i].axis;
        blocking.strides[axis] = stride;
        stride *= std::max<int64_t>(desc.padded_dims[axis] / block[axis], 1);
    }
    return true;
}

}  // namespace

std::optional<dnnl_data_type_t> data_type(DType dtype) {
    switch (dtype) {
        case DType::f32:
            return dnnl_f32;
        case DType::bf16:
            return dnnl_bf16;
        case DType::f16:
            return dnnl_f16;
        case DType::i32:
            return dnnl_s32;
        case DType::i8:
            return dnnl_s8;
        case DType::u8:
            return dnnl_u8;
        default:
            return std::nullopt;
    }
}

std::optional<MemoryDesc> memory_desc(const TensorSpec& spec) {
    auto type = data_type(spec.dtype);
    if (!type || spec.shape.rank() < 1) return std::nullopt;
    MemoryDesc desc{};
    desc.ndims = spec.shape.rank();
    desc.data_type = *type;
    desc.format_kind = dnnl_blocked;
    for (int i = 0; i < desc.ndims; ++i) desc.dims[i] = desc.padded_dims[i] = spec.shape[i];
    if (spec.layout.is_plain()) {
        set_plain_strides(desc);
        return desc;
    }
    if (!set_strides(desc, spec.layout)) return std::nullopt;
    return desc;
}

MemoryDesc tagged(std::initializer_list<int64_t> dims, dnnl_format_tag_t tag) {
    MemoryDesc result;
    check(dnnl_memory_desc_init_by_tag(&result, int(dims.size()), dims.begin(), dnnl_f32, tag),
          "dnnl_memory_desc_init_by_tag");
    return result;
}

MemoryDesc any_layout(const MemoryDesc& desc) {
    MemoryDesc result;
    check(dnnl_memory_desc_init_by_tag(&result, desc.ndims, desc.dims, desc.data_type, dnnl_format_tag_any),
          "dnnl_memory_desc_init_by_tag");
    return result;
}

MemoryDesc strided(std::span<const int64_t> dims, std::span<const int64_t> strides, dnnl_data_type_t type) {
    MemoryDesc result;
    check(dnnl_memory_desc_init_by_strides(&result, int(dims.size()), dims.data(), type, strides.data()),
          "dnnl_memory_desc_init_by_strides");
    return result;
}

size_t bytes(const MemoryDesc& desc) { return dnnl_memory_desc_get_size(&desc); }

std::string layout_name(const MemoryDesc& desc) {
    if (desc.format_kind == dnnl_format_kind_wino) return "wino";
    if (desc.format_kind != dnnl_blocked) return "opaque";
    auto& blocking = desc.format_desc.blocking;
    std::array<int, DNNL_MAX_NDIMS> axes;
    std::iota(axes.begin(), axes.begin() + desc.ndims, 0);
    std::stable_sort(axes.begin(), axes.begin() + desc.ndims,
                     [&](int a, int b) { return blocking.strides[a] > blocking.strides[b]; });
    std::string name;
    for (int i = 0; i < desc.ndims; ++i) {
        bool is_blocked =
            std::count(blocking.inner_idxs, blocking.inner_idxs + blocking.inner_nblks, axes[i]);
        name += char((is_blocked ? 'A' : 'a') + axes[i]);
    }
    for (int i = 0; i < blocking.inner_nblks; ++i)
        name += std::to_string(blocking.inner_blks[i]) + char('a' + blocking.inner_idxs[i]);
    return name;
}

}  // namespace mge::onednn
