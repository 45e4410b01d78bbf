// SPDX-License-Identifier: Apache-2.0
// Descriptions of memory, and copies between layouts, in builds without oneDNN.

#include <oneapi/dnnl/dnnl.h>

#include <algorithm>
#include <array>
#include <cctype>
#include <string_view>

#include "libmge/base/error.h"
#include "libmge/base/numbers/ceil_div.h"
#include "libmge/kernel/cpu/onednn/copy_blocked.h"
#include "libmge/kernel/cpu/onednn/reorder.h"

namespace {

struct NamedType {
    const char* name;
    size_t bytes;
};
constexpr std::array<NamedType, 7> types{
    {{"undef", 0}, {"f16", 2}, {"bf16", 2}, {"f32", 4}, {"s32", 4}, {"s8", 1}, {"u8", 1}}};

// In the order of dnnl_format_tag_t: letters from the outermost to the innermost axis, then the blocks.
constexpr std::array<std::string_view, 10> tags{"",        "abcd",     "Abcd4a",   "Abcd8a",   "Abcd16a",
                                                "Acdb32a", "BA16a16b", "BA16a32b", "BA16a64b", "BA16a32b2a"};

bool is_digit(char c) { return c >= '0' && c <= '9'; }

// Reads "16a64b" into the blocks of the description, and returns the elements of a block along each axis.
std::array<int64_t, DNNL_MAX_NDIMS> read_blocks(std::string_view text, dnnl_blocking_desc_t& blocking) {
    std::array<int64_t, DNNL_MAX_NDIMS> sizes;
    sizes.fill(1);
    int64_t size = 0;
    for (char c : text) {
        if (is_digit(c)) {
            size = size * 10 + (c - '0');
            continue;
        }
        blocking.inner_blks[blocking.inner_nblks] = size;
        blocking.inner_idxs[blocking.inner_nblks++] = c - 'a';
        sizes[size_t(c - 'a')] *= size;
        size = 0;
    }
    return sizes;
}

dnnl_memory_desc_t described(int rank, const int64_t* dims, dnnl_data_type_t type) {
    dnnl_memory_desc_t desc{};
    desc.ndims = rank;
    desc.data_type = type;
    desc.format_kind = dnnl_blocked;
    std::copy_n(dims, rank, desc.dims);
    std::copy_n(dims, rank, desc.padded_dims);
    return desc;
}

// The parts of a description that say where elements are.
bool has_equal_places(const dnnl_blocking_desc_t& a, const dnnl_blocking_desc_t& b, int rank) {
    return std::equal(a.strides, a.strides + rank, b.strides) && a.inner_nblks == b.inner_nblks &&
           std::equal(a.inner_blks, a.inner_blks + a.inner_nblks, b.inner_blks) &&
           std::equal(a.inner_idxs, a.inner_idxs + a.inner_nblks, b.inner_idxs);
}

}  // namespace

const dnnl_version_t* dnnl_version() {
    static constexpr dnnl_version_t none{0, 0, 0, ""};
    return &none;
}

const char* dnnl_dt2str(dnnl_data_type_t type) { return types[size_t(type)].name; }
size_t dnnl_data_type_size(dnnl_data_type_t type) { return types[size_t(type)].bytes; }

size_t dnnl_memory_desc_get_size(const dnnl_memory_desc_t* desc) {
    if (desc->ndims == 0 || std::count(desc->dims, desc->dims + desc->ndims, 0)) return 0;
    auto& blocking = desc->format_desc.blocking;
    std::array<int64_t, DNNL_MAX_NDIMS> blocks;
    blocks.fill(1);
    int64_t elements = 1;
    for (int i = 0; i < blocking.inner_nblks; ++i) {
        blocks[size_t(blocking.inner_idxs[i])] *= blocking.inner_blks[i];
        elements *= blocking.inner_blks[i];
    }
    for (int i = 0; i < desc->ndims; ++i)
        elements += (desc->padded_dims[i] / blocks[size_t(i)] - 1) * blocking.strides[i];
    return size_t(elements + desc->offset0) * dnnl_data_type_size(desc->data_type);
}

int dnnl_memory_desc_equal(const dnnl_memory_desc_t* a, const dnnl_memory_desc_t* b) {
    const int rank = a->ndims;
    return rank == b->ndims && a->data_type == b->data_type && a->offset0 == b->offset0 &&
           std::equal(a->dims, a->dims + rank, b->dims) &&
           std::equal(a->padded_dims, a->padded_dims + rank, b->padded_dims) &&
           has_equal_places(a->format_desc.blocking, b->format_desc.blocking, rank);
}

dnnl_status_t dnnl_memory_desc_init_by_tag(dnnl_memory_desc_t* desc, int rank, const int64_t* dims,
                                           dnnl_data_type_t type, dnnl_format_tag_t tag) {
    const std::string_view name = tags[size_t(tag)];
    const auto letters = size_t(std::ranges::find_if(name, is_digit) - name.begin());
    const std::string_view axes = name.substr(0, letters);
    if (axes.size() != size_t(rank)) return dnnl_invalid_arguments;
    *desc = described(rank, dims, type);
    auto& blocking = desc->format_desc.blocking;
    const auto blocks = read_blocks(name.substr(letters), blocking);
    int64_t stride = 1;
    for (int i = 0; i < blocking.inner_nblks; ++i) stride *= blocking.inner_blks[i];
    for (size_t i = axes.size(); i-- > 0;) {
        const auto axis = size_t(std::tolower(axes[i]) - 'a');
        desc->padded_dims[axis] = mge::round_up(dims[axis], blocks[axis]);
        blocking.strides[axis] = stride;
        stride *= std::max<int64_t>(desc->padded_dims[axis] / blocks[axis], 1);
    }
    return dnnl_success;
}

dnnl_status_t dnnl_memory_desc_init_by_strides(dnnl_memory_desc_t* desc, int rank, const int64_t* dims,
                                               dnnl_data_type_t type, const int64_t* strides) {
    *desc = described(rank, dims, type);
    std::copy_n(strides, rank, desc->format_desc.blocking.strides);
    return dnnl_success;
}

// Parts begin at whole blocks; the last may end inside one.
dnnl_status_t dnnl_memory_desc_init_submemory(dnnl_memory_desc_t* part, const dnnl_memory_desc_t* whole,
                                              const int64_t* dims, const int64_t* offsets) {
    *part = *whole;
    auto& blocking = whole->format_desc.blocking;
    for (int axis = 0; axis < whole->ndims; ++axis) {
        int64_t block = 1;
        for (int i = 0; i < blocking.inner_nblks; ++i)
            if (blocking.inner_idxs[i] == axis) block *= blocking.inner_blks[i];
        const bool is_last = offsets[axis] + dims[axis] == whole->dims[axis];
        if (offsets[axis] % block || (!is_last && dims[axis] % block)) return dnnl_invalid_arguments;
        part->dims[axis] = dims[axis];
        part->padded_dims[axis] = mge::round_up(dims[axis], block);
        part->offset0 += offsets[axis] / block * blocking.strides[axis];
    }
    return dnnl_success;
}

namespace mge::onednn {

void check(dnnl_status_t status, const char* call) {
    MGE_CHECK(status == dnnl_success, call, " answered status ", int(status));
}

void reorder(const MemoryDesc& from, const void* source, const MemoryDesc& to, void* target, int) {
    MGE_CHECK(copy_blocked(from, source, to, target), "no copy from ", layout_name(from), " to ",
              layout_name(to));
}

}  // namespace mge::onednn
