// SPDX-License-Identifier: Apache-2.0
#pragma once
// Classifiers on a folder of labelled images.

#include <functional>
#include <string>
#include <vector>

#include "apps/dump/evaluate/labelled_images.h"
#include "apps/dump/evaluate/scores.h"
#include "libmge/model/model.h"

namespace mge::dump {

// From the pixels of a file to an input: resize, crop, divide, subtract the mean, divide by the deviation.
struct Preprocessing {
    int64_t resize = 0;                   // length of the shorter side; 0: exactly the size of the input
    std::vector<double> mean, deviation;  // per channel, or one for all
    double divisor = 255;
    bool is_bgr = false;
};

struct EvaluatedModel {
    std::string path;
    Scores scores;
};

// The cropped image of a file, as models with this input see it: uint8 (1, height, width, channels).
Tensor cropped_image(const std::string& path, const TensorSpec& input, const Preprocessing& how);

// Runs the model on all images, `batch` at a time (0: the batch of the model). `advance` is called with the
// number of images that are done. UserError if the model is not a classifier of images.
Scores evaluate(const Model& model, const LabelledImages& images, const Preprocessing& how, int64_t batch,
                const std::function<void(size_t)>& advance);

}  // namespace mge::dump
