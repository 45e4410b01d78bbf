// SPDX-License-Identifier: Apache-2.0
#include "libmge/model/import/megengine/megengine.h"

#include <algorithm>
#include <cstring>

#include "libmge/base/number_text.h"
#include "libmge/model/import/escape_names.h"
#include "libmge/model/import/megengine/build_graph.h"
#include "libmge/model/import/megengine/decode.h"
#include "libmge/model/import/megengine/families.h"
#include "libmge/model/import/megengine/weights.h"

namespace mge::megengine {
namespace {

constexpr std::string_view container_magic = "mgbtest0";
// Formats from before MegEngine was published, which only their writers can read.
constexpr std::string_view lost_magics[] = {"mgb0001", "mgb0000a"};

bool starts_with(std::span<const std::byte> bytes, std::string_view magic) {
    return bytes.size() >= magic.size() && std::memcmp(bytes.data(), magic.data(), magic.size()) == 0;
}

[[noreturn]] void fail(const std::string& label, const std::string& what) {
    throw ModelError(text("'", label, "' is not a valid MegEngine model: ", what));
}

ModelRecord decode(std::span<const std::byte> bytes, const std::string& label,
                   bool has_compressed_weights = false) {
    if (!is_v1(bytes) && !is_v2(bytes))
        fail(label,
             text("it has the signature of neither MegEngine format (", counted(bytes.size(), "byte"), ")"));
    ModelRecord record = is_v1(bytes) ? decode_v1(bytes, label) : decode_v2(bytes, label);
    check_weights(record, has_compressed_weights, label);
    return record;
}

// The values of a test case: the outputs of a model that consists of constants.
Tensors constants_of(const ModelRecord& record, const std::string& label) {
    std::vector<const TensorRecord*> values;
    for (auto& op : record.operators) {
        if (op.outputs.size() != op.tensors.size())
            fail(label, text(op.type, " in a test case is not a constant"));
        for (auto& tensor : op.tensors) values.push_back(&tensor);
    }
    Tensors result;
    for (auto& output : record.outputs) {
        if (output.value >= values.size()) fail(label, text("value ", output.value, " does not exist"));
        try {
            result.push_back(at_least_vector(tensor_of(*values[output.value])));
        } catch (const Unsupported& problem) {
            fail(label, problem.what);
        } catch (const ModelError&) {
            throw;
        } catch (const UserError& e) {
            fail(label, e.what());
        }
    }
    return result;
}

const Tensor* find_value(const std::vector<std::string>& names, const Tensors& values,
                         const std::string& name) {
    auto found = std::ranges::lower_bound(names, name);
    return found != names.end() && *found == name ? &values[size_t(found - names.begin())] : nullptr;
}

TestCase make_test_case(const BuiltGraph& built, const Tensors& values, const std::string& label) {
    if (values.size() != built.file_inputs.size())
        fail(label, text("it has ", counted(values.size(), "value"), ", but the model has ",
                         counted(built.file_inputs.size(), "input")));
    TestCase test;
    for (ValueId input : built.graph.inputs()) {
        auto& port = built.graph.value(input);
        const Tensor* value = find_value(built.file_inputs, values, port.name);
        if (!value || value->dtype() != port.spec.dtype)
            fail(label, text("its value for input '", port.name, "' is not ", port.spec.dtype));
        test.inputs.push_back(*value);
    }
    for (size_t i = 0; i < built.expectations.size(); ++i) {
        const Tensor* value = find_value(built.file_inputs, values, built.expectations[i]);
        if (!value) return test;  // not all outputs have an expectation
        test.outputs.push_back(*value);
    }
    return test;
}

Model to_model(ModelRecord record, BuiltGraph built) {
    Model model;
    model.graph = std::move(built.graph);
    model.format = std::move(record.format);
    model.metadata = std::move(record.metadata);
    escape_names(model);
    return model;
}

// "mgbtest0", the number of test cases, the model, then one model of constants per test case.
Model read_container(const ModelBytes& file, bool has_compressed_weights) {
    constexpr size_t header = container_magic.size() + sizeof(uint32_t);
    if (file.bytes.size() < header) fail(file.label, "it ends within its header");
    uint32_t tests = 0;
    std::memcpy(&tests, file.bytes.data() + container_magic.size(), sizeof tests);
    auto rest = file.bytes.subspan(header);
    ModelRecord record = decode(rest, file.label, has_compressed_weights);
    rest = rest.subspan(record.bytes);
    BuiltGraph built = build_graph(record, file.label);
    std::vector<TestCase> test_cases;
    for (uint32_t i = 0; i < tests; ++i) {
        std::string label = text(file.label, " (test case ", i, ')');
        ModelRecord values = decode(rest, label);
        rest = rest.subspan(values.bytes);
        test_cases.push_back(make_test_case(built, constants_of(values, label), label));
        test_cases.back().name = text("test case ", i);
    }
    Model model = to_model(std::move(record), std::move(built));
    model.test_cases = std::move(test_cases);
    return model;
}

}  // namespace

bool is_model(std::span<const std::byte> bytes) {
    return is_v2(bytes) || is_v1(bytes) || starts_with(bytes, container_magic) ||
           std::ranges::any_of(lost_magics, [&](auto magic) { return starts_with(bytes, magic); });
}

Model read_model(const ModelBytes& file, bool has_compressed_weights) {
    for (auto magic : lost_magics)
        if (starts_with(file.bytes, magic))
            fail(file.label, text("its format '", magic,
                                  "' is older than MegEngine itself; write it again "
                                  "with MegEngine 0.5 or later"));
    if (starts_with(file.bytes, container_magic)) return read_container(file, has_compressed_weights);
    ModelRecord record = decode(file.bytes, file.label, has_compressed_weights);
    BuiltGraph built = build_graph(record, file.label);
    return to_model(std::move(record), std::move(built));
}

}  // namespace mge::megengine
