// SPDX-License-Identifier: Apache-2.0
#include "libmge/model/import/onnx/operators/sequences.h"

#include <algorithm>

#include "libmge/device/device.h"
#include "libmge/model/import/onnx/importer.h"
#include "libmge/model/import/onnx/parts.h"
#include "libmge/model/import/onnx/shapes/late_values.h"
#include "libmge/op/apply.h"
#include "libmge/ops/index/take.h"
#include "libmge/ops/shape/concat.h"
#include "libmge/ops/shape/reshape.h"

namespace mge::onnx {
namespace {

// More than any exporter writes out.
constexpr size_t most_items = 65'536;

const Sequence& any_sequence_in(const Site& site, size_t i) {
    auto* found = site.importer.sequences().find(site.in(i));
    if (found && found->is_optional && found->items.size() == 1)
        found = site.importer.sequences().find(found->items[0]);
    if (!found || found->is_optional) invalid("input ", i, " is not a sequence");
    return *found;
}

const Sequence& sequence_in(const Site& site, size_t i) {
    auto& found = any_sequence_in(site, i);
    if (found.elements) unsupported("a sequence of computed length");
    return found;
}

Tensor made(const Site& site, Tensors items) {
    if (items.size() > most_items) unsupported("a sequence of ", items.size(), " values");
    return site.importer.sequences().add({std::move(items), false});
}

// A position among `count` items, including the end for insertion; negative ones count from the end.
std::optional<size_t> known_place(const Site& site, size_t input, size_t count) {
    auto known = site.find_values(input);
    if (!known) return std::nullopt;
    int64_t given = only(*known, "a place"), place = given < 0 ? given + int64_t(count) : given;
    if (place < 0 || place >= int64_t(count))
        invalid("position ", given, " is out of range for a sequence of ", count);
    return size_t(place);
}

Tensor stacked(const Tensors& items, int axis) {
    Tensors parts;
    for (auto& item : items) parts.push_back(ops::add_axis(item, {.axes = {axis}}));
    return ops::concat(TensorList(parts), {.axis = axis});
}

// One per element; the given sizes; or one size for all but the last.
IntList split_sizes(const Site& site, int64_t extent) {
    int64_t size = 1;
    if (site.has(1)) {
        auto given = site.values(1, "the sizes of parts");
        for (int64_t n : given)
            if (n < 0 || n > extent) invalid("a part has size ", n, ", the axis has ", extent);
        if (rank_of(site.in(1))) return given;
        size = only(given, "the size of parts");
    }
    if (size < 1) invalid("its parts have size ", size, ", expected at least 1");
    if (extent / size > int64_t(most_items)) unsupported("a sequence of ", extent / size, " values");
    IntList sizes;
    for (int64_t rest = extent; rest > 0; rest -= size) sizes.push_back(std::min(rest, size));
    return sizes;
}

Tensors import_sequence_empty(const Site& site) {
    site.attributes.integer("dtype", 1);
    return {made(site, {})};
}

Tensors import_sequence_construct(const Site& site) {
    return {made(site, Tensors(site.inputs().begin(), site.inputs().end()))};
}

// Which one may be left to a run, where all are alike.
Tensors import_sequence_at(const Site& site) {
    auto& sequence = any_sequence_in(site, 0);
    if (sequence.elements) {
        Tensor place = ops::reshape(as_index(site.in(1)), {.shape = {}});
        Tensor found = ops::take({sequence.elements, place}, {.axes = {sequence.axis}});
        return {sequence.keeps_axis ? Tensor(ops::add_axis(found, {.axes = {sequence.axis}})) : found};
    }
    auto& items = sequence.items;
    if (items.empty()) invalid("its sequence is empty");
    if (auto place = known_place(site, 1, items.size())) return {items[*place]};
    bool are_alike = std::ranges::all_of(
        items, [&](const Tensor& item) { return item.shape().is_known() && item.spec() == items[0].spec(); });
    if (!are_alike) unsupported("a computed choice between values of different shapes");
    Tensor place = ops::reshape(as_index(site.in(1)), {.shape = {}});
    return {ops::take({stacked(items, 0), place}, {.axes = {0}})};
}

Tensors import_sequence_length(const Site& site) {
    auto& sequence = any_sequence_in(site, 0);
    if (sequence.elements) return {as_scalar(std::get<Tensor>(extent_of(sequence.elements, sequence.axis)))};
    auto length = int64_t(sequence.items.size());
    return {as_literal(tensor_from_host({DType::i64, {}, {}}, &length, host_device))};
}

Tensors import_sequence_insert(const Site& site) {
    Tensors items = sequence_in(site, 0).items;
    size_t place = items.size();
    if (site.has(2)) {
        auto known = site.find_values(2);
        if (!known || known->size() != 1) unsupported("a position that is computed");
        int64_t at = (*known)[0] < 0 ? (*known)[0] + int64_t(items.size()) : (*known)[0];
        if (at < 0 || at > int64_t(items.size()))
            invalid("position ", (*known)[0], " is out of range for a sequence of ", items.size());
        place = size_t(at);
    }
    items.insert(items.begin() + ptrdiff_t(place), site.in(1));
    return {made(site, std::move(items))};
}

Tensors import_sequence_erase(const Site& site) {
    Tensors items = sequence_in(site, 0).items;
    if (items.empty()) invalid("its sequence is empty");
    std::optional<size_t> place = items.size() - 1;
    if (site.has(1)) place = known_place(site, 1, items.size());
    if (!place) unsupported("a position that is computed");
    items.erase(items.begin() + ptrdiff_t(*place));
    return {made(site, std::move(items))};
}

Tensors import_split_to_sequence(const Site& site) {
    const Tensor& x = site.in(0);
    int axis = site.axis(site.attributes.integer("axis", 0), rank_of(x));
    bool are_late = site.has(1) && !site.find_values(1) && rank_of(site.in(1)) == 1;
    if (are_late) {
        int count = length_of(site.in(1), "a list of sizes");
        return {made(site, late_split(x, axis, site.in(1), size_t(count)))};
    }
    auto extent = find_extent(x, axis);
    bool are_single = !site.has(1) || (!rank_of(site.in(1)) && site.find_values(1) == IntList{1});
    // PyTorch writes the size 1 without its axis, and ONNX Runtime reads it so.
    bool keeps = site.attributes.integer("keepdims", 1) || !are_single;
    if (!extent && are_single) return {site.importer.sequences().add({{}, false, x, axis, keeps})};
    if (!extent) unsupported("a sequence of computed length");
    IntList sizes = split_sizes(site, *extent);
    if (sizes.size() > most_items) unsupported("a sequence of ", sizes.size(), " values");
    Tensors items;
    int64_t begin = 0;
    for (int64_t size : sizes) {
        items.push_back(keeps ? cut(x, axis, begin, begin + size) : element(x, axis, begin));
        begin += size;
    }
    if (begin != *extent) invalid("its parts have ", begin, " elements together, the axis has ", *extent);
    return {made(site, std::move(items))};
}

Tensors import_concat_from_sequence(const Site& site) {
    bool is_new = site.attributes.integer("new_axis", 0);
    if (auto& late = any_sequence_in(site, 0); late.elements) {
        Tensor all = late.elements;
        if (late.keeps_axis) all = ops::add_axis(all, {.axes = {late.axis + 1}});
        int axis = site.axis(site.attributes.integer("axis", 0), rank_of(all) - int(!is_new));
        all = moved_axis(all, late.axis, axis);
        return {is_new ? all : Tensor(ops::flatten(all, {.start = axis, .end = axis + 1}))};
    }
    auto& items = sequence_in(site, 0).items;
    if (items.empty()) invalid("its sequence is empty");
    int axis = site.axis(site.attributes.integer("axis", 0), rank_of(items[0]) + int(is_new));
    return {is_new ? stacked(items, axis) : ops::concat(TensorList(items), {.axis = axis})};
}

// The body for each item; arguments that are not sequences are the same for all.
Tensors import_sequence_map(const Site& site) {
    auto* body = site.attributes.graph("body");
    if (!body) invalid("it has no body");
    auto& sequences = site.importer.sequences();
    size_t count = sequence_in(site, 0).items.size();
    std::vector<Tensors> results(size_t(body->output_size()));
    for (size_t i = 0; i < count; ++i) {
        Tensors inputs;
        for (auto& input : site.inputs()) {
            auto* sequence = sequences.find(input);
            if (sequence && sequence->items.size() != count) invalid("its sequences differ in length");
            inputs.push_back(sequence ? sequence->items[i] : input);
        }
        Tensors outputs = site.importer.import_inner(*body, inputs);
        for (size_t k = 0; k < outputs.size(); ++k) {
            if (!outputs[k]) unsupported("an inner graph with unsupported nodes");
            results[k].push_back(outputs[k]);
        }
    }
    Tensors made_sequences;
    for (auto& items : results) made_sequences.push_back(made(site, std::move(items)));
    return made_sequences;
}

Tensors import_optional(const Site& site) {
    site.attributes.has("type");
    Tensors items;
    if (site.has(0)) items.push_back(site.in(0));
    return {site.importer.sequences().add({std::move(items), true})};
}

Tensors import_optional_has_element(const Site& site) {
    auto* found = site.has(0) ? site.importer.sequences().find(site.in(0)) : nullptr;
    bool has_element = site.has(0) && (!found || !found->is_optional || !found->items.empty());
    return {as_literal(scalar_tensor(has_element, DType::boolean, host_device))};
}

Tensors import_optional_get_element(const Site& site) {
    auto* found = site.importer.sequences().find(site.in(0));
    if (!found || !found->is_optional) return {site.in(0)};
    if (found->items.empty()) invalid("its input is empty");
    return {found->items[0]};
}

}  // namespace

ImportRows sequences_rows() {
    static constexpr ImportRow rows[] = {
        {"ConcatFromSequence", import_concat_from_sequence, 11, newest_opset, Takes::sequences},
        {"Optional", import_optional, 15, newest_opset, Takes::sequences},
        {"OptionalGetElement", import_optional_get_element, 15, newest_opset, Takes::sequences},
        {"OptionalHasElement", import_optional_has_element, 15, newest_opset, Takes::sequences},
        {"SequenceAt", import_sequence_at, 11, newest_opset, Takes::sequences},
        {"SequenceConstruct", import_sequence_construct, 11, newest_opset, Takes::sequences},
        {"SequenceEmpty", import_sequence_empty, 11, newest_opset, Takes::sequences},
        {"SequenceErase", import_sequence_erase, 11, newest_opset, Takes::sequences},
        {"SequenceInsert", import_sequence_insert, 11, newest_opset, Takes::sequences},
        {"SequenceLength", import_sequence_length, 11, newest_opset, Takes::sequences},
        {"SequenceMap", import_sequence_map, 17, newest_opset, Takes::sequences},
        {"SplitToSequence", import_split_to_sequence, 11, newest_opset, Takes::sequences},
    };
    return rows;
}

}  // namespace mge::onnx
