// SPDX-License-Identifier: Apache-2.0
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "libmge/base/error.h"
#include "libmge/base/files/file.h"
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

std::string recorded(const std::string& net) {
    auto file = MappedFile::open(text(MGE_TEST_DATA, "/profiles/", net, ".profile.json"));
    return {reinterpret_cast<const char*>(file->bytes().data()), file->bytes().size()};
}

TEST(MegEngineProfile, IsRead) {
    Profile p = read_text(recorded("mlp"));
    EXPECT_EQ(p.format, Profile::Format::megengine);
    EXPECT_THAT(total_time(p, ProfileSide::device, RunStatistic::median),
                Optional(testing::DoubleNear(186e-6, 1e-9)));
    EXPECT_THAT(total_time(p, ProfileSide::host, RunStatistic::median),
                Optional(testing::DoubleNear(290e-6, 1e-9)));
    auto rows = select_rows(p, ProfileSide::device, {.types = {"MatrixMul"}});
    ASSERT_EQ(rows.size(), 3u);
    EXPECT_EQ(rows[0].id, "10");
    EXPECT_THAT(rows[0].operations, Optional(2304.0));
    EXPECT_THAT(rows[0].bytes, Optional(1728.0));
    EXPECT_THAT(p.input_shapes(p.steps[size_t(rows[0].step)]),
                ElementsAre(ElementsAre(4, 12), ElementsAre(24, 12)));
    EXPECT_FALSE(live_bytes(p).empty());
}

TEST(MegEngineProfile, AllReferenceProfilesAreValid) {
    for (const char* net : {"mlp", "resnet", "dynamic"})
        EXPECT_EQ(fault_of(recorded(net)), "no fault") << net;
}

constexpr const char* two_operators = R"({"graph_exec": {
 "operator": {"1": {"name": "a", "type": "T", "input": ["12"], "output": ["11"]},
              "2": {"name": "b", "type": "T", "input": ["11"], "output": ["12"]}},
 "var": {"11": {"name": "u", "mem_readonly_fwd_src": null}, "12": {"name": "v", "mem_readonly_fwd_src": null}},
 "mem_chunk": {}, "comp_seq": ["1", "2"]},
 "profiler": {"device": {"1": {"cpu0": {"start": 0, "kern": 1e-6, "end": 2e-6}}}, "host": {}}})";

std::string with(const std::string& from, const std::string& to) {
    std::string text = two_operators;
    size_t at = text.find(from);
    EXPECT_NE(at, std::string::npos) << from;
    return text.replace(at, from.size(), to);
}

TEST(MegEngineProfile, RefusesCycles) {
    EXPECT_THAT(fault_of(two_operators), HasSubstr("cycle"));
    EXPECT_EQ(fault_of(with("\"input\": [\"12\"]", "\"input\": []")), "no fault");
    EXPECT_THAT(fault_of(with("\"input\": [\"12\"]", "\"input\": [\"11\"]")), HasSubstr("cycle"));
    std::string forwarded = with("\"input\": [\"12\"]", "\"input\": []");
    for (auto [from, to] :
         {std::pair{"\"u\", \"mem_readonly_fwd_src\": null", "\"u\", \"mem_readonly_fwd_src\": \"12\""},
          std::pair{"\"v\", \"mem_readonly_fwd_src\": null", "\"v\", \"mem_readonly_fwd_src\": \"11\""}}) {
        EXPECT_EQ(fault_of(forwarded), "no fault");
        forwarded.replace(forwarded.find(from), std::string(from).size(), to);
    }
    EXPECT_THAT(fault_of(forwarded), HasSubstr("each other's memory"));
}

TEST(MegEngineProfile, RejectsInvalidValues) {
    EXPECT_THAT(fault_of(with("[\"12\"]", "[\"13\"]")), HasSubstr("names '13'"));
    EXPECT_THAT(fault_of(with("\"output\": [\"12\"]", "\"output\": [\"11\"]")), HasSubstr("two operators"));
    EXPECT_THAT(fault_of(with("\"2\": {\"name\"", "\"1\": {\"name\"")), HasSubstr("twice"));
    std::string sound = with("[\"12\"]", "[]");
    auto at = [&](const std::string& from, const std::string& to) {
        std::string text = sound;
        return fault_of(text.replace(text.find(from), from.size(), to));
    };
    EXPECT_THAT(at("\"end\": 2e-6", "\"end\": -2e-6"), HasSubstr("end before it starts"));
    EXPECT_THAT(at("\"end\": 2e-6", "\"end\": NaN"), HasSubstr("is not JSON"));
    EXPECT_THAT(at("\"end\": 2e-6", "\"end\": \"nan\""), HasSubstr("end must be a number, got a text"));
    EXPECT_THAT(at("\"kern\": 1e-6, ", ""), HasSubstr("'kern' is missing"));
    EXPECT_THAT(at("[\"1\", \"2\"]", "[\"1\", \"1\"]"), HasSubstr("twice in comp_seq"));
    EXPECT_THAT(at("[\"1\", \"2\"]", "[\"1\", 2]"), HasSubstr("must be a text"));
}

TEST(MegEngineProfile, ReadsInnerStepsOfOwnProfiles) {
    auto inside = [](const std::string& members) {
        std::string text = with("[\"12\"]", "[]");
        return text.insert(text.rfind("}}"), ", \"opr_internal_pf\": {" + members + "}");
    };
    const std::string step =
        R"({"path": "a/body/b", "type": "b", "algorithm": "c", "count": 6, "total": 2e-6})";
    Profile p = read_text(inside(R"("2": {"runs": 3, "steps": [)" + step + "]}"));
    EXPECT_EQ(p.runs_total, 3);
    ASSERT_EQ(p.inner_steps.size(), 1u);
    auto& inner = p.inner_steps[0];
    EXPECT_EQ(inner.step, 1);
    EXPECT_EQ(inner.path, "a/body/b");
    EXPECT_EQ(inner.count, 6);
    EXPECT_EQ(inner.total, 2000);

    // A profile that is not ours, or of another graph.
    for (const char* other :
         {R"("2": [1, 2])", R"("2": null)", R"("2": {"steps": 7})", R"("77": {"steps": [1]})"})
        EXPECT_THAT(read_text(inside(other)).inner_steps, testing::IsEmpty()) << other;

    auto fault = [&](const std::string& from, const std::string& to) {
        std::string text = inside(R"("2": {"runs": 3, "steps": [)" + step + "]}");
        return fault_of(text.replace(text.find(from), from.size(), to));
    };
    EXPECT_THAT(fault("\"runs\": 3", "\"runs\": 0"), HasSubstr("operator '2' in no run"));
    EXPECT_THAT(fault("\"runs\": 3, ", ""), HasSubstr("'runs' is missing"));
    EXPECT_THAT(fault("\"count\": 6", "\"count\": 0"), HasSubstr("'a/body/b' run 0 times"));
    EXPECT_THAT(fault("2e-6}]", "-2e-6}]"), HasSubstr("times in -2000 ns"));
    EXPECT_THAT(fault("2e-6}]", "1e300}]"), HasSubstr("'a/body/b' run 6 times"));
    EXPECT_THAT(fault("\"path\": \"a/body/b\"", "\"path\": 1"),
                HasSubstr("opr_internal_pf.path must be a text"));
}

}  // namespace
}  // namespace mge
