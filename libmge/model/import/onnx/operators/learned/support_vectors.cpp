// SPDX-License-Identifier: Apache-2.0
// Support vector machines: a kernel compares a row with each support vector, and sums of the results give a
// number, or a decision for each pair of classes.

#include <algorithm>

#include "libmge/base/number_text.h"
#include "libmge/device/device.h"
#include "libmge/model/import/onnx/inner_graphs.h"
#include "libmge/model/import/onnx/operators/learned/learned.h"
#include "libmge/model/import/onnx/parts.h"
#include "libmge/op/apply.h"
#include "libmge/ops/control/while_loop.h"
#include "libmge/ops/elementwise/activation.h"
#include "libmge/ops/elementwise/arithmetic.h"
#include "libmge/ops/elementwise/clip.h"
#include "libmge/ops/elementwise/comparison.h"
#include "libmge/ops/elementwise/exponential.h"
#include "libmge/ops/elementwise/trigonometric.h"
#include "libmge/ops/elementwise/where.h"
#include "libmge/ops/linalg/matmul.h"
#include "libmge/ops/reduce/arg_extreme.h"
#include "libmge/ops/reduce/reduce.h"
#include "libmge/ops/shape/layout/transpose.h"
#include "libmge/ops/shape/reshape.h"

namespace mge::onnx {
namespace {

// A matrix of numbers that are computed while reading.
class Table {
public:
    Table(int64_t rows, int64_t columns) : columns_(columns), rows_(rows), numbers_(size_t(rows * columns)) {}
    double& at(int64_t row, int64_t column) { return numbers_[size_t(row * columns_ + column)]; }
    Tensor tensor() const { return float_table(numbers_, rows_); }

private:
    int64_t columns_, rows_;
    FloatList numbers_;
};

// The kernel of each row (n) with each vector (v): (n, v).
Tensor compared(const Site& site, const Tensor& x, const Tensor& vectors) {
    std::string kernel = site.attributes.word("kernel_type", "LINEAR");
    auto params = site.attributes.numbers("kernel_params").value_or(FloatList{0, 0, 3});
    params.resize(3, 0);
    Tensor product = ops::matmul(x, vectors, {.transpose_b = true}), gamma = number(x, params[0]);
    if (kernel == "LINEAR") return product;
    if (kernel == "RBF") {
        Tensor xx = ops::sum(ops::square(x), {.axes = {1}, .keepdims = true});
        Tensor vv = ops::sum(ops::square(vectors), {.axes = {1}});
        Tensor distance = ops::sub(ops::add(xx, vv), ops::mul(product, number(x, 2)));
        return ops::exp(ops::neg(ops::mul(ops::maximum(distance, number(x, 0)), gamma)));
    }
    product = ops::add(ops::mul(product, gamma), number(x, params[1]));
    if (kernel == "POLY") return ops::pow(product, number(x, params[2]));
    if (kernel == "SIGMOID") return ops::tanh(product);
    unsupported("the kernel '", kernel, "'");
}

Tensor support_vectors(const Site& site, int64_t count) {
    FloatList vectors = needed_numbers(site, "support_vectors");
    if (count < 1 || int64_t(vectors.size()) % count)
        invalid("it has ", counted(vectors.size(), "number"), " for ", counted(count, "support vector"));
    return float_table(vectors, count);
}

// Pairs of classes i < j, in the order in which a file has them.
struct Pairs {
    int64_t classes;
    int64_t count() const { return classes * (classes - 1) / 2; }
    template <class F>
    void each(const F& f) const {
        int64_t pair = 0;
        for (int64_t i = 0; i < classes; ++i)
            for (int64_t j = i + 1; j < classes; ++j) f(pair++, i, j);
    }
};

// The weight of each vector in the sum of each pair, (v, pairs). In the file's table (classes - 1, v) the
// vectors of a class have their weights against all other classes in order.
Tensor weights_of_pairs(const Pairs& pairs, const IntList& vectors_of, const FloatList& coefficients,
                        int64_t vectors) {
    IntList first(vectors_of.size(), 0);
    for (size_t i = 1; i < first.size(); ++i) first[i] = first[i - 1] + vectors_of[i - 1];
    Table weights(vectors, pairs.count());
    pairs.each([&](int64_t pair, int64_t i, int64_t j) {
        auto take = [&](int64_t own, int64_t row) {
            int64_t begin = first[size_t(own)], end = begin + vectors_of[size_t(own)];
            for (int64_t v = begin; v < end; ++v)
                weights.at(v, pair) = coefficients[size_t(row * vectors + v)];
        };
        take(i, j - 1);
        take(j, i);
    });
    return weights.tensor();
}

// The number of wins of each class: the first of a pair wins if the sum is positive.
Tensor votes_of(const Pairs& pairs, const Tensor& sums) {
    Table gained(pairs.count(), pairs.classes), lost(1, pairs.classes);
    pairs.each([&](int64_t pair, int64_t i, int64_t j) {
        gained.at(pair, i) = 1;
        gained.at(pair, j) = -1;
        lost.at(0, j) += 1;
    });
    Tensor wins = as_dtype(ops::greater(sums, number(sums, 0)), DType::f32);
    return ops::add(ops::matmul(wins, gained.tensor()), lost.tensor());
}

// Probability that a row is of class i and not j, (n, k, k), with zeros on the diagonal.
Tensor table_of_pairs(const Pairs& pairs, const Tensor& probability) {
    int64_t k = pairs.classes;
    Table given(pairs.count(), k * k), base(1, k * k);
    pairs.each([&](int64_t pair, int64_t i, int64_t j) {
        given.at(pair, i * k + j) = 1;
        given.at(pair, j * k + i) = -1;
        base.at(0, j * k + i) = 1;
    });
    Tensor flat = ops::add(ops::matmul(probability, given.tensor()), base.tensor());
    return ops::reshape(flat, {.shape = {-1, k, k}});
}

Tensor unit(int64_t k, int64_t place) {
    Table row(1, k);
    row.at(0, place) = 1;
    return row.tensor();
}

// One round over the classes (T.-F. Wu et al., "Probability estimates for multi-class classification by
// pairwise coupling", algorithm 2): each p is moved to the zero of the gradient, then all are scaled to a sum
// of 1.
Tensor improved(Tensor p, Tensor qp, Tensor pqp, const Tensor& q, int64_t k) {
    Tensor one = real(1);
    for (int64_t t = 0; t < k; ++t) {
        Tensor row = ops::reshape(cut(q, 1, t, t + 1), {.shape = {-1, k}});
        Tensor own = cut(row, 1, t, t + 1), at = cut(qp, 1, t, t + 1);
        Tensor way = ops::div(ops::sub(pqp, at), own), scale = ops::add(way, one);
        Tensor more = ops::mul(way, ops::add(ops::mul(way, own), ops::mul(at, real(2))));
        pqp = ops::div(ops::add(pqp, more), ops::square(scale));
        qp = ops::div(ops::add(qp, ops::mul(way, row)), scale);
        p = ops::div(ops::add(p, ops::mul(way, unit(k, t))), scale);
    }
    return p;
}

// Rounds until the gradients of every row are nearly equal; a row for which they are stays as it is.
Tensor coupled(const Site& site, const Tensor& r, int64_t k) {
    int64_t most_rounds = std::max<int64_t>(100, k);
    Tensor mirrored = ops::transpose(r, {.pattern = {0, 2, 1}});
    Table ones(k, k);
    for (int64_t i = 0; i < k; ++i) ones.at(i, i) = 1;
    Tensor diagonal = ops::sum(ops::square(mirrored), {.axes = {2}, .keepdims = true});
    Tensor q = ops::sub(ops::mul(diagonal, ones.tensor()), ops::mul(mirrored, r));
    Tensor none = ops::mul(ops::sum(r, {.axes = {1}}), real(0));
    Tensors operands{ops::add(none, real(1 / double(k))),
                     as_literal(scalar_tensor(1, DType::boolean, host_device)), q};
    Arguments arguments;
    for (auto& t : operands) arguments.add_like(t);
    Tensors captured;
    auto body = record_inner(site, arguments, captured, [&](std::span<const Tensor> in) -> Tensors {
        const Tensor &p = in[0], &q = in[2];
        Tensor qp = ops::remove_axis(ops::matmul(q, ops::add_axis(p, {.axes = {2}})), {.axes = {2}});
        Tensor pqp = ops::sum(ops::mul(p, qp), {.axes = {1}, .keepdims = true});
        Tensor error = ops::max(ops::abs(ops::sub(qp, pqp)), {.axes = {1}, .keepdims = true});
        Tensor should_continue = ops::greater_equal(error, real(0.005 / double(k)));
        Tensor rows = ops::sum(as_dtype(should_continue, DType::i32));
        return {ops::where(should_continue, improved(p, qp, pqp, q, k), p),
                as_scalar(ops::greater(rows, number(rows, 0)))};
    });
    auto condition = record_inner(site, arguments, captured,
                                  [&](std::span<const Tensor> in) -> Tensors { return {in[1]}; });
    operands.insert(operands.end(), captured.begin(), captured.end());
    return ops::while_loop(TensorList(operands), {.condition = with_inputs(condition.graph, operands),
                                                  .body = with_inputs(body.graph, operands),
                                                  .carried = 2,
                                                  .max_steps = most_rounds})[0];
}

// From the sums of pairs, by the logistic functions that were fitted to them.
Tensor probabilities(const Site& site, const Pairs& pairs, const Tensor& sums, const FloatList& a) {
    constexpr int64_t most_classes = 64;
    constexpr double least = 1e-7;
    if (pairs.classes > most_classes) unsupported("probabilities of ", pairs.classes, " classes");
    FloatList b = needed_numbers(site, "prob_b");
    if (int64_t(a.size()) != pairs.count() || b.size() != a.size())
        invalid("its prob_a and prob_b have ", a.size(), " and ", b.size(), " numbers for ",
                counted(pairs.count(), "pair"));
    Tensor score = ops::add(ops::mul(sums, float_table(a, 1)), float_table(b, 1));
    Tensor probability = ops::clip(ops::sigmoid(ops::neg(score)), {.lower = least, .upper = 1 - least});
    return coupled(site, table_of_pairs(pairs, probability), pairs.classes);
}

Tensors import_svm_regressor(const Site& site) {
    Tensor x = table_of(site.in(0));
    int64_t count = site.attributes.integer("n_supports", 0);
    FloatList coefficients = needed_numbers(site, "coefficients"), rho = needed_numbers(site, "rho");
    bool is_of_one_class = site.attributes.integer("one_class", 0);
    Tensor kernels = x;
    if (count) {
        kernels = compared(site, x, support_vectors(site, count));
        if (int64_t(coefficients.size()) != count)
            invalid("it has ", counted(coefficients.size(), "coefficient"), " for ",
                    counted(count, "support vector"));
    } else {
        site.attributes.word("kernel_type", "LINEAR");
        site.attributes.numbers("kernel_params");
    }
    Tensor y = ops::add(ops::matmul(kernels, float_table(coefficients, 1), {.transpose_b = true}),
                        number(x, rho[0]));
    if (is_of_one_class) y = ops::where(ops::greater(y, number(y, 0)), number(y, 1), number(y, -1));
    return {transformed(y, site.attributes.word("post_transform", "NONE"))};
}

// The class that wins most pairs, and the sums of all pairs, or probabilities of classes.
Tensors import_svm_classifier(const Site& site) {
    Classes classes = classes_of(site);
    auto vectors_of = site.attributes.integers("vectors_per_class");
    if (!vectors_of || vectors_of->empty()) unsupported("a classifier without support vectors");
    Pairs pairs{classes.count};
    int64_t vectors = 0;
    for (int64_t n : *vectors_of) {
        if (n < 0 || n > INT32_MAX) invalid("its vectors_per_class hold ", n);
        vectors += n;
    }
    FloatList coefficients = needed_numbers(site, "coefficients"), rho = needed_numbers(site, "rho");
    bool fits = classes.count > 1 && int64_t(vectors_of->size()) == classes.count &&
                int64_t(coefficients.size()) == (classes.count - 1) * vectors &&
                int64_t(rho.size()) == pairs.count();
    if (!fits)
        invalid("it has ", counted(coefficients.size(), "coefficient"), " and ",
                counted(rho.size(), "constant"), " for ", counted(classes.count, "class", "classes"),
                " with ", counted(vectors, "vector"));
    Tensor kernels = compared(site, table_of(site.in(0)), support_vectors(site, vectors));
    Tensor sums = ops::add(ops::matmul(kernels, weights_of_pairs(pairs, *vectors_of, coefficients, vectors)),
                           float_table(rho, 1));
    Tensor label = classes.best(votes_of(pairs, sums));
    std::string how = site.attributes.word("post_transform", "NONE");
    FloatList a = site.attributes.numbers("prob_a").value_or(FloatList());
    if (!a.empty()) return {label, transformed(probabilities(site, pairs, sums, a), how)};
    site.attributes.numbers("prob_b");
    if (classes.count > 2) return {label, transformed(sums, how)};
    return {label, transformed(joined_columns({ops::neg(sums), sums}), how)};
}

}  // namespace

ImportRows support_vectors_rows() {
    static constexpr ImportRow rows[] = {
        {"ai.onnx.ml.SVMClassifier", import_svm_classifier, 1, newest_learning},
        {"ai.onnx.ml.SVMRegressor", import_svm_regressor, 1, newest_learning},
    };
    return rows;
}

}  // namespace mge::onnx
