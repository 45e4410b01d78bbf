// SPDX-License-Identifier: Apache-2.0
#include "apps/load_and_run/checks/stages.h"

#include <nlohmann/json.hpp>

#include "apps/load_and_run/checks/checks.h"
#include "apps/load_and_run/checks/json.h"

namespace mge::load_and_run {
namespace {

Subject subject_of(const Job& job, const Test& test) {
    return {job.session->model(), job.session->compile_options(), test.inputs, job.options.run.model.keys};
}

std::string largest_step(const Program& program) {
    int step = memory_timeline(program).peak_step;
    if (step < 0) return "inputs and outputs";
    return text("step ", step, " (", operator_text(program.steps()[size_t(step)]), ")");
}

}  // namespace

void open_checks(Job& job) {
    job.checks = std::make_unique<Checks>(job.options.checks, job.options.device.wanted_threads(),
                                          job.options.device.place(), !job.invocation.json.empty());
    job.checks->memory.before_load();
}

void check_reference(Job& job) { check_reference(job.options.checks, subject_of(job, job.tests.at(0))); }

void walk_to_first_difference(Job& job) {
    if (!job.options.checks.first_diff) return;
    auto& checks = *job.checks;
    auto& test = job.tests.at(0);
    CompileOptions options = job.session->compile_options();
    checks.before_compile(job.session->model().graph, specs_of(test.inputs), options);
    checks.walk({job.session->model(), options, test.inputs, job.options.run.model.keys});
    checks.print();
    checks.add_to(job.report);
    job.report["process_peak"] = process_memory().peak;
    if (!checks.failure().empty()) job.fail(ErrorCode::accuracy, checks.failure());
    // The program was not compiled as a whole, so no other stage can run.
    job.is_done = true;
}

void watch(Job& job, Test& test) {
    if (test.index == 0) job.checks->memory.prepared();
    job.checks->watch(test.program, *test.context, test.index == 0);
}

void end_dumps(Job& job, Test& test) {
    job.checks->end_dumps(*test.context);
    if (test.index == 0) job.checks->memory.ran(job.session->model().graph, *test.program);
}

void watch_on(Job& job, Test& test) { job.checks->watch_on(*test.context); }

void finish_checks(Job& job) {
    auto& test = job.tests.at(0);
    if (!job.failure) job.checks->finish(subject_of(job, test), test.program, *test.context, job.invocation);
    if (!job.checks->failure().empty()) job.fail(ErrorCode::accuracy, job.checks->failure());
    job.checks->add_to(job.report);
    if (job.checks->memory.is_reported())
        job.report["memory"] = job.checks->memory.to_json(*test.program, job.session->model().graph);
}

void print_checks(Job& job) { job.checks->print(); }

void guarded(Job& job, Test& test, void (*stage)(Job&, Test&)) {
    if (job.report.contains("finding")) return;  // the rest would only find it again
    try {
        stage(job, test);
    } catch (const GuardError& e) {
        job.report["finding"] = to_json(e.finding());
        job.fail(ErrorCode::accuracy, e.what());
    } catch (const MemoryError& e) {
        std::string place = job.checks->place();
        // Before the first step it is the context that does not fit.
        if (place.empty() && test.program)
            place = text("the memory of a context, most of it for ", largest_step(*test.program), ": ");
        throw MemoryError(place + e.what());
    }
}

}  // namespace mge::load_and_run
