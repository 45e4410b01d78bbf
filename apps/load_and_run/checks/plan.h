// SPDX-License-Identifier: Apache-2.0
#pragma once
// --save-plan and --replay-plan: every choice that a compilation made, as a file. Its schema is
// docs/schemas/plan.schema.json.

#include <string>
#include <vector>

#include "apps/cli/tool.h"
#include "libmge/compile/program.h"

namespace mge::load_and_run {

// A plan holds one program per set of input shapes that was run.
class PlanWriter {
public:
    void add(const Graph& model, const CompileOptions& options, const Program& program);
    void write(const std::string& path, const cli::Invocation& invocation) const;

private:
    std::vector<std::string> programs_;  // as JSON, so that this header needs no JSON library
};

class PlanReader {
public:
    // ModelError when the file is no plan.
    explicit PlanReader(const std::string& path);
    ~PlanReader();
    // Makes a compilation for these inputs repeat the plan. UserError when the plan is one of another model,
    // of other inputs, or of another number of threads than is asked for (0: none is).
    void apply(const Graph& model, const TensorSpecs& inputs, int threads, CompileOptions& options) const;
    // DeviceError when a step of the program is not what the plan says: its operator or algorithm.
    void verify(const TensorSpecs& inputs, const Program& program) const;

private:
    struct Entry;
    const Entry& find(const TensorSpecs& inputs) const;
    std::string path_;
    std::vector<Entry> entries_;
};

// DeviceError that lists every step whose algorithm the fast-run cache did not know.
void require_cached(const Program& program);

}  // namespace mge::load_and_run
