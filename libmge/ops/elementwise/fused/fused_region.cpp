// SPDX-License-Identifier: Apache-2.0
#include "libmge/ops/elementwise/fused/fused_region.h"

#include <algorithm>

namespace mge::ops {

namespace {

const OpInfo* const reductions[] = {&Max::info, &Mean::info, &Min::info, &Prod::info, &Sum::info};

}  // namespace

bool is_fusible_reduction(const OpInfo& op) {
    return std::find(std::begin(reductions), std::end(reductions), &op) != std::end(reductions);
}

const OpInfo* reduction_of(const FusedRegion::Params& p) {
    if (p.reduction.empty()) return nullptr;
    for (auto* op : reductions)
        if (op->name == p.reduction) return op;
    throw_value_error(FusedRegion::name, "reduction '", p.reduction,
                      "' is not one of max, mean, min, prod and sum");
}

TensorSpecs FusedRegion::infer(const Params& p, Specs in) {
    TensorSpec result = FusedProgram::parse(p.program).infer(in).back();
    auto* reduction = reduction_of(p);
    if (!reduction) return {result};
    ReduceParams params = reduce_params(p);
    return reduction->infer(&params, {&result, 1});
}

// A reduction at the end does one operation per element that it is given.
double FusedRegion::operations(const Params& p, Specs in, Specs) {
    auto program = FusedProgram::parse(p.program);
    double reduced = p.reduction.empty() ? 0 : element_count(program.infer(in).back());
    return program.operations(in) + reduced;
}

}  // namespace mge::ops
