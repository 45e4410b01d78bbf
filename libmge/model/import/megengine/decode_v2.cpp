// SPDX-License-Identifier: Apache-2.0
// Version 2: the whole model is one size-prefixed flatbuffer; operators refer to their inputs and outputs by
// number.

#include <flatbuffers/flatbuffers.h>

#include "libmge/base/number_text.h"
#include "libmge/model/import/megengine/decode.h"
#include "megengine_v2_generated.h"

namespace mge::megengine {
namespace {

// The smallest size of an operator in a file and here.
constexpr size_t operator_bytes_v2 = 64;

class DecodeV2 : Decoding {
public:
    DecodeV2(std::span<const std::byte> bytes, const std::string& label)
        : Decoding(label, bytes.size()), file_(bytes) {}

    ModelRecord decode() {
        verify();
        record_.format = text("MegEngine V2, model version ", model_->model_version());
        record_.owner = file_.owner();
        read_names();
        auto* operators = model_->oprs();
        for (size_t i = 0; i < count(operators); ++i)
            read_operator(*operators->Get(flatbuffers::uoffset_t(i)), text("operator ", i));
        read_outputs();
        auto* m = model_->metadata();
        std::string_view info = m && m->user_info() ? name(m->user_info()) : std::string_view();
        record_.metadata = metadata(model_->mge_version(), m && m->is_valid(), m && m->graph_modified(),
                                    m ? m->optimize_options() : 0, info);
        return std::move(record_);
    }

private:
    void verify() {
        auto* data = reinterpret_cast<const uint8_t*>(file_.bytes().data());
        uint32_t size = 0;
        std::memcpy(&size, data, sizeof size);
        if (size > file_.bytes().size() - sizeof size)
            fail("its flatbuffer has ", counted(size, "byte"), ", but the file holds only ",
                 file_.bytes().size() - sizeof size, " (truncated?)");
        record_.bytes = sizeof size + size;
        flatbuffers::Verifier verifier(data, record_.bytes, max_depth, max_tables);
        if (!file::v2::VerifySizePrefixedModelBuffer(verifier)) fail("the flatbuffer is damaged");
        model_ = file::v2::GetSizePrefixedModel(data);
    }

    void read_names() {
        auto* values = model_->middle_tensors();
        for (size_t i = 0; i < count(values); ++i)
            record_.value_names.push_back(name(values->Get(flatbuffers::uoffset_t(i))->name()));
    }

    TensorRecord read_tensor(const file::v2::Tensor& tensor, const std::string& where) {
        TensorRecord record;
        record.name = name(tensor.name());
        record.dtype = file_dtype(tensor.dtype());
        record.shape = shape(tensor.shape(), where);
        record.is_plain = tensor.format_type() == file::v2::TensorFormat::NONE ||
                          tensor.format_type() == file::v2::TensorFormat::DefaultTensorFormat;
        if (auto* data = tensor.data()) {
            charge(data->size());
            record.has_data = true;
            record.data = std::as_bytes(std::span(data->data(), data->size()));
        }
        return record;
    }

    void read_operator(const file::v2::Operator& op, const std::string& where) {
        charge(operator_bytes_v2);
        OperatorRecord record;
        record.type = without_version(name(op.type()));
        if (record.type.empty()) fail(where, " has no type");
        record.name = name(op.name());
        record.param_type = op.param_type();
        record.param = op.param();
        record.inputs = numbers(op.inputs());
        record.outputs = numbers(op.outputs());
        record.output_dtype = op.output_dtype();
        auto* tensors = op.tensors();
        for (size_t i = 0; i < count(tensors); ++i)
            record.tensors.push_back(read_tensor(*tensors->Get(flatbuffers::uoffset_t(i)),
                                                 text(where, " (", record.type, "), tensor ", i)));
        record_.operators.push_back(std::move(record));
    }

    // Aliases, when there are any, replace the list of outputs; they go by the number a value had in the
    // writer.
    void read_outputs() {
        auto* outputs = model_->output_vars_idx();
        auto* aliases = model_->output_alias();
        std::map<uint32_t, uint32_t> compact;
        for (size_t i = 0; i < count(outputs); ++i) {
            auto* output = outputs->Get(flatbuffers::uoffset_t(i));
            compact.emplace(output->original_id(), output->compact_id());
            if (!count(aliases)) record_.outputs.push_back({output->compact_id(), {}});
        }
        for (size_t i = 0; i < count(aliases); ++i) {
            auto* alias = aliases->Get(flatbuffers::uoffset_t(i));
            auto found = compact.find(alias->id());
            if (found == compact.end()) fail("output alias ", i, " has no output");
            record_.outputs.push_back({found->second, name(alias->name())});
        }
    }

    AlignedBytes file_;
    const file::v2::Model* model_ = nullptr;
    ModelRecord record_;
};

}  // namespace

bool is_v2(std::span<const std::byte> bytes) {
    return bytes.size() >= 12 && std::memcmp(bytes.data() + 8, file::v2::ModelIdentifier(), 4) == 0;
}

ModelRecord decode_v2(std::span<const std::byte> bytes, const std::string& label) {
    return DecodeV2(bytes, label).decode();
}

}  // namespace mge::megengine
