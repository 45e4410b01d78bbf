// SPDX-License-Identifier: Apache-2.0
// Instruction sets that a library for one machine (MGE_NATIVE_KERNELS) reports: this program has the source
// that knows it, as it is for a machine with AVX2.
#include <gtest/gtest.h>

#include <cstdlib>

#include "libmge/base/error.h"
#include "libmge/device/cpu/cpu_device.h"
#include "tests/harness/expect_error.h"

namespace mge {
namespace {

TEST(NativeIsa, RefusesAnIsaWithoutKernels) {
    for (std::string name : {"avx512", "amx"}) {
        setenv("MGE_ISA", name.c_str(), 1);
        EXPECT_EQ(test::error_of([] { cpu_isa(); }), "[MGE_ISA] this library was built without kernels for " +
                                                         name + "; it has those for sse4, avx2, avx_vnni");
    }
    setenv("MGE_ISA", "pdp11", 1);
    EXPECT_EQ(test::error_of([] { cpu_isa(); }),
              "[MGE_ISA] 'pdp11' is not one of sse4, avx2, avx_vnni, avx512, avx512_vnni, avx512_bf16, amx");
    // On better processors, too; what it is once it stays.
    unsetenv("MGE_ISA");
    EXPECT_LE(cpu_isa(), Isa::avx_vnni);
}

}  // namespace
}  // namespace mge
