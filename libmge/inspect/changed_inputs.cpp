// SPDX-License-Identifier: Apache-2.0
#include "libmge/inspect/changed_inputs.h"

#include <algorithm>
#include <memory>
#include <utility>

#include "libmge/base/hash.h"
#include "libmge/base/text.h"

namespace mge {
namespace {

bool is_looked_at(const Tensor& input, std::span<const Tensor> outputs) {
    if (!input || !input.impl()->storage || !input.device().is_host()) return false;
    return std::ranges::none_of(outputs, [&](const Tensor& output) {
        return output && output.impl()->storage.get() == input.impl()->storage.get();
    });
}

}  // namespace

ChangedInputs& changed_inputs() {
    static auto& search = *std::make_unique<ChangedInputs>().release();
    return search;
}

void ChangedInputs::start() {
    {
        std::lock_guard lock(mutex_);
        found_.clear();
    }
    observe_operators(this);
}

std::vector<std::string> ChangedInputs::stop() {
    observe_operators(nullptr);
    std::lock_guard lock(mutex_);
    return std::exchange(found_, {});
}

std::vector<uint64_t> ChangedInputs::before(std::span<const Tensor> inputs, std::span<const Tensor> outputs) {
    std::vector<uint64_t> sums;
    for (auto& input : inputs)
        sums.push_back(is_looked_at(input, outputs) ? checksum(input.data(), input.spec().bytes()) : 0);
    return sums;
}

void ChangedInputs::ran(const OperatorRun& run) {
    if (run.noted.size() != run.inputs.size()) return;  // it began before the search
    auto sums = before(run.inputs, run.outputs);
    std::lock_guard lock(mutex_);
    for (size_t i = 0; i < sums.size(); ++i)
        if (sums[i] != run.noted[i]) found_.push_back(text("input ", i, " of ", run.op.name, " has changed"));
}

}  // namespace mge
