// SPDX-License-Identifier: Apache-2.0
#pragma once
#include "libmge/tensor/storage.h"

namespace mge {

// Made by borrow_storage: somebody else's memory, which may not even be writable.
MGE_API bool is_borrowed(const Storage& storage);

}  // namespace mge
