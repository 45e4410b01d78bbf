// SPDX-License-Identifier: Apache-2.0
#include "libmge/compile/surrounding.h"

#include <utility>

namespace mge {
namespace {

thread_local Surrounding of_thread;

}  // namespace

const Surrounding& surrounding() { return of_thread; }

SurroundingScope::SurroundingScope(const Surrounding& now) : before_(std::exchange(of_thread, now)) {}
SurroundingScope::~SurroundingScope() { of_thread = before_; }

}  // namespace mge
