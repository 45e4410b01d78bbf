// SPDX-License-Identifier: Apache-2.0
#pragma once
// The domain com.microsoft: attention of language models that are asked for one word after the other, whose
// keys and values lie in memory of a fixed length, and the turning of queries and keys by their places.

#include "libmge/model/import/onnx/operators.h"

namespace mge::onnx {

// Pairs of elements, the first and second of each half or neighbours, are turned by the angle of their place.
struct Rotation {
    Tensor cosines, sines;  // a row for each place, or for each word of each sequence
    Tensor places{};        // of each word; null: the rows are those of the words
    int64_t turned = 0;     // elements of a head; 0: all
    bool is_interleaved = false;
};
// Of (batch, length, heads, width).
Tensor rotated(const Site& site, const Tensor& x, const Rotation& rotation);
// Of the first input, whose heads lie side by side or are the second axis.
Tensor rotated_heads(const Site& site, const Tensor& cosines, const Tensor& sines, const Tensor& places);

}  // namespace mge::onnx
