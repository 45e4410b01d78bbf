// SPDX-License-Identifier: Apache-2.0
#include "libmge/op/nothing_to_do.h"

#include <algorithm>

namespace mge {
namespace {

// In no list: only its `run` is used.
constexpr Algorithm nothing{"nothing", always, nullptr, [](const Prepared&, const Launch&) {}};

}  // namespace

bool has_nothing_to_do(const OpInfo& op, Specs outputs) {
    auto& traits = op.traits;
    if (traits.effect || traits.once || traits.control || outputs.empty()) return false;
    return std::ranges::all_of(outputs,
                               [](auto& spec) { return spec.shape.is_known() && spec.shape.numel() == 0; });
}

void leave_undone(Choice& choice) {
    choice.algorithm = &nothing;
    choice.prepared = {};
}

}  // namespace mge
