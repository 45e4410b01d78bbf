// SPDX-License-Identifier: Apache-2.0
#pragma once
#include "apps/cli/app.h"

namespace mge::profile {

void add_show(cli::App& app);
void add_diff(cli::App& app);
void add_export(cli::App& app);
void add_check(cli::App& app);

}  // namespace mge::profile
