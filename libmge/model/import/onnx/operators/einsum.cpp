// SPDX-License-Identifier: Apache-2.0
// Einstein sums: one matrix product after the other, each summed over the labels that are no longer needed.

#include <algorithm>
#include <map>

#include "libmge/base/number_text.h"
#include "libmge/model/import/onnx/shapes/late_values.h"
#include "libmge/ops/index/take.h"
#include "libmge/ops/linalg/matmul.h"
#include "libmge/ops/reduce/reduce.h"
#include "libmge/ops/shape/layout/transpose.h"
#include "libmge/ops/shape/reshape.h"

namespace mge::onnx {
namespace {

// A letter, or the place of an axis behind the dots, counted from their end: -1, -2, …
using Labels = std::vector<int>;

struct Operand {
    Tensor x;
    Labels labels;
};

bool holds(const Labels& labels, int label) { return std::ranges::count(labels, label) > 0; }
int64_t place_of(const Labels& labels, int label) {
    return std::ranges::find(labels, label) - labels.begin();
}

constexpr std::string_view dots = "...";

std::vector<std::string> split_at(const std::string& text, char separator) {
    std::vector<std::string> parts{""};
    for (char c : text) {
        if (c == separator)
            parts.emplace_back();
        else
            parts.back() += c;
    }
    return parts;
}

Labels labels_of(const std::string& term, int dot_count) {
    Labels labels;
    for (size_t i = 0; i < term.size(); ++i) {
        if (term.compare(i, dots.size(), dots) == 0) {
            for (int k = dot_count; k > 0; --k) labels.push_back(-k);
            i += dots.size() - 1;
            continue;
        }
        bool is_letter = (term[i] >= 'a' && term[i] <= 'z') || (term[i] >= 'A' && term[i] <= 'Z');
        if (!is_letter) invalid("'", term, "' is not a list of axes");
        labels.push_back(term[i]);
    }
    return labels;
}

Labels operand_labels(const std::string& term, int rank) {
    bool has_dots = term.find(dots) != std::string::npos;
    int letters = int(term.size()) - (has_dots ? int(dots.size()) : 0);
    Labels labels = labels_of(term, std::max(0, rank - letters));
    if (int(labels.size()) != rank) invalid("'", term, "' does not match an operand of rank ", rank);
    return labels;
}

// Labels that occur once, after the dots.
Labels implied_result(const std::vector<Operand>& operands) {
    std::map<int, int> counts;
    for (auto& operand : operands)
        for (int label : operand.labels) ++counts[label];
    Labels result;
    for (auto [label, count] : counts)
        if (label < 0 || count == 1) result.push_back(label);
    return result;
}

// Each label once: the diagonal of two axes of the same.
Operand diagonal(Operand a) {
    for (size_t i = 0; i < a.labels.size(); ++i) {
        auto second = std::ranges::find(a.labels.begin() + ptrdiff_t(i) + 1, a.labels.end(), a.labels[i]);
        if (second == a.labels.end()) continue;
        int from = int(second - a.labels.begin()), to = int(i) + 1;
        Tensor moved = moved_axis(a.x, from, to);
        Tensor steps = count_up(extent_of(a.x, int(i)), DType::i32);
        a.x = ops::take({moved, steps, steps}, {.axes = {int64_t(i), int64_t(i) + 1}});
        a.labels.erase(second);
        --i;
    }
    return a;
}

Operand summed_out(Operand a, const Labels& needed) {
    IntList axes;
    Labels kept;
    for (size_t i = 0; i < a.labels.size(); ++i) {
        if (holds(needed, a.labels[i]))
            kept.push_back(a.labels[i]);
        else
            axes.push_back(int64_t(i));
    }
    if (!axes.empty()) a.x = ops::sum(a.x, {.axes = axes, .keepdims = false});
    return {a.x, kept};
}

// An axis of size 1 here and another size in the other operand belongs to that one alone.
Operand without_repeated(Operand a, const Operand& other) {
    IntList axes;
    Labels kept;
    for (size_t i = 0; i < a.labels.size(); ++i) {
        bool is_shared = holds(other.labels, a.labels[i]);
        auto there = is_shared ? find_extent(other.x, int(place_of(other.labels, a.labels[i]))) : 1;
        if (is_shared && find_extent(a.x, int(i)) == 1 && there != 1)
            axes.push_back(int64_t(i));
        else
            kept.push_back(a.labels[i]);
    }
    if (!axes.empty()) a.x = ops::remove_axis(a.x, {.axes = axes});
    return {a.x, kept};
}

// The axes of three groups, each made one.
Tensor as_matrices(const Operand& a, const std::array<Labels, 3>& groups) {
    IntList order;
    for (auto& group : groups)
        for (int label : group) order.push_back(place_of(a.labels, label));
    Tensor x = order.empty() ? a.x : Tensor(ops::transpose(a.x, {.pattern = order}));
    int axis = 0;
    for (auto& group : groups) {
        if (group.empty())
            x = ops::add_axis(x, {.axes = {axis}});
        else
            x = ops::flatten(x, {.start = axis, .end = axis + int(group.size()) - 1});
        ++axis;
    }
    return x;
}

struct Contraction {
    const Site& site;
    Operand product(Operand a, Operand b, const Labels& needed) const;

private:
    Extent extent(const Operand& a, int label) const {
        auto axis = int(place_of(a.labels, label));
        auto known = find_extent(a.x, axis);
        return known ? Extent(*known) : extent_of(a.x, axis);
    }
};

Operand Contraction::product(Operand a, Operand b, const Labels& needed) const {
    auto needed_with = [&](const Labels& others) {
        Labels all = needed;
        all.insert(all.end(), others.begin(), others.end());
        return all;
    };
    a = summed_out(a, needed_with(b.labels));
    b = summed_out(b, needed_with(a.labels));
    a = without_repeated(a, b);
    b = without_repeated(b, a);
    Labels batch, inner, left, right, result;
    for (int label : a.labels)
        (!holds(b.labels, label) ? left : holds(needed, label) ? batch : inner).push_back(label);
    for (int label : b.labels)
        if (!holds(a.labels, label)) right.push_back(label);
    Tensor y = ops::matmul(as_matrices(a, {batch, left, inner}), as_matrices(b, {batch, inner, right}));
    std::vector<Extent> extents;
    for (auto* group : {&batch, &left, &right})
        for (int label : *group) {
            result.push_back(label);
            extents.push_back(extent(group == &right ? b : a, label));
        }
    return {extents.empty() ? Tensor(ops::reshape(y, {.shape = {}})) : reshaped(y, extents), result};
}

Tensors import_einsum(const Site& site) {
    std::string equation;
    for (char c : site.attributes.word("equation", ""))
        if (c != ' ') equation += c;
    size_t arrow = equation.find("->");
    auto terms = split_at(equation.substr(0, arrow), ',');
    if (terms.size() != site.size())
        invalid("its equation has ", counted(terms.size(), "term"), " for ", counted(site.size(), "operand"));
    std::vector<Operand> operands;
    int dot_count = 0;
    DType dtype = site.in(0).dtype();
    for (size_t i = 0; i < terms.size(); ++i) {
        if (dtype == DType::boolean || is_narrow(dtype)) unsupported("a product of ", dtype);
        Tensor x = is_float(dtype) ? site.in(i) : as_dtype(site.in(i), DType::i64);
        Operand operand{x, operand_labels(terms[i], site.rank(i))};
        for (int label : operand.labels) dot_count = std::max(dot_count, -label);
        operands.push_back(operand);
    }
    Labels result = arrow == std::string::npos ? implied_result(operands)
                                               : labels_of(equation.substr(arrow + 2), dot_count);
    for (auto& operand : operands) operand = diagonal(operand);
    Operand all = operands[0];
    for (size_t i = 1; i < operands.size(); ++i) {
        Labels needed = result;
        for (size_t k = i + 1; k < operands.size(); ++k)
            needed.insert(needed.end(), operands[k].labels.begin(), operands[k].labels.end());
        all = Contraction{site}.product(all, operands[i], needed);
    }
    all = summed_out(all, result);
    IntList pattern;
    for (int label : result) {
        if (!holds(all.labels, label)) invalid("its result has an axis that no operand has");
        pattern.push_back(place_of(all.labels, label));
    }
    if (pattern.size() != all.labels.size()) invalid("its result names an axis twice");
    Tensor y = pattern.empty() ? all.x : Tensor(ops::transpose(all.x, {.pattern = pattern}));
    return {as_dtype(y, dtype)};
}

}  // namespace

ImportRows einsum_rows() {
    static constexpr ImportRow rows[] = {
        {"Einsum", import_einsum, 12},
    };
    return rows;
}

}  // namespace mge::onnx
