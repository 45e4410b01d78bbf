// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <initializer_list>
#include <optional>
#include <string>

#include "libmge/kernel/cpu/onednn/engine.h"
#include "libmge/tensor/spec.h"

namespace mge::onednn {

using MemoryDesc = dnnl_memory_desc_t;

// nullopt for dtypes and layouts that oneDNN does not have (i64, u16, blocks outside the innermost digits).
std::optional<dnnl_data_type_t> data_type(DType dtype);
std::optional<MemoryDesc> memory_desc(const TensorSpec& spec);
// f32 of this shape, in one of oneDNN's named layouts.
MemoryDesc tagged(std::initializer_list<int64_t> dims, dnnl_format_tag_t tag);
// The same shape and dtype; oneDNN chooses the layout.
MemoryDesc any_layout(const MemoryDesc& desc);
MemoryDesc strided(std::span<const int64_t> dims, std::span<const int64_t> strides, dnnl_data_type_t type);

inline bool is_equal(const MemoryDesc& a, const MemoryDesc& b) { return dnnl_memory_desc_equal(&a, &b) != 0; }
size_t bytes(const MemoryDesc& desc);

// "abcd", "aBcd16b", "wino", "rnn": letters from the outermost to the innermost axis, capitals are blocked.
std::string layout_name(const MemoryDesc& desc);

}  // namespace mge::onednn
