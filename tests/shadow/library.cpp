// SPDX-License-Identifier: Apache-2.0
// The shadow device as a library of its own, which tools and Python load.
#include "libmge/op/backend.h"
#include "tests/shadow/shadow_device.h"

extern "C" MGE_API const mge::Backend* mge_backend() { return &mge::test::shadow_backend(); }
