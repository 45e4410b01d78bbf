// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <memory>
#include <string>

#include "apps/cli/key_options.h"
#include "libmge/kernel/fastrun_cache.h"

namespace mge::cli {

// Opens a fast-run cache. An encrypted one is decrypted into memory and never written: what is stored in it
// is gone at the end. Any other is used in place and made when it does not exist; with a key on the command
// line it has to be encrypted. CryptoError and UserError as their openers throw.
std::unique_ptr<FastrunCache> open_cache(const std::string& path, const KeyOptions& key);

}  // namespace mge::cli
