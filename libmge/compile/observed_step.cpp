// SPDX-License-Identifier: Apache-2.0
#include "libmge/compile/observed_step.h"

#include <utility>

namespace mge {
namespace {

thread_local const ObservedStep* step_of_thread = nullptr;

}  // namespace

const ObservedStep* observed_step() { return step_of_thread; }

ObservedStepScope::ObservedStepScope(const ObservedStep* step)
    : outer_(std::exchange(step_of_thread, step)) {}
ObservedStepScope::~ObservedStepScope() { step_of_thread = outer_; }

}  // namespace mge
