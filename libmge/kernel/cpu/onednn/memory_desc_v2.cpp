// SPDX-License-Identifier: Apache-2.0
#include "libmge/kernel/cpu/onednn/memory_desc.h"

#if DNNL_VERSION_MAJOR == 2  // memory_desc_v3.cpp is for newer versions
#include <algorithm>

#include "libmge/base/numbers/ceil_div.h"

namespace mge::onednn {
namespace {

// Digits with blocks first, from the innermost outwards; then the rest of the axes. False if a block is
// outside of an unblocked digit, which oneDNN cannot describe.
bool set_strides(dnnl_memory_desc_t& desc, const Layout& layout) {
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
        desc.padded_dims[axis] = round_up(desc.dims[axis], block[axis]);
    for (int i = outer; i-- > 0;) {
        int axis = layout[i].axis;
        blocking.strides[axis] = stride;
        stride *= std::max<int64_t>(desc.padded_dims[axis] / block[axis], 1);
    }
    return true;
}

}  // namespace

MemoryDesc::MemoryDesc(Handle desc) {
    if (desc) desc_ = *desc;
}

MemoryDesc::Handle MemoryDesc::get() const { return &desc_; }
int MemoryDesc::rank() const { return desc_.ndims; }
std::span<const int64_t> MemoryDesc::dims() const { return {desc_.dims, size_t(desc_.ndims)}; }
dnnl_data_type_t MemoryDesc::type() const { return desc_.data_type; }

std::optional<Blocking> MemoryDesc::blocking() const {
    auto is_zero = [](int64_t offset) { return offset == 0; };
    if (desc_.format_kind != dnnl_blocked || desc_.extra.flags != dnnl_memory_extra_flag_none ||
        !std::all_of(desc_.padded_offsets, desc_.padded_offsets + desc_.ndims, is_zero))
        return std::nullopt;
    auto& from = desc_.format_desc.blocking;
    Blocking result{};
    result.blocks = from.inner_nblks;
    result.offset = desc_.offset0;
    std::copy_n(from.strides, desc_.ndims, result.strides.begin());
    std::copy_n(desc_.padded_dims, desc_.ndims, result.padded_dims.begin());
    std::copy_n(from.inner_blks, from.inner_nblks, result.block_sizes.begin());
    std::copy_n(from.inner_idxs, from.inner_nblks, result.block_axes.begin());
    return result;
}

std::optional<std::string> MemoryDesc::opaque_text() const {
    return std::string(reinterpret_cast<const char*>(&desc_), sizeof desc_);
}

std::optional<MemoryDesc> blocked(const TensorSpec& spec, dnnl_data_type_t type) {
    dnnl_memory_desc_t desc{};
    desc.ndims = spec.shape.rank();
    desc.data_type = type;
    desc.format_kind = dnnl_blocked;
    std::ranges::copy(spec.shape, desc.dims);
    return set_strides(desc, spec.layout) ? std::optional<MemoryDesc>(&desc) : std::nullopt;
}

MemoryDesc tagged(std::span<const int64_t> dims, dnnl_format_tag_t tag, dnnl_data_type_t type) {
    dnnl_memory_desc_t made;
    check(dnnl_memory_desc_init_by_tag(&made, int(dims.size()), dims.data(), type, tag),
          "dnnl_memory_desc_init_by_tag");
    return MemoryDesc(&made);
}

MemoryDesc strided(std::span<const int64_t> dims, std::span<const int64_t> strides, dnnl_data_type_t type) {
    dnnl_memory_desc_t made;
    check(dnnl_memory_desc_init_by_strides(&made, int(dims.size()), dims.data(), type, strides.data()),
          "dnnl_memory_desc_init_by_strides");
    return MemoryDesc(&made);
}

std::optional<Part> part_of(const MemoryDesc& whole, int axis, int64_t begin, int64_t count) {
    dnnl_dims_t extents, first{};
    std::ranges::copy(whole.dims(), extents);
    extents[axis] = count;
    first[axis] = begin;
    dnnl_memory_desc_t part;
    if (!whole.blocking() ||
        dnnl_memory_desc_init_submemory(&part, whole.get(), extents, first) != dnnl_success)
        return std::nullopt;
    // All parts but the last are equal then, and have one primitive.
    auto elements = size_t(part.offset0 - whole.get()->offset0);
    part.offset0 = whole.get()->offset0;
    return Part{MemoryDesc(&part), elements * dnnl_data_type_size(whole.type())};
}

}  // namespace mge::onednn
#endif
