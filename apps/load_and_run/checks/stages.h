// SPDX-License-Identifier: Apache-2.0
#pragma once
// What the checks do, piece by piece; main.cpp says when.

#include "apps/load_and_run/job.h"

namespace mge::load_and_run {

// Once per call.
void open_checks(Job& job);
void check_reference(Job& job);
void walk_to_first_difference(Job& job);
void finish_checks(Job& job);
void print_checks(Job& job);

// Once per test.
void watch(Job& job, Test& test);
void end_dumps(Job& job, Test& test);
void watch_on(Job& job, Test& test);  // after stages with observers of their own

// Runs a stage; what a guard finds, and memory that runs out, become part of the report.
void guarded(Job& job, Test& test, void (*stage)(Job&, Test&));

}  // namespace mge::load_and_run
