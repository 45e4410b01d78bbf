// SPDX-License-Identifier: Apache-2.0
#pragma once
#include "libmge/kernel/algorithm.h"

namespace mge::ops {

// Windows that step over pixels, or of which few are left, on one image in blocks of channels: what each sees
// is gathered, then they are a product (kernel/cpu/convolution/gathered_windows.h).
Algorithm gathered_conv2d();

}  // namespace mge::ops
