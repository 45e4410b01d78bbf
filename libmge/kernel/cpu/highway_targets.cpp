// SPDX-License-Identifier: Apache-2.0
#include "libmge/kernel/cpu/highway_targets.h"

#include <cstdarg>
#include <cstdio>
#include <cstdlib>

// Its functions are replaced by ours below, with internal linkage.
#undef HWY_SHARED_DEFINE
#include "hwy/highway.h"

namespace mge::cpu {

void limit_highway_targets() {
    static const bool done = [] {
        hwy::GetChosenTarget().Update(hwy::SupportedTargets());
        return true;
    }();
    (void)done;
}

}  // namespace mge::cpu

// The functions that Highway's headers expect from its library.
namespace hwy {

int64_t SupportedTargets() {
    static const int64_t targets = mge::cpu::find_highway_targets();
    return targets;
}

ChosenTarget& GetChosenTarget() {
    static ChosenTarget chosen;
    return chosen;
}

// Under a sanitizer Highway checks its arguments.
void Abort(const char* file, int line, const char* format, ...) {
    std::fprintf(stderr, "highway: %s:%d: ", file, line);
    va_list arguments;
    va_start(arguments, format);
    std::vfprintf(stderr, format, arguments);
    va_end(arguments);
    std::fputc('\n', stderr);
    std::abort();
}

}  // namespace hwy
