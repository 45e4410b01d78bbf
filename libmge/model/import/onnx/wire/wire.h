// SPDX-License-Identifier: Apache-2.0
#pragma once
// Inspects the bytes of a protobuf message before it is parsed: the message determines how many objects it
// will become, and two bytes of a file may become hundreds in memory.

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace mge::onnx {

using Bytes = std::span<const std::byte>;

// One field of a message as stored in the file.
struct WireField {
    uint32_t number = 0, type = 0;
    uint64_t value = 0;  // for the types varint, fixed64 and fixed32
    Bytes content;       // for the type length_delimited
    Bytes whole;         // with its tag
};
enum WireType : uint32_t { varint = 0, fixed64 = 1, length_delimited = 2, fixed32 = 5 };

// The fields of a message one after the other. A malformed one ends the walk.
class WireReader {
public:
    explicit WireReader(Bytes bytes) : rest_(bytes) {}
    bool next(WireField& field);
    bool is_malformed() const { return is_malformed_; }

private:
    bool read_varint(uint64_t& value);
    bool take(size_t count, Bytes& taken);
    bool read(WireField& field);

    Bytes rest_;
    bool is_malformed_ = false;
};

// True if the bytes start like a ModelProto, which has no signature: the fields that every writer sets, with
// their types.
bool looks_like_model(Bytes bytes);

// Approximate memory of a parsed model. Nodes and weights of its main graph are parsed one after the other,
// so the largest of them counts.
struct WireCost {
    size_t kept = 0, largest = 0;
    bool is_well_formed = true;  // and not nested too deeply
};
WireCost cost_of_model(Bytes bytes);

// Fields of the main graph.
inline constexpr uint32_t graph_field = 7, node_field = 1, initializer_field = 5, value_info_field = 13;
// For a weight.
inline constexpr uint32_t raw_data_field = 9;

}  // namespace mge::onnx
