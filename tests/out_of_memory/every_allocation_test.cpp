// SPDX-License-Identifier: Apache-2.0
// The n-th allocation fails while a model is loaded, compiled and run, for every n. Each try is a process of
// its own, so that first uses are among what fails, and a crash is one finding and not the end. MGE_NIGHTLY=1
// takes every n, MGE_NIGHTLY_FROM=4001 the rest of them; without it about a hundred per model are tried.

#include <gtest/gtest.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdio>
#include <cstring>
#include <filesystem>
#include <functional>
#include <string>

#include "libmge/base/env.h"
#include "libmge/base/hash.h"
#include "libmge/base/threads/thread_team.h"
#include "libmge/base/threads/threads.h"
#include "libmge/kernel/fastrun_cache.h"
#include "libmge/mge.h"
#include "libmge/model/model.h"
#include "libmge/model/open.h"
#include "tests/harness/nightly.h"
#include "tests/new_folder.h"
#include "tests/out_of_memory/failing_allocations.h"

namespace mge::test {
namespace {

constexpr int tries_in_a_sample = 100;
constexpr unsigned hang_seconds = 60;

long first_try() { return is_nightly() ? std::stol(env_string("MGE_NIGHTLY_FROM").value_or("1")) : 1; }

// The data that a child sends to its parent.
struct Report {
    long allocations[2];  // for the first pass and a later one
    bool has_failed[2];   // an allocation did
    uint64_t result;
    char problem[1024];
};

using Work = std::function<uint64_t()>;  // a digest of the result

// Values that every operator takes: small, and none of them alike.
void fill(const TensorSpec& spec, void* data) {
    auto write = [&]<class T>(T*) {
        auto* values = static_cast<T*>(data);
        for (int64_t i = 0; i < spec.numel(); ++i) values[i] = T(i * 7 % 23) / T(10);
    };
    if (spec.dtype == DType::f32)
        write(static_cast<float*>(nullptr));
    else
        std::memset(data, 0, spec.bytes());
}

uint64_t load_and_run(const std::string& path, FastrunCache* cache = nullptr) {
    Model model = open_model(path);
    TensorSpecs specs;
    for (ValueId id : model.graph.inputs()) specs.push_back(model.graph.value(id).spec);
    CompileOptions options;
    options.threads = 2;
    options.select.reproducible = true;
    options.select.profile = cache != nullptr;
    options.select.cache = cache;
    auto program = Program::compile(infer_shapes(model.graph, specs), options);
    auto context = Context::create(program);
    for (size_t i = 0; i < specs.size(); ++i) fill(program->inputs()[i].spec, context->input(i));
    context->run();
    context->start();
    context->wait();
    uint64_t result = 0;
    for (size_t i = 0; i < program->outputs().size(); ++i) {
        Tensor y = context->copy_output(i);
        result = result * 31 + checksum(y.data(), y.spec().bytes());
    }
    return result;
}

// The fault in the failure of `work`; empty if there is none.
std::string failure_of(const Work& work, uint64_t expected) {
    try {
        if (uint64_t got = work(); expected && got != expected) return "a wrong result";
    } catch (const MemoryError&) {
    } catch (const std::bad_alloc&) {
    } catch (const std::exception& e) {
        return text("another error: ", typeid(e).name(), ": ", e.what());
    }
    return {};
}

// One pass in which the n-th allocation fails.
std::string pass_with_failure(const Work& work, uint64_t expected, long n, Report& report, int pass) {
    fail_allocation(n);
    std::string problem = failure_of(work, expected);
    Allocations made = stop_failing();
    report.allocations[pass] = made.seen;
    report.has_failed[pass] = made.has_failed;
    return problem;
}

// A leak loses memory each time. Memory kept for the next time is allocated once.
std::string leak_of(const Work& work, uint64_t expected, long n, Report& report) {
    auto& cpu = device({});
    constexpr int tries = 300;  // a thread keeps up to 256 handles of tensors, and 16 blocks of a size
    long lost_objects = 0;
    for (int i = 0; i < tries; ++i) {
        cpu.release_cached();
        size_t bytes = cpu.memory().allocated;
        long objects = live_objects();
        if (auto problem = pass_with_failure(work, expected, n, report, 1); !problem.empty()) return problem;
        cpu.release_cached();
        if (size_t now = cpu.memory().allocated; now != bytes)
            return text(ssize_t(now - bytes), " bytes of device memory are lost");
        lost_objects = live_objects() - objects;
        if (lost_objects <= 0) return {};
    }
    return text(lost_objects, " objects are lost each time");
}

std::string problem_of(const Work& work, uint64_t expected, long n, Report& report) {
    if (is_team_lost()) return "the parent had a team of threads";
    if (auto problem = pass_with_failure(work, expected, n, report, 0); !problem.empty())
        return "first use: " + problem;
    report.result = work();
    if (expected && report.result != expected) return "the run after it gives another result";
    if (auto problem = leak_of(work, expected, n, report); !problem.empty()) return "later: " + problem;
    if (work() != report.result) return "the run after the later one gives another result";
    return {};
}

class InChildren : public testing::Test {
protected:
    void SetUp() override {
        std::filesystem::create_directories(folder_);
        void* shared =
            ::mmap(nullptr, sizeof(Report), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
        ASSERT_NE(shared, MAP_FAILED);
        report_ = static_cast<Report*>(shared);
    }
    void TearDown() override {
        ::munmap(report_, sizeof(Report));
        std::filesystem::remove_all(folder_);
    }
    // Runs it in a child: nothing of the library is used before. Empty when all is well.
    std::string in_child(const std::function<std::string()>& fn) {
        *report_ = {};
        pid_t child = ::fork();
        if (child == 0) {
            ::alarm(hang_seconds);
            std::string problem;
            try {
                problem = fn();
            } catch (const std::exception& e) {
                problem = text("without a failure: ", e.what());
            }
            std::snprintf(report_->problem, sizeof report_->problem, "%s", problem.c_str());
            ::_exit(0);
        }
        int status = 0;
        if (::waitpid(child, &status, 0) != child) return "no child";
        if (WIFSIGNALED(status)) return text("signal ", WTERMSIG(status));
        if (WEXITSTATUS(status)) return text("exit ", WEXITSTATUS(status));
        return report_->problem;
    }
    void try_every_allocation(const Work& work) {
        ASSERT_EQ(in_child([&] { return problem_of(work, 0, 0, *report_); }), "");
        long count = report_->allocations[0];
        uint64_t expected = report_->result;
        long step = is_nightly() ? 1 : std::max(1L, count / tries_in_a_sample);
        int tries = 0, failed = 0, problems = 0;
        for (long n = first_try(); n <= count; n += step, ++tries) {
            if (tries && tries % 1000 == 0) {
                std::printf("    %d tries, at %ld of %ld\n", tries, n, count);
                std::fflush(stdout);
            }
            std::string problem = in_child([&] { return problem_of(work, expected, n, *report_); });
            failed += report_->has_failed[0] + report_->has_failed[1];
            if (problem.empty()) continue;
            ADD_FAILURE() << "allocation " << n << " of " << count << ": " << problem;
            if (++problems == 400) break;
        }
        std::printf("    %ld allocations, %d tries, %d failures injected\n", count, tries, failed);
        EXPECT_GT(failed, tries / 4);
    }
    Report* report_ = nullptr;
    std::filesystem::path folder_ = new_folder("mge_memory");
};

class EveryAllocation : public InChildren, public testing::WithParamInterface<const char*> {};
class FastRun : public InChildren {};

std::string megengine_file(const char* name) { return text(MGE_TEST_DATA "/megengine/", name, ".v2.mge"); }

TEST_P(EveryAllocation, LoadingCompilingAndRunning) {
    std::string path = folder_ / "model.mge";
    ASSERT_EQ(in_child([&] {
                  write_model(path, open_model(megengine_file(GetParam())));
                  return std::string();
              }),
              "");
    try_every_allocation([&] { return load_and_run(path); });
}

TEST_P(EveryAllocation, ReadingAMegEngineFile) {
    std::string path = megengine_file(GetParam());
    try_every_allocation([&] { return uint64_t(open_model(path).graph.nodes().size()); });
}

TEST_F(FastRun, MeasuringAndStoring) {
    std::string path = folder_ / "model.mge", cache = folder_ / "cache.sqlite";
    ASSERT_EQ(in_child([&] {
                  write_model(path, open_model(megengine_file("mlp")));
                  return std::string();
              }),
              "");
    auto measure = [&] {
        std::filesystem::remove(cache);
        load_and_run(path, FastrunCache::open_tolerant(cache).get());
        return uint64_t(0);  // which algorithm wins is chance, and with it the last bits
    };
    try_every_allocation(measure);
    ASSERT_EQ(in_child([&] {
                  bool is_whole = FastrunCache::open(cache)->verify().empty();
                  return std::string(is_whole ? "" : "damaged rows");
              }),
              "");
}

INSTANTIATE_TEST_SUITE_P(Models, EveryAllocation,
                         testing::Values("lenet", "mlp", "attention", "dynamic", "lstm"),
                         [](auto& info) { return std::string(info.param); });

}  // namespace
}  // namespace mge::test
