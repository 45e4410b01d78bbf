// SPDX-License-Identifier: Apache-2.0
#include "libmge/kernel/prepare_together.h"

#include <utility>

namespace mge {
namespace {

constinit thread_local PrepareTogether* collector = nullptr;

}  // namespace

PrepareTogether::PrepareTogether() : outer_(collector) {
    if (!outer_) collector = this;
}
PrepareTogether::~PrepareTogether() { collector = outer_; }

void PrepareTogether::leave(Finish finish, Part part) {
    if (collector) collector->left_[finish].push_back(std::move(part));
}

void PrepareTogether::finish() {
    for (auto& [finish, parts] : std::exchange(left_, {})) finish(parts);
}

}  // namespace mge
