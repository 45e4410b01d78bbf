// SPDX-License-Identifier: Apache-2.0
#pragma once
// The replacement of oneDNN's header of this name; dnnl.h declares what it would.
#include "oneapi/dnnl/dnnl.h"
