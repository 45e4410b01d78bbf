// SPDX-License-Identifier: Apache-2.0
// What fails inside the libraries that share our threads.

#include <gtest/gtest.h>

#include <atomic>
#include <new>

#include "libmge/base/error.h"
#include "libmge/kernel/cpu/onednn/engine.h"
#include "libmge/kernel/cpu/parallel.h"

namespace mge {
namespace {

TEST(ParFor, ThrowsWhatAPartThrows) {
    for (int64_t culprit : {0, 1})
        EXPECT_THROW(par_for(2, 2, 1,
                             [&](int64_t begin, int64_t) {
                                 if (begin == culprit) throw std::bad_alloc();
                             }),
                     std::bad_alloc);
    std::atomic<int64_t> sum{0};
    par_for(2, 10, 1, [&](int64_t begin, int64_t end) { sum += end - begin; });
    EXPECT_EQ(sum, 10);
}

TEST(Onednn, ALackOfMemoryIsNoInternalError) {
    EXPECT_THROW(onednn::check(dnnl_out_of_memory, "call"), MemoryError);
    EXPECT_THROW(onednn::check(dnnl_invalid_arguments, "call"), InternalError);
}

}  // namespace
}  // namespace mge
