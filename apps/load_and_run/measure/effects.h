// SPDX-License-Identifier: Apache-2.0
#pragma once
#include "apps/load_and_run/job.h"

namespace mge::load_and_run {

// Stages per test; each acts on the first one.

// Warns about options without an effect on this program, and lists them.
void note_options_without_effect(Job& job, Test& test);
void note_unread_options(Job& job, Test& test);
void note_options_ignored_by_plan(Job& job, Test& test);
void note_options_without_reference(Job& job, Test& test);
void note_seed_without_random_values(Job& job, Test& test);
// Unless --no-sanity-check: a run in which every value that a step has written is the same whenever it is
// read.
void check_sanity(Job& job, Test& test);

}  // namespace mge::load_and_run
