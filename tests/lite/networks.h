// SPDX-License-Identifier: Apache-2.0
#pragma once
// Models of our making, and networks that have them loaded.

#include <gtest/gtest.h>

#include <filesystem>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "libmge/graph/builder.h"
#include "libmge/lite/network_impl.h"
#include "lite/network.h"
#include "tests/lite/tensor_values.h"

namespace lite::test {

// Named symbolic inputs to named outputs.
struct ModelInput {
    std::string name;
    mge::TensorSpec spec;
};
using ModelBody = std::function<std::vector<std::pair<std::string, mge::Tensor>>(const mge::Tensors&)>;
mge::Model make_model(const std::vector<ModelInput>& inputs, const ModelBody& body);

// A file that goes with its last user.
class ModelPath {
public:
    explicit ModelPath(const mge::Model& model);
    ~ModelPath();
    ModelPath(const ModelPath&) = delete;
    const std::string& path() const { return path_; }
    // Beside it, in a folder of its own.
    std::string beside(const std::string& name) const;

private:
    std::filesystem::path folder_;
    std::string path_;
};

// Each is written once per process.
// "data" {1, 3, 32, 32} to "score" {1, 10}: convolutions with strides, a mean over the image, a softmax.
const std::string& classifier();
// "a" and "b" {4} to "sum" and "difference".
const std::string& sum_and_difference();
// "x" {2, 2} to "y", the product with {{0, 1}, {1, 1}}.
const std::string& product();
// "x" {6} to "positive": the elements above 0, how many a run finds out; and "twice" {6}.
const std::string& picker();
// "x" {2} to "is_positive", of bool, and "twice".
const std::string& comparison();
// "shape" {2} of int32 and "x" {6} to x in that shape: fails when it does not fit.
const std::string& reshaper();

std::shared_ptr<Network> load(const std::string& path, const Config& config = {}, const NetworkIO& io = {});
inline Network::NetworkImplBase& impl_of(Network& network) { return NetworkHelper::impl(network); }

// Algorithms of the steps for the current inputs.
std::vector<std::string> algorithms_of(Network& network);

// Fills an input with numbers that depend on `seed`.
void fill(Network& network, const std::string& name, int seed = 1);
void run(Network& network);
std::vector<float> output(Network& network, const std::string& name);
// The results of the engine itself for the current inputs.
std::vector<float> expected(Network& network, const std::string& name);
void expect_near(const std::vector<float>& got, const std::vector<float>& wanted, float tolerance = 1e-5f);

}  // namespace lite::test
