// SPDX-License-Identifier: Apache-2.0
#pragma once
// MegEngine's model files: version 2 (one flatbuffer), version 1 ("FBS") and either of them inside a
// test-case container. docs/formats/megengine.md describes the supported parts.

#include <cstddef>
#include <span>

#include "libmge/model/open.h"

namespace mge::megengine {

// True when the bytes start like a model of any version, those included that cannot be read.
bool is_model(std::span<const std::byte> bytes);

// Verifies everything before it is used. ModelError names the file, the position and the reason, and lists
// every operator that has no counterpart here. `has_compressed_weights` as in OpenOptions.
Model read_model(const ModelBytes& file, bool has_compressed_weights);

}  // namespace mge::megengine
