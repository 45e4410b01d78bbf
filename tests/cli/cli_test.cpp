// SPDX-License-Identifier: Apache-2.0
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <sstream>

#include "apps/cli/arguments.h"
#include "apps/cli/statistics.h"
#include "apps/cli/table.h"

namespace mge::cli {
namespace {

std::vector<std::string> normalized(std::vector<const char*> arguments) {
    arguments.insert(arguments.begin(), "tool");
    return normalize_arguments(int(arguments.size()), arguments.data());
}

TEST(Arguments, UnderscoresAndSingleDashesAreAccepted) {
    EXPECT_THAT(normalized({"--fast_run", "-warmup_iter=3", "--x=a_b"}),
                testing::ElementsAre("--fast-run", "--warmup-iter=3", "--x=a_b"));
}

TEST(Arguments, ValuesStayAsTheyAre) {
    EXPECT_THAT(normalized({"my_model.mge", "-1_0", "-", "--", "--a_b"}),
                testing::ElementsAre("my_model.mge", "-1_0", "-", "--", "--a_b"));
}

TEST(Statistics, AgreesWithNumpy) {
    // numpy.percentile([4, 1, 3, 2], [50, 90, 99]), numpy.std(ddof=1)
    Statistics s = summarize({4, 1, 3, 2});
    EXPECT_DOUBLE_EQ(s.mean, 2.5);
    EXPECT_DOUBLE_EQ(s.p50, 2.5);
    EXPECT_DOUBLE_EQ(s.p90, 3.7);
    EXPECT_DOUBLE_EQ(s.p99, 3.97);
    EXPECT_NEAR(s.deviation, 1.2909944487358056, 1e-15);
    EXPECT_NEAR(s.cv, 1.2909944487358056 / 2.5, 1e-15);
}

TEST(Statistics, OneValueHasNoDeviation) { EXPECT_EQ(summarize({3}).cv, 0); }
TEST(Statistics, NothingIsAllZero) { EXPECT_EQ(summarize({}).max, 0); }

TEST(Table, AlignsColumns) {
    std::ostringstream stream;
    print_table(stream, {{"a", "b"}, {"long", "c"}});
    EXPECT_EQ(stream.str(), "a     b\nlong  c\n");
}

TEST(Table, LinesEndWithoutBlanks) {
    std::ostringstream stream;
    print_table(stream, {{"a", "b", "c"}, {"d", "", ""}});
    EXPECT_EQ(stream.str(), "a  b  c\nd\n");
}

TEST(Table, FormatsCounts) {
    EXPECT_EQ(format_count(999), "999");
    EXPECT_EQ(format_count(4134567890), "4.135 G");
}

TEST(Table, FormatsBytes) {
    EXPECT_EQ(format_bytes(100), "100 B");
    EXPECT_EQ(format_bytes(1536 * 1024), "1.50 MiB");
}

}  // namespace
}  // namespace mge::cli
