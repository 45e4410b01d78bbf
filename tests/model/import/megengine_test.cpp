// SPDX-License-Identifier: Apache-2.0
// MegEngine's own files: each must give what MegEngine gives. tests/data/megengine/README.md says what they
// are.

#include "libmge/model/import/megengine/megengine.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <filesystem>
#include <map>

#include "apps/cli/array_file.h"
#include "libmge/base/file.h"
#include "libmge/compile/program.h"
#include "libmge/device/device.h"
#include "libmge/model/open.h"
#include "libmge/op/apply.h"
#include "libmge/ops/shape/concat.h"

namespace mge {
namespace {

namespace fs = std::filesystem;
using testing::HasSubstr;
using Arrays = std::map<std::string, Tensor>;

const fs::path folder = MGE_TEST_DATA "/megengine";

// "mlp.v2" of tests/data/megengine/mlp.v2.mge.
struct File {
    std::string name;
    std::string net() const { return name.substr(0, name.find('.')); }
    std::string variant() const { return name.substr(name.find('.') + 1); }
    std::string path() const { return (folder / (name + ".mge")).string(); }
    bool has(std::string_view part) const { return name.find(part) != std::string::npos; }
};

std::vector<std::string> files() {
    std::vector<std::string> names;
    for (auto& entry : fs::directory_iterator(folder))
        if (entry.path().extension() == ".mge") names.push_back(entry.path().stem().string());
    std::sort(names.begin(), names.end());
    return names;
}

Arrays read_inputs(const File& file) {
    return cli::read_npz((folder / (file.net() + ".inputs.npz")).string());
}

// Those of the file itself when they differ from the net's.
Arrays read_outputs(const File& file) {
    fs::path own = folder / (file.name + ".outputs.npz"), common = folder / (file.net() + ".outputs.npz");
    return cli::read_npz((fs::exists(own) ? own : common).string());
}

Tensors run(const Graph& graph, const Tensors& inputs) {
    TensorSpecs specs;
    for (auto& input : inputs) specs.push_back(input.spec());
    auto program = Program::compile(infer_shapes(graph, specs), {});
    auto context = Context::create(program);
    for (size_t i = 0; i < inputs.size(); ++i)
        std::memcpy(context->input(i), inputs[i].data(), inputs[i].spec().bytes());
    context->run();
    Tensors outputs;
    for (size_t i = 0; i < program->outputs().size(); ++i) outputs.push_back(context->copy_output(i));
    return outputs;
}

Tensors in_order(const Graph& graph, const Arrays& arrays) {
    Tensors inputs;
    for (ValueId id : graph.inputs()) inputs.push_back(arrays.at(graph.value(id).name));
    return inputs;
}

// Relative to the largest magnitude of the array.
void expect_close(const Tensor& got, const Tensor& expected, double tolerance, const std::string& what) {
    // Dumps forget which scalars were scalars: they come back as vectors of one.
    ASSERT_EQ(got.spec().numel(), expected.spec().numel()) << what << ": " << got.spec();
    if (expected.shape().rank() > 0) {
        ASSERT_EQ(got.shape(), expected.shape()) << what;
    }
    Tensor a = convert_dtype(got, DType::f32), b = convert_dtype(expected, DType::f32);
    double largest = 1e-3;
    for (int64_t i = 0; i < b.spec().numel(); ++i)
        if (double v = std::abs(double(b.data<float>()[i])); std::isfinite(v)) largest = std::max(largest, v);
    for (int64_t i = 0; i < b.spec().numel(); ++i) {
        float x = a.data<float>()[i], y = b.data<float>()[i];
        if (x == y || (std::isnan(x) && std::isnan(y))) continue;
        ASSERT_LE(std::abs(x - y), tolerance * largest) << what << '[' << i << "]: " << x << " for " << y;
    }
}

void expect_outputs(const Tensors& got, const Arrays& expected, double tolerance) {
    ASSERT_EQ(got.size(), expected.size());
    size_t i = 0;
    for (auto& [name, tensor] : expected) expect_close(got[i++], tensor, tolerance, name);
}

class MegEngineFile : public testing::TestWithParam<std::string> {};

// Nets with operators that have no counterpart: one error names them all.
const std::map<std::string, std::vector<std::string>> refused{
    {"quantized", {"ImmutableTensor", "TypeCvt", "ConvBiasForward", "ElemwiseMultiType", "QuantizedS8"}},
    {"warp", {"operator 3 'out00' (WarpPerspective)", "(ROIAlign)", "(ROIPooling)"}},
};

void expect_refusal(const File& file) {
    try {
        open_model(file.path());
        ADD_FAILURE() << "no error";
    } catch (const ModelError& e) {
        EXPECT_THAT(e.what(), HasSubstr(file.path()));
        for (auto& part : refused.at(file.net())) EXPECT_THAT(e.what(), HasSubstr(part));
    }
}

TEST_P(MegEngineFile, GivesWhatMegEngineGives) {
    File file{GetParam()};
    if (refused.contains(file.net())) return expect_refusal(file);
    Model model = open_model(file.path());
    EXPECT_THAT(model.format, HasSubstr("MegEngine V"));
    double tolerance = file.has("io16") || file.has("ioc16") ? 1e-2 : 1e-4;
    for (auto& test : model.test_cases) {
        SCOPED_TRACE(test.name);
        Tensors got = run(model.graph, test.inputs);
        for (size_t i = 0; i < test.outputs.size(); ++i)
            expect_close(got.at(i), test.outputs[i], tolerance, text("output ", i));
    }
    if (file.has("testcase")) {
        EXPECT_FALSE(model.test_cases.empty());
        return;
    }
    Tensors got = run(model.graph, in_order(model.graph, read_inputs(file)));
    expect_outputs(got, read_outputs(file), tolerance);
}

// Twice the samples give twice the results: shapes that a model computes follow its inputs.
TEST(MegEngine, OtherBatchSizesWork) {
    for (std::string name :
         {"mlp.v2", "resnet.v2", "resnet.nchw44", "resnet.v1_plain", "mobilenet.v1", "bert.v2"}) {
        SCOPED_TRACE(name);
        File file{name};
        Model model = open_model(file.path());
        Tensors inputs = in_order(model.graph, read_inputs(file)), doubled;
        for (auto& x : inputs) doubled.push_back(ops::concat({x, x}));
        Tensors outputs = run(model.graph, inputs), twice = run(model.graph, doubled);
        for (size_t i = 0; i < outputs.size(); ++i)
            expect_close(twice[i], ops::concat({outputs[i], outputs[i]}), 1e-5, text("output ", i));
    }
}

INSTANTIATE_TEST_SUITE_P(All, MegEngineFile, testing::ValuesIn(files()), [](auto& info) {
    std::string name = info.param;
    std::replace(name.begin(), name.end(), '.', '_');
    return name;
});

}  // namespace
}  // namespace mge
