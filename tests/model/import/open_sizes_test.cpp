// SPDX-License-Identifier: Apache-2.0
// Sizes of open dimensions that meet the demands of operators.
#include "libmge/model/import/onnx/shapes/open_sizes.h"

#include <gtest/gtest.h>

namespace mge::onnx {
namespace {

using Relation = Guard::Relation;

Extent size(const char* name) { return Extent::symbol(name, {.lower = 1}); }
Guard equal(const Extent& a, const Extent& b) { return {"test", Relation::equal, a, b}; }
Guard at_least(const Extent& a, const Extent& b) { return {"test", Relation::at_least, a, b}; }

// The size found for n, recorded with 8; 0 without any.
int64_t found(const std::vector<Guard>& demands) {
    auto sizes = better_sizes(demands, {{"n", 8}});
    return sizes ? sizes->at("n") : 0;
}

TEST(OpenSizes, AreRoundIfDemandsLeaveAChoice) {
    const Extent n = size("n");
    EXPECT_EQ(found({at_least(n, 10)}), 16);
    EXPECT_EQ(found({at_least(floor_div(n - 10, 5) + 1, 3)}), 32);
    EXPECT_EQ(found({at_least(n, 5000)}), 8192);
    EXPECT_EQ(found({at_least(4, n)}), 4);
    EXPECT_EQ(found({equal(n % 3, 0), at_least(n, 5)}), 12);
    EXPECT_EQ(found({equal(floor_div(n, 32), 7)}), 224);
    EXPECT_EQ(found({equal(floor_div(n, 16), 300)}), 0);  // beyond what is tried
    EXPECT_EQ(found({equal(2 * n + 1, 16001)}), 8000);
}

TEST(OpenSizes, MeetAllDemandsOrMore) {
    const Extent n = size("n");
    EXPECT_EQ(found({equal(n % 3, 0), equal(n % 5, 0)}), 15);
    EXPECT_EQ(found({at_least(n, 10), at_least(5, n)}), 16);  // one of two
    EXPECT_EQ(found({at_least(n, 10), at_least(9, n)}), 0);   // one for the other
    EXPECT_EQ(found({at_least(n, 4)}), 0);                    // nothing to do
}

TEST(OpenSizes, SidesChangeTogetherBesideABatch) {
    const Extent b = size("b"), h = size("h"), w = size("w");
    const Extent area = floor_div(h, 32) * floor_div(w, 32);
    const ExtentValues recorded{{"b", 1}, {"h", 8}, {"w", 8}};
    EXPECT_EQ(better_sizes(std::vector{equal(b * area, 49)}, recorded),
              (ExtentValues{{"b", 1}, {"h", 224}, {"w", 224}}));
    EXPECT_EQ(better_sizes(std::vector{equal(h * w, 64 * 64)}, recorded),
              (ExtentValues{{"b", 1}, {"h", 64}, {"w", 64}}));
    EXPECT_EQ(better_sizes(std::vector{at_least(w, 20)}, recorded),
              (ExtentValues{{"b", 1}, {"h", 8}, {"w", 32}}));
}

}  // namespace
}  // namespace mge::onnx
