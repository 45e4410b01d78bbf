// SPDX-License-Identifier: Apache-2.0
#pragma once
// --save-plan and --replay-plan: every choice that a compilation made, as a file. Its schema is
// docs/schemas/plan.schema.json.

#include <string>
#include <vector>

#include "apps/cli/tool.h"
#include "libmge/compile/program.h"

namespace mge::load_and_run {

// A plan has one program per set of input shapes.
class PlanWriter {
public:
    // Replaces an earlier program for the same inputs: --fitting compiles several, the winner last.
    void add(const Graph& model, const CompileOptions& options, const Program& program);
    void write(const std::string& path, const cli::Invocation& invocation) const;

private:
    std::vector<std::string> programs_;  // as JSON, so that this header needs no JSON library
};

class PlanReader {
public:
    // ModelError if the file is not a plan.
    explicit PlanReader(const std::string& path);
    ~PlanReader();
    // Makes a compilation for these inputs repeat the plan. UserError if the plan belongs to another model,
    // other inputs, or another number of threads than requested (0: no request).
    void apply(const Graph& model, const TensorSpecs& inputs, int threads, CompileOptions& options) const;
    // DeviceError if the operator or algorithm of a step differs from the plan.
    void verify(const TensorSpecs& inputs, const Program& program) const;

private:
    struct Entry;
    const Entry& find(const TensorSpecs& inputs) const;
    std::string path_;
    std::vector<Entry> entries_;
};

// DeviceError that lists every step whose algorithm is not in the fast-run cache.
void require_cached(const Program& program);

}  // namespace mge::load_and_run
