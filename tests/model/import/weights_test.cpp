// SPDX-License-Identifier: Apache-2.0
// Weights that MegEngine's files hold in 8 or 16 bits.
#include "libmge/model/import/megengine/weights.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstring>

#include "libmge/base/error.h"

namespace mge::megengine {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

// A form, two floats, codes: what a file holds of a tensor.
template <class Q>
std::vector<std::byte> compressed(uint8_t form, float scale, float offset, const std::vector<Q>& codes) {
    std::vector<std::byte> bytes(1 + 2 * sizeof(float) + codes.size() * sizeof(Q), std::byte{form});
    std::memcpy(&bytes[1], &scale, sizeof scale);
    std::memcpy(&bytes[1 + sizeof scale], &offset, sizeof offset);
    std::memcpy(&bytes[1 + 2 * sizeof scale], codes.data(), codes.size() * sizeof(Q));
    return bytes;
}

TensorRecord tensor(const std::vector<std::byte>& data, DType dtype = DType::f32, Shape shape = {3}) {
    TensorRecord result;
    result.dtype.dtype = dtype;
    result.shape = shape;
    result.has_data = true;
    result.data = data;
    return result;
}

ModelRecord model_of(std::vector<TensorRecord> tensors) {
    OperatorRecord op;
    op.type = "SharedDeviceTensor";
    op.tensors = std::move(tensors);
    ModelRecord record;
    record.operators.push_back(std::move(op));
    record.bytes = 1 << 20;
    return record;
}

std::vector<float> floats(const TensorRecord& tensor) {
    std::vector<float> values(tensor.data.size() / sizeof(float));
    std::memcpy(values.data(), tensor.data.data(), tensor.data.size());
    return values;
}

TEST(CompressedWeights, AreExpanded) {
    auto bytes = compressed<uint8_t>(1, 0.5f, -1, {0, 3, 255}),
         words = compressed<uint16_t>(2, 2, 1, {0, 1, 65535});
    std::vector<std::byte> plain(1 + 3 * sizeof(int32_t), std::byte{0});
    plain[1] = std::byte{7};
    auto record = model_of({tensor(bytes), tensor(words), tensor(plain, DType::i32)});
    check_weights(record, false, "w.mge");  // according to the sizes
    auto& tensors = record.operators[0].tensors;
    EXPECT_THAT(floats(tensors[0]), ElementsAre(-1, 0.5f, 126.5f));
    EXPECT_THAT(floats(tensors[1]), ElementsAre(1, 3, 131071));
    ASSERT_EQ(tensors[2].data.size(), 3 * sizeof(int32_t));
    EXPECT_EQ(tensors[2].data[0], std::byte{7});
}

std::string error_of(ModelRecord record, bool is_flagged) {
    try {
        check_weights(record, is_flagged, "w.mge");
    } catch (const ModelError& e) {
        return e.what();
    }
    return "";
}

TEST(CompressedWeights, WrongSizesAreRefused) {
    auto bytes = compressed<uint8_t>(1, 1, 0, {0, 1});
    EXPECT_THAT(error_of(model_of({tensor(bytes)}), true),
                HasSubstr("operator 0 (SharedDeviceTensor), tensor 0"));
    auto integers = compressed<uint8_t>(1, 1, 0, {0, 1, 2});
    EXPECT_NE(error_of(model_of({tensor(integers, DType::i32)}), true), "");
    auto form = compressed<uint8_t>(3, 1, 0, {0, 1, 2});
    EXPECT_NE(error_of(model_of({tensor(form)}), true), "");
    EXPECT_NE(error_of(model_of({tensor({})}), true), "");
    // Told that they are compressed, a file with plain ones is refused.
    EXPECT_THAT(error_of(model_of({tensor(std::vector<std::byte>(12, std::byte{9}))}), true),
                HasSubstr("has_compression"));
}

}  // namespace
}  // namespace mge::megengine
