// SPDX-License-Identifier: Apache-2.0
#include "libmge/ops/index/embedding.h"

namespace mge::ops {
namespace {

void check_index(std::string_view who, const TensorSpec& index) {
    if (index.dtype != DType::i32) throw_type_error(who, "the index must be int32, got ", index.dtype);
}

}  // namespace

TensorSpecs Embedding::infer(const Params&, Specs in) {
    check_index(name, in[1]);
    if (in[0].shape.rank() != 2)
        throw_value_error(name, "the weight needs rank 2 (rows, width), got ", in[0].shape);
    Shape shape = in[1].shape;
    shape.push_back(in[0].shape.extent(1));
    return {{in[0].dtype, shape, {}}};
}

TensorSpecs EmbeddingBackward::infer(const Params& p, Specs in) {
    check_index(name, in[0]);
    auto &index = in[0].shape, &dy = in[1].shape;
    Shape expected = index;
    if (dy.rank() > 0) expected.push_back(dy[dy.rank() - 1]);
    if (!(dy == expected) || dy.rank() == 0)
        throw_value_error(name, "dy has shape ", dy, ", expected that of the index, ", index,
                          ", then the width");
    return {{in[1].dtype, {p.num_embeddings, dy[dy.rank() - 1]}, {}}};
}

Tensors Embedding::gradient(const GradientContext<Params>& g) {
    int64_t rows = g.input("weight").shape()[0];
    return g.result(
        {{"weight", embedding_backward(g.input("index"), g.output_grad(), {.num_embeddings = rows})}});
}

Tensors EmbeddingBackward::gradient(const GradientContext<Params>& g) {
    return g.result({{"dy", embedding(g.output_grad(), g.input("index"))}});
}

double EmbeddingBackward::operations(const Params&, Specs in, Specs) { return element_count(in[1]); }

}  // namespace mge::ops
