// SPDX-License-Identifier: Apache-2.0
#include "libmge/compile/program_run.h"

#include <utility>

namespace mge {
namespace {

thread_local const ProgramRun* run_of_thread = nullptr;

}  // namespace

const ProgramRun* program_run() { return run_of_thread; }

ProgramRunScope::ProgramRunScope(const ProgramRun* run) : outer_(std::exchange(run_of_thread, run)) {}
ProgramRunScope::~ProgramRunScope() { run_of_thread = outer_; }

}  // namespace mge
