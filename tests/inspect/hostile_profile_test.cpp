// SPDX-License-Identifier: Apache-2.0
// Profiles that somebody damaged: each is either read or refused with a ModelError, and what was read can be
// shown.

#include <gtest/gtest.h>

#include <random>

#include "libmge/base/error.h"
#include "libmge/base/file.h"
#include "libmge/inspect/profile_rows.h"
#include "libmge/inspect/profile_spans.h"

namespace mge {
namespace {

constexpr int mutations = 4000;

std::string content_of(const std::string& path) {
    auto file = MappedFile::open(path);
    return {reinterpret_cast<const char*>(file->bytes().data()), file->bytes().size()};
}

// Everything that tools do with a profile that was read.
void use(const Profile& profile) {
    for (auto side : {ProfileSide::device, ProfileSide::host}) {
        select_rows(profile, side, {.name_pattern = "(conv|.*RELU).*", .input_dtype = "Float32"});
        select_rows(profile, side, {.aggregate = Aggregate::mean, .by_type = true});
        total_time(profile, side, RunStatistic::mean);
    }
    double sum = 0;
    auto tracks = span_tracks(profile);
    each_span(profile, [&](int, int step, int track, const ProfileSpan& span) {
        ASSERT_LT(size_t(step), profile.steps.size());
        ASSERT_LT(size_t(track), tracks.size());
        sum += span.seconds();
    });
    for (double bytes : live_bytes(profile)) sum += bytes;
    for (auto& step : profile.steps) {
        profile.input_shapes(step);
        profile.output_shapes(step);
    }
    EXPECT_GE(sum, 0);
}

class Mutator {
public:
    Mutator(std::string seed, unsigned number) : seed_(std::move(seed)), random_(number) {}

    std::string next() {
        std::string text = seed_;
        int changes = 1 + pick(3);
        for (int i = 0; i < changes && !text.empty(); ++i) change(text);
        return text;
    }

private:
    int pick(size_t n) { return int(random_() % n); }
    size_t place(const std::string& text) { return size_t(random_() % text.size()); }

    void change(std::string& text) {
        static const char* const words[] = {"null",
                                            "-1",
                                            "1e308",
                                            "9223372036854775807",
                                            "[]",
                                            "{}",
                                            "\"\"",
                                            "0",
                                            "-9223372036854775808",
                                            "true",
                                            "\"1\"",
                                            "18446744073709551615",
                                            "1e999"};
        size_t at = place(text);
        switch (pick(6)) {
            case 0:
                text[at] = char(random_());
                return;
            case 1:
                text.resize(at);
                return;
            case 2:  // a piece of the file elsewhere
                text.insert(at, text.substr(place(text), size_t(pick(200))));
                return;
            case 3:
                text.erase(at, size_t(pick(200)));
                return;
            default:  // another number
                at = text.find_first_of("0123456789", at);
                if (at == std::string::npos) return;
                size_t end = text.find_first_not_of("0123456789.e-", at);
                text.replace(at, end - at, words[pick(std::size(words))]);
        }
    }

    std::string seed_;
    std::mt19937 random_;
};

int read_mutations(const std::string& seed, unsigned number) {
    Mutator mutator(seed, number);
    int sound = 0;
    for (int i = 0; i < mutations; ++i) {
        std::string text = mutator.next();
        try {
            use(read_profile(std::as_bytes(std::span(text)), "mutation"));
            ++sound;
        } catch (const ModelError&) {
        }
    }
    return sound;
}

TEST(HostileProfile, OfMegEngineIsReadOrRefused) {
    std::string seed = content_of(MGE_TEST_DATA "/profiles/mlp.profile.json");
    EXPECT_GT(read_mutations(seed, 1), mutations / 100) << "nothing gets past the parser";
}

TEST(HostileProfile, OfOursIsReadOrRefused) {
    std::string seed =
        R"({"schema_version":1,"format":"mge-profile","version":"0.1.0","model":"m","host":{"cpu":"c",
"isa":"avx2","threads":2,"peak":{"operations_per_s":2e9,"bytes_per_s":1e9}},"memory":{"weights":1,"packed_weights":2,
"plan":96,"plan_lower_bound":96,"inputs_outputs":48},"steps":[{"op":"matmul","name":"fc","algorithm":"a","choice":"h",
"sources":["fc","relu"],"inputs":[0,-1],"outputs":[1],"operations":48,"bytes":56,"workspace":64},{"op":"relu","name":
"act","algorithm":"b","choice":"h","sources":[],"inputs":[1],"outputs":[2],"operations":null,"bytes":56,"workspace":0}],
"values":[{"name":"x","dtype":"float32","shape":[2,3],"layout":"plain","place":"input","offset":0,"bytes":24,
"first_step":0,"last_step":0},{"name":"h","dtype":"float32","shape":[2,4],"layout":"plain","place":"arena","offset":64,
"bytes":32,"first_step":0,"last_step":1},{"name":"y","dtype":"float32","shape":null,"layout":"plain","place":"arena",
"offset":0,"bytes":24,"first_step":1,"last_step":1}],"threads":["cpu0:0"],"runs_total":2,"runs":[{"thread":0,"start_ns":
0,"begins_ns":[5,120],"ends_ns":[100,150]},{"thread":0,"start_ns":1000,"ends_ns":[300,360]}]})";
    EXPECT_NO_THROW(use(read_profile(std::as_bytes(std::span(seed)), "seed")));
    EXPECT_GT(read_mutations(seed, 2), mutations / 100) << "nothing gets past the parser";
}

}  // namespace
}  // namespace mge
