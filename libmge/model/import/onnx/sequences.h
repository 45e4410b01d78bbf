// SPDX-License-Identifier: Apache-2.0
#pragma once
// Sequences and optionals are known while reading: lists of values of the graph. In the graph they are
// nothing; among the values of names a tensor of no elements stands for each.

#include <map>

#include "libmge/tensor/tensor.h"

namespace mge::onnx {

struct Sequence {
    Tensors items;  // of an optional: none or one, which may be a sequence
    bool is_optional = false;
};

class Sequences {
public:
    Tensor add(Sequence sequence);
    // Null: a tensor.
    const Sequence* find(const Tensor& t) const;

private:
    // Keeps what stands for them alive, so that addresses stay theirs.
    std::map<const TensorImpl*, std::pair<Tensor, Sequence>> sequences_;
};

}  // namespace mge::onnx
