// SPDX-License-Identifier: Apache-2.0
#include "tests/harness/execution_modes.h"

#include <gtest/gtest.h>

namespace mge::test {
namespace {

void expect_all_close(const Tensors& got, const Tensors& expected, const CheckOptions& options,
                      const char* mode) {
    ASSERT_EQ(got.size(), expected.size()) << mode;
    for (size_t i = 0; i < got.size(); ++i)
        if (expected[i])
            expect_close(got[i], expected[i], options.reduction, options.looser, text(mode, ", output ", i));
}

}  // namespace

void check_execution_modes(const OpInfo& op, const void* params, std::span<const Tensor> inputs,
                           const Tensors& expected, const CheckOptions& options) {
    expect_all_close(eager_interpreter().apply(op, params, inputs), expected, options, "eager");
}

}  // namespace mge::test
