// SPDX-License-Identifier: Apache-2.0
#pragma once
#include "libmge/tensor/tensor.h"

namespace mge {

// The same values, row-major. Inside programs images may have other layouts; a plain tensor is returned
// unchanged, with the same memory.
MGE_API Tensor to_plain(const Tensor& tensor);
// The same values in that layout; the tensor itself when it is in it already.
MGE_API Tensor in_layout(const Tensor& tensor, const Layout& layout);
// The same where the host can read it.
MGE_API Tensor plain_on_host(const Tensor& tensor);
// A plain tensor on the tensor's device, in memory of its own.
MGE_API Tensor copy_plain(const Tensor& tensor);

}  // namespace mge
