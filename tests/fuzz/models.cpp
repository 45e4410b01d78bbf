// SPDX-License-Identifier: Apache-2.0
#include "tests/fuzz/models.h"

#include <cstring>
#include <sstream>

#include "libmge/base/hash.h"
#include "libmge/compile/program.h"
#include "libmge/device/default_device.h"
#include "libmge/graph/inner_graph.h"
#include "libmge/model/container.h"
#include "libmge/ops/control/while_loop.h"
#include "tests/fuzz/files.h"
#include "tests/model/sample_models.h"

namespace mge::fuzz {
namespace {

// Of what is run.
constexpr double most_operations = 2e6, most_bytes = 1 << 20;
// One in so many accepted inputs is compiled, by its content.
constexpr uint64_t compile_every = 4;

void compile_and_run(const Graph& graph, uint64_t choice) {
    CompileOptions options;
    options.threads = 1;
    options.level = int(choice % 4);
    options.verify_passes = true;
    options.enable_sublinear_memory_opt = choice % 16 == 4;
    auto program = Program::compile(graph, options);
    auto context = Context::create(program);
    for (size_t i = 0; i < program->inputs().size(); ++i)
        std::memset(context->input(i), 0, program->inputs()[i].spec.bytes());
    context->run();
    for (size_t i = 0; i < program->outputs().size(); ++i) {
        auto& spec = program->outputs()[i].spec;
        Tensor y = context->copy_output(i);
        MGE_CHECK(!spec.shape.is_known() || y.shape() == spec.shape, "output ", i, " is ", y.shape());
        MGE_CHECK(y.dtype() == spec.dtype, "output ", i, " is ", y.dtype());
    }
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
    if (choice % compile_every == 0 && is_small(model.graph))
        compile_and_run(model.graph, choice / compile_every);
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
