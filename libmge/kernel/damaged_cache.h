// SPDX-License-Identifier: Apache-2.0
#pragma once
#include "libmge/base/error.h"

namespace mge {

// A fast-run cache whose database is damaged. A file that is no cache is a plain ModelError.
class MGE_API DamagedCache : public ModelError {
public:
    using ModelError::ModelError;
};

}  // namespace mge
