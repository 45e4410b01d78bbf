// SPDX-License-Identifier: Apache-2.0
#include "libmge/kernel/cpu/onednn/memory_desc.h"

#include <algorithm>
#include <array>
#include <numeric>
#include <vector>

namespace mge::onednn {
namespace {

std::vector<int64_t> dense_strides(std::span<const int64_t> dims) {
    std::vector<int64_t> strides(dims.size());
    int64_t stride = 1;
    for (size_t axis = dims.size(); axis-- > 0;) {
        strides[axis] = stride;
        stride *= std::max<int64_t>(dims[axis], 1);
    }
    return strides;
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
    if (!spec.layout.is_plain()) return blocked(spec, *type);
    std::span dims(spec.shape.begin(), spec.shape.end());
    return strided(dims, dense_strides(dims), *type);
}

std::optional<std::string> MemoryDesc::text() const {
    auto layout = blocking();
    if (!layout) return opaque_text();
    std::string result(reinterpret_cast<const char*>(&*layout), sizeof *layout);
    for (int64_t extent : dims()) result += std::to_string(extent) + 'x';
    return result += std::to_string(type());
}

MemoryDesc any_layout(const MemoryDesc& desc) {
    return tagged(desc.dims(), dnnl_format_tag_any, desc.type());
}

std::string layout_name(const MemoryDesc& desc) {
    auto blocking = desc.blocking();
    if (!blocking) return "opaque";
    std::array<int, DNNL_MAX_NDIMS> order;
    std::span axes(order.data(), size_t(desc.rank()));
    std::iota(axes.begin(), axes.end(), 0);
    std::ranges::stable_sort(axes, [&](int a, int b) { return blocking->strides[a] > blocking->strides[b]; });
    std::span blocked(blocking->block_axes.data(), size_t(blocking->blocks));
    std::string name;
    for (int axis : axes) name += char((std::ranges::count(blocked, axis) ? 'A' : 'a') + axis);
    for (size_t i = 0; i < blocked.size(); ++i)
        name += std::to_string(blocking->block_sizes[i]) + char('a' + blocked[i]);
    return name;
}

}  // namespace mge::onednn
