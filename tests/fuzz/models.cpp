// SPDX-License-Identifier: Apache-2.0
#include "tests/fuzz/models.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <sstream>

#include "libmge/base/env.h"
#include "libmge/base/hash.h"
#include "libmge/compile/program.h"
#include "libmge/device/default_device.h"
#include "libmge/graph/inner_graph.h"
#include "libmge/model/container.h"
#include "libmge/model/packed_constants.h"
#include "libmge/ops/all.h"
#include "tests/fuzz/files.h"
#include "tests/fuzz/run_graph.h"
#include "tests/model/sample_models.h"

namespace mge::fuzz {
namespace {

// Limits for running it.
constexpr double most_operations = 2e6, most_bytes = 1 << 20;
// One in so many accepted inputs is compiled and run, by its content.
uint64_t run_every() {
    static const auto result = uint64_t(std::max(1L, env_int("MGE_FUZZ_RUN_EVERY").value_or(4)));
    return result;
}

// A net with packed weights in its file.
Model with_packed_weights() {
    Model model;
    Graph& g = model.graph;
    auto add = [&](auto params, std::vector<ValueId> inputs, const OpInfo& op, std::string name) {
        auto shared = std::make_shared<decltype(params)>(std::move(params));
        return g.node(g.add_node(op, shared, std::move(inputs), std::move(name))).outputs[0];
    };
    auto weight = [&](const Shape& shape, std::string name) {
        std::vector<float> values(size_t(shape.numel()));
        for (size_t i = 0; i < values.size(); ++i) values[i] = float(int(i * 7 % 23) - 11) / 40;
        return g.add_constant(tensor_from_host({DType::f32, shape, {}}, values.data()), std::move(name));
    };
    ValueId x = g.add_input({DType::f32, {2, 16, 8, 8}, {}}, "image");
    x = add(ops::Conv2d::Params{.padding = {1, 1}}, {x, weight({16, 16, 3, 3}, "windows")}, ops::Conv2d::info,
            "conv");
    x = add(ops::Mean::Params{.axes = {2, 3}, .keepdims = false}, {x}, ops::Mean::info, "mean");
    x = add(ops::Matmul::Params{}, {x, weight({16, 80}, "matrix")}, ops::Matmul::info, "classify");
    g.set_outputs({x});
    CompileOptions options;
    options.threads = 1;
    model.packed = pack_constants(g, options);
    return model;
}

}  // namespace

std::span<const std::byte> sample_key() {
    static constexpr std::string_view key = "0123456789abcdef0123456789abcdef";
    return bytes_of(key);
}

const Graph& convolution_net() {
    static const Graph result = sample_models()[3].graph;
    return result;
}

std::vector<std::string> model_files() {
    std::vector<std::string> files = data_files("fuzz/mge");
    for (auto& model : sample_models()) files.push_back(written(model));
    files.push_back(written(with_packed_weights()));
    return files;
}

Model read(Bytes bytes) {
    auto storage = std::make_shared<StorageRef>(queue_of({}).allocate(bytes.size() + 1));
    std::memcpy((*storage)->data, bytes.data(), bytes.size());
    Bytes image(static_cast<const std::byte*>((*storage)->data), bytes.size());
    return read_model(image, storage, "input");
}

std::string written(const Model& model) {
    std::ostringstream stream;
    write_model(stream, model);
    return stream.str();
}

bool is_small(const Graph& graph) {
    double bytes = 0, operations = 0;
    // How often a loop goes round is its own matter, and it may never end.
    for (auto& inner : with_inner_graphs(graph))
        for (auto& node : inner.graph->nodes())
            if (node.op == &ops::WhileLoop::info) return false;
    for (auto& value : graph.values()) {
        if (!value.spec.shape.is_known()) continue;
        bytes += double(checked_numel("fuzz", value.spec.shape)) * double(size_of(value.spec.dtype));
    }
    for (auto& node : graph.nodes()) {
        Footprint f = footprint(graph, node);
        // An operator without a rule may compare all with all.
        operations += f.operations.value_or(std::pow(f.bytes.value_or(0), 1.5));
    }
    return bytes <= most_bytes && operations <= most_operations;
}

void use(const Model& model, Bytes input) {
    verify(model.graph);
    to_text(model.graph);
    to_json(model.graph);
    to_dot(model.graph);
    written(model);
    uint64_t choice = checksum(input.data(), input.size());
    if (choice % run_every() == 0 && is_small(model.graph)) run_graph(model.graph, choice);
}

void reseal(std::string& image) {
    ModelHeader header;
    if (image.size() < sizeof header) return;
    std::memcpy(&header, image.data(), sizeof header);
    header.magic = model_magic;
    header.file_bytes = image.size();
    if (header.graph_bytes <= image.size() - sizeof header)
        header.graph_checksum = checksum(image.data() + sizeof header, header.graph_bytes);
    header.header_checksum = checksum(&header, offsetof(ModelHeader, header_checksum));
    std::memcpy(image.data(), &header, sizeof header);
}

}  // namespace mge::fuzz
