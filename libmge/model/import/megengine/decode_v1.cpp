// SPDX-License-Identifier: Apache-2.0
// Version 1 ("FBS"): a short header, the values of all tensors one after another, then a flatbuffer with the
// graph. Operators go by a hash of their name, and values by the order in which operators make them.

#include <flatbuffers/flatbuffers.h>
#include <xxhash.h>

#include <charconv>
#include <unordered_map>

#include "libmge/base/number_text.h"
#include "libmge/model/import/megengine/decode.h"
#include "libmge/model/import/megengine/operators.h"
#include "megengine_v1_generated.h"

namespace mge::megengine {
namespace {

constexpr uint32_t magic = 0x4342474d, compatible_magic = 0x5342474d;  // "MGBC", "MGBS"
constexpr uint64_t type_seed = 20160701;
constexpr int highest_suffix = 5;
constexpr size_t operator_bytes_v1 = 48;

std::string hexadecimal(uint64_t value) {
    char digits[16];
    return {digits, std::to_chars(digits, std::end(digits), value, 16).ptr};
}

uint64_t type_hash(const std::string& name) {
    uint64_t hash = XXH64(name.data(), name.size(), type_seed);
    return hash ? hash : 1;
}

// By hash of the name with its version and the terminating zero; older files omit both.
const std::unordered_map<uint64_t, std::string>& types_by_hash() {
    static const auto types = [] {
        std::unordered_map<uint64_t, std::string> map;
        for (auto known : known_types()) {
            std::string name(known);
            map.emplace(type_hash(name), name);
            map.emplace(type_hash(name + '\0'), name);
            for (int i = 0; i <= highest_suffix; ++i) map.emplace(type_hash(text(name, 'V', i) + '\0'), name);
        }
        return map;
    }();
    return types;
}

uint32_t read_u32(std::span<const std::byte> bytes, size_t at) {
    uint32_t value;
    std::memcpy(&value, bytes.data() + at, sizeof value);
    return value;
}

bool is_known(std::string_view type) {
    return find_operator(type) || type == input_type || type == assert_type;
}

class DecodeV1 : Decoding {
public:
    DecodeV1(std::span<const std::byte> bytes, const std::string& label)
        : Decoding(label, bytes.size()), bytes_(bytes) {}

    ModelRecord decode() {
        AlignedBytes graph_bytes = find_graph();
        verify(graph_bytes);
        record_.format = "MegEngine V1";
        record_.owner = graph_bytes.owner();
        auto* operators = graph_->oprs();
        for (size_t i = 0; i < count(operators); ++i)
            read_operator(*operators->Get(flatbuffers::uoffset_t(i)), text("operator ", i));
        auto* outputs = graph_->output_vars_idx();
        for (size_t i = 0; i < count(outputs); ++i)
            record_.outputs.push_back({outputs->Get(flatbuffers::uoffset_t(i))->compact_id(), {}});
        auto* m = graph_->metadata();
        std::string_view info = m && m->user_info() ? name(m->user_info()) : std::string_view();
        record_.metadata = metadata(graph_->mgb_version(), m && m->is_valid(), m && m->graph_modified(),
                                    m ? m->optimize_options() : 0, info);
        return std::move(record_);
    }

private:
    AlignedBytes find_graph() {
        size_t header = read_u32(bytes_, 0) == magic ? 24 : 16;
        if (bytes_.size() < header + sizeof(uint32_t))
            fail("it has ", counted(bytes_.size(), "byte"), ", fewer than its header");
        uint64_t offset;
        std::memcpy(&offset, bytes_.data() + header - sizeof offset, sizeof offset);
        if (offset > bytes_.size() - header - sizeof(uint32_t))
            fail("its graph is at ", offset, ", beyond its ", counted(bytes_.size(), "byte"),
                 " (truncated?)");
        values_ = bytes_.subspan(header, offset);
        graph_at_ = header + offset;
        return AlignedBytes(bytes_.subspan(graph_at_));
    }

    void verify(const AlignedBytes& graph) {
        uint32_t size = read_u32(graph.bytes(), 0);
        if (size > graph.bytes().size() - sizeof size)
            fail("its graph has ", counted(size, "byte"), ", but the file holds only ",
                 graph.bytes().size() - sizeof size, " (truncated?)");
        record_.bytes = graph_at_ + sizeof size + size;
        auto* data = reinterpret_cast<const uint8_t*>(graph.bytes().data());
        flatbuffers::Verifier verifier(data, sizeof size + size, max_depth, max_tables);
        if (!file::v1::VerifySizePrefixedGraphBuffer(verifier)) fail("the graph is damaged");
        graph_ = file::v1::GetSizePrefixedGraph(data);
    }

    // The next bytes of the area before the graph.
    std::span<const std::byte> next_value(uint32_t skip, uint32_t size, const std::string& where) {
        size_t left = values_.size() - position_;
        if (skip > left || size > left - skip)
            fail(where, ": its value is stored beyond the end of the file");
        position_ += skip;
        auto value = values_.subspan(position_, size);
        position_ += size;
        return value;
    }

    TensorRecord read_tensor(const file::v1::Tensor& tensor, const std::string& where) {
        TensorRecord record;
        record.name = name(tensor.name());
        record.dtype = file_dtype(tensor.dtype());
        record.shape = shape(tensor.shape(), where);
        if (tensor.data_size()) {
            record.has_data = true;
            record.data = next_value(tensor.offset(), tensor.data_size(), where);
        }
        return record;
    }

    void read_operator(const file::v1::Operator& op, const std::string& where) {
        charge(operator_bytes_v1);
        OperatorRecord record;
        auto type = types_by_hash().find(op.type_id());
        record.type =
            type != types_by_hash().end() ? type->second : text("unknown type 0x", hexadecimal(op.type_id()));
        record.name = name(op.name());
        record.param_type = op.param_type();
        record.param = op.param();
        record.inputs = numbers(op.inputs());
        record.output_dtype = op.output_dtype();
        auto* tensors = op.tensors();
        for (size_t i = 0; i < count(tensors); ++i)
            record.tensors.push_back(read_tensor(*tensors->Get(flatbuffers::uoffset_t(i)),
                                                 text(where, " (", record.type, "), tensor ", i)));
        auto* names = op.output_name();
        size_t outputs = stored_outputs(record);
        record_.values_are_certain = record_.values_are_certain && is_known(record.type);
        charge(outputs * sizeof(uint32_t));
        for (size_t i = 0; i < outputs; ++i) {
            record.outputs.push_back(uint32_t(record_.value_names.size()));
            record_.value_names.push_back(i < count(names) ? name(names->Get(flatbuffers::uoffset_t(i)))
                                                           : std::string_view());
        }
        record_.operators.push_back(std::move(record));
    }

    std::span<const std::byte> bytes_, values_;
    size_t position_ = 0, graph_at_ = 0;
    const file::v1::Graph* graph_ = nullptr;
    ModelRecord record_;
};

}  // namespace

bool is_v1(std::span<const std::byte> bytes) {
    if (bytes.size() < 16) return false;
    uint32_t first = read_u32(bytes, 0);
    return (first == magic || first == compatible_magic) && read_u32(bytes, 4) == 0;
}

ModelRecord decode_v1(std::span<const std::byte> bytes, const std::string& label) {
    return DecodeV1(bytes, label).decode();
}

}  // namespace mge::megengine
