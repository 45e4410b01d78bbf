// SPDX-License-Identifier: Apache-2.0
#pragma once
#include "libmge/tensor/storage.h"

namespace mge::python {

// Memory shared by processes: an anonymous file, freed with its last user. It is created with a copy of data,
// or opened by a descriptor, which is then owned. Throws UserError if the system refuses or the file is too
// small.
StorageRef make_shared_memory(const void* data, size_t bytes);
StorageRef open_shared_memory(int descriptor, size_t bytes);

// Returns the descriptor of shared memory; -1 for other memory.
int descriptor_of(const Storage& storage);

}  // namespace mge::python
