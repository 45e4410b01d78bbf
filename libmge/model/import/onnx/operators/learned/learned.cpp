// SPDX-License-Identifier: Apache-2.0
// Operators of classical learning on tables: rows are examples, columns features.

#include "libmge/model/import/onnx/operators/learned/learned.h"

#include <algorithm>
#include <cmath>

#include "libmge/base/number_text.h"
#include "libmge/model/import/onnx/importer.h"
#include "libmge/model/import/onnx/parts.h"
#include "libmge/op/apply.h"
#include "libmge/ops/effect/assert_equal.h"
#include "libmge/ops/elementwise/activation.h"
#include "libmge/ops/elementwise/arithmetic.h"
#include "libmge/ops/elementwise/bits.h"
#include "libmge/ops/elementwise/comparison.h"
#include "libmge/ops/elementwise/exponential.h"
#include "libmge/ops/elementwise/trigonometric.h"
#include "libmge/ops/elementwise/where.h"
#include "libmge/ops/index/take.h"
#include "libmge/ops/linalg/matmul.h"
#include "libmge/ops/nn/softmax.h"
#include "libmge/ops/reduce/arg_extreme.h"
#include "libmge/ops/reduce/reduce.h"
#include "libmge/ops/shape/concat.h"
#include "libmge/ops/shape/reshape.h"
#include "libmge/tensor/dtype_dispatch.h"

namespace mge::onnx {
namespace {

Tensor weighted(const Site& site, const Tensor& x, int64_t rows) {
    FloatList coefficients = site.attributes.numbers("coefficients").value_or(FloatList());
    if (rows < 1 || coefficients.empty() || int64_t(coefficients.size()) % rows)
        invalid("it has ", counted(coefficients.size(), "coefficient"), " for ", counted(rows, "result"));
    Tensor y = ops::matmul(x, float_table(coefficients, rows), {.transpose_b = true});
    return with_base(y, site.attributes.numbers("intercepts").value_or(FloatList()));
}

// Compares each number with a list of keys: a table of (…, keys) truth values.
Tensor is_key(const Tensor& x, const Tensor& keys) {
    Tensor column = ops::add_axis(x, {.axes = {rank_of(x)}});
    Tensor same = ops::equal(column, keys);
    if (!is_float(keys.dtype())) return same;
    return ops::logical_or(same, ops::logical_and(ops::isnan(column), ops::isnan(keys)));
}

// Keys or values of a LabelEncoder.
Tensor encoded(const Site& site, const std::string& what) {
    auto& texts = site.importer.texts();
    if (auto whole = site.attributes.integers(what + "_int64s")) return vector_of(*whole);
    if (auto floats = site.attributes.numbers(what + "_floats")) return float_table(*floats, 0);
    if (auto* tensor = site.attributes.tensor(what + "_tensor"))
        return as_literal(site.importer.constant_of(*tensor));
    auto words = site.attributes.words(what + "_strings");
    if (words.empty()) invalid("it has no ", what);
    return texts.mark(vector_of(texts.numbers_of(words)));
}

Tensor otherwise_of(const Site& site, DType dtype, bool is_text) {
    auto& texts = site.importer.texts();
    auto word = site.attributes.word("default_string", "_Unused");
    auto whole = site.attributes.value("default_int64", -1);
    auto number_of = site.attributes.number("default_float", -0.0);
    if (auto* tensor = site.attributes.tensor("default_tensor"))
        return ops::reshape(site.importer.constant_of(*tensor), {.shape = {}});
    if (is_text) whole = texts.number_of(word);
    return as_literal(scalar_tensor(is_float(dtype) ? number_of : double(whole), dtype, host_device));
}

Tensors import_linear_regressor(const Site& site) {
    Tensor y = weighted(site, table_of(site.in(0)), site.attributes.integer("targets", 1));
    return {transformed(y, site.attributes.word("post_transform", "NONE"))};
}

Tensors import_linear_classifier(const Site& site) {
    Classes classes = classes_of(site);
    site.attributes.integer("multi_class", 0);
    auto intercepts = site.attributes.numbers("intercepts");
    if (intercepts && int64_t(intercepts->size()) != classes.count)
        unsupported(counted(intercepts->size(), "score"), " for ",
                    counted(classes.count, "class", "classes"));
    Tensor scores = weighted(site, table_of(site.in(0)), classes.count);
    return {classes.best(scores), transformed(scores, site.attributes.word("post_transform", "NONE"))};
}

Tensors import_scaler(const Site& site) {
    Tensor x = as_dtype(site.in(0), DType::f32);
    FloatList offset = needed_numbers(site, "offset"), scale = needed_numbers(site, "scale");
    return {ops::mul(ops::sub(x, float_table(offset, 0)), float_table(scale, 0))};
}

Tensors import_normalizer(const Site& site) {
    Tensor x = table_of(site.in(0));
    std::string how = site.attributes.word("norm", "MAX");
    ops::ReduceParams p{{-1}, true};
    Tensor norm;
    if (how == "MAX")
        norm = ops::max(x, p);
    else if (how == "L1")
        norm = ops::sum(ops::abs(x), p);
    else if (how == "L2")
        norm = ops::sqrt(ops::sum(ops::mul(x, x), p));
    else
        unsupported("the norm '", how, "'");
    return {ops::div(x, ops::where(ops::equal(norm, number(norm, 0)), number(norm, 1), norm))};
}

Tensors import_binarizer(const Site& site) {
    const Tensor& x = site.in(0);
    return {as_dtype(ops::greater(x, number(x, site.attributes.number("threshold", 0))), x.dtype())};
}

Tensors import_imputer(const Site& site) {
    const Tensor& x = site.in(0);
    if (is_float(x.dtype())) {
        double missing = site.attributes.number("replaced_value_float", 0);
        Tensor values = as_dtype(float_table(needed_numbers(site, "imputed_value_floats"), 0), x.dtype());
        Tensor is_missing = std::isnan(missing) ? ops::isnan(x) : ops::equal(x, number(x, missing));
        return {ops::where(is_missing, values, x)};
    }
    auto values = site.attributes.integers("imputed_value_int64s");
    if (!values || values->empty()) invalid("it has no imputed values");
    Tensor is_missing = ops::equal(x, number(x, double(site.attributes.value("replaced_value_int64", 0))));
    return {ops::where(is_missing, as_dtype(vector_of(*values), x.dtype()), x)};
}

Tensors import_feature_vectorizer(const Site& site) {
    site.attributes.integers("inputdimensions");
    Tensors parts;
    for (size_t i = 0; i < site.size(); ++i) parts.push_back(table_of(site.in(i)));
    return {joined_columns(parts)};
}

Tensors import_array_feature_extractor(const Site& site) {
    Tensor x = rank_of(site.in(0)) == 1 ? ops::reshape(site.in(0), {.shape = {1, -1}}) : site.in(0);
    Tensor places = ops::reshape(as_index(site.in(1)), {.shape = {-1}});
    return {ops::take({x, places}, {.axes = {rank_of(x) - 1}})};
}

Tensors import_one_hot_encoder(const Site& site) {
    auto& texts = site.importer.texts();
    auto categories = site.attributes.integers("cats_int64s");
    bool are_texts = !categories;
    if (are_texts) categories = texts.numbers_of(site.attributes.words("cats_strings"));
    if (categories->empty()) invalid("it has no categories");
    if (are_texts != texts.has(site.in(0)))
        invalid(are_texts ? "its categories are text, its input is numbers"
                          : "its categories are numbers, its input is text");
    Tensor x = is_float(site.in(0).dtype()) ? site.in(0) : as_dtype(site.in(0), DType::i64);
    Tensor y = as_dtype(is_key(x, as_dtype(vector_of(*categories), x.dtype())), DType::f32);
    // A value that is not a key ends the run.
    if (!site.attributes.integer("zeros", 1)) {
        Tensor count = ops::sum(y, {.axes = {-1}});
        ops::assert_equal(ops::maximum(count, number(count, 1)), count, {.max_error = 0});
    }
    return {y};
}

Tensors import_label_encoder(const Site& site) {
    auto& texts = site.importer.texts();
    Tensor keys = encoded(site, "keys"), values = encoded(site, "values");
    if (texts.has(keys) != texts.has(site.in(0)))
        invalid(texts.has(keys) ? "its keys are text, its input is numbers"
                                : "its keys are numbers, its input is text");
    if (keys.spec().numel() != values.spec().numel())
        invalid("it has ", counted(keys.spec().numel(), "key"), " for ",
                counted(values.spec().numel(), "value"));
    Tensor otherwise = otherwise_of(site, values.dtype(), texts.has(values));
    Tensor is_found = is_key(as_dtype(site.in(0), keys.dtype()), keys);
    // The first key that fits, or the number of keys.
    int last = rank_of(is_found) - 1;
    Tensor place = ops::argmax(as_dtype(is_found, DType::i32), {.axis = last});
    Tensor is_any =
        ops::greater(ops::sum(as_dtype(is_found, DType::i32), {.axes = {last}}), number(place, 0));
    Tensor found = ops::take({ops::reshape(values, {.shape = {-1}}), place}, {.axes = {0}});
    Tensor y = ops::where(is_any, found, otherwise);
    return {texts.has(values) ? texts.mark(y) : y};
}

// Other engines return a list of dictionaries by class label; here it stays a matrix with one column per
// class.
Tensors import_zip_map(const Site& site) {
    auto whole = site.attributes.integers("classlabels_int64s").value_or(IntList());
    size_t labels = std::max(whole.size(), site.attributes.words("classlabels_strings").size());
    auto columns = find_extent(site.in(0), site.rank(0) - 1);
    if (!labels || (columns && *columns != int64_t(labels)))
        invalid("it has ", counted(labels, "label"), " for scores of shape ", site.in(0).shape());
    return {site.in(0)};
}

}  // namespace

Tensor table_of(const Tensor& x) {
    Tensor table = as_dtype(x, DType::f32);
    return rank_of(table) == 1 ? ops::reshape(table, {.shape = {1, -1}}) : table;
}

FloatList needed_numbers(const Site& site, std::string_view name) {
    auto numbers = site.attributes.numbers(name);
    if (!numbers || numbers->empty()) invalid("it has no ", name);
    return *numbers;
}

FloatList tensor_numbers(const Site& site, const std::string& name) {
    auto* tensor = site.attributes.tensor(name);
    if (!tensor) return {};
    FloatList numbers;
    Tensor value = tensor_of(*tensor, site.importer.external_files());
    if (value.dtype() == DType::boolean || is_narrow(value.dtype()))
        invalid("its attribute '", name, "' has dtype ", value.dtype());
    dispatch_dtype(value.dtype(), NumberTypes{}, [&]<class T>(std::type_identity<T>) {
        for (int64_t i = 0; i < value.spec().numel(); ++i) numbers.push_back(double(value.data<T>()[i]));
    });
    return numbers;
}

FloatList numbers_or_tensor(const Site& site, const std::string& name) {
    if (site.attributes.has(name + "_as_tensor")) return tensor_numbers(site, name + "_as_tensor");
    return site.attributes.numbers(name).value_or(FloatList());
}

Tensor float_table(const FloatList& numbers, int64_t rows, DType dtype) {
    auto count = int64_t(numbers.size());
    Shape shape = rows ? Shape{rows, count / rows} : Shape{count};
    std::vector<float> narrow(numbers.begin(), numbers.end());
    const void* data = dtype == DType::f64 ? static_cast<const void*>(numbers.data()) : narrow.data();
    return as_literal(tensor_from_host({dtype, shape, {}}, data, host_device));
}

Tensor with_base(const Tensor& scores, const FloatList& base) {
    return base.empty() ? scores : ops::add(scores, float_table(base, 0));
}

Tensor transformed(const Tensor& scores, std::string_view how) {
    if (how == "NONE") return scores;
    if (how == "SOFTMAX") return ops::softmax(scores, {.axis = -1});
    if (how == "LOGISTIC") return ops::sigmoid(scores);
    unsupported("post_transform '", how, "'");
}

Tensor joined_columns(const Tensors& parts) { return ops::concat(TensorList(parts), {.axis = 1}); }

Tensor Classes::at(const Tensor& places) const {
    Tensor found = ops::take({vector_of(labels), places}, {.axes = {0}});
    return texts ? texts->mark(found) : found;
}

Tensor Classes::best(const Tensor& scores) const { return at(ops::argmax(scores, {.axis = 1})); }

Classes classes_of(const Site& site) {
    if (auto names = site.attributes.words("classlabels_strings"); !names.empty()) {
        auto& texts = site.importer.texts();
        return {int64_t(names.size()), texts.numbers_of(names), &texts};
    }
    auto labels = site.attributes.integers("classlabels_int64s");
    if (!labels) labels = site.attributes.integers("classlabels_ints");
    if (!labels || labels->empty()) invalid("it has no class labels");
    return {int64_t(labels->size()), *labels};
}

ImportRows learned_rows() {
    static constexpr ImportRow rows[] = {
        {"ai.onnx.ml.ArrayFeatureExtractor", import_array_feature_extractor, 1, newest_learning},
        {"ai.onnx.ml.Binarizer", import_binarizer, 1, newest_learning},
        {"ai.onnx.ml.FeatureVectorizer", import_feature_vectorizer, 1, newest_learning},
        {"ai.onnx.ml.Imputer", import_imputer, 1, newest_learning},
        {"ai.onnx.ml.LabelEncoder", import_label_encoder, 2, newest_learning},
        {"ai.onnx.ml.LinearClassifier", import_linear_classifier, 1, newest_learning},
        {"ai.onnx.ml.LinearRegressor", import_linear_regressor, 1, newest_learning},
        {"ai.onnx.ml.Normalizer", import_normalizer, 1, newest_learning},
        {"ai.onnx.ml.OneHotEncoder", import_one_hot_encoder, 1, newest_learning},
        {"ai.onnx.ml.Scaler", import_scaler, 1, newest_learning},
        {"ai.onnx.ml.ZipMap", import_zip_map, 1, newest_learning},
    };
    return rows;
}

}  // namespace mge::onnx
