// SPDX-License-Identifier: Apache-2.0
// Weights that a file holds packed, too: a network verifies what its program reads.
#include <gmock/gmock.h>

#include <fstream>
#include <iterator>

#include "libmge/device/device.h"
#include "libmge/model/packed_constants.h"
#include "libmge/ops/all.h"
#include "tests/lite/lite_error.h"
#include "tests/lite/networks.h"

namespace lite::test {
namespace {

using testing::HasSubstr;

constexpr int64_t channels = 64;

mge::Tensor weight() {
    mge::TensorSpec spec{mge::DType::f32, {channels, channels, 3, 3}, {}};
    std::vector<float> values(size_t(spec.numel()));
    for (size_t i = 0; i < values.size(); ++i) values[i] = float(int(i * 7 % 23) - 11) / 40;
    return mge::tensor_from_host(spec, values.data(), mge::host_device);
}

mge::Model convolution(const mge::Tensor& weight) {
    mge::TensorSpec image{mge::DType::f32, {1, channels, 12, 12}, {}};
    return make_model({{"x", image}}, [&](const mge::Tensors& x) {
        return std::vector<std::pair<std::string, mge::Tensor>>{
            {"y", mge::ops::conv2d(x[0], weight, {.padding = {1, 1}})}};
    });
}

// Changes a bit in the middle of these bytes of the file.
void damage(const std::string& path, const mge::Tensor& bytes) {
    std::ifstream file(path, std::ios::binary);
    std::string content{std::istreambuf_iterator<char>(file), {}};
    std::string_view wanted(static_cast<const char*>(bytes.data()), bytes.spec().bytes());
    size_t at = content.find(wanted);
    ASSERT_NE(at, std::string::npos);
    content[at + wanted.size() / 2] ^= 1;
    std::ofstream(path, std::ios::binary) << content;
}

std::vector<float> run(const std::string& path) {
    auto network = load(path);
    write(*network->get_input_tensor(0), std::vector<float>(size_t(channels) * 12 * 12, 0.5f));
    network->forward();
    network->wait();
    return values_of<float>(*network->get_output_tensor(0));
}

TEST(PackedWeights, AreVerifiedWhenTheProgramReadsThem) {
    mge::Tensor original = weight();
    mge::Model model = convolution(original);
    model.packed = mge::pack_constants(model.graph, {.threads = 1});
    ASSERT_EQ(model.packed.all.size(), 1u);
    auto copy = model.packed.all[0].copy;
    ModelPath intact(model), with_damage(model), with_damaged_copy(model);
    auto expected = run(intact.path());
    damage(with_damage.path(), original);
    EXPECT_EQ(run(with_damage.path()), expected);
    damage(with_damaged_copy.path(), copy);
    EXPECT_THAT(error_of([&] { run(with_damaged_copy.path()); }), HasSubstr("is damaged (checksum)"));
}

TEST(PackedWeights, AreVerifiedWhenTheCopyIsUnused) {
    mge::Tensor original = weight();
    mge::Model model = convolution(original);
    model.packed = mge::pack_constants(model.graph, {.threads = 1});
    model.packed.all.at(0).layouts += "x";
    ModelPath file(model);
    damage(file.path(), original);
    EXPECT_THAT(error_of([&] { run(file.path()); }), HasSubstr("is damaged (checksum)"));
}

}  // namespace
}  // namespace lite::test
