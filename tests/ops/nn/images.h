// SPDX-License-Identifier: Apache-2.0
#pragma once
// Images in other layouts than the plain one, and windows over them.
#include <string>
#include <string_view>
#include <vector>

#include "libmge/device/cpu/cpu_device.h"
#include "libmge/kernel/select.h"
#include "libmge/mge.h"
#include "tests/harness/random_tensor.h"
#include "tests/harness/run_candidate.h"

namespace mge::test {

inline const std::vector<std::string> layout_names{"nchw", "nhwc", "nChw8c", "nChw16c"};

inline std::string_view channel_blocks() { return cpu_isa() >= Isa::avx512 ? "nChw16c" : "nChw8c"; }

inline Tensor reordered(const Tensor& x, const Layout& layout, bool by_reference = false) {
    ops::Reorder::Params params{layout.name()};
    TensorSpec from = x.spec(), to{x.dtype(), x.shape(), layout};
    Problem problem{ops::Reorder::name, &params, ops::Reorder::info.fields, {&from, 1}, {&to, 1}};
    auto candidates = list_candidates(find_kernels(ops::Reorder::info, default_device()), problem);
    return run_candidate(by_reference ? candidates.back() : candidates.front(), problem, {x})[0];
}

struct ConvCase {
    Shape x, weight;
    ops::Conv2d::Params params;
};

}  // namespace mge::test
