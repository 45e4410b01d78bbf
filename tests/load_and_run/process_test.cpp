// SPDX-License-Identifier: Apache-2.0
// The tool as a user runs it: a process, its output, its files and its exit code.

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/wait.h>

#include <array>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>

#include "apps/cli/files/array_file.h"
#include "libmge/device/default_device.h"
#include "libmge/model/model.h"
#include "tests/model/sample_models.h"
#include "tests/new_folder.h"

namespace mge {
namespace {

using nlohmann::json;
using testing::HasSubstr;

struct Ran {
    int code;
    std::string output;  // stdout and stderr
};

class LoadAndRun : public testing::Test {
protected:
    void SetUp() override {
        folder_ = new_folder("mge_load_and_run");
        write_model(path("sum.mge"), sample_models()[1]);
        write_model(path("join.mge"), sample_models()[0]);
    }
    void TearDown() override { std::filesystem::remove_all(folder_); }

    std::string path(const std::string& name) const { return (folder_ / name).string(); }
    Ran run(const std::string& arguments) const {
        std::string command =
            "XDG_CACHE_HOME=" + folder_.string() + " " MGE_LOAD_AND_RUN " " + arguments + " 2>&1";
        FILE* pipe = ::popen(command.c_str(), "r");
        std::string output;
        std::array<char, 4096> buffer;
        while (size_t n = std::fread(buffer.data(), 1, buffer.size(), pipe)) output.append(buffer.data(), n);
        int status = ::pclose(pipe);
        return {WIFEXITED(status) ? WEXITSTATUS(status) : -1, output};
    }
    json report(const std::string& arguments, int expected_code = 0) const {
        Ran ran = run(arguments + " --json " + path("report.json"));
        EXPECT_EQ(ran.code, expected_code) << ran.output;
        std::ifstream file(path("report.json"));
        return json::parse(file);
    }
    std::filesystem::path folder_;
};

TEST_F(LoadAndRun, WritesOutputs) {
    Ran ran =
        run(path("sum.mge") + " --input 'a:1,2,3,4,5;b:10,20,30,40,50' --dump_outputs " + path("out.npz"));
    ASSERT_EQ(ran.code, 0) << ran.output;
    auto outputs = cli::read_npz(path("out.npz"));
    ASSERT_EQ(outputs.size(), 2u);
    EXPECT_EQ(outputs.at("a").data<float>()[4], 5);  // an input handed through
    outputs.erase("a");
    EXPECT_EQ(outputs.begin()->second.data<float>()[4], 55);
}

TEST_F(LoadAndRun, ReportHasEveryField) {
    json r = report(path("join.mge") + " --iter 3 --warmup_iter=0");
    for (auto* key : {"schema_version", "tool", "version", "command", "host", "model", "load_ms",
                      "compile_ms", "first_run_ms", "latency_ms", "throughput_per_s", "memory_bytes",
                      "algorithms", "testcases", "outputs"})
        EXPECT_TRUE(r.contains(key)) << key;
    for (auto* key : {"cpu", "isa", "threads"}) EXPECT_TRUE(r["host"].contains(key)) << key;
    for (auto* key : {"min", "mean", "p50", "p90", "p99", "max", "cv"})
        EXPECT_TRUE(r["latency_ms"].contains(key)) << key;
    for (auto* key : {"plan", "plan_lower_bound"}) EXPECT_TRUE(r["memory_bytes"].contains(key)) << key;
    EXPECT_EQ(r["runs"], 3);
    EXPECT_EQ(r["outputs"][0]["shape"], json::parse("[7, 2]"));
}

TEST_F(LoadAndRun, PrintsTheLineOldScriptsLookFor) {
    Ran ran = run(path("sum.mge"));
    EXPECT_EQ(ran.code, 0);
    EXPECT_THAT(ran.output, HasSubstr("=== finished test #0: time="));
    EXPECT_THAT(ran.output, HasSubstr("avg_time="));
    EXPECT_THAT(ran.output, HasSubstr("percentile(99%)"));
}

TEST_F(LoadAndRun, SecondFastRunMeasuresNothing) {
    std::string arguments = path("sum.mge") + " --fast-run --fast-run-algo-policy " + path("cache.sqlite");
    json first = report(arguments), second = report(arguments);
    ASSERT_FALSE(first["algorithms"].empty());
    for (auto& step : first["algorithms"]) EXPECT_EQ(step["source"], "measured");
    for (auto& step : second["algorithms"]) EXPECT_EQ(step["source"], "cache");
}

TEST_F(LoadAndRun, WithoutFastRunTheCacheIsReadOnly) {
    Ran missing = run(path("sum.mge") + " --fast-run-algo-policy " + path("none.sqlite"));
    EXPECT_EQ(missing.code, 2);
    EXPECT_THAT(missing.output, HasSubstr("add --fast-run to fill it"));
    json first = report(path("sum.mge"));
    for (auto& step : first["algorithms"]) EXPECT_EQ(step["source"], "heuristic");
}

TEST_F(LoadAndRun, InvalidCacheIsExitCode5) {
    std::ofstream(path("bad.sqlite")) << std::string(4096, 'x');
    Ran ran = run(path("sum.mge") + " --fast-run --fast-run-algo-policy " + path("bad.sqlite"));
    EXPECT_EQ(ran.code, 5);
    EXPECT_THAT(ran.output, HasSubstr("bad.sqlite"));
}

TEST_F(LoadAndRun, DifferingTestCaseIsExitCode7) {
    Model model = sample_models()[0];
    Tensor wrong = empty_tensor({DType::f32, {7, 2}, {}});
    std::fill_n(wrong.data<float>(), 14, 3.0f);
    model.test_cases[0].outputs = {wrong};
    write_model(path("wrong.mge"), model);
    json r = report(path("wrong.mge"), 7);
    EXPECT_EQ(r["testcases"][0]["passed"], false);
    EXPECT_EQ(r["testcases"][0]["mismatches"][0]["expected"], "3");
    EXPECT_THAT(run(path("wrong.mge")).output, HasSubstr("element 0 is 1, expected 3 (14 differ)"));
}

TEST_F(LoadAndRun, BatchSizeRepeatsTheData) {
    json r = report(path("sum.mge") + " --input 'a:1,2,3,4,5;b:1,2,3,4,5' --batch-size 8");
    EXPECT_EQ(r["outputs"][0]["shape"], json::parse("[8]"));
}

TEST_F(LoadAndRun, BadModelIsExitCode5) {
    std::ofstream(path("bad.mge")) << "this is no model";
    Ran ran = run(path("bad.mge"));
    EXPECT_EQ(ran.code, 5);
    EXPECT_THAT(ran.output, HasSubstr("bad.mge' is not a model this program knows"));
    EXPECT_EQ(report(path("bad.mge"), 5)["error"]["code"], 5);
}

TEST_F(LoadAndRun, UsageErrorsAreExitCode2) {
    EXPECT_EQ(run("").code, 2);
    EXPECT_EQ(run("/proc/nonexistent.mge").code, 2);
    EXPECT_EQ(run(path("sum.mge") + " --iter 0").code, 2);
    EXPECT_EQ(run(path("sum.mge") + " --iter many").code, 2);
    Ran unknown = run(path("sum.mge") + " --no-such-flag");
    EXPECT_EQ(unknown.code, 2);
    EXPECT_THAT(unknown.output, HasSubstr("no-such-flag"));
    EXPECT_THAT(run(path("sum.mge") + " --input zz:1").output,
                HasSubstr("the model has no input 'zz'; it has 'a', 'b'"));
    EXPECT_THAT(run(path("sum.mge") + " --input 1").output, HasSubstr("say which with NAME:VALUE"));
    EXPECT_EQ(run(path("sum.mge") + " --json /proc/nonexistent/r.json").code, 2);
}

TEST_F(LoadAndRun, HelpAndVersionAreExitCode0) {
    EXPECT_EQ(run("--help").code, 0);
    EXPECT_THAT(run("--help").output, HasSubstr("--fast-run"));
    EXPECT_THAT(run("--help-all").output, HasSubstr("--full-run"));
    EXPECT_THAT(run("--version").output, HasSubstr("load_and_run"));
}

TEST_F(LoadAndRun, JsonToStdoutIsNothingButJson) {
    std::string command =
        std::string(MGE_LOAD_AND_RUN " ") + path("sum.mge") + " --json - 2>/dev/null > " + path("stdout");
    ASSERT_EQ(std::system(command.c_str()), 0);
    std::ifstream file(path("stdout"));
    EXPECT_EQ(json::parse(file)["tool"], "load_and_run");
}

TEST_F(LoadAndRun, ModelInfoListsInputsAndOutputs) {
    Ran ran = run(path("join.mge") + " --model-info");
    EXPECT_THAT(ran.output, HasSubstr("Runtime Model Info"));
    EXPECT_THAT(ran.output, HasSubstr("INPUT   x"));
}

}  // namespace
}  // namespace mge
