// SPDX-License-Identifier: Apache-2.0
#pragma once
// The domain com.microsoft: attention of language models that generate word by word, with keys and values in
// memory of a fixed length, and rotary position embeddings.

#include "libmge/model/import/onnx/operators.h"

namespace mge::onnx {

// Pairs of elements, the first and second of each half or neighbours, are turned by the angle of their place.
struct Rotation {
    Tensor cosines, sines;  // a row for each place, or for each word of each sequence
    Tensor places{};        // position of each word; null: the rows are those of the words
    int64_t turned = 0;     // elements of a head; 0: all
    bool is_interleaved = false;
};
// Rotates (batch, length, heads, width).
Tensor rotated(const Tensor& x, const Rotation& rotation);
// Rotates the first input, whose heads are concatenated or are the second axis.
Tensor rotated_heads(const Site& site, const Tensor& cosines, const Tensor& sines, const Tensor& places);

}  // namespace mge::onnx
