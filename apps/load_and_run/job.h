// SPDX-License-Identifier: Apache-2.0
#pragma once
// One call of the tool as it goes from stage to stage. A stage reads what earlier ones have left here, adds
// its part, and puts what it found out into the report.

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "apps/cli/output/progress.h"
#include "apps/cli/output/statistics.h"
#include "apps/cli/tool.h"
#include "apps/load_and_run/checks/checks.h"
#include "apps/load_and_run/expected.h"
#include "apps/load_and_run/measure.h"
#include "apps/load_and_run/session.h"
#include "apps/load_and_run/test.h"

namespace mge {
class Profiler;
}

namespace mge::load_and_run {

// What was found out about one test beside its program.
struct TestResult {
    TestCaseResult comparison;
    std::vector<std::pair<std::string, Tensor>> outputs;  // unique names
    Measured measured;
    cli::Statistics latency;
    double throughput_per_s = 0;  // samples: runs times the first extent of the first input
};

// Work that was done and whose answer is bad news: the rest of the stages still runs.
struct Failure {
    ErrorCode code;
    std::string message;
};

struct Job {
    cli::Invocation& invocation;
    const Options& options;
    cli::Json& report;  // the fields of "result"; stages add theirs
    std::unique_ptr<Checks> checks{};
    std::unique_ptr<Session> session{};
    std::vector<Test> tests{};
    std::vector<TestResult> results{};                // per test
    std::vector<TestCaseResult> stored_test_cases{};  // of the model, when they are not the tests
    std::vector<std::string> options_without_effect{};
    std::optional<Failure> failure{};
    bool is_done = false;                  // nothing is left to do
    std::shared_ptr<Profiler> profiler{};  // of the test that is being timed
    cli::Activity activity{"load_and_run"};
    size_t allocated_peak = 0;  // of the tests' device, before the roof of a profile was measured there

    // The first failure is the one that is told.
    void fail(ErrorCode code, std::string message) {
        if (!failure) failure = Failure{code, std::move(message)};
    }
    // An option that cannot act here although the work goes on: a warning and a line of the report.
    void ignore_option(const std::string& option, const std::string& reason);
};

}  // namespace mge::load_and_run
