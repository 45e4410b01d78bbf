// SPDX-License-Identifier: Apache-2.0
#include "apps/load_and_run/inputs/inputs.h"

#include <algorithm>
#include <cctype>
#include <cmath>
#include <cstring>

#include "apps/cli/files/array_file.h"
#include "apps/cli/files/image_file.h"
#include "apps/cli/options/batch_size.h"
#include "apps/cli/options/named_values.h"
#include "apps/cli/output/fit_numbers.h"
#include "apps/load_and_run/inputs/input_json.h"
#include "apps/load_and_run/inputs/input_text.h"
#include "apps/load_and_run/inputs/shapes.h"
#include "libmge/base/error.h"
#include "libmge/base/rethrow.h"
#include "libmge/device/device.h"
#include "libmge/inspect/elements.h"
#include "libmge/op/apply.h"
#include "libmge/ops/shape/layout/transpose.h"

namespace mge::load_and_run {
namespace {

struct InputTable {
    const Graph& graph;
    TensorSpecs specs;  // with the sizes of --dim
    std::string name(size_t i) const { return graph.value(graph.inputs()[i]).name; }
    const TensorSpec& spec(size_t i) const { return specs[i]; }
    size_t size() const { return graph.inputs().size(); }
    std::vector<std::string> names() const {
        std::vector<std::string> result;
        for (size_t i = 0; i < size(); ++i) result.push_back(name(i));
        return result;
    }
    size_t find(const std::string& wanted) const {
        if (wanted.empty() && size() == 1) return 0;
        std::string names;
        for (size_t i = 0; i < size(); ++i) {
            if (name(i) == wanted || (wanted.empty() && name(i) == "data")) return i;
            names += (i ? ", '" : "'") + name(i) + "'";
        }
        refuse_input(wanted.empty()
                         ? text("the model has ", size(), " inputs: say which with NAME:VALUE (", names, ")")
                         : text("the model has no input '", wanted, "'; it has ", names));
    }
};

// Ignores case.
bool ends_with(const std::string& path, std::string_view ending) {
    if (path.size() < ending.size()) return false;
    return std::equal(ending.begin(), ending.end(), path.end() - std::ptrdiff_t(ending.size()),
                      [](char a, char b) { return a == std::tolower(uint8_t(b)); });
}

// Integers are converted to the model's dtype; real numbers become integers only if they are whole.
Tensor fit_dtype(const Tensor& tensor, DType dtype, const std::string& name) {
    if (tensor.dtype() == dtype) return tensor;
    bool takes_fractions = is_float(dtype) || (is_narrow(dtype) && !is_narrow_int(dtype));
    if (is_float(tensor.dtype()) && !takes_fractions) {
        for (int64_t i = 0; i < tensor.spec().numel(); ++i)
            if (double value = element_at(tensor, i); value != std::floor(value))
                refuse_input(
                    text("input '", name, "' is ", dtype, ", the value ", value, " is not a whole number"));
    }
    return cli::fit_dtype(tensor, dtype, "--input");
}

Tensor shape_filled_with_ones(const std::string& braced, DType dtype) {
    Tensor tensor = empty_tensor({dtype, parse_braced_shape(braced), {}}, host_device);
    std::memset(tensor.data(), 1, tensor.spec().bytes());
    return tensor;
}

// An image is (1, height, width, channels). A model that reads channels first gets them there.
Tensor as_input(const Tensor& image, const TensorSpec& spec) {
    auto& wanted = spec.shape;
    int64_t channels = image.shape()[3];
    bool takes_channels_first = wanted.is_known() && wanted.rank() == 4 && wanted[1] == channels &&
                                wanted[3] != channels && spec.dtype != DType::u8;
    if (!takes_channels_first) return image;
    InterpreterScope eager(eager_interpreter());
    return ops::transpose(image, {.pattern = {0, 3, 1, 2}});
}

Tensor read_value(const std::string& value, const TensorSpec& spec, uint64_t seed) {
    if (value.empty()) refuse_input("an input has no value");
    if (value[0] == '#') {
        RandomInput random = parse_random(value);
        Shape shape = random.shape.empty() ? spec.shape : Shape(random.shape);
        if (random.takes_rest)
            for (int axis = shape.rank(); axis < spec.shape.rank(); ++axis) shape.push_back(spec.shape[axis]);
        return cli::random_tensor({spec.dtype, shape, {}}, random.low, random.high, seed, "--input");
    }
    if (value[0] == '{') return shape_filled_with_ones(value, spec.dtype);
    if (ends_with(value, ".npy")) return cli::read_npy(value);
    if (cli::is_image_name(value)) return as_input(cli::read_image(value), spec);
    if (value.find_first_not_of("0123456789+-.,[] eE") != std::string::npos)
        refuse_input(text(
            "'", value,
            "' is neither a file (.npy .npz .json .png .jpg .ppm .pgm), a literal, a shape in braces, nor ",
            "#rand(...)"));
    return parse_literal(value);
}

void take(Tensors& values, size_t i, const InputTable& table, Tensor value) {
    if (values[i]) refuse_input(text("the input '", table.name(i), "' is given twice"));
    values[i] = fit_dtype(value, table.spec(i).dtype, table.name(i));
}

void take_all(const std::map<std::string, Tensor>& given, const InputTable& table, Tensors& values) {
    for (auto& [name, tensor] : given) take(values, table.find(name), table, tensor);
}

Tensor repeated(const Tensor& tensor, int64_t batch, const std::string& name) {
    constexpr auto option = "--batch-size";
    TensorSpec spec = cli::with_batch(tensor.spec(), batch, name, option);
    if (tensor.spec().bytes() == 0 && tensor.shape()[0] != batch)
        throw_value_error(option, "the input '", name, "' is empty");
    Tensor result = empty_tensor(spec, host_device);
    size_t have = tensor.spec().bytes(), bytes = spec.bytes();
    for (size_t at = 0; at < bytes; at += have)
        std::memcpy(static_cast<char*>(result.data()) + at, tensor.data(), std::min(have, bytes - at));
    return result;
}

// Adds the name of the input to an out-of-memory error: a file or a flag may request any size.
template <class Make>
Tensor made_for(const InputTable& table, size_t i, Make make) {
    try {
        return make();
    } catch (const MemoryError&) {
        rethrow_in(text("input '", table.name(i), "'"));
    }
}

Test given_test(const InputTable& table, const std::string& values, uint64_t seed) {
    Test test;
    test.name = values;
    test.inputs.resize(table.size());
    for (auto& input : cli::split_named_values(values, table.names())) {
        auto& value = input.second;
        bool is_archive = ends_with(value, ".npz");
        if (is_archive || ends_with(value, ".json")) {
            take_all(is_archive ? cli::read_npz(value) : read_json_inputs(value), table, test.inputs);
            continue;
        }
        size_t i = table.find(input.first);
        test.has_random_input |= value.starts_with('#');
        take(test.inputs, i, table,
             made_for(table, i, [&] { return read_value(value, table.spec(i), seed + i); }));
    }
    return test;
}

Test shaped_test(const InputTable& table, const InputShapes& shapes, uint64_t seed) {
    Test test;
    test.name = shapes.text;
    test.has_random_input = true;
    for (size_t i = 0; i < table.size(); ++i) {
        TensorSpec spec = table.spec(i);
        if (shapes.by_input[i].rank() > 0) spec.shape = shapes.by_input[i];
        double bound = is_float(spec.dtype) ? 1 : 0;
        test.inputs.push_back(made_for(
            table, i, [&] { return cli::random_tensor(spec, -bound, bound, seed + i, "--shapes"); }));
    }
    return test;
}

// Inputs without a value: those of the model's first test case, otherwise random numbers.
void fill_inputs(const std::vector<TestCase>& stored, const InputTable& table, uint64_t seed, Test& test) {
    for (size_t i = 0; i < table.size(); ++i) {
        if (test.inputs[i]) continue;
        double bound = is_float(table.spec(i).dtype) ? 1 : 0;
        auto random = [&] { return cli::random_tensor(table.spec(i), -bound, bound, seed + i, "--input"); };
        bool is_random = stored.empty();
        test.has_random_input |= is_random;
        test.inputs[i] = is_random ? made_for(table, i, random) : stored[0].inputs[i];
    }
}

// Returns the test cases that have the sizes of --dim.
std::vector<TestCase> fitting_test_cases(const Model& model, const cli::DimensionOption& dimensions) {
    std::vector<TestCase> result = model.test_cases;
    std::erase_if(result, [&](const TestCase& test) {
        return find_contradiction(model.graph, dimensions.sizes(), specs_of(test.inputs)).has_value();
    });
    return result;
}

std::vector<Test> tests_without_batch(const Model& model, const InputTable& table,
                                      const InputOptions& options) {
    auto stored = fitting_test_cases(model, options.dimensions);
    std::vector<Test> tests;
    for (auto& values : options.values) tests.push_back(given_test(table, values, options.seed));
    if (!options.shapes.empty())
        for (auto& shapes : parse_shapes(options.shapes, table.names()))
            tests.push_back(shaped_test(table, shapes, options.seed));
    if (tests.empty())
        for (auto& known : stored) {
            tests.emplace_back();
            tests.back().name = known.name;
            tests.back().inputs = known.inputs;
            tests.back().expected = known.outputs;
            tests.back().max_error = known.max_error;
        }
    if (tests.empty()) {
        tests.emplace_back();
        tests.back().inputs.resize(table.size());
    }
    for (auto& test : tests) fill_inputs(stored, table, options.seed, test);
    return tests;
}

Test with_batch(const InputTable& table, const Test& test, int64_t batch) {
    Test result;
    result.name = text(test.name, test.name.empty() ? "" : " ", "batch ", batch);
    result.has_random_input = test.has_random_input;
    for (size_t i = 0; i < table.size(); ++i)
        result.inputs.push_back(
            made_for(table, i, [&] { return repeated(test.inputs[i], batch, table.name(i)); }));
    return result;
}

}  // namespace

std::vector<Test> make_tests(const Model& model, const InputOptions& options) {
    InputTable table{model.graph, options.dimensions.specs(model.graph)};
    auto tests = tests_without_batch(model, table, options);
    if (!options.batch_sizes.empty()) {
        std::vector<Test> batched;
        for (auto& test : tests)
            for (int64_t batch : options.batch_sizes) batched.push_back(with_batch(table, test, batch));
        tests = std::move(batched);
    }
    for (size_t i = 0; i < tests.size(); ++i) {
        options.dimensions.require(model.graph, specs_of(tests[i].inputs));
        tests[i].index = i;
    }
    return tests;
}

}  // namespace mge::load_and_run
