// SPDX-License-Identifier: Apache-2.0
// Every flag with values that it cannot have: an error of usage that names both.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <regex>
#include <set>
#include <span>
#include <sstream>

#include "apps/load_and_run/options/options.h"
#include "libmge/base/error.h"

namespace mge::load_and_run {
namespace {

using testing::AllOf;
using testing::AnyOf;
using testing::HasSubstr;
using testing::Not;

void parse(std::vector<std::string> arguments) {
    cli::Invocation invocation;
    invocation.tool = "load_and_run";
    invocation.arguments = std::move(arguments);
    parse_options(invocation);
}

struct Flag {
    std::string name, type;  // no type: it takes no value
};

// As the help lists them.
std::vector<Flag> flags() {
    testing::internal::CaptureStdout();
    EXPECT_THROW(parse({"--help-all"}), cli::Exit);
    std::istringstream help(testing::internal::GetCapturedStdout());
    std::vector<Flag> result;
    static const std::regex line_of_flag(
        R"(^  (?:-\w,)?(--[a-z0-9-]+)(?:,--[a-z0-9-]+)?(?: ([^\s=]+)(?:=\S*)?)?(?:  .*|$| \.\.\..*))");
    for (std::string line; std::getline(help, line);) {
        std::smatch found;
        if (std::regex_match(line, found, line_of_flag)) result.push_back({found[1], found[2]});
    }
    EXPECT_GT(result.size(), 100u);
    return result;
}

void expect_refused(const std::string& name, const std::string& value) {
    SCOPED_TRACE(name + "=" + value);
    try {
        parse({"model.mge", name + "=" + value});
        ADD_FAILURE() << "accepted";
    } catch (const Error& e) {
        EXPECT_EQ(e.code(), ErrorCode::usage);
        EXPECT_THAT(e.what(), AllOf(HasSubstr(name), HasSubstr("'" + value + "'")));
        EXPECT_THAT(e.what(), Not(AnyOf(HasSubstr("std::"), HasSubstr("sto"), HasSubstr("Could not"))));
    } catch (const std::exception& e) {
        ADD_FAILURE() << "not an error of ours: " << e.what();
    }
}

// Gives each value to each flag that is wanted, of which there are more than `least`.
template <class IsWanted>
void expect_refused(IsWanted is_wanted, std::span<const char* const> values, size_t least) {
    size_t count = 0;
    for (auto& flag : flags()) {
        if (!is_wanted(flag)) continue;
        ++count;
        for (auto* value : values) expect_refused(flag.name, value);
    }
    EXPECT_GT(count, least);
}

TEST(WrongValues, SwitchFlags) {
    const char* values[] = {"x",   "12x", "maybe", "2",     "-1",         "tru",  "nope",
                            "0x1", "1.5", "yess",  "on on", " ",          "\x04", "\xe2\x98\x83",
                            "1e3", "nan", "inf",   "--",    "true,false", "00"};
    auto is_switch = [](const Flag& flag) {
        return flag.type.empty() && flag.name != "--help" && flag.name != "--help-all" &&
               flag.name != "--version";
    };
    expect_refused(is_switch, values, 40);
}

TEST(WrongValues, Numbers) {
    const char* values[] = {"x",     "12x",   "nan",    "0x10",  "1 2",  "--1",   "+",
                            "e5",    "1_000", "true",   "1.5.5", "\x04", "1e400", "½",
                            "1'000", "#1",    "-1e400", "1 %",   "(1)",  "inf x"};
    static const std::set<std::string> numbers{"INT", "FLOAT", "UINT",  "BYTES",
                                               "MIB", "N,...", "P,...", "SIZE"};
    expect_refused([](const Flag& flag) { return numbers.contains(flag.type); }, values, 20);
}

// Whatever is printed about the other options is a message of our own.
TEST(WrongValues, OtherOptionsAreUsageErrors) {
    const char* values[] = {"x", "\x04", "{}", "a:b", ","};
    for (auto& flag : flags())
        for (auto* value : values) {
            if (flag.type.empty()) continue;
            SCOPED_TRACE(flag.name + "=" + value);
            try {
                parse({"model.mge", flag.name + "=" + value});
            } catch (const Error& e) {
                EXPECT_THAT(e.what(), Not(AnyOf(HasSubstr("std::"), HasSubstr("Could not"))));
                EXPECT_NE(e.code(), ErrorCode::internal);
            }
        }
}

TEST(WrongValues, ContradictoryFlags) {
    EXPECT_THROW(parse({"model.mge", "--quiet", "--verbose"}), cli::UsageError);
    EXPECT_THROW(parse({"model.mge", "--percentile", "50,,"}), cli::UsageError);
    EXPECT_THROW(parse({"model.mge", "--percentile=,50"}), cli::UsageError);
}

// Scripts for MegEngine's tool pass them.
TEST(Compatibility, FlagsAreAcceptedAndListedApart) {
    testing::internal::CaptureStdout();
    EXPECT_THROW(parse({"--help-all"}), cli::Exit);
    std::string help = testing::internal::GetCapturedStdout();
    size_t heading = help.find("\nKept for compatibility");
    ASSERT_NE(heading, std::string::npos);
    for (auto* flag : {"  --enable-nchw44 ", "  --mdl", "  --opencl", "  --tensorrt "})
        EXPECT_GT(help.find(flag), heading) << flag;
    parse({"model.mge", "--mdl", "--enable-nchw44"});
    EXPECT_THROW(parse({"model.mge", "--opencl"}), DeviceError);
}

}  // namespace
}  // namespace mge::load_and_run
