// SPDX-License-Identifier: Apache-2.0
#pragma once
#include "apps/cli/app.h"

namespace mge::crypt {

// Each function adds its subcommand.
void add_encrypt(cli::App& app);
void add_decrypt(cli::App& app);
void add_info(cli::App& app);
void add_rekey(cli::App& app);
void add_keygen(cli::App& app);

}  // namespace mge::crypt
