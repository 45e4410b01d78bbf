// SPDX-License-Identifier: Apache-2.0
// The key of a problem in the fast-run cache: its parts, its neighbourhood, and why no entry has it.
#include "libmge/kernel/problem_text.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <limits>
#include <string>
#include <vector>

#include "libmge/base/text.h"
#include "libmge/kernel/explain_miss.h"
#include "libmge/kernel/lookups.h"
#include "tests/kernel/sample_problem.h"

namespace mge {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

using Sample = SampleProblem;

TEST(ProblemText, FormsKeys) {
    auto p = parse_problem(
        "conv2d(stride=(1, 1), groups=1, activation='a) b') float32(1, 3):nChw16c float32() -> float32(1,) "
        "const=6 "
        "threads=2 strict");
    ASSERT_TRUE(p);
    EXPECT_EQ(p->op, "conv2d");
    EXPECT_EQ(p->params, "stride=(1, 1), groups=1, activation='a) b'");
    EXPECT_THAT(p->inputs, ElementsAre("float32(1, 3):nChw16c", "float32()"));
    EXPECT_THAT(p->outputs, ElementsAre("float32(1,)"));
    EXPECT_EQ(p->threads, "2");
    EXPECT_THAT(without_layouts(p->inputs), ElementsAre("float32(1, 3)", "float32()"));
    EXPECT_TRUE(parse_problem(Sample(3).problem.key()));
    for (auto* bad :
         {"", "f", "f(", "f()", "f() -> ", "f('x) a -> b const=1 threads=1 strict", "f() a -> b const=1",
          "f() a -> b const=1 threads=1 strict more", "f() a -> b const=1 threads=1 strict beside=1K more"})
        EXPECT_FALSE(parse_problem(bad)) << bad;
}

class Explained : public testing::Test {
protected:
    std::string machine_ = "cpu | avx2 | mge 1";
    std::string problem_ = "f(k=3) float32(1, 8):nChw8c -> float32(1, 8):nChw8c const=0 threads=2 strict";
    CacheRow row(std::string machine, std::string problem) const {
        return {std::move(machine), std::move(problem), {"a", 1.0, 100}, 1};
    }
    std::string reason(const std::vector<CacheRow>& rows, const SelectOptions& options = {}) {
        auto miss = explain_miss(rows, machine_, problem_, options);
        if (!miss) return "hit";
        EXPECT_EQ(miss->nearest.has_value(), miss->reason != MissReason::absent);
        return std::string(name_of(miss->reason));
    }
    std::string with(const std::string& from, const std::string& to) const {
        std::string changed = problem_;
        for (size_t at = 0; (at = changed.find(from, at)) != changed.npos; at += to.size())
            changed.replace(at, from.size(), to);
        return changed;
    }
};

TEST(ProblemText, MayEndInANeighbourhood) {
    auto p = parse_problem(Sample(3).problem.key() + Neighbourhood::of_bytes(100'000).key());
    ASSERT_TRUE(p);
    EXPECT_EQ(p->beside, "128K");
    EXPECT_EQ(parse_problem(Sample(3).problem.key())->beside, "");
}

TEST(Neighbourhoods, ArePowersOfTwoUpToALimit) {
    auto bytes = [](int64_t wanted) { return Neighbourhood::of_bytes(wanted).bytes; };
    EXPECT_EQ(bytes(0), 16 << 10);
    EXPECT_EQ(bytes(16 << 10), 16 << 10);
    EXPECT_EQ(bytes((16 << 10) + 1), 32 << 10);
    EXPECT_EQ(bytes(2 << 20), 2 << 20);
    EXPECT_TRUE(Neighbourhood::of_bytes((2 << 20) + 1).is_large());
    EXPECT_TRUE(Neighbourhood::of_bytes(std::numeric_limits<int64_t>::max()).is_large());
    EXPECT_EQ(Neighbourhood{}.key(), "");
}

// A program's bytes without the operands' own.
TEST(Neighbourhoods, CountBytesOfOtherSteps) {
    Sample sample(1024);
    auto own = int64_t(sample.problem.inputs[0].bytes() + sample.problem.outputs[0].bytes());
    Lookups lookups;
    EXPECT_TRUE(lookups.neighbourhood(sample.problem).is_large()) << "nobody has said";
    lookups.set_program_bytes(own + (100 << 10));
    EXPECT_EQ(lookups.neighbourhood(sample.problem).bytes, 128 << 10);
    EXPECT_EQ(neighbourhood_of(sample.problem, {.lookups = &lookups}).bytes, 128 << 10);
    EXPECT_TRUE(neighbourhood_of(sample.problem, {.shared_batch_size = 4, .lookups = &lookups}).is_large());
    lookups.set_program_bytes(0);
    EXPECT_EQ(lookups.neighbourhood(sample.problem).bytes, 16 << 10);
}

TEST_F(Explained, EachReasonHasAText) {
    EXPECT_EQ(reason({row(machine_, problem_)}), "hit");
    EXPECT_EQ(reason({}), "absent");
    EXPECT_EQ(reason({row(machine_, with("f(", "g("))}), "absent");
    EXPECT_EQ(reason({row("other | avx2 | mge 1", problem_)}), "other CPU or ISA");
    EXPECT_EQ(reason({row("cpu | sse4 | mge 1", problem_)}), "other CPU or ISA");
    EXPECT_EQ(reason({row("cpu | avx2 | mge 2", problem_)}), "library version");
    EXPECT_EQ(reason({row(machine_, with("threads=2", "threads=1"))}), "thread count");
    EXPECT_EQ(reason({row(machine_, with("(1, 8)", "(4, 8)"))}), "shape");
    EXPECT_EQ(reason({row(machine_, with(":nChw8c", ""))}), "layout");
    EXPECT_EQ(reason({row(machine_, with("k=3", "k=5"))}), "attribute");
    EXPECT_EQ(reason({row(machine_, problem_ + " beside=64K")}), "attribute");
}

TEST_F(Explained, OwnRowsThatAreRefused) {
    CacheRow damaged = row(machine_, problem_), unsteady = damaged;
    damaged.is_intact = false;
    unsteady.measured.attributes.reproducible = false;
    EXPECT_EQ(reason({damaged}), "damaged");
    EXPECT_EQ(reason({unsteady}, {.reproducible = true}), "attribute");
    EXPECT_EQ(reason({row(machine_, problem_)}, {.workspace_limit = 99}), "workspace limit");
    EXPECT_EQ(reason({row(machine_, problem_)}, {.workspace_limit = 100}), "hit");
}

TEST_F(Explained, NearestEntryDiffersLeast) {
    std::vector<CacheRow> rows{row("other | avx2 | mge 1", with("(1, 8)", "(4, 8)")),
                               row(machine_, with("threads=2", "threads=1")),
                               row(machine_, with("k=3", "k=5"))};
    auto miss = explain_miss(rows, machine_, problem_, {});
    ASSERT_TRUE(miss && miss->nearest);
    EXPECT_EQ(miss->nearest->problem, rows[1].problem);
    EXPECT_THAT(miss->detail, HasSubstr("'1' there, '2' here"));
}

// Three fully connected layers, for a batch without measurements.
TEST_F(Explained, OtherBatchIsNearerThanOtherLayer) {
    auto layer = [](int batch, int in, int out) {
        auto matrix = [](int rows, int columns) { return text("float32(", rows, ", ", columns, ")"); };
        return text("matmul(transpose_b=true) ", matrix(batch, in), " ", matrix(out, in), " -> ",
                    matrix(batch, out), " const=2 threads=1 strict");
    };
    std::vector<CacheRow> rows{row(machine_, layer(1, 120, 84)), row(machine_, layer(1, 84, 10)),
                               row(machine_, layer(1, 400, 120)), row(machine_, layer(64, 400, 120))};
    auto nearest = [&](int batch, int in, int out) {
        problem_ = layer(batch, in, out);
        for (int i = 0; i < 2; ++i) {
            auto miss = explain_miss(rows, machine_, problem_, {});
            EXPECT_EQ(miss->reason, MissReason::shape);
            EXPECT_EQ(miss->nearest->problem, layer(batch > 30 ? 64 : 1, in, out)) << "in any order";
            std::ranges::reverse(rows);
        }
    };
    for (auto [in, out] : {std::pair(400, 120), {120, 84}, {84, 10}}) nearest(3, in, out);
    nearest(60, 400, 120);
}

}  // namespace
}  // namespace mge
