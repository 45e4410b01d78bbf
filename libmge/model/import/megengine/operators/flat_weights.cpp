// SPDX-License-Identifier: Apache-2.0
#include "libmge/model/import/megengine/operators/flat_weights.h"

#include "libmge/base/number_text.h"
#include "libmge/model/import/megengine/extents.h"
#include "libmge/model/import/megengine/families.h"
#include "libmge/ops/shape/reshape.h"

namespace mge::megengine {

FlatWeights::FlatWeights(const Site& site, const Tensor& flat) {
    if (as_constant(flat)) {
        site.charge(flat);
        scope_.emplace(eager_interpreter());
    }
    flat_ = ops::reshape(flat, {.shape = {-1}});
}

Tensor FlatWeights::row(int64_t length) {
    if (length > flat_.spec().numel() - at_) invalid("it has too few weights: ", flat_.spec().numel());
    at_ += length;
    return cut(flat_, 0, at_ - length, at_);
}

Tensor FlatWeights::matrix(int64_t rows, int64_t columns) {
    int64_t size = 0;
    if (__builtin_mul_overflow(rows, columns, &size)) invalid("a matrix of ", rows, " x ", columns);
    return ops::reshape(row(size), {.shape = {rows, columns}});
}

void FlatWeights::finish() const {
    if (at_ != flat_.spec().numel())
        invalid("it has ", counted(flat_.spec().numel(), "weight"), ", but needs ", at_);
}

}  // namespace mge::megengine
