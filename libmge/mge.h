// SPDX-License-Identifier: Apache-2.0
#pragma once
// Everything a C++ program needs: tensors, operators, graphs, programs.

#include "libmge/base/error.h"
#include "libmge/base/version.h"
#include "libmge/compile/program.h"
#include "libmge/device/default_device.h"
#include "libmge/graph/builder.h"
#include "libmge/graph/graph.h"
#include "libmge/model/model.h"
#include "libmge/op/apply.h"
#include "libmge/op/operator_library.h"
#include "libmge/ops/all.h"
