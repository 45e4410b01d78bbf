// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <string>

#include "libmge/model/crypt/container.h"

namespace mge {

// Whole content and file, both in memory. `open_container` authenticates every chunk before it returns; the
// file's bytes must not change meanwhile, so a mapped file is read with open_encrypted_file instead.
MGE_API SecretBytes seal_container(std::span<const std::byte> content, std::span<const std::byte> key);
MGE_API SecretBytes open_container(std::span<const std::byte> file, std::span<const std::byte> key,
                                   const std::string& label);

}  // namespace mge
