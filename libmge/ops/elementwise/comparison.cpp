// SPDX-License-Identifier: Apache-2.0
#include "libmge/ops/elementwise/comparison.h"

#include "libmge/op/define.h"

namespace mge::ops {

constinit const OpInfo Equal::info = define<Equal>();
constinit const OpInfo Greater::info = define<Greater>();
constinit const OpInfo GreaterEqual::info = define<GreaterEqual>();
constinit const OpInfo IsInf::info = define<IsInf>();
constinit const OpInfo IsNan::info = define<IsNan>();
constinit const OpInfo Less::info = define<Less>();
constinit const OpInfo LessEqual::info = define<LessEqual>();
constinit const OpInfo NotEqual::info = define<NotEqual>();

}  // namespace mge::ops
