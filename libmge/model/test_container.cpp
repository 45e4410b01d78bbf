// SPDX-License-Identifier: Apache-2.0
#include "libmge/model/test_container.h"

#include <algorithm>
#include <cstring>
#include <numeric>

#include "libmge/base/number_text.h"
#include "libmge/model/container.h"
#include "libmge/ops/elementwise/convert/convert.h"

namespace mge {
namespace {

constexpr std::string_view magic = "mgbtest0";
constexpr size_t header_bytes = magic.size() + sizeof(uint32_t);

[[noreturn]] void fail(const std::string& label, const std::string& what) {
    throw ModelError(text("'", label, "' is not a valid model with test cases: ", what));
}

// Takes the model at the front of the bytes away.
Model take_model(std::span<const std::byte>& bytes, const ModelBytes& file, const std::string& label,
                 const std::function<Model(const ModelBytes&)>& read) {
    if (!is_model(bytes) || bytes.size() < sizeof(ModelHeader)) fail(label, "there is no .mge model");
    ModelHeader header;
    std::memcpy(&header, bytes.data(), sizeof header);
    auto size = size_t(std::min<uint64_t>(header.file_bytes, bytes.size()));
    Model model = read({bytes.first(size), file.owner, label});
    bytes = bytes.subspan(size);
    return model;
}

// The constant that an output is, or is a copy of: writers give each output a name of its own.
Tensor constant_output(const Graph& graph, ValueId output, const std::string& label) {
    auto* value = &graph.value(output);
    if (!value->is_constant() && !value->is_input)
        if (auto& node = graph.node(value->producer); node.op == &ops::Copy::info)
            value = &graph.value(node.inputs[0]);
    if (!value->is_constant()) fail(label, text("its value '", value->name, "' is not a constant"));
    return value->constant;
}

TestCase test_case_of(const Graph& model, const Graph& constants, const std::string& label) {
    auto& inputs = model.inputs();
    if (constants.outputs().size() != inputs.size())
        fail(label, text("it has ", counted(constants.outputs().size(), "value"), ", but the model has ",
                         counted(inputs.size(), "input")));
    std::vector<size_t> sorted(inputs.size());
    std::iota(sorted.begin(), sorted.end(), size_t(0));
    std::ranges::sort(
        sorted, {}, [&](size_t i) -> auto& { return model.value(inputs[i]).name; });
    TestCase test;
    test.inputs.resize(inputs.size());
    for (size_t i = 0; i < sorted.size(); ++i) {
        auto& port = model.value(inputs[sorted[i]]);
        Tensor value = constant_output(constants, constants.outputs()[i], label);
        if (value.dtype() != port.spec.dtype)
            fail(label, text("its value for input '", port.name, "' is not ", port.spec.dtype));
        // MegEngine has no rank 0.
        bool is_number = port.spec.shape.rank() == 0 && value.spec().numel() == 1;
        test.inputs[sorted[i]] = is_number ? value.with_shape({}) : value;
    }
    return test;
}

}  // namespace

bool is_test_container(std::span<const std::byte> bytes) {
    return bytes.size() > header_bytes && std::memcmp(bytes.data(), magic.data(), magic.size()) == 0 &&
           is_model(bytes.subspan(header_bytes));
}

Model read_test_container(const ModelBytes& file, const std::function<Model(const ModelBytes&)>& read) {
    uint32_t tests = 0;
    std::memcpy(&tests, file.bytes.data() + magic.size(), sizeof tests);
    auto rest = file.bytes.subspan(header_bytes);
    Model model = take_model(rest, file, file.label, read);
    for (uint32_t i = 0; i < tests; ++i) {
        std::string name = text("test case ", i), label = text(file.label, " (", name, ')');
        Model constants = take_model(rest, file, label, read);
        model.test_cases.push_back(test_case_of(model.graph, constants.graph, label));
        model.test_cases.back().name = name;
    }
    return model;
}

}  // namespace mge
