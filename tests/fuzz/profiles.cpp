// SPDX-License-Identifier: Apache-2.0
// Profiles, ours and MegEngine's, and everything that tools do with one.
#include "libmge/base/error.h"
#include "libmge/inspect/profile/profile_rows.h"
#include "libmge/inspect/profile/profile_spans.h"
#include "tests/fuzz/files.h"
#include "tests/fuzz/mutate_bytes.h"

namespace mge::fuzz {
namespace {

void use(const Profile& profile) {
    for (auto side : {ProfileSide::device, ProfileSide::host}) {
        select_rows(profile, side, {.name_pattern = "(conv|.*RELU).*", .input_dtype = "Float32"});
        select_rows(profile, side, {.aggregate = Aggregate::mean, .by_type = true});
        double total = total_time(profile, side, RunStatistic::mean).value_or(0);
        MGE_CHECK(total >= 0, total, " s");
    }
    SpanTracks tracks(profile);
    each_span(profile, tracks, [&](int, int step, int track, const ProfileSpan& span) {
        MGE_CHECK(size_t(step) < profile.steps.size() && size_t(track) < tracks.all().size());
        MGE_CHECK(span.seconds() >= 0, "step ", step, " took ", span.seconds(), " s");
    });
    for (double bytes : live_bytes(profile)) MGE_CHECK(bytes >= 0, bytes, " bytes are alive");
    for (auto& step : profile.steps) {
        profile.input_shapes(step);
        profile.output_shapes(step);
    }
}

// The first steps and values of a profile, which is as good a start as all of them.
std::string ours() {
    return R"({"schema_version":1,"format":"mge-profile","version":"0.1.0","model":"m","host":{"cpu":"c",
"isa":"avx2","threads":2,"peak":{"operations_per_s":2e9,"bytes_per_s":1e9}},"memory":{"weights":1,"packed_weights":2,
"plan":96,"plan_lower_bound":96,"inputs_outputs":48},"steps":[{"op":"matmul","name":"fc","algorithm":"a","choice":"h",
"sources":["fc","relu"],"inputs":[0,-1],"outputs":[1],"operations":48,"bytes":56,"workspace":64},{"op":"relu","name":
"act","algorithm":"b","choice":"h","sources":[],"inputs":[1],"outputs":[2],"operations":null,"bytes":56,"workspace":0}],
"values":[{"name":"x","dtype":"float32","shape":[2,3],"layout":"plain","place":"input","offset":0,"bytes":24,
"first_step":0,"last_step":0},{"name":"h","dtype":"float32","shape":[2,4],"layout":"plain","place":"arena","offset":64,
"bytes":32,"first_step":0,"last_step":1},{"name":"y","dtype":"float32","shape":null,"layout":"plain","place":"arena",
"offset":0,"bytes":24,"first_step":1,"last_step":1}],"threads":["cpu0:0"],"runs_total":2,"runs":[{"thread":0,"start_ns":
0,"begins_ns":[5,120],"ends_ns":[100,150]},{"thread":0,"start_ns":1000,"ends_ns":[300,360]}]})";
}

}  // namespace

void try_input(Bytes input) { use(read_profile(input, "input")); }

std::vector<std::string> seeds() {
    std::vector<std::string> result = data_files("fuzz/profiles");
    result.push_back(ours());
    for (auto& file : data_files("profiles", ".profile.json"))
        if (file.size() <= largest_input) result.push_back(file);
    return result;
}

void mutate(std::string& input, Random& random) { mutate_text(input, random); }

}  // namespace mge::fuzz
