// SPDX-License-Identifier: Apache-2.0
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <sstream>

#include "apps/cli/options/arguments.h"
#include "apps/cli/output/fitting_lines.h"
#include "apps/cli/output/statistics.h"
#include "apps/cli/output/table.h"
#include "apps/cli/output/terminal.h"

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

TEST(FittingLines, BreakAfterBlanksAndIndent) {
    EXPECT_EQ(wrapped_at_blanks("short\n  on a  machine of mine\nno end yet", 12),
              "short\n  on a\n    machine\n    of mine\nno end yet");
}

TEST(FittingLines, ShortLinesAreUnchanged) {
    for (std::string line : {"", "\n", "   \n", "a  b   c\n", "größer als\n", "\033[31mred\033[0m word\n"})
        EXPECT_EQ(wrapped_at_blanks(line, 10), line);
}

TEST(FittingLines, KeepLongWordsWhole) {
    EXPECT_EQ(wrapped_at_blanks("in /a/long/path of it\n", 8), "in\n  /a/long/path\n  of it\n");
    EXPECT_EQ(wrapped_at_blanks("    /a/long/path\n", 8), "    /a/long/path\n");
}

TEST(FittingLines, AreNoWiderAndKeepTheirWords) {
    std::string text = "  eins zwei  drei \033[32mvier\033[0m fünf,sechs sieben acht neun zehn elf zwölf";
    for (size_t width = 12; width < 90; ++width) {
        std::istringstream lines(wrapped_at_blanks(text, width)), words(text);
        std::vector<std::string> got, given;
        for (std::string line; std::getline(lines, line);) {
            EXPECT_LE(line.size(), width + 9 + 2) << line;  // bytes of colours and of letters
            std::istringstream of_line(line);
            for (std::string word; of_line >> word;) got.push_back(word);
        }
        for (std::string word; words >> word;) given.push_back(word);
        EXPECT_EQ(got, given);
    }
}

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

// Returns the output of print_table for lines of that width.
std::string printed(size_t width, const std::vector<std::vector<std::string>>& rows,
                    const std::vector<std::string>& left_out_first = {}) {
    std::ostringstream stream;
    limit_text_width(width);
    print_table(stream, rows, left_out_first);
    limit_text_width(SIZE_MAX);
    return stream.str();
}

const std::vector<std::vector<std::string>> wide{{"name", "time", "inputs", "algorithm"},
                                                 {"conv", "1 ms", "{1,3,224,224} {64,3,7,7}", "a"}};

TEST(Table, OmitsColumnsToFit) {
    EXPECT_EQ(printed(28, wide, {"inputs", "algorithm"}),
              "name  time  algorithm\nconv  1 ms  a\n(hidden columns: inputs; --wide shows all)\n");
    EXPECT_EQ(printed(12, wide, {"inputs", "algorithm"}),
              "name  time\nconv  1 ms\n(hidden columns: inputs, algorithm; --wide shows all)\n");
}

TEST(Table, BreaksLongCells) {
    EXPECT_EQ(printed(44, wide, {"inputs"}),
              "name  time  inputs                 algorithm\n"
              "conv  1 ms  {1,3,224,224}          a\n"
              "            {64,3,7,7}\n");
}

TEST(Table, IsAsWideAsItsCellsWhereNothingLimitsIt) {
    EXPECT_EQ(printed(SIZE_MAX, wide, {"inputs"}),
              "name  time  inputs                    algorithm\nconv  1 ms  {1,3,224,224} {64,3,7,7}  a\n");
}

TEST(Table, LinesFitAnyWidth) {
    for (size_t width = 30; width < 60; ++width) {
        std::istringstream lines(printed(width, wide, {"inputs", "algorithm"}));
        for (std::string line; std::getline(lines, line);) {
            bool is_note = line.starts_with('(');
            EXPECT_TRUE(is_note || line.size() <= width) << line;
        }
    }
}

TEST(Table, BrokenWordsAreWhole) {
    for (size_t width = 1; width < 12; ++width) {
        std::string all;
        for (auto& line : wrapped("größer, als_es war", width)) all += line;
        EXPECT_EQ(all, "größer, als_es war") << width;
    }
}

TEST(Table, CountsOneAndMany) {
    EXPECT_EQ(counted(1, "run"), "1 run");
    EXPECT_EQ(counted(0, "run"), "0 runs");
    EXPECT_EQ(counted(2, "entry", "entries"), "2 entries");
}

TEST(Table, FormatsCounts) {
    EXPECT_EQ(format_count(999), "999");
    EXPECT_EQ(format_count(61'700), "61.700 k");
    EXPECT_EQ(format_count(4134567890), "4.135 G");
}

TEST(Table, FormatsBytes) {
    EXPECT_EQ(format_bytes(100), "100 B");
    EXPECT_EQ(format_bytes(1536 * 1024), "1.50 MiB");
}

}  // namespace
}  // namespace mge::cli
