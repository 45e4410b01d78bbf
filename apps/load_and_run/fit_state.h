// SPDX-License-Identifier: Apache-2.0
#pragma once
// The figures of --fitting in a file, so that an interrupted search goes on where it was.

#include <map>
#include <memory>
#include <string>
#include <vector>

#include "apps/cli/tool.h"

namespace mge::load_and_run {

struct KnownCandidate {
    std::string state;          // "ok" or why not
    size_t turns = 0;           // timed so far
    std::vector<double> times;  // milliseconds of its runs
};

class FitState {
public:
    // Reads the file if it exists. `subject` describes all that the figures depend on. UserError if the file
    // is of another subject, ModelError if it is damaged. Without a path nothing is kept.
    FitState(std::string path, cli::Json subject);
    ~FitState();

    const KnownCandidate* find(const std::string& flags) const;
    void set(const std::string& flags, KnownCandidate candidate);
    // Writes the file, atomically.
    void write() const;

private:
    std::string path_;
    std::unique_ptr<cli::Json> subject_;
    std::map<std::string, KnownCandidate> known_;
};

}  // namespace mge::load_and_run
