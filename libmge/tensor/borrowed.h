// SPDX-License-Identifier: Apache-2.0
#pragma once
#include "libmge/tensor/storage.h"

namespace mge {

// Made by borrow_storage: memory of another owner, which may be read-only.
MGE_API bool is_borrowed(const Storage& storage);

}  // namespace mge
