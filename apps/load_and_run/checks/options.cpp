// SPDX-License-Identifier: Apache-2.0
#include "apps/load_and_run/checks/options.h"

namespace mge::load_and_run {

void add(CLI::App&, CheckOptions&) {}
void check(const CheckOptions&) {}

}  // namespace mge::load_and_run
