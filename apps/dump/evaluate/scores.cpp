// SPDX-License-Identifier: Apache-2.0
#include "apps/dump/evaluate/scores.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <numeric>

namespace mge::dump {
namespace {

bool are_probabilities(std::span<const float> scores) {
    double sum = 0;
    for (float score : scores) {
        if (!(score >= 0 && score <= 1)) return false;
        sum += double(score);
    }
    return std::abs(sum - 1) < 1e-3;
}

// True if class a ranks before class b: equal scores by their numbers, NaN last.
bool ranks_before(std::span<const float> scores, int64_t a, int64_t b) {
    float x = scores[size_t(a)], y = scores[size_t(b)];
    if (std::isnan(x) || std::isnan(y)) return std::isnan(x) == std::isnan(y) ? a < b : std::isnan(y);
    return x != y ? x > y : a < b;
}

}  // namespace

Prediction predict(std::span<const float> scores, int64_t label) {
    Prediction result{.label = label};
    auto count = int64_t(scores.size());
    for (int64_t i = 1; i < count; ++i)
        if (ranks_before(scores, i, result.predicted)) result.predicted = i;
    for (int64_t i = 0; i < count; ++i) result.rank += i != label && ranks_before(scores, i, label);
    bool is_softmax_missing = !are_probabilities(scores);
    double largest = double(scores[size_t(result.predicted)]), sum = 0;
    if (is_softmax_missing)
        for (float score : scores) sum += std::isnan(score) ? 0 : std::exp(double(score) - largest);
    auto probability = [&](int64_t i) {
        auto score = double(scores[size_t(i)]);
        double value = is_softmax_missing ? std::exp(score - largest) / sum : score;
        return std::isfinite(value) ? value : 0;
    };
    result.of_label = probability(label);
    result.of_predicted = probability(result.predicted);
    return result;
}

double Scores::share_within(int64_t rank) const {
    auto hits = std::ranges::count_if(predictions, [&](auto& p) { return p.rank < rank; });
    return predictions.empty() ? 0 : double(hits) / double(predictions.size());
}

std::vector<ClassFigures> Scores::by_class() const {
    std::vector<ClassFigures> result(static_cast<size_t>(classes));
    std::vector<std::map<int64_t, int64_t>> wrong(static_cast<size_t>(classes));
    for (auto& p : predictions) {
        auto& figures = result[size_t(p.label)];
        ++figures.images;
        figures.top1 += p.rank < 1;
        figures.top5 += p.rank < 5;
        if (p.predicted != p.label) ++wrong[size_t(p.label)][p.predicted];
    }
    for (size_t i = 0; i < result.size(); ++i)
        for (auto& [predicted, count] : wrong[i])
            if (count > result[i].confused) {
                result[i].confused_with = predicted;
                result[i].confused = count;
            }
    return result;
}

std::vector<size_t> Scores::worst_first() const {
    std::vector<size_t> order(predictions.size());
    std::iota(order.begin(), order.end(), 0);
    std::ranges::stable_sort(order, {}, [&](size_t i) { return predictions[i].of_label; });
    return order;
}

Agreement compare(const Scores& first, const Scores& second) {
    Agreement result;
    for (size_t i = 0; i < first.predictions.size(); ++i) {
        auto &a = first.predictions[i], &b = second.predictions[i];
        result.same += a.predicted == b.predicted;
        result.gained += a.rank > 0 && b.rank == 0;
        result.lost += a.rank == 0 && b.rank > 0;
    }
    return result;
}

}  // namespace mge::dump
