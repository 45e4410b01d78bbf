// SPDX-License-Identifier: Apache-2.0
#include <cstring>

#include "libmge/ops/shape/concat.h"

namespace mge::ops {
namespace {

// One row of the output is the rows of all inputs, one behind the other.
struct Rows {
    int64_t count = 1;
    std::vector<size_t> bytes;  // per input
};

Prepared prepare_rows(const PrepareContext& context) {
    auto& out = context.problem.outputs[0];
    int axis = normalize_axis(Concat::name, context.problem.as<Concat::Params>().axis, out.shape.rank());
    Rows rows;
    for (int i = 0; i < axis; ++i) rows.count *= out.shape[i];
    for (auto& x : context.problem.inputs) {
        size_t bytes = size_of(x.dtype);
        for (int i = axis; i < x.shape.rank(); ++i) bytes *= size_t(x.shape[i]);
        rows.bytes.push_back(bytes);
    }
    return Prepared::make(std::move(rows));
}

void run_rows(const Prepared& prepared, const Launch& launch) {
    auto& rows = prepared.state<Rows>();
    char* y = launch.out<char>(0);
    for (int64_t row = 0; row < rows.count; ++row)
        for (size_t i = 0; i < rows.bytes.size(); ++i) {
            if (rows.bytes[i])
                std::memcpy(y, launch.in<char>(i) + size_t(row) * rows.bytes[i], rows.bytes[i]);
            y += rows.bytes[i];
        }
}

}  // namespace

KernelList kernels(Cpu, Concat) {
    static constexpr Algorithm list[] = {{"rows", always, prepare_rows, run_rows}};
    return list;
}

}  // namespace mge::ops
