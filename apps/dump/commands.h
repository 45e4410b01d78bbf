// SPDX-License-Identifier: Apache-2.0
#pragma once
// The commands of mge-dump. Each is in a file of its own, which defines its options and implements it.

#include "apps/cli/app.h"

namespace mge::dump {

void add_info(cli::App& app);
void add_graph(cli::App& app);
void add_weights(cli::App& app);
void add_convert(cli::App& app);
void add_testcase(cli::App& app);
void add_optimize(cli::App& app);
void add_strip(cli::App& app);
void add_extract(cli::App& app);
void add_pack(cli::App& app);
void add_unpack(cli::App& app);
void add_evaluate(cli::App& app);
void add_diff(cli::App& app);
void add_iodiff(cli::App& app);
void add_doctor(cli::App& app);

}  // namespace mge::dump
