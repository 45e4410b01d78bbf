// SPDX-License-Identifier: Apache-2.0
#pragma once
#include "libmge/tensor/storage.h"

namespace mge::python {

// Memory that processes share: a file without a name, which lives as long as one of them has it. Made with a
// copy of data in it, or opened by a descriptor, which is taken over; UserErrors where the system refuses, or
// the file is too small.
StorageRef make_shared_memory(const void* data, size_t bytes);
StorageRef open_shared_memory(int descriptor, size_t bytes);

// The file behind it; -1 for other memory.
int descriptor_of(const Storage& storage);

}  // namespace mge::python
