// SPDX-License-Identifier: Apache-2.0
#pragma once
// One run of the tool as it passes from stage to stage. A stage reads the results of earlier stages here,
// adds its own, and writes them into the report.

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "apps/cli/output/progress.h"
#include "apps/cli/output/statistics.h"
#include "apps/cli/tool.h"
#include "apps/load_and_run/checks/checks.h"
#include "apps/load_and_run/inputs/expected.h"
#include "apps/load_and_run/measure/measure.h"
#include "apps/load_and_run/session.h"
#include "apps/load_and_run/test.h"

namespace mge {
class Profiler;
}

namespace mge::load_and_run {

// Results of one test besides its program.
struct TestResult {
    TestCaseResult comparison;
    std::vector<std::pair<std::string, Tensor>> outputs;  // unique names
    Measured measured;
    cli::Statistics latency;
    double throughput_per_s = 0;  // in samples: runs times the first dimension of the first input
};

// Completed work with a negative result: the remaining stages still run.
struct Failure {
    ErrorCode code;
    std::string message;
};

struct Job {
    cli::Invocation& invocation;
    const Options& options;
    cli::Json& report;  // the fields of "result"; stages add their fields
    std::unique_ptr<Checks> checks{};
    std::unique_ptr<Session> session{};
    std::vector<Test> tests{};
    std::vector<TestResult> results{};                // per test
    std::vector<TestCaseResult> stored_test_cases{};  // the model's test cases if they are not the tests
    std::vector<std::string> options_without_effect{};
    std::optional<Failure> failure{};
    bool is_done = false;                  // no further stages run
    std::shared_ptr<Profiler> profiler{};  // profiler of the test that is being timed
    cli::Activity activity{"load_and_run"};
    size_t allocated_peak = 0;  // on the tests' device, before the roof of a profile was measured there

    // The first failure is the one reported.
    void fail(ErrorCode code, std::string message) {
        if (!failure) failure = Failure{code, std::move(message)};
    }
    // An option that cannot act here although the work goes on: a warning and a line of the report.
    void ignore_option(const std::string& option, const std::string& reason);
};

}  // namespace mge::load_and_run
