// SPDX-License-Identifier: Apache-2.0
#pragma once
#include "libmge/op/apply.h"
#include "libmge/op/backend.h"

namespace mge::ops {

struct Embedding : WithoutParams {
    static constexpr auto name = "embedding";
    static constexpr auto doc =
        "Returns one row of the weight (rows, width) for each index (int32). The shape is that of index, "
        "then width.";
    static constexpr auto inputs = names("weight", "index");
    static constexpr auto outputs = output_names("rows");
    static constexpr OpTraits traits{.reads_selection = true};

    static TensorSpecs infer(const Params&, Specs);
    static Tensors gradient(const GradientContext<Params>&);
    MGE_API static const OpInfo info;
};
inline constexpr OpFunction<Embedding> embedding{};

struct EmbeddingBackward {
    static constexpr auto name = "embedding_backward";
    static constexpr auto doc =
        "Gradient of embedding with respect to the weight: each row is the sum of "
        "the gradients of its uses.";
    static constexpr bool only_trains = true;
    static constexpr auto inputs = names("index", "dy");
    static constexpr auto outputs = output_names("dweight");
    struct Params {
        int64_t num_embeddings = 0;
    };
    static constexpr auto fields =
        field_list(field<&Params::num_embeddings>("num_embeddings", "Number of rows of the weight."));
    static constexpr auto autocast = Autocast::wide;

    static TensorSpecs infer(const Params&, Specs);
    static Tensors gradient(const GradientContext<Params>&);
    static double operations(const Params&, Specs in, Specs out);
    MGE_API static const OpInfo info;
};
inline constexpr OpFunction<EmbeddingBackward> embedding_backward{};

}  // namespace mge::ops
