// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cstdint>
#include <string>
#include <vector>

namespace CLI {
class App;
}

namespace mge::load_and_run {

struct Options;

// Lists of values. Their product is a sweep: one run per combination, and one row per run.
struct SweepOptions {
    std::vector<std::string> models;
    std::vector<int64_t> threads, streams;
    std::vector<std::string> precisions;
    std::string format;  // format of the rows: md, csv, jsonl or sql; empty: a table

    bool is_requested() const {
        return !format.empty() || models.size() > 1 || threads.size() > 1 || streams.size() > 1 ||
               precisions.size() > 1;
    }
};

void add(CLI::App& app, SweepOptions& options);
// Copies the only value of each list to the option that it sets.
void take_single_values(Options& options);
// Refuses options of `app` that act on one run only.
void check_sweep(const CLI::App& app, const SweepOptions& options);
// The options of each run, in order: the batch size changes fastest, the model slowest.
std::vector<Options> combinations(const Options& options);

}  // namespace mge::load_and_run
