// SPDX-License-Identifier: Apache-2.0
#pragma once
#include "libmge/tensor/tensor.h"

namespace mge {

// Returns the values in row-major order. Inside programs images may have other layouts. A plain tensor is
// returned unchanged, with the same memory.
MGE_API Tensor to_plain(const Tensor& tensor);
// Returns the values in that layout; the tensor itself if it already has it.
MGE_API Tensor in_layout(const Tensor& tensor, const Layout& layout);
// Returns the values in row-major order, in memory that the host can read.
MGE_API Tensor plain_on_host(const Tensor& tensor);
// Returns a row-major copy on the tensor's device, in new memory.
MGE_API Tensor copy_plain(const Tensor& tensor);

}  // namespace mge
