// SPDX-License-Identifier: Apache-2.0
#include "libmge/kernel/cpu/onednn/memory_desc.h"

#if DNNL_VERSION_MAJOR > 2  // memory_desc_v2.cpp is for older versions
#include <oneapi/dnnl/dnnl_debug.h>

#include <algorithm>
#include <map>

namespace mge::onednn {
namespace {

std::shared_ptr<const dnnl_memory_desc> owned(dnnl_memory_desc_t made) {
    return {made, [](const dnnl_memory_desc* desc) {
                dnnl_memory_desc_destroy(const_cast<dnnl_memory_desc_t>(desc));
            }};
}

// Describes no memory. Never destroyed, because other static objects may refer to it.
MemoryDesc::Handle nothing() {
    static dnnl_memory_desc_t desc = [] {
        dnnl_memory_desc_t made = nullptr;
        check(dnnl_memory_desc_create_with_strides(&made, 0, nullptr, dnnl_data_type_undef, nullptr),
              "dnnl_memory_desc_create_with_strides");
        return made;
    }();
    return desc;
}

template <class T>
T query(MemoryDesc::Handle desc, dnnl_query_t what) {
    T result{};
    check(dnnl_memory_desc_query(desc, what, &result), "dnnl_memory_desc_query");
    return result;
}

// oneDNN's tag by its name; nullopt where it has none.
std::optional<dnnl_format_tag_t> tag_of(const std::string& name) {
    static const auto tags = [] {
        std::map<std::string, dnnl_format_tag_t, std::less<>> result;
        for (int tag = dnnl_format_tag_any + 1; tag < dnnl_format_tag_last; ++tag)
            result.emplace(dnnl_fmt_tag2str(dnnl_format_tag_t(tag)), dnnl_format_tag_t(tag));
        return result;
    }();
    auto it = tags.find(name);
    return it == tags.end() ? std::nullopt : std::optional(it->second);
}

// As layout_name(), but of the layout: strides do not show the order of axes of one element.
std::string name_of(const Layout& layout) {
    int outer = layout.size();
    while (outer > 0 && layout[outer - 1].block) --outer;
    std::string name, blocks;
    for (int i = outer; i < layout.size(); ++i)
        blocks += std::to_string(layout[i].block) + char('a' + layout[i].axis);
    for (int i = 0; i < outer; ++i) {
        if (layout[i].block) return {};
        bool is_blocked = blocks.find(char('a' + layout[i].axis)) != std::string::npos;
        name += char((is_blocked ? 'A' : 'a') + layout[i].axis);
    }
    return name + blocks;
}

}  // namespace

MemoryDesc::MemoryDesc(Handle desc) {
    if (!desc) return;
    dnnl_memory_desc_t made;
    check(dnnl_memory_desc_clone(&made, desc), "dnnl_memory_desc_clone");
    desc_ = owned(made);
}

MemoryDesc::Handle MemoryDesc::get() const { return desc_ ? desc_.get() : nothing(); }
int MemoryDesc::rank() const { return query<int>(get(), dnnl_query_ndims_s32); }
std::span<const int64_t> MemoryDesc::dims() const {
    auto* dims = query<const dnnl_dims_t*>(get(), dnnl_query_dims);
    return {*dims, size_t(rank())};
}
dnnl_data_type_t MemoryDesc::type() const { return query<dnnl_data_type_t>(get(), dnnl_query_data_type); }

std::optional<Blocking> MemoryDesc::blocking() const {
    auto dims_of = [&](dnnl_query_t what) { return *query<const dnnl_dims_t*>(get(), what); };
    auto is_zero = [](int64_t offset) { return offset == 0; };
    if (query<dnnl_format_kind_t>(get(), dnnl_query_format_kind) != dnnl_blocked ||
        !std::all_of(dims_of(dnnl_query_padded_offsets), dims_of(dnnl_query_padded_offsets) + rank(),
                     is_zero))
        return std::nullopt;
    Blocking result{};
    result.blocks = query<int>(get(), dnnl_query_inner_nblks_s32);
    result.offset = query<int64_t>(get(), dnnl_query_submemory_offset_s64);
    std::copy_n(dims_of(dnnl_query_strides), rank(), result.strides.begin());
    std::copy_n(dims_of(dnnl_query_padded_dims), rank(), result.padded_dims.begin());
    std::copy_n(dims_of(dnnl_query_inner_blks), result.blocks, result.block_sizes.begin());
    std::copy_n(dims_of(dnnl_query_inner_idxs), result.blocks, result.block_axes.begin());
    return result;
}

std::optional<std::string> MemoryDesc::opaque_text() const { return std::nullopt; }

std::optional<MemoryDesc> blocked(const TensorSpec& spec, dnnl_data_type_t type) {
    auto tag = tag_of(name_of(spec.layout));
    return tag ? std::optional(tagged(std::span(spec.shape.begin(), spec.shape.end()), *tag, type))
               : std::nullopt;
}

MemoryDesc tagged(std::span<const int64_t> dims, dnnl_format_tag_t tag, dnnl_data_type_t type) {
    dnnl_memory_desc_t made;
    check(dnnl_memory_desc_create_with_tag(&made, int(dims.size()), dims.data(), type, tag),
          "dnnl_memory_desc_create_with_tag");
    return MemoryDesc(owned(made).get());
}

MemoryDesc strided(std::span<const int64_t> dims, std::span<const int64_t> strides, dnnl_data_type_t type) {
    dnnl_memory_desc_t made;
    check(dnnl_memory_desc_create_with_strides(&made, int(dims.size()), dims.data(), type, strides.data()),
          "dnnl_memory_desc_create_with_strides");
    return MemoryDesc(owned(made).get());
}

std::optional<Part> part_of(const MemoryDesc& whole, int axis, int64_t begin, int64_t count) {
    auto layout = whole.blocking();
    if (!layout) return std::nullopt;
    dnnl_dims_t extents, first{};
    std::ranges::copy(whole.dims(), extents);
    extents[axis] = count;
    first[axis] = begin;
    if (layout->blocks == 0) {
        auto elements = size_t(begin * layout->strides[axis]);
        std::span strides(layout->strides.data(), size_t(whole.rank()));
        return Part{strided({extents, strides.size()}, strides, whole.type()),
                    elements * dnnl_data_type_size(whole.type())};
    }
    // The description itself says where the part begins.
    dnnl_memory_desc_t made;
    if (dnnl_memory_desc_create_submemory(&made, whole.get(), extents, first) != dnnl_success)
        return std::nullopt;
    return Part{MemoryDesc(owned(made).get()), 0};
}

}  // namespace mge::onednn
#endif
