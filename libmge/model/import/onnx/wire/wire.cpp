// SPDX-License-Identifier: Apache-2.0
#include "libmge/model/import/onnx/wire/wire.h"

#include <algorithm>

namespace mge::onnx {
namespace {

// Protobuf itself gives up at a hundred messages inside of each other.
constexpr int deepest = 90;

// The messages that contain others: the relevant fields and their kinds.
enum class Kind : uint8_t {
    model,
    graph,
    node,
    attribute,
    tensor,
    sparse,
    function,
    value,
    type,
    shape,
    training,
    leaf,
    bytes
};
struct Held {
    Kind kind;
    uint32_t field;
    Kind held;
};
constexpr Held held_messages[] = {
    {Kind::model, 7, Kind::graph},         {Kind::model, 8, Kind::leaf},
    {Kind::model, 14, Kind::leaf},         {Kind::model, 20, Kind::training},
    {Kind::model, 25, Kind::function},     {Kind::model, 26, Kind::leaf},
    {Kind::graph, 1, Kind::node},          {Kind::graph, 5, Kind::tensor},
    {Kind::graph, 11, Kind::value},        {Kind::graph, 12, Kind::value},
    {Kind::graph, 13, Kind::value},        {Kind::graph, 14, Kind::leaf},
    {Kind::graph, 15, Kind::sparse},       {Kind::graph, 16, Kind::leaf},
    {Kind::node, 5, Kind::attribute},      {Kind::node, 9, Kind::leaf},
    {Kind::node, 10, Kind::leaf},          {Kind::attribute, 5, Kind::tensor},
    {Kind::attribute, 6, Kind::graph},     {Kind::attribute, 10, Kind::tensor},
    {Kind::attribute, 11, Kind::graph},    {Kind::attribute, 14, Kind::type},
    {Kind::attribute, 15, Kind::type},     {Kind::attribute, 22, Kind::sparse},
    {Kind::attribute, 23, Kind::sparse},   {Kind::tensor, 3, Kind::leaf},
    {Kind::tensor, 13, Kind::leaf},        {Kind::tensor, 16, Kind::leaf},
    {Kind::sparse, 1, Kind::tensor},       {Kind::sparse, 2, Kind::tensor},
    {Kind::function, 7, Kind::node},       {Kind::function, 9, Kind::leaf},
    {Kind::function, 11, Kind::attribute}, {Kind::function, 12, Kind::value},
    {Kind::function, 14, Kind::leaf},      {Kind::value, 2, Kind::type},
    {Kind::value, 4, Kind::leaf},          {Kind::type, 1, Kind::type},
    {Kind::type, 2, Kind::shape},          {Kind::type, 4, Kind::type},
    {Kind::type, 5, Kind::type},           {Kind::type, 8, Kind::type},
    {Kind::type, 9, Kind::type},           {Kind::shape, 1, Kind::leaf},
    {Kind::training, 1, Kind::graph},      {Kind::training, 2, Kind::graph},
    {Kind::training, 3, Kind::leaf},       {Kind::training, 4, Kind::leaf},
};
// Approximate sizes of an object of the generated code with the pointer to it, and of a text.
constexpr size_t object_size = 192, text_size = 48;

Kind held_by(Kind kind, uint32_t field) {
    auto* found = std::ranges::find_if(held_messages,
                                       [&](const Held& h) { return h.kind == kind && h.field == field; });
    return found == std::end(held_messages) ? Kind::bytes : found->held;
}

class CostOfMessages {
public:
    // The cost of one message with its contents.
    size_t operator()(Kind kind, Bytes bytes, int depth) {
        is_well_formed_ &= depth < deepest;
        size_t cost = object_size;
        WireReader reader(bytes);
        for (WireField field; is_well_formed_ && reader.next(field);) cost += of_field(kind, field, depth);
        is_well_formed_ &= !reader.is_malformed();
        return cost;
    }
    size_t of_field(Kind kind, const WireField& field, int depth) {
        if (field.type != length_delimited) return sizeof(uint64_t);
        Kind held = held_by(kind, field.number);
        if (held != Kind::bytes) return (*this)(held, field.content, depth + 1);
        // Numbers that are packed have one byte in the file and eight in memory.
        bool is_packed = kind == Kind::tensor && field.number != raw_data_field;
        return text_size + field.content.size() * (is_packed ? sizeof(uint64_t) : 1);
    }
    // The bytes of a weight are not copied.
    size_t of_weight(Bytes bytes, int depth) {
        size_t cost = object_size;
        WireReader reader(bytes);
        for (WireField field; is_well_formed_ && reader.next(field);)
            if (field.number != raw_data_field) cost += of_field(Kind::tensor, field, depth);
        is_well_formed_ &= !reader.is_malformed();
        return cost;
    }
    bool is_well_formed() const { return is_well_formed_; }

private:
    bool is_well_formed_ = true;
};

}  // namespace

bool WireReader::read_varint(uint64_t& value) {
    value = 0;
    for (int shift = 0; shift < 64; shift += 7) {
        if (rest_.empty()) return false;
        auto byte = uint64_t(rest_[0]);
        rest_ = rest_.subspan(1);
        value |= (byte & 0x7f) << shift;
        if (byte < 0x80) return true;
    }
    return false;
}

bool WireReader::take(size_t count, Bytes& taken) {
    if (count > rest_.size()) return false;
    taken = rest_.first(count);
    rest_ = rest_.subspan(count);
    return true;
}

bool WireReader::read(WireField& field) {
    uint64_t tag = 0;
    Bytes from = rest_, number;
    if (!read_varint(tag) || tag >> 32 || tag < 8) return false;
    field = {uint32_t(tag >> 3), uint32_t(tag & 7), 0, {}, {}};
    bool is_read = false;
    switch (field.type) {
        case varint:
            is_read = read_varint(field.value);
            break;
        case fixed64:
        case fixed32:
            is_read = take(field.type == fixed64 ? 8 : 4, number);
            break;
        case length_delimited:
            is_read = read_varint(field.value) && field.value <= rest_.size() &&
                      take(size_t(field.value), field.content);
            break;
        default:  // groups, which are obsolete
            break;
    }
    field.whole = from.first(from.size() - rest_.size());
    return is_read;
}

bool WireReader::next(WireField& field) {
    if (rest_.empty() || is_malformed_) return false;
    is_malformed_ = !read(field);
    return !is_malformed_;
}

bool looks_like_model(Bytes bytes) {
    // ir_version, producer, domain, version and text come before the graph if a writer follows the order of
    // the numbers; the graph or the operator sets determine the rest.
    constexpr uint32_t types[] = {varint, length_delimited, length_delimited, length_delimited,
                                  varint, length_delimited, length_delimited, length_delimited};
    WireReader reader(bytes);
    WireField field;
    while (reader.next(field)) {
        if (field.number > std::size(types) || field.type != types[field.number - 1]) return false;
        if (field.number == 1 && (field.value < 1 || field.value > 64)) return false;
        if (field.number < 7) continue;
        // The first fields of a graph or an operator set.
        WireReader inner(field.content);
        WireField first;
        return field.content.empty() || inner.next(first);
    }
    return false;
}

WireCost cost_of_model(Bytes bytes) {
    CostOfMessages cost_of;
    WireCost cost{2 * object_size, 0, true};
    auto add_graph = [&](Bytes graph) {
        WireReader reader(graph);
        for (WireField field; cost_of.is_well_formed() && reader.next(field);) {
            bool is_message = field.type == length_delimited;
            if (is_message && field.number == node_field)
                cost.largest = std::max(cost.largest, cost_of(Kind::node, field.content, 2));
            else if (is_message && field.number == initializer_field)
                cost.largest = std::max(cost.largest, cost_of.of_weight(field.content, 2));
            else if (size_t own = cost_of.of_field(Kind::graph, field, 1); field.number != value_info_field)
                cost.kept += own;
        }
        return !reader.is_malformed();
    };
    WireReader reader(bytes);
    for (WireField field; cost.is_well_formed && reader.next(field);) {
        if (field.number == graph_field && field.type == length_delimited)
            cost.is_well_formed = add_graph(field.content);
        else
            cost.kept += cost_of.of_field(Kind::model, field, 0);
        cost.is_well_formed &= cost_of.is_well_formed();
    }
    cost.is_well_formed &= !reader.is_malformed();
    return cost;
}

}  // namespace mge::onnx
