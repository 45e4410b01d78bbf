// SPDX-License-Identifier: Apache-2.0
// Plans (--save-plan), replayed for the model that they were made of.
#include "apps/load_and_run/checks/plan.h"

#include <fstream>
#include <iterator>

#include "libmge/base/error.h"
#include "tests/fuzz/files.h"
#include "tests/fuzz/models.h"
#include "tests/fuzz/mutate_bytes.h"
#include "tests/new_folder.h"

namespace mge::fuzz {
namespace {

TensorSpecs inputs() {
    TensorSpecs specs;
    for (ValueId id : convolution_net().inputs()) specs.push_back(convolution_net().value(id).spec);
    return specs;
}

std::string plan_for(const CompileOptions& options) {
    load_and_run::PlanWriter writer;
    writer.add(convolution_net(), options, *Program::compile(convolution_net(), options));
    NewFolder folder("mge_fuzz_plan");
    auto path = folder.file("plan.json");
    cli::Invocation invocation;
    invocation.tool = "load_and_run";
    writer.write(path, invocation);
    std::ifstream stream(path);
    std::string plan(std::istreambuf_iterator<char>(stream), {});
    return plan;
}

CompileOptions plain_options() {
    CompileOptions options;
    options.threads = 1;
    return options;
}

}  // namespace

void try_input(Bytes input) {
    InputFile file(input);
    load_and_run::PlanReader plan(file.path());
    CompileOptions options;
    plan.apply(convolution_net(), inputs(), 0, options);
    check(options);
    // Threads are taken as they are asked for, and started.
    options.threads = 1;
    auto program = Program::compile(convolution_net(), options);
    plan.verify(inputs(), *program);
    Context::create(program)->run();
}

std::vector<std::string> seeds() {
    std::vector<std::string> result = data_files("fuzz/plans");
    CompileOptions options = plain_options();
    result.push_back(plan_for(options));
    options.layout = "nhwc";
    options.select.reproducible = true;
    options.level = 1;
    result.push_back(plan_for(options));
    options.passes["fuse_activation"] = false;
    result.push_back(plan_for(options));
    return result;
}

void mutate(std::string& input, Random& random) { mutate_text(input, random); }

}  // namespace mge::fuzz
