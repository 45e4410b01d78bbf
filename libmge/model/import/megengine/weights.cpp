// SPDX-License-Identifier: Apache-2.0
#include "libmge/model/import/megengine/weights.h"

#include <cstring>
#include <functional>
#include <optional>

#include "libmge/base/error.h"
#include "libmge/base/files/file_limit.h"
#include "libmge/base/number_text.h"

namespace mge::megengine {
namespace {

enum Form : uint8_t { plain, bytes, words };
constexpr size_t form_bytes = 1, range_bytes = 2 * sizeof(float);

TensorSpec spec_of(const TensorRecord& tensor) { return {tensor.dtype.dtype, tensor.shape, {}}; }

// Size of a compressed value in the form given by its first byte; nullopt if its dtype has no such form.
std::optional<size_t> compressed_bytes(const TensorRecord& tensor) {
    if (tensor.data.empty()) return {};
    size_t elements = size_t(tensor.shape.numel());
    switch (auto form = Form(tensor.data[0]); form) {
        case plain:
            return form_bytes + spec_of(tensor).bytes();
        case bytes:
        case words:
            if (tensor.dtype.dtype == DType::f32) return form_bytes + range_bytes + form * elements;
    }
    return {};
}

bool is_uncompressed(const TensorRecord& tensor) { return tensor.data.size() == spec_of(tensor).bytes(); }
bool is_compressed(const TensorRecord& tensor) { return tensor.data.size() == compressed_bytes(tensor); }

using Visit =
    std::function<void(TensorRecord& tensor, const OperatorRecord& op, size_t op_index, size_t index)>;

// Every tensor of known size.
void for_each_tensor(ModelRecord& record, const Visit& visit) {
    for (size_t i = 0; i < record.operators.size(); ++i) {
        auto& op = record.operators[i];
        for (size_t k = 0; k < op.tensors.size(); ++k) {
            auto& tensor = op.tensors[k];
            if (tensor.has_data && tensor.dtype.dtype != DType::none && tensor.is_plain)
                visit(tensor, op, i, k);
        }
    }
}

template <class Q>
void expand(std::span<const std::byte> data, std::vector<float>& result) {
    float range[2];
    std::memcpy(range, data.data() + form_bytes, range_bytes);
    auto codes = data.subspan(form_bytes + range_bytes);
    for (size_t i = 0; i < result.size(); ++i) {
        Q q;
        std::memcpy(&q, codes.data() + i * sizeof q, sizeof q);
        result[i] = range[0] * float(q) + range[1];
    }
}

// Owners of the record's data: the bytes from which it was decoded, and expanded weights.
struct Owned {
    std::shared_ptr<const void> decoded;
    std::vector<std::vector<float>> weights;
};

void decompress(TensorRecord& tensor, Owned& owned, FileBudget& budget) {
    auto form = Form(tensor.data[0]);
    if (form == plain) {
        tensor.data = tensor.data.subspan(form_bytes);
        return;
    }
    budget.take(spec_of(tensor).bytes());
    auto& weights = owned.weights.emplace_back(size_t(tensor.shape.numel()));
    form == bytes ? expand<uint8_t>(tensor.data, weights) : expand<uint16_t>(tensor.data, weights);
    tensor.data = std::as_bytes(std::span(weights));
}

}  // namespace

void check_weights(ModelRecord& record, bool is_flagged, const std::string& label) {
    bool has_compressed = is_flagged;
    for_each_tensor(record, [&](auto& tensor, auto&, size_t, size_t) {
        has_compressed |= !is_uncompressed(tensor) && is_compressed(tensor);
    });
    FileBudget budget(label, record.bytes);
    auto owned = std::make_shared<Owned>(Owned{record.owner, {}});
    for_each_tensor(record, [&](TensorRecord& tensor, const OperatorRecord& op, size_t i, size_t k) {
        if (has_compressed ? is_compressed(tensor) : is_uncompressed(tensor)) {
            if (has_compressed) decompress(tensor, *owned, budget);
            return;
        }
        throw ModelError(text("'", label, "' is not a valid MegEngine model: operator ", i, " (", op.type,
                              "), tensor ", k, ": ", counted(tensor.data.size(), "byte"), " for ",
                              spec_of(tensor), ", which has ", spec_of(tensor).bytes(),
                              has_compressed ? "; the file's weights are compressed (has_compression)" : ""));
    });
    record.owner = owned;
}

}  // namespace mge::megengine
