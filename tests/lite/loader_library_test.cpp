// SPDX-License-Identifier: Apache-2.0
// Libraries of operators link libmge.so, so this program does too.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

#include "libmge/op/op.h"
#include "lite/global.h"
#include "tests/lite/lite_error.h"

namespace lite {
namespace {

using test::error_of;
using testing::HasSubstr;

std::string library(const std::string& variant) {
    return std::string(MGE_OPERATOR_LIBRARIES) + "/libmge_test_" + variant + ".so";
}

TEST(LoaderLibrary, AddsOperators) {
    EXPECT_EQ(mge::find_op("test_cube"), nullptr);
    set_loader_lib_path(library("operators"));
    EXPECT_NE(mge::find_op("test_cube"), nullptr);
    EXPECT_EQ(error_of([] { set_loader_lib_path(library("operators")); }), "");
}

TEST(LoaderLibrary, InvalidIsAnError) {
    EXPECT_THAT(error_of([] { set_loader_lib_path("/missing.so"); }), HasSubstr("/missing.so"));
    EXPECT_THAT(error_of([] { set_loader_lib_path(library("no_entry")); }), HasSubstr("mge_operators"));
    EXPECT_THAT(error_of([] { set_loader_lib_path(library("other_abi")); }),
                HasSubstr("was built for interface"));
    EXPECT_THAT(error_of([] { set_loader_lib_path(library("taken_name")); }), HasSubstr("relu"));
}

}  // namespace
}  // namespace lite
