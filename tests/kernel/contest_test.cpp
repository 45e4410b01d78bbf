// SPDX-License-Identifier: Apache-2.0
// The clock and the disturbances are made up here: nothing depends on the machine or on real time.
#include "libmge/kernel/measure/contest.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <limits>
#include <map>
#include <utility>

#include "libmge/kernel/fastrun_cache.h"
#include "libmge/kernel/lookups.h"
#include "tests/kernel/fake_witness.h"
#include "tests/kernel/sample_problem.h"

namespace mge {
namespace {

using Results = std::vector<std::optional<ContestResult>>;

// Entrants with given times on a machine that is busy at given times.
struct Race {
    explicit Race(std::vector<double> times) : times(std::move(times)), runs(this->times.size()) {}
    Results hold() {
        auto run = [&](size_t i) {
            ++runs[i];
            order.push_back(i);
            machine.compute(times[i]);
        };
        auto ready = [&](size_t) { machine.pass(0.5); };
        return contest({times.size(), one_by_one, ready, run}, machine);
    }
    std::vector<double> times;
    bool one_by_one = false;
    std::vector<int> runs;
    std::vector<size_t> order;
    FakeWitness machine{1};
};

TEST(Contest, QuietTimesAreTrusted) {
    Race race({1.0, 0.9, 1.2});
    auto results = race.hold();
    for (size_t i = 0; i < 3; ++i) {
        ASSERT_TRUE(results[i]) << i;
        EXPECT_NEAR(results[i]->milliseconds, race.times[i], 1e-9);
        EXPECT_FALSE(results[i]->is_doubtful);
        EXPECT_LE(race.runs[i], 8) << "no more than needed";
    }
    EXPECT_EQ(race.machine.rests, 0);
}

TEST(Contest, RunsTakeTurns) {
    Race race({1.0, 0.9, 1.1});
    race.hold();
    for (size_t i = 0; i < race.order.size(); ++i) EXPECT_EQ(race.order[i], i % 3) << i;
}

TEST(Contest, OneByOneRunsOfACandidateAreConsecutive) {
    Race race({1.0, 0.9, 30.0, 100.0, 1.2});
    race.one_by_one = true;
    auto results = race.hold();
    EXPECT_EQ(race.runs, (std::vector<int>{5, 5, 1, 1, 3}))
        << "finals of those in whose place a rival may come or was; what is far behind runs once";
    for (size_t i : {0, 1, 4}) {
        EXPECT_NEAR(results[i]->milliseconds, race.times[i], 1e-9) << i;
        EXPECT_FALSE(results[i]->is_doubtful) << i;
    }
    race.order.erase(std::unique(race.order.begin(), race.order.end()), race.order.end());
    EXPECT_EQ(race.order, (std::vector<size_t>{0, 1, 2, 3, 4})) << "each is ready once";
}

TEST(Contest, SlowCandidatesAreDropped) {
    Race race({1.0, 30.0, 100.0});
    auto results = race.hold();
    EXPECT_TRUE(results[0]);
    EXPECT_FALSE(results[1]);
    EXPECT_FALSE(results[2]);
    EXPECT_EQ(race.runs, (std::vector<int>{3, 1, 1}));
}

TEST(Contest, SlowerCandidatesRunLessButAreTimed) {
    Race race({1.0, 1.4, 1.6, 3.0});
    auto results = race.hold();
    EXPECT_EQ(race.runs, (std::vector<int>{3, 3, 2, 1}));
    for (size_t i = 0; i < 4; ++i) {
        ASSERT_TRUE(results[i]) << i;
        EXPECT_NEAR(results[i]->milliseconds, race.times[i], 1e-9) << i;
        EXPECT_FALSE(results[i]->is_doubtful) << i;
    }
}

TEST(Contest, UnrivalledCandidateRunsLess) {
    Race alone({1.0}), rivals({1.0, 1.01});
    alone.hold();
    rivals.hold();
    EXPECT_EQ(alone.runs, (std::vector<int>{3}));
    EXPECT_EQ(rivals.runs, (std::vector<int>{5, 5}));
}

// A long run is preempted nearly always, mostly for some microseconds.
TEST(Contest, PreemptionWithoutDelayIsIgnored) {
    for (int threads : {1, 2}) {
        Race race({20.0, 21.0});
        race.machine = FakeWitness{threads};
        race.machine.disturb = [](double ms) {
            return FakeWitness::Disturbance{ms > 1 ? FakeWitness::Kind::preempted : FakeWitness::Kind::none,
                                            0.1};
        };
        for (auto& result : race.hold()) EXPECT_FALSE(result->is_doubtful);
        EXPECT_EQ(race.runs, (std::vector<int>{5, 5}));
        EXPECT_EQ(race.machine.rests, 0);
    }
}

TEST(Contest, DisturbedRunsOfSlowCandidatesAreNotRepeated) {
    Race race({1.0, 3.0});
    race.machine.disturb = [](double ms) {
        return FakeWitness::Disturbance{ms == 3.0 ? FakeWitness::Kind::preempted : FakeWitness::Kind::none,
                                        5.0};
    };
    auto results = race.hold();
    EXPECT_EQ(race.runs, (std::vector<int>{3, 1}));
    EXPECT_FALSE(results[0]->is_doubtful);
}

// Six works in a row, of runs and calibrations, take 0.5 ms more; then six do not.
TEST(Contest, DisturbedRunsDoNotCount) {
    for (auto how : {FakeWitness::Kind::preempted, FakeWitness::Kind::waits, FakeWitness::Kind::slow}) {
        Race race({1.0, 0.5});
        int run = 0;
        race.machine.disturb = [&](double) {
            bool is_hit = run++ / 6 % 2;
            return FakeWitness::Disturbance{is_hit ? how : FakeWitness::Kind::none, 0.5};
        };
        auto results = race.hold();
        for (size_t i = 0; i < 2; ++i) {
            ASSERT_TRUE(results[i]) << i;
            EXPECT_NEAR(results[i]->milliseconds, race.times[i], 1e-9) << int(how);
            EXPECT_FALSE(results[i]->is_doubtful) << int(how);
        }
        EXPECT_GT(race.machine.rests, 0) << int(how);
    }
}

TEST(Contest, AlwaysDisturbedContestEndsDoubtful) {
    for (auto how : {FakeWitness::Kind::preempted, FakeWitness::Kind::waits}) {
        Race race({1.0, 2.0});
        race.machine.disturb = [&](double) { return FakeWitness::Disturbance{how, 3.0}; };
        auto results = race.hold();
        for (auto& result : results) {
            ASSERT_TRUE(result);
            EXPECT_TRUE(result->is_doubtful);
        }
        for (int runs : race.runs) EXPECT_LE(runs, 40);
    }
}

TEST(Contest, LongRunsEndSooner) {
    Race race({500.0, 600.0});
    race.machine.disturb = [&](double) {
        return FakeWitness::Disturbance{FakeWitness::Kind::preempted, 100.0};
    };
    race.hold();
    for (int runs : race.runs) EXPECT_LE(runs, 17);
}

// A machine that is busy for good: after a while nothing is repeated any more.
TEST(Contest, StopsAfterItsTimeLimit) {
    Race race({0.01, 0.02});
    race.machine.disturb = [&](double) {
        return FakeWitness::Disturbance{FakeWitness::Kind::preempted, 20.0};
    };
    race.hold();
    double first = race.machine.now().wall_ms;
    for (int i = 0; i < 10; ++i) race.hold();
    double tenth = (race.machine.now().wall_ms - first) / 10;
    EXPECT_LT(first, 1500);
    EXPECT_LT(tenth, 400);
    race.machine.disturb = [](double) { return FakeWitness::Disturbance(); };
    for (auto& result : race.hold()) EXPECT_FALSE(result->is_doubtful) << "it is quiet again";
}

TEST(Contest, OneDisturbedCandidateMakesAllDoubtful) {
    Race race({1.0, 0.5});
    race.machine.disturb = [&](double ms) {
        return FakeWitness::Disturbance{ms == 0.5 ? FakeWitness::Kind::preempted : FakeWitness::Kind::none,
                                        3.0};
    };
    for (auto& result : race.hold()) EXPECT_TRUE(result && result->is_doubtful) << "the slower one might win";
}

TEST(Quiet, DiffersFromBusy) {
    FakeWitness quiet{2}, preempted{2}, slow{2};
    EXPECT_TRUE(is_quiet(quiet));
    int n = 0;
    preempted.disturb = [&](double) {
        return FakeWitness::Disturbance{++n == 500 ? FakeWitness::Kind::preempted : FakeWitness::Kind::none,
                                        3.0};
    };
    EXPECT_FALSE(is_quiet(preempted));
    n = 0;
    slow.disturb = [&](double) {
        return FakeWitness::Disturbance{++n / 8 % 2 ? FakeWitness::Kind::slow : FakeWitness::Kind::none,
                                        0.05};
    };
    EXPECT_FALSE(is_quiet(slow)) << "calibrations take longer";
}

// How algorithms with given times are chosen, and what the cache keeps of it.
class Doubts : public testing::Test {
protected:
    static constexpr int64_t start = 1'000'000;
    static Prepared prepare(const PrepareContext& context) {
        return Prepared::make(std::string(context.candidate.name));
    }
    static void run(const Prepared& prepared, const Launch&) {
        machine_->compute(times_.at(prepared.state<std::string>()));
    }
    static inline FakeWitness* machine_ = nullptr;
    static inline std::map<std::string, double> times_;
    static Support never(const Problem&) { return {"never"}; }
    static constexpr Algorithm algorithms_[] = {{"preferred", always, prepare, run},
                                                {"other", always, prepare, run},
                                                {"impossible", never, prepare, run}};
    static inline std::vector<std::string> members_;
    static std::vector<Candidate> list_members(const Problem&) {
        std::vector<Candidate> members;
        for (auto& name : members_) members.push_back({.name = name});
        return members;
    }
    static constexpr Algorithm families_[] = {{"family", always, prepare, run, {}, list_members}};
    KernelList known_ = algorithms_;  // to the program
    bool checks_first_ = false;       // whether some algorithm is known to work

    std::unique_ptr<FastrunCache> cache_ = FastrunCache::in_memory();
    int64_t now_ = start;
    bool is_busy_ = false;
    SampleProblem sample_{3};

    // One compilation's choice.
    Choice choose(double preferred, double other) {
        auto machine = std::make_unique<FakeWitness>(1);
        machine_ = machine.get();
        machine_->disturb = [&](double) {
            return FakeWitness::Disturbance{is_busy_ ? FakeWitness::Kind::preempted : FakeWitness::Kind::none,
                                            3.0};
        };
        times_ = {{"preferred", preferred}, {"other", other}};
        return choose_on(std::move(machine));
    }
    // The machine is quiet while it is asked, and busy again when it is measured.
    Choice choose_though_others_come() {
        auto machine = std::make_unique<FakeWitness>(1);
        machine_ = machine.get();
        machine_->disturb = [&](double ms) {
            bool is_calibration = ms == FakeWitness::calibration_ms;
            return FakeWitness::Disturbance{
                is_calibration ? FakeWitness::Kind::none : FakeWitness::Kind::preempted, 3.0};
        };
        return choose_on(std::move(machine));
    }
    Choice choose_on(std::unique_ptr<FakeWitness> machine) {
        Lookups lookups(std::move(machine), [&] { return now_; });
        SelectOptions options{
            .heuristic = false, .profile = true, .cache = cache_.get(), .lookups = &lookups};
        if (checks_first_) {
            EXPECT_TRUE(is_known_to_work(sample_.problem, options));
        }
        return select(known_, sample_.problem, {}, options);
    }
    int doubts() { return cache_->find(sample_.problem)->front().doubts; }
    void pass_since_doubted(int64_t seconds) {
        now_ = cache_->find(sample_.problem)->front().doubted_at + seconds;
    }
};

TEST_F(Doubts, HeuristicIsKeptUnlessClearlySlower) {
    EXPECT_EQ(choose(1.0, 0.98).candidate.name, "preferred");
    cache_ = FastrunCache::in_memory();
    EXPECT_EQ(choose(1.0, 0.96).candidate.name, "other");
}

TEST_F(Doubts, DoubtfulTimesNeedALargerMargin) {
    is_busy_ = true;
    EXPECT_EQ(choose(1.0, 0.9).candidate.name, "preferred");
    EXPECT_EQ(doubts(), 1);
    cache_ = FastrunCache::in_memory();
    Choice choice = choose(1.0, 0.1);
    EXPECT_EQ(choice.candidate.name, "other");
    EXPECT_TRUE(choice.is_doubtful);
}

TEST_F(Doubts, AreSettledLaterOnAQuietMachine) {
    is_busy_ = true;
    EXPECT_EQ(choose(1.0, 0.9).source, ChoiceSource::measured);
    is_busy_ = false;
    pass_since_doubted(1);
    EXPECT_EQ(choose(1.0, 0.9).source, ChoiceSource::cache) << "too soon";
    is_busy_ = true;
    pass_since_doubted(1000);
    EXPECT_EQ(choose(1.0, 0.9).source, ChoiceSource::cache) << "still busy";
    is_busy_ = false;
    Choice settled = choose(1.0, 0.9);
    EXPECT_EQ(settled.source, ChoiceSource::measured);
    EXPECT_EQ(settled.candidate.name, "other");
    EXPECT_EQ(doubts(), 0);
    now_ += 1'000'000'000;
    EXPECT_EQ(choose(1.0, 0.9).source, ChoiceSource::cache) << "trusted for ever";
}

TEST_F(Doubts, WaitLongerEachTime) {
    is_busy_ = true;
    choose(1.0, 0.9);
    for (int64_t wait : {600, 2400, 9600}) {
        is_busy_ = false;
        pass_since_doubted(wait - 1);
        EXPECT_EQ(choose(1.0, 0.9).source, ChoiceSource::cache) << wait;
        pass_since_doubted(wait);
        EXPECT_EQ(choose_though_others_come().source, ChoiceSource::measured) << wait;
    }
    EXPECT_EQ(doubts(), 4);
}

// By a clock that was ahead when they were measured.
TEST_F(Doubts, FutureDoubtsAreSettled) {
    is_busy_ = true;
    choose(1.0, 0.9);
    is_busy_ = false;
    pass_since_doubted(-1'000'000'000);
    EXPECT_EQ(choose(1.0, 0.9).source, ChoiceSource::measured);
    EXPECT_EQ(doubts(), 0);
}

// A file may say anything.
TEST_F(Doubts, HandlesExtremeTimesAndCounts) {
    constexpr auto latest = std::numeric_limits<int64_t>::max();
    constexpr int most = std::numeric_limits<int>::max();
    is_busy_ = true;
    choose(1.0, 0.9);
    auto rows = cache_->rows();
    for (int64_t at : {latest, -latest}) {
        for (auto& row : rows) {
            row.measured_at = at;
            row.measured.doubts = most;
        }
        cache_ = FastrunCache::in_memory();
        EXPECT_EQ(cache_->merge(rows), rows.size());
        EXPECT_EQ(choose_though_others_come().source, ChoiceSource::measured) << at;
        EXPECT_GT(doubts(), 1);
        EXPECT_LT(doubts(), most);
    }
}

// A program that knows more measures once, on a quiet machine.
TEST_F(Doubts, ANewAlgorithmIsMeasured) {
    known_ = std::span(algorithms_).first(1);
    EXPECT_EQ(choose(1.0, 0.5).candidate.name, "preferred");
    known_ = algorithms_;
    is_busy_ = true;
    EXPECT_EQ(choose(1.0, 0.5).source, ChoiceSource::cache);
    is_busy_ = false;
    Choice choice = choose(1.0, 0.5);
    EXPECT_EQ(choice.source, ChoiceSource::measured);
    EXPECT_EQ(choice.candidate.name, "other");
    for (size_t count : {3, 1, 3}) {
        known_ = KernelList(algorithms_).first(count);
        EXPECT_EQ(choose(1.0, 0.5).source, ChoiceSource::cache) << count;
    }
}

TEST_F(Doubts, SlowNewAlgorithmIsMeasuredOnce) {
    known_ = std::span(algorithms_).first(1);
    choose(1.0, 100.0);
    known_ = algorithms_;
    EXPECT_EQ(choose(1.0, 100.0).source, ChoiceSource::measured);
    EXPECT_EQ(choose(1.0, 100.0).source, ChoiceSource::cache);
}

TEST_F(Doubts, ANewAlgorithmThatRefusesIsNotMeasured) {
    known_ = std::span(algorithms_).first(2);
    choose(1.0, 2.0);
    known_ = algorithms_;
    EXPECT_EQ(choose(1.0, 2.0).source, ChoiceSource::cache);
}

TEST_F(Doubts, RowsWithoutAvailableAlgorithmsAreKept) {
    cache_->store(sample_.problem, {{"preferred", 1.0}});
    EXPECT_EQ(choose(1.0, 0.5).source, ChoiceSource::cache);
}

// A pass had asked first whether anything is known of it.
TEST_F(Doubts, NewAlgorithmIsMeasuredDespiteKnownOnes) {
    known_ = std::span(algorithms_).first(1);
    choose(1.0, 0.5);
    known_ = algorithms_;
    checks_first_ = true;
    EXPECT_EQ(choose(1.0, 0.5).source, ChoiceSource::measured);
    EXPECT_EQ(choose(1.0, 0.5).source, ChoiceSource::cache);
}

TEST_F(Doubts, ANewMemberOfAFamilyIsMeasuredOnce) {
    known_ = families_;
    members_ = {"preferred"};
    EXPECT_EQ(choose(1.0, 0.5).candidate.name, "preferred");
    members_ = {"preferred", "other"};
    is_busy_ = true;
    EXPECT_EQ(choose(1.0, 0.5).source, ChoiceSource::cache);
    is_busy_ = false;
    Choice choice = choose(1.0, 0.5);
    EXPECT_EQ(choice.source, ChoiceSource::measured);
    EXPECT_EQ(choice.candidate.name, "other");
    members_ = {"preferred"};
    EXPECT_EQ(choose(1.0, 0.5).source, ChoiceSource::cache) << "an older program";
    members_ = {"preferred", "other"};
    EXPECT_EQ(choose(1.0, 0.5).source, ChoiceSource::cache);
}

TEST_F(Doubts, SlowMemberIsMeasuredOnce) {
    known_ = families_;
    members_ = {"preferred"};
    choose(1.0, 100.0);
    members_ = {"preferred", "other"};
    EXPECT_EQ(choose(1.0, 100.0).source, ChoiceSource::measured);
    EXPECT_EQ(choose(1.0, 100.0).source, ChoiceSource::cache);
}

TEST_F(Doubts, RowsNamingOnlyFamiliesAreKept) {
    known_ = families_;
    members_ = {"preferred", "other"};
    const std::string names[] = {"family"};
    cache_->store(sample_.problem, {{"preferred", 1.0}}, names);
    EXPECT_EQ(choose(1.0, 0.5).source, ChoiceSource::cache);
}

// The machine was quiet when it was asked, and busy when the new one was measured.
TEST_F(Doubts, TrustedTimesSurviveADisturbedMeasurement) {
    known_ = std::span(algorithms_).first(1);
    choose(1.0, 0.9);
    known_ = algorithms_;
    EXPECT_EQ(choose_though_others_come().source, ChoiceSource::measured);
    auto found = cache_->find(sample_.problem);
    ASSERT_TRUE(found);
    for (auto& m : *found) EXPECT_EQ(m.doubts, m.name == "other") << m.name;
}

TEST_F(Doubts, RemeasuresOnlyWithPermission) {
    is_busy_ = true;
    choose(1.0, 0.9);
    pass_since_doubted(1'000'000);
    auto machine = std::make_unique<FakeWitness>(1);
    machine_ = machine.get();
    Lookups lookups(std::move(machine), [&] { return now_; });
    SelectOptions options{.profile = true, .cache = cache_.get(), .lookups = &lookups};
    EXPECT_EQ(select(algorithms_, sample_.problem, {}, options).source, ChoiceSource::cache);
    EXPECT_EQ(machine_->now().wall_ms, 0) << "nobody even looked whether it is quiet";
}

TEST(Lookups, EqualProblemIsMeasuredOnceAndReported) {
    int queries = 0;
    const Algorithm one[] = {{"one", always, [](const PrepareContext&) { return Prepared::make(0); },
                              [](const Prepared&, const Launch&) {}}};
    CostSource source = [&](auto&&...) { return ++queries, std::optional(1.0); };
    auto cache = FastrunCache::in_memory();
    SampleProblem sample(3);
    {
        Lookups lookups;
        SelectOptions options{.heuristic = false,
                              .profile = true,
                              .cache = cache.get(),
                              .lookups = &lookups,
                              .measure = source};
        EXPECT_EQ(find_cost(one, sample.problem, {}, options)->milliseconds, 1.0);
        for (int i = 0; i < 2; ++i)
            EXPECT_EQ(select(one, sample.problem, {}, options).source, ChoiceSource::measured)
                << "by this compilation";
        EXPECT_EQ(queries, 1);
        EXPECT_EQ(lookups.measured(), 1u);
    }
    Lookups later;
    SelectOptions options{
        .heuristic = false, .profile = true, .cache = cache.get(), .lookups = &later, .measure = source};
    EXPECT_EQ(select(one, sample.problem, {}, options).source, ChoiceSource::cache);
    EXPECT_EQ(later.measured(), 0u);
    EXPECT_EQ(queries, 1);
}

// A candidate's copy of its weights.
struct HeldCopy {
    static inline size_t held = 0, most = 0;
    explicit HeldCopy(size_t bytes) : bytes(bytes) { most = std::max(most, held += bytes); }
    HeldCopy(HeldCopy&& other) noexcept : bytes(std::exchange(other.bytes, 0)) {}
    ~HeldCopy() { held -= bytes; }
    size_t bytes;
};

TEST(Measuring, HoldsFewLargeCopiesOfWeights) {
    constexpr size_t mib = size_t(1) << 20;
    auto run = [](const Prepared&, const Launch&) {};
    static size_t size = 0;
    auto prepare = +[](const PrepareContext&) {
        return Prepared::make(HeldCopy(size), 0, PackedInputs{{{nullptr, size}}, 1});
    };
    const Algorithm four[] = {{"a", always, prepare, run},
                              {"b", always, prepare, run},
                              {"c", always, prepare, run},
                              {"d", always, prepare, run}};
    for (auto [bytes, most] : {std::pair{mib, 4 * mib}, {48 * mib, 2 * 48 * mib}, {400 * mib, 400 * mib}}) {
        size = bytes;
        HeldCopy::most = 0;
        SampleProblem sample(3);
        Lookups lookups(std::make_unique<FakeWitness>(1), [] { return int64_t(0); });
        SelectOptions options{.heuristic = false, .profile = true, .lookups = &lookups};
        select(four, sample.problem, {}, options);
        EXPECT_EQ(HeldCopy::most, most);
        EXPECT_EQ(HeldCopy::held, 0u);
        EXPECT_EQ(lookups.of(sample.problem).times->measured.size(), 4u) << "all were timed";
    }
}

TEST(Lookups, CostsNeedNoPreparation) {
    static int prepared = 0;
    const Algorithm one[] = {{"one", always,
                              [](const PrepareContext&) {
                                  ++prepared;
                                  return Prepared::make(0, 64);
                              },
                              [](const Prepared&, const Launch&) {}}};
    auto cache = FastrunCache::in_memory();
    SampleProblem sample(3);
    cache->store(sample.problem, {{"one", 1.5, 64, {}}});
    Lookups lookups;
    SelectOptions options{.heuristic = false, .profile = true, .cache = cache.get(), .lookups = &lookups};
    EXPECT_EQ(find_cost(one, sample.problem, {}, options)->milliseconds, 1.5);
    EXPECT_EQ(find_heuristic_workspace(one, sample.problem, options), 64u);
    EXPECT_EQ(prepared, 0);
}

}  // namespace
}  // namespace mge
