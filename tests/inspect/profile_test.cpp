// SPDX-License-Identifier: Apache-2.0
#include "libmge/inspect/profile/profile.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>

#include "libmge/base/error.h"
#include "libmge/inspect/profile/profile_rows.h"
#include "libmge/inspect/profile/profile_spans.h"
#include "tests/inspect/profile_text.h"

namespace mge {
namespace {

using test::fault_of;
using test::read_text;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::Optional;

// Two steps over an arena of 96 bytes, three runs; the middle one in time is the last.
Profile small_profile() {
    Profile p;
    p.model = "a\"b\n.mge";
    p.version = "0.1.0";
    p.cpu = "cpu";
    p.isa = "avx2";
    p.threads = 2;
    p.peak = Peak{2e9, 1e9};
    p.memory = ProfileMemory{10, 20, 96, 96, 48};
    p.values = {
        {.id = "0",
         .name = "x",
         .dtype = "float32",
         .layout = "plain",
         .shape = Extents{2, 3},
         .place = "input",
         .bytes = 24},
        {.id = "1",
         .name = "h",
         .dtype = "float32",
         .layout = "nchw16c",
         .shape = Extents{2, 4},
         .place = "arena",
         .offset = 64,
         .bytes = 32,
         .first_step = 0,
         .last_step = 1},
        {.id = "2", .name = "y", .dtype = "float32", .layout = "plain", .place = "output", .bytes = 24}};
    p.steps = {{.id = "0",
                .name = "fc",
                .type = "matmul",
                .algorithm = "brgemm",
                .choice = "heuristic",
                .sources = {"fc", "relu"},
                .inputs = {0, -1},
                .outputs = {1},
                .operations = 48,
                .bytes = 56,
                .workspace = 64},
               {.id = "1",
                .name = "act",
                .type = "relu",
                .algorithm = "simd",
                .choice = "heuristic",
                .inputs = {1},
                .outputs = {2},
                .operations = {},
                .bytes = 56}};
    p.order = {0, 1};
    p.tracks = {{ProfileSide::device, "cpu0:0"}};
    p.runs = {{.start = 0, .begins = {5, 120}, .ends = {100, 150}},
              {.start = 1000, .begins = {5, 320}, .ends = {300, 360}},
              {.start = 2000, .begins = {5, 220}, .ends = {200, 250}}};
    p.runs_total = 7;
    return p;
}

class TemporaryFile {
public:
    explicit TemporaryFile(std::string_view content = {}) {
        path = (std::filesystem::temp_directory_path() / "mge_profile_XXXXXX").string();
        close(mkstemp(path.data()));
        std::ofstream(path) << content;
    }
    ~TemporaryFile() { std::filesystem::remove(path); }
    std::string path;
};

std::string written(const Profile& profile) {
    TemporaryFile file;
    write_profile(file.path, profile);
    std::ifstream stream(file.path);
    return {std::istreambuf_iterator<char>(stream), {}};
}

std::string replaced(std::string text, const std::string& from, const std::string& to) {
    size_t at = text.find(from);
    EXPECT_NE(at, std::string::npos) << from;
    return text.replace(at, from.size(), to);
}

TEST(Profile, IsTheSameAfterWritingAndReading) {
    Profile before = small_profile();
    before.peak->caches = {{"L3", 2e9}, {"L2", 4e9}};
    Profile after = read_text(written(before));
    EXPECT_EQ(after.model, before.model);
    EXPECT_EQ(after.threads, 2);
    EXPECT_EQ(after.peak->operations_per_s, 2e9);
    ASSERT_EQ(after.peak->caches.size(), 2u);
    EXPECT_EQ(after.peak->caches[1].name, "L2");
    EXPECT_EQ(after.peak->caches[1].bytes_per_s, 4e9);
    EXPECT_EQ(after.memory->plan, 96);
    EXPECT_EQ(after.runs_total, 7);
    ASSERT_EQ(after.steps.size(), 2u);
    EXPECT_THAT(after.steps[0].sources, ElementsAre("fc", "relu"));
    EXPECT_THAT(after.steps[0].inputs, ElementsAre(0, -1));
    EXPECT_THAT(after.steps[0].operations, Optional(48.0));
    EXPECT_FALSE(after.steps[1].operations);
    EXPECT_EQ(after.steps[0].workspace, 64);
    ASSERT_EQ(after.values.size(), 3u);
    EXPECT_EQ(after.values[1].offset, 64);
    EXPECT_THAT(after.values[0].shape, Optional(ElementsAre(2, 3)));
    EXPECT_FALSE(after.values[2].shape);
    ASSERT_EQ(after.runs.size(), 3u);
    EXPECT_THAT(after.runs[1].ends, ElementsAre(300, 360));
    EXPECT_THAT(after.runs[1].begins, ElementsAre(5, 320));
    EXPECT_EQ(written(after), written(before));
}

TEST(Profile, ContainsHowItWasRecorded) {
    Profile p = small_profile();
    p.recording = {.date = "2026-11-29T12:38:31Z",
                   .commit = "0123456789ab, changed",
                   .libraries = "mge 1.0.0",
                   .command = {"load_and_run", "a b.mge", "\x1b\xff"},
                   .options = {{"precision", "relaxed"}, {"algorithms", "a,b"}}};
    Profile after = read_text(written(p));
    p.recording.command[2] = "\x1b\xEF\xBF\xBD";
    EXPECT_EQ(after.recording, p.recording);
    EXPECT_THAT(fault_of(replaced(written(p), "\"commit\"", "\"comet\"")), HasSubstr("commit"));
    // Older files do not know.
    std::string old = written(small_profile());
    EXPECT_EQ(old.find("recording"), std::string::npos);
    EXPECT_EQ(read_text(old).recording, ProfileRecording{});
}

TEST(Profile, HandlesNamesThatAreNotText) {
    Profile p = small_profile();
    p.steps[0].name = std::string("\xff\x00<\x1b", 4) + "\xed\xa0\x80";
    Profile after = read_text(written(p));
    EXPECT_EQ(after.steps[0].name,
              std::string("\xEF\xBF\xBD\0<\x1b", 6) + "\xEF\xBF\xBD\xEF\xBF\xBD\xEF\xBF\xBD");
}

TEST(Profile, RejectsInvalidValues) {
    std::string good = written(small_profile());
    EXPECT_EQ(fault_of(good), "no fault");
    auto with = [&](const char* from, const char* to) { return fault_of(replaced(good, from, to)); };
    EXPECT_THAT(with("\"ends_ns\":[100,150]", "\"ends_ns\":[100,15]"), HasSubstr("runs backwards at step 1"));
    auto with_times = [&](const char* times) {
        return with("\"begins_ns\":[5,120],\"ends_ns\":[100,150]", times);
    };
    // Steps of a late run may overlap; the host asks for one after the other.
    EXPECT_EQ(with_times(R"("late":true,"begins_ns":[5,10],"ends_ns":[100,15])"), "no fault");
    EXPECT_THAT(with_times(R"("begins_ns":[5,10],"ends_ns":[100,15])"), HasSubstr("backwards at step 1"));
    EXPECT_THAT(with_times(R"("late":true,"begins_ns":[5,10],"ends_ns":[4,15])"),
                HasSubstr("backwards at step 0"));
    EXPECT_THAT(with_times(R"("late":true,"ends_ns":[100,150])"), HasSubstr("late run without 'begins_ns'"));
    const char* late = R"("late":true,"begins_ns":[5,10],"ends_ns":[100,15],)";
    EXPECT_EQ(with_times((std::string(late) + R"("host_begins_ns":[1,4],"host_ends_ns":[2,5])").c_str()),
              "no fault");
    EXPECT_THAT(with_times((std::string(late) + R"("host_begins_ns":[1,4],"host_ends_ns":[5,6])").c_str()),
                HasSubstr("backwards at step 1"));
    EXPECT_THAT(with_times((std::string(late) + R"("host_ends_ns":[5,6])").c_str()),
                HasSubstr("half of the host's times"));
    EXPECT_THAT(with("\"ends_ns\":[100,150]", "\"ends_ns\":[100]"),
                HasSubstr("fewer runs.ends_ns than steps"));
    EXPECT_THAT(with("\"ends_ns\":[100,150]", "\"ends_ns\":[1,2,3]"),
                HasSubstr("more runs.ends_ns than steps"));
    EXPECT_THAT(with("\"ends_ns\":[100,150]", "\"ends_ns\":[NaN,150]"), HasSubstr("is not JSON"));
    EXPECT_THAT(with("\"ends_ns\":[100,150]", "\"ends_ns\":[\"NaN\",150]"),
                HasSubstr("whole number, got a text"));
    EXPECT_THAT(with("\"ends_ns\":[100,150]", "\"ends_ns\":[null,150]"), HasSubstr("got null"));
    EXPECT_THAT(with("\"operations\":48", "\"operations\":1e999"), HasSubstr("is not JSON"));
    EXPECT_THAT(with("\"operations\":48", "\"operations\":-1"), HasSubstr("negative"));
    EXPECT_THAT(with("\"inputs\":[0,-1]", "\"inputs\":[1]"), HasSubstr("form a cycle"));
    EXPECT_THAT(with("\"inputs\":[0,-1]", "\"inputs\":[2]"), HasSubstr("form a cycle"));
    EXPECT_THAT(with("\"inputs\":[0,-1]", "\"inputs\":[3]"), HasSubstr("allowed are -1 to 2"));
    EXPECT_THAT(with("\"outputs\":[2]", "\"outputs\":[1]"), HasSubstr("both make value 1"));
    EXPECT_THAT(with("\"thread\":0", "\"thread\":1"), HasSubstr("runs.thread"));
    EXPECT_THAT(with("\"schema_version\":1", "\"schema_version\":2"), HasSubstr("schema version 2"));
    EXPECT_THAT(with("\"name\":\"act\",", ""), HasSubstr("'name' is missing"));
    EXPECT_THAT(with("\"offset\":64", "\"offset\":9223372036854775807"), HasSubstr("values.bytes"));
    EXPECT_THAT(fault_of("[]"), HasSubstr("is not a profile"));
    EXPECT_THAT(fault_of(""), HasSubstr("is not JSON"));
    EXPECT_THAT(fault_of(std::string(100'000, '[')), HasSubstr("deeper than 64"));
}

TEST(Profile, RefusesEveryPrefix) {
    std::string good = written(small_profile());
    good.pop_back();  // the line's end
    for (size_t n = 0; n < good.size(); ++n) EXPECT_NE(fault_of(good.substr(0, n)), "no fault") << n;
}

TEST(ProfileRows, TakeTheMedianOfTheRuns) {
    Profile p = small_profile();
    auto rows = select_rows(p, ProfileSide::device, {});
    ASSERT_EQ(rows.size(), 2u);
    EXPECT_EQ(rows[0].name, "fc");
    EXPECT_DOUBLE_EQ(rows[0].time, 195e-9);
    EXPECT_DOUBLE_EQ(*rows[0].operations_per_s(), 48 / 195e-9);
    EXPECT_DOUBLE_EQ(rows[1].time, 30e-9);
    EXPECT_FALSE(rows[1].operations_per_s());
    // The host's part reaches from the end of the step before.
    auto host = select_rows(p, ProfileSide::host, {.order_by = "+time"});
    EXPECT_EQ(host[0].name, "act");
    EXPECT_DOUBLE_EQ(host[0].time, 50e-9);
    EXPECT_THAT(total_time(p, ProfileSide::device, RunStatistic::max), Optional(testing::DoubleEq(335e-9)));
    for (auto& run : p.runs) run.begins.clear();
    EXPECT_DOUBLE_EQ(select_rows(p, ProfileSide::device, {})[0].time, 200e-9);
    EXPECT_FALSE(total_time(p, ProfileSide::host, RunStatistic::median));
}

TEST(ProfileRows, FilterAndCombine) {
    Profile p = small_profile();
    auto names = [&](const RowSelection& s) {
        std::vector<std::string> all;
        for (auto& row : select_rows(p, ProfileSide::device, s)) all.push_back(row.name);
        return all;
    };
    EXPECT_THAT(names({.types = {"relu"}}), ElementsAre("act"));
    EXPECT_THAT(names({.name_pattern = "c"}), ElementsAre());
    EXPECT_THAT(names({.name_pattern = ".*c"}), ElementsAre("fc", "act"));
    EXPECT_THAT(names({.min_time = 100e-9}), ElementsAre("fc"));
    EXPECT_THAT(names({.max_time = 100e-9}), ElementsAre("act"));
    EXPECT_THAT(names({.order_by = "+name"}), ElementsAre("act", "fc"));
    EXPECT_THAT(names({.order_by = "flops"}), ElementsAre("fc", "act"));
    EXPECT_THAT(names({.order_by = "+flops"}), ElementsAre("fc", "act")) << "what is not known comes last";
    EXPECT_THAT(names({.top = 1}), ElementsAre("fc"));
    auto all = select_rows(p, ProfileSide::device, {.aggregate = Aggregate::mean});
    ASSERT_EQ(all.size(), 1u);
    EXPECT_EQ(all[0].count, 2u);
    EXPECT_DOUBLE_EQ(all[0].time, 112.5e-9);
    EXPECT_THAT(all[0].operations, Optional(24.0));
    EXPECT_THROW(names({.order_by = "colour"}), UserError);
    EXPECT_THROW(names({.name_pattern = "("}), UserError);
    p.steps[0].name = std::string(1'000'000, 'x');
    EXPECT_EQ(names({.name_pattern = "x+"}).size(), 1u) << "no stack is deep enough for all of that name";
}

TEST(ProfileSpans, CountLiveMemory) {
    Profile p = small_profile();
    EXPECT_THAT(live_bytes(p), ElementsAre(32 + 64, 32));
    p.values[1].first_step = p.values[1].last_step = -1;
    EXPECT_THAT(live_bytes(p), ElementsAre(64, 0));
    p.format = Profile::Format::megengine;
    EXPECT_THAT(live_bytes(p), ElementsAre()) << "MegEngine's may not tell";
    EXPECT_EQ(median_run(p), 2);
}

}  // namespace
}  // namespace mge
