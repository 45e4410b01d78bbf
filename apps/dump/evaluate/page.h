// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <ostream>

#include "apps/dump/evaluate/evaluation.h"

namespace mge::dump {

// Writes one self-contained page: the accuracy of the models and of each class, and the worst images of each
// model as the model sees them. `input` is the input of the models.
void write_page(std::ostream& stream, const std::vector<EvaluatedModel>& models, const LabelledImages& images,
                const TensorSpec& input, const Preprocessing& how, size_t shown_images);

}  // namespace mge::dump
