// SPDX-License-Identifier: Apache-2.0
#include "libmge/kernel/select.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <map>

#include "libmge/kernel/fastrun_cache.h"

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

// A problem of one input and one output of n floats.
struct Sample {
    explicit Sample(int64_t n, std::span<const FieldInfo> fields = {}) : spec{{DType::f32, {n}, {}}} {
        problem = Problem{"sample", nullptr, fields, spec, spec};
    }
    TensorSpecs spec;
    Problem problem;
};

std::string chosen(const SelectOptions& options, KernelList list = algorithms) {
    return select(list, Sample(3).problem, {}, options).candidate.name;
}

// Costs by name; counts how often it was asked.
struct Costs {
    std::map<std::string, double> ms;
    int asked = 0;
    CostSource source() {
        return [this](const Problem&, const Algorithm& a, const Prepared&, double) -> std::optional<double> {
            ++asked;
            return ms.at(a.name);
        };
    }
};

TEST(Select, HeuristicTakesTheFirstThatIsSupported) { EXPECT_EQ(chosen({}), "big"); }
TEST(Select, WorkspaceLimitSkips) { EXPECT_EQ(chosen({.workspace_limit = 999}), "unsteady"); }
TEST(Select, ReproducibleSkips) {
    EXPECT_EQ(chosen({.reproducible = true, .workspace_limit = 0}), "reference");
}

TEST(Select, OptimizedStillRunsALoneReference) {
    EXPECT_EQ(chosen({.optimized = true}, KernelList(algorithms).subspan(3)), "reference");
}

TEST(Select, ProfileTakesTheFastestAndNeverTheNaive) {
    Costs costs{{{"big", 3}, {"unsteady", 2}, {"reference", 1}}};
    EXPECT_EQ(chosen({.heuristic = false, .profile = true, .measure = costs.source()}), "unsteady");
    EXPECT_EQ(costs.asked, 2);
}

TEST(Select, CacheSparesMeasuring) {
    auto cache = FastrunCache::in_memory();
    Costs costs{{{"big", 1}, {"unsteady", 2}}};
    SelectOptions options{
        .heuristic = false, .profile = true, .cache = cache.get(), .measure = costs.source()};
    EXPECT_EQ(select(algorithms, Sample(3).problem, {}, options).source, ChoiceSource::measured);
    Choice again = select(algorithms, Sample(3).problem, {}, options);
    EXPECT_EQ(again.source, ChoiceSource::cache);
    EXPECT_EQ(again.candidate.name, "big");
    EXPECT_EQ(costs.asked, 2);
    EXPECT_EQ(select(algorithms, Sample(4).problem, {}, options).source, ChoiceSource::measured)
        << "another shape";
}

TEST(Select, CacheOrHeuristicNeverMeasures) {
    auto cache = FastrunCache::in_memory();
    Costs costs;
    SelectOptions options{.profile = true, .cache = cache.get(), .measure = costs.source()};
    EXPECT_EQ(select(algorithms, Sample(3).problem, {}, options).source, ChoiceSource::heuristic);
    EXPECT_EQ(costs.asked, 0);
}

TEST(Select, CachedNameThatIsGoneIsAMiss) {
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

class CacheFile : public testing::Test {
protected:
    std::string path_ =
        (std::filesystem::temp_directory_path() / ("mge_cache_" + std::to_string(::getpid()))).string();
    void TearDown() override {
        for (auto* suffix : {"", "-wal", "-shm"}) std::filesystem::remove(path_ + suffix);
    }
};

TEST_F(CacheFile, KeepsMeasurementsInOrderOfTime) {
    Sample sample(3);
    FastrunCache::open(path_)->store(sample.problem, {{"slow", 2, 5, {.locks = true}}, {"fast", 1, 0, {}}});
    auto found = FastrunCache::open(path_)->find(sample.problem);
    ASSERT_TRUE(found);
    EXPECT_EQ((*found)[0].name, "fast");
    EXPECT_EQ((*found)[1].workspace, 5u);
    EXPECT_TRUE((*found)[1].attributes.locks);
}

std::vector<std::byte> bytes_of_file(const std::string& path) {
    std::ifstream stream(path, std::ios::binary);
    std::string content(std::istreambuf_iterator<char>(stream), {});
    auto bytes = std::as_bytes(std::span(content));
    return {bytes.begin(), bytes.end()};
}

TEST_F(CacheFile, IsReadFromMemory) {
    FastrunCache::open(path_)->store(Sample(3).problem, {{"fast", 1, 0, {}}});
    auto bytes = bytes_of_file(path_);
    auto cache = FastrunCache::from_bytes(bytes, "memory");
    bytes.clear();
    EXPECT_TRUE(cache->find(Sample(3).problem));
    cache->store(Sample(4).problem, {{"fast", 1, 0, {}}});
    EXPECT_TRUE(cache->find(Sample(4).problem));
    EXPECT_FALSE(FastrunCache::open(path_)->find(Sample(4).problem)) << "what is stored stays in memory";
    for (size_t length : {10, 5000}) {
        std::vector<std::byte> damaged(length, std::byte('x'));
        EXPECT_THROW(FastrunCache::from_bytes(damaged, "memory"), UserError);
    }
}

TEST_F(CacheFile, DamagedFileIsNamed) {
    std::ofstream(path_) << std::string(8192, 'x');
    try {
        FastrunCache::open(path_);
        FAIL();
    } catch (const UserError& e) {
        EXPECT_THAT(e.what(), HasSubstr(path_));
    }
}

TEST_F(CacheFile, ManyProcessesMayWrite) {
    constexpr int writers = 4, rows = 50;
    for (int w = 0; w < writers; ++w)
        if (::fork() == 0) {
            auto cache = FastrunCache::open(path_);
            for (int i = 0; i < rows; ++i) cache->store(Sample(w * rows + i + 1).problem, {{"a", 1, 0, {}}});
            ::_exit(0);
        }
    for (int w = 0, status = 0; w < writers; ++w) {
        ASSERT_GT(::wait(&status), 0);
        EXPECT_EQ(status, 0);
    }
    auto cache = FastrunCache::open(path_);
    for (int i = 1; i <= writers * rows; ++i) EXPECT_TRUE(cache->find(Sample(i).problem)) << i;
}

}  // namespace
}  // namespace mge
