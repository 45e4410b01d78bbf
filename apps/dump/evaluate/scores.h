// SPDX-License-Identifier: Apache-2.0
#pragma once
// The predictions of a classifier for images of known classes, and its accuracy.

#include <cstdint>
#include <span>
#include <string>
#include <vector>

namespace mge::dump {

struct Prediction {
    int64_t label = 0;
    int64_t predicted = 0;
    int64_t rank = 0;  // number of classes with a larger score than the label's; 0: the prediction is right
    double of_label = 0;      // probability
    double of_predicted = 0;  // probability
};

// `scores` are those of all classes: probabilities, or logits, which get a softmax. A score that is not a
// number ranks last.
Prediction predict(std::span<const float> scores, int64_t label);

// Figures of one class.
struct ClassFigures {
    int64_t images = 0, top1 = 0, top5 = 0;
    int64_t confused_with = -1;  // the most frequent wrong prediction; -1: none
    int64_t confused = 0;        // how often
};

struct Scores {
    std::vector<Prediction> predictions;  // by image
    int64_t classes = 0;
    double seconds = 0;  // time of the runs, without reading images
    double top1() const { return share_within(1); }
    double top5() const { return share_within(5); }
    std::vector<ClassFigures> by_class() const;
    // Indices of images, the lowest probability of the label first.
    std::vector<size_t> worst_first() const;

private:
    double share_within(int64_t rank) const;
};

// Two models on the same images.
struct Agreement {
    int64_t same = 0;              // equal predictions
    int64_t gained = 0, lost = 0;  // images that only the second one, only the first one predicts rightly
};
Agreement compare(const Scores& first, const Scores& second);

}  // namespace mge::dump
