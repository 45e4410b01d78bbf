// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <string>
#include <vector>

#include "apps/cli/statistics.h"
#include "apps/load_and_run/session.h"

namespace mge::load_and_run {

struct Results {
    cli::Statistics latency;
    size_t runs = 0;
    double throughput_per_s = 0;  // samples: runs times the first extent of the first input
    std::vector<TestCaseResult> test_cases;
    std::vector<std::pair<std::string, Tensor>> outputs;  // unique names
};

void print_model_info(const Session& session);
void print_results(const Session& session, const Results& results, const Options& options);
cli::Json to_json(const Session& session, const Results& results, const cli::Invocation& invocation,
                  const Options& options);

}  // namespace mge::load_and_run
