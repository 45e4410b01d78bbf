// SPDX-License-Identifier: Apache-2.0
// Counts of given sequences of numbers or words in each row.

#include <algorithm>
#include <map>

#include "libmge/base/number_text.h"
#include "libmge/device/device.h"
#include "libmge/model/import/onnx/importer.h"
#include "libmge/model/import/onnx/parts.h"
#include "libmge/op/apply.h"
#include "libmge/ops/create/full.h"
#include "libmge/ops/elementwise/arithmetic.h"
#include "libmge/ops/elementwise/bits.h"
#include "libmge/ops/elementwise/comparison.h"
#include "libmge/ops/index/slice/slice_items.h"
#include "libmge/ops/index/take.h"
#include "libmge/ops/reduce/reduce.h"
#include "libmge/ops/shape/concat.h"
#include "libmge/ops/shape/reshape.h"

namespace mge::onnx {
namespace {

constexpr int64_t most_columns = 1 << 20, most_skipped = 1024, most_places = 1 << 24;

// Sequences of one length, and their numbers in the pool, which columns of the result and weights have too.
struct Grams {
    int64_t length = 0;
    std::map<IntList, size_t> numbers;
};

IntList needed(const Site& site, std::string_view name) {
    auto numbers = site.attributes.integers(name);
    if (!numbers || numbers->empty()) invalid("it has no ", name);
    return *numbers;
}

// For a sequence that the pool has twice, the last one counts.
std::vector<Grams> grams_of(const Site& site, size_t most) {
    int64_t shortest = site.attributes.integer("min_gram_length", 1);
    int64_t longest = site.attributes.integer("max_gram_length", 1);
    auto words = site.attributes.words("pool_strings");
    auto& texts = site.importer.texts();
    if (texts.has(site.in(0)) == words.empty())
        invalid("its pool and its input must both be text or both be numbers");
    IntList pool = words.empty() ? needed(site, "pool_int64s") : texts.numbers_of(words);
    IntList starts = needed(site, "ngram_counts");
    starts.push_back(int64_t(pool.size()));
    std::vector<Grams> result;
    size_t next = 0;
    for (size_t i = 0; i + 1 < starts.size(); ++i) {
        Grams grams{.length = int64_t(i) + 1};
        bool fits = 0 <= starts[i] && starts[i] <= starts[i + 1] && starts[i + 1] <= int64_t(pool.size());
        if (!fits)
            invalid("its pool of ", pool.size(), " elements has no range ", starts[i], " to ", starts[i + 1]);
        auto at = pool.begin() + starts[i], end = pool.begin() + starts[i + 1];
        for (; end - at >= grams.length; at += grams.length) {
            if (next >= most) invalid("it has more sequences than columns");
            grams.numbers[IntList(at, at + grams.length)] = next++;
        }
        bool is_wanted = grams.length >= shortest && grams.length <= longest;
        if (is_wanted && !grams.numbers.empty()) result.push_back(std::move(grams));
    }
    return result;
}

// In each row, (rows, sequences): neighbours are `step` apart.
Tensor occurrences(const Tensor& x, const Grams& grams, int64_t step) {
    Tensor is_there;
    for (int64_t i = 0; i < grams.length; ++i) {
        int64_t missing = (grams.length - 1 - i) * step;
        Tensor part = cut(x, 1, i * step, missing ? -missing : ops::absent_bound);
        IntList wanted;
        for (auto& [gram, number] : grams.numbers) wanted.push_back(gram[size_t(i)]);
        Tensor same = ops::equal(ops::add_axis(part, {.axes = {2}}), vector_of(wanted));
        is_there = is_there ? Tensor(ops::logical_and(is_there, same)) : same;
    }
    return ops::sum(as_float(is_there), {.axes = {1}});
}

// Moves counts to their columns; several may belong to one.
Tensor in_columns(const Tensor& counts, const IntList& columns, int64_t width) {
    std::vector<IntList> layers;
    std::vector<size_t> used(size_t(width), 0);
    for (size_t i = 0; i < columns.size(); ++i) {
        size_t layer = used[size_t(columns[i])]++;
        // The place after all counts contains 0.
        if (int64_t(layer) * width > most_places) unsupported(layer, " sequences of one column of ", width);
        if (layer == layers.size()) layers.emplace_back(size_t(width), int64_t(columns.size()));
        layers[layer][size_t(columns[i])] = int64_t(i);
    }
    Tensor nothing = ops::full(target_of({extent_of(counts, 0), 1}), {.dtype = DType::f32});
    Tensor all = ops::concat({counts, nothing}, {.axis = 1}), sum;
    for (auto& layer : layers) {
        Tensor part = ops::take({all, as_index(vector_of(layer))}, {.axes = {1}});
        sum = sum ? Tensor(ops::add(sum, part)) : part;
    }
    return sum;
}

// A weight for each of the sequences that are counted; null: all weigh the same.
Tensor weights_of(const Site& site, const std::vector<size_t>& numbers, size_t most) {
    FloatList weights = site.attributes.numbers("weights").value_or(FloatList());
    if (weights.empty()) return {};
    if (weights.size() != most)
        invalid("it has ", counted(weights.size(), "weight"), " for ", counted(most, "sequence"));
    std::vector<float> data;
    for (size_t number : numbers) data.push_back(float(weights[number]));
    auto count = int64_t(data.size());
    return as_literal(tensor_from_host({DType::f32, {count}, {}}, data.data(), host_device));
}

// The form of the counts according to the mode.
Tensor weighted(const Site& site, const Tensor& counts, const Tensor& weights) {
    std::string mode = site.attributes.word("mode", "");
    if (mode != "TF" && mode != "IDF" && mode != "TFIDF")
        invalid("its mode is '", mode, "', expected TF, IDF or TFIDF");
    Tensor y = mode == "IDF" ? as_float(ops::greater(counts, number(counts, 0))) : counts;
    return mode == "TF" || !weights ? y : Tensor(ops::mul(y, weights));
}

Tensors import_tf_idf_vectorizer(const Site& site) {
    IntList columns = needed(site, "ngram_indexes");
    int64_t last = std::ranges::max(columns), skipped = site.attributes.integer("max_skip_count", 0);
    if (std::ranges::min(columns) < 0) invalid("its ngram_indexes hold a number below 0");
    if (last >= most_columns) unsupported("column ", last);
    int64_t width = last + 1;
    if (skipped < 0 || skipped > most_skipped) unsupported("max_skip_count ", skipped);
    Tensor x = as_dtype(site.in(0), DType::i64);
    bool is_row = rank_of(x) == 1;
    if (is_row) x = ops::add_axis(x, {.axes = {0}});
    if (rank_of(x) != 2) invalid("its input has rank ", rank_of(x), ", expected 1 or 2");
    Tensors parts;
    std::vector<size_t> numbers;
    for (auto& grams : grams_of(site, columns.size())) {
        Tensor counts;
        // Single elements have no neighbours and are counted once.
        for (int64_t step = 1; step <= (grams.length == 1 ? 1 : skipped + 1); ++step) {
            Tensor part = occurrences(x, grams, step);
            counts = counts ? Tensor(ops::add(counts, part)) : part;
        }
        parts.push_back(counts);
        for (auto& [gram, number] : grams.numbers) numbers.push_back(number);
    }
    if (parts.empty()) unsupported("an empty pool");
    Tensor y = ops::concat(TensorList(parts), {.axis = 1});
    y = weighted(site, y, weights_of(site, numbers, columns.size()));
    IntList places;
    for (size_t number : numbers) places.push_back(columns[number]);
    y = in_columns(y, places, width);
    return {is_row ? Tensor(ops::reshape(y, {.shape = {-1}})) : y};
}

}  // namespace

ImportRows ngrams_rows() {
    static constexpr ImportRow rows[] = {
        {"TfIdfVectorizer", import_tf_idf_vectorizer, 9},
    };
    return rows;
}

}  // namespace mge::onnx
