// SPDX-License-Identifier: Apache-2.0
#include "libmge/kernel/select.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>

#include "libmge/kernel/cpu/in_other_dtype.h"
#include "libmge/kernel/fastrun_cache.h"
#include "libmge/kernel/select_settings.h"
#include "libmge/mge.h"
#include "tests/kernel/sample_problem.h"

namespace mge {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

Support never(const Problem&) { return {"it is never right"}; }
template <size_t Workspace>
Prepared prepare(const PrepareContext&) {
    return Prepared::make(0, Workspace);
}
void run(const Prepared&, const Launch&) {}

const Algorithm algorithms[] = {
    {"refuses", never, prepare<0>, run},
    {"big", always, prepare<1000>, run},
    {"unsteady", always, prepare<0>, run, {.reproducible = false}},
    {"reference", always, prepare<0>, run, {.naive = true}},
};

using Sample = SampleProblem;

std::string chosen(const SelectOptions& options, KernelList list = algorithms) {
    return select(list, Sample(3).problem, {}, options).candidate.name;
}

// Costs by name; counts how often it was asked.
struct Costs {
    std::map<std::string, double> ms;
    int queries = 0;
    CostSource source() {
        return [this](const Problem&, const Algorithm& a, const Prepared&, double) -> std::optional<double> {
            ++queries;
            return ms.at(a.name);
        };
    }
};

TEST(Select, HeuristicTakesTheFirstSupported) { EXPECT_EQ(chosen({}), "big"); }
TEST(Select, WorkspaceLimitSkips) { EXPECT_EQ(chosen({.workspace_limit = 999}), "unsteady"); }
TEST(Select, ReproducibleSkips) {
    EXPECT_EQ(chosen({.reproducible = true, .workspace_limit = 0}), "reference");
}

TEST(Select, OptimizedStillRunsALoneReference) {
    EXPECT_EQ(chosen({.optimized = true}, KernelList(algorithms).subspan(3)), "reference");
}
TEST(Select, OptimizedRunsTheReferenceWhenNothingElseFits) {
    SelectOptions options{.reproducible = true, .optimized = true, .workspace_limit = 0};
    EXPECT_EQ(chosen(options), "reference");
}

TEST(Select, ProfileTakesTheFastestAndNeverTheNaive) {
    Costs costs{{{"big", 3}, {"unsteady", 2}, {"reference", 1}}};
    EXPECT_EQ(chosen({.heuristic = false, .profile = true, .measure = costs.source()}), "unsteady");
    EXPECT_EQ(costs.queries, 2);
}

TEST(Select, CacheAvoidsMeasuring) {
    auto cache = FastrunCache::in_memory();
    Costs costs{{{"big", 1}, {"unsteady", 2}}};
    SelectOptions options{
        .heuristic = false, .profile = true, .cache = cache.get(), .measure = costs.source()};
    EXPECT_EQ(select(algorithms, Sample(3).problem, {}, options).source, ChoiceSource::measured);
    Choice again = select(algorithms, Sample(3).problem, {}, options);
    EXPECT_EQ(again.source, ChoiceSource::cache);
    EXPECT_EQ(again.candidate.name, "big");
    EXPECT_EQ(costs.queries, 2);
    EXPECT_EQ(select(algorithms, Sample(4).problem, {}, options).source, ChoiceSource::measured)
        << "another shape";
}

TEST(Select, CacheAndMeasuringAgreeAboutEqualTimes) {
    const Algorithm equal[] = {{"second", always, prepare<0>, run}, {"first", always, prepare<0>, run}};
    auto cache = FastrunCache::in_memory();
    Costs costs{{{"second", 1}, {"first", 1}}};
    SelectOptions options{
        .heuristic = false, .profile = true, .cache = cache.get(), .measure = costs.source()};
    std::string measured = chosen(options, equal);
    EXPECT_EQ(chosen(options, equal), measured);
    EXPECT_EQ(costs.queries, 2);
}

void refuse(const Prepared&, const Launch&) { throw UserError("such values are refused"); }

TEST(Select, CandidatesThatRefuseMadeUpOperandsHaveNoTime) {
    const Algorithm list[] = {{"refuses", always, prepare<0>, refuse},
                              {"runs", always, prepare<0>, run},
                              {"refuses too", always, prepare<0>, refuse}};
    SelectOptions options{.heuristic = false, .profile = true};
    Choice choice = select(list, Sample(3).problem, {}, options);
    EXPECT_EQ(choice.candidate.name, "runs");
    EXPECT_EQ(choice.source, ChoiceSource::measured);

    choice = select(KernelList(list).subspan(2), Sample(3).problem, {}, options);
    EXPECT_EQ(choice.candidate.name, "refuses too");
    EXPECT_EQ(choice.source, ChoiceSource::heuristic);
}

TEST(Select, CacheOrHeuristicNeverMeasures) {
    auto cache = FastrunCache::in_memory();
    Costs costs;
    SelectOptions options{.profile = true, .cache = cache.get(), .measure = costs.source()};
    EXPECT_EQ(select(algorithms, Sample(3).problem, {}, options).source, ChoiceSource::heuristic);
    EXPECT_EQ(costs.queries, 0);
}

TEST(Select, NothingIsMeasuredForNoElements) {
    Costs costs;
    SelectOptions options{.heuristic = false, .profile = true, .measure = costs.source()};
    EXPECT_EQ(select(algorithms, Sample(0).problem, {}, options).source, ChoiceSource::heuristic);
    EXPECT_EQ(costs.queries, 0);
}

TEST(Select, OperandsThatAreMadeUpMayBeRefused) {
    auto refuse = [](const Prepared&, const Launch&) { throw UserError("a weight is below 0"); };
    const Algorithm picky[] = {{"first", always, prepare<0>, refuse}, {"second", always, prepare<0>, refuse}};
    Choice choice = select(picky, Sample(3).problem, {}, {.heuristic = false, .profile = true});
    EXPECT_EQ(choice.candidate.name, "first");
    EXPECT_EQ(choice.source, ChoiceSource::heuristic);
}

// Otherwise each compilation would try again.
TEST(Select, OperatorsThatRefuseOperandsAreNotMeasured) {
    for (auto* op : {&ops::CtcLoss::info, &ops::CtcLossBackward::info, &ops::Multinomial::info})
        for (auto& algorithm : find_kernels(*op, default_device()))
            EXPECT_TRUE(algorithm.attributes.unmeasured) << op->name << ' ' << algorithm.name;
}

TEST(Select, UnknownCachedNameIsAMiss) {
    auto cache = FastrunCache::in_memory();
    Sample sample(3);
    cache->store(sample.problem, {{"vanished", 0.1, 0, {}}, {"unsteady", 0.2, 0, {}}});
    SelectOptions options{.profile = true, .cache = cache.get()};
    EXPECT_EQ(select(algorithms, sample.problem, {}, options).candidate.name, "unsteady");
}

TEST(Select, NamesEveryRefusal) {
    try {
        select(KernelList(algorithms).first(1), Sample(3).problem, {}, {});
        FAIL();
    } catch (const DeviceError& e) {
        EXPECT_THAT(e.what(), HasSubstr("refuses: it is never right"));
    }
}

// Launches of single items, as an algorithm sees them.
struct ItemLaunches {
    std::vector<const void*> inputs;
    std::vector<Queue*> queues;
};
void note_launch(const Prepared&, const Launch& launch) {
    auto& noted = *launch.out<ItemLaunches*>(0)[0];
    noted.inputs.push_back(launch.inputs[0]);
    noted.queues.push_back(launch.queue);
}
const Algorithm noting[] = {{"noting", always, prepare<0>, note_launch}};

// Each item of the output holds a pointer to the notes.
ItemLaunches launches_of_items(int64_t batch) {
    TensorSpecs inputs{{DType::f32, {batch, 2}, {}}}, outputs{{DType::i64, {batch, 1}, {}}};
    Problem problem{"sample", nullptr, {}, inputs, outputs};
    problem.batch_independence = [](const void*, Specs, Specs) { return std::optional(BatchIndependence{}); };
    Choice choice = select(noting, problem, {}, {.forced = "each:noting"});
    EXPECT_EQ(choice.candidate.name, "each:noting");
    ItemLaunches noted;
    std::vector<float> x(size_t(batch) * 2 + 1);
    std::vector<ItemLaunches*> y(size_t(batch) + 1, &noted);
    const void* in[] = {x.data()};
    void* out[] = {y.data()};
    choice.algorithm->run(choice.prepared, {.inputs = in, .outputs = out, .queue = &queue_of(host_device)});
    for (size_t i = 0; i < noted.inputs.size(); ++i) EXPECT_EQ(noted.inputs[i], x.data() + 2 * i);
    return noted;
}

TEST(Select, ItemsAreLaunchedOnTheQueueOfTheBatch) {
    EXPECT_EQ(launches_of_items(3).queues, std::vector(3, &queue_of(host_device)));
}
TEST(Select, ABatchMayHaveNoItems) { EXPECT_TRUE(launches_of_items(0).queues.empty()); }

// Or reports of memory would leave it out.
TEST(Select, AlgorithmsAroundAnotherKnowItsCode) {
    auto generate = [](const PrepareContext&) { return Prepared::make(0).with_code({{"code", 4}}); };
    const Algorithm generating[] = {{"generating", always, generate, run}};
    TensorSpecs specs{{DType::f16, {3, 2}, {}}};
    Problem problem{"sample", nullptr, {}, specs, specs};
    problem.batch_independence = [](const void*, Specs, Specs) { return std::optional(BatchIndependence{}); };
    Choice each = select(generating, problem, {}, {.forced = "each:generating"});
    EXPECT_EQ(each.prepared.code().size(), 1u);
    Prepared wide = cpu::prepare_in(cpu::in_wide, {problem, {"f32:generating", 0, {}}, {}}, generating);
    EXPECT_EQ(wide.code().size(), 1u);
}

// Settings of the process, as they were when the test ends.
struct KeptSettings {
    SelectSettings before = select_settings();
    ~KeptSettings() { set_select_settings(before); }
};

TEST(SelectSettings, ControlTheChoice) {
    KeptSettings kept;
    EXPECT_EQ(select_settings(), SelectSettings{});
    set_select_settings({.deterministic = true});
    SelectOptions options = with_settings({}, select_settings());
    EXPECT_TRUE(options.reproducible && options.heuristic && !options.profile);
    set_select_settings({.benchmark = true});
    auto own = FastrunCache::in_memory();
    options = with_settings({.cache = own.get()}, select_settings());
    EXPECT_TRUE(options.profile && !options.heuristic && !options.reproducible);
    EXPECT_EQ(options.cache, own.get());
    EXPECT_EQ(with_settings({}, {.benchmark = true}).cache, with_settings({}, {.benchmark = true}).cache);
}

TEST(SelectSettings, MeasureOnceWhereThereIsAChoice) {
    Sample sample(11);
    SelectSettings settings{.benchmark = true};
    EXPECT_EQ(select(algorithms, sample.problem, settings).source, ChoiceSource::measured);
    EXPECT_EQ(select(algorithms, sample.problem, settings).source, ChoiceSource::cache);
    EXPECT_EQ(select(KernelList(algorithms).last(2), Sample(12).problem, settings).source,
              ChoiceSource::heuristic);
    EXPECT_EQ(
        select(KernelList(algorithms).last(2), Sample(13).problem, {.deterministic = true}).candidate.name,
        "reference");
}

}  // namespace
}  // namespace mge
