// SPDX-License-Identifier: Apache-2.0
#include "apps/load_and_run/inputs.h"

#include <cmath>
#include <cstring>

#include "apps/cli/array_file.h"
#include "apps/load_and_run/input_text.h"
#include "libmge/device/device.h"
#include "libmge/op/apply.h"

namespace mge::load_and_run {
namespace {

[[noreturn]] void fail(const std::string& what) { throw_user("--input", what, ErrorClass::value); }

struct InputTable {
    const Graph& graph;
    std::string name(size_t i) const { return graph.value(graph.inputs()[i]).name; }
    const TensorSpec& spec(size_t i) const { return graph.value(graph.inputs()[i]).spec; }
    size_t size() const { return graph.inputs().size(); }
    size_t find(const std::string& wanted) const {
        if (wanted.empty() && size() == 1) return 0;
        std::string names;
        for (size_t i = 0; i < size(); ++i) {
            if (name(i) == wanted || (wanted.empty() && name(i) == "data")) return i;
            names += (i ? ", '" : "'") + name(i) + "'";
        }
        fail(wanted.empty()
                 ? text("the model has ", size(), " inputs: say which with NAME:VALUE (", names, ")")
                 : text("the model has no input '", wanted, "'; it has ", names));
    }
};

bool ends_with(const std::string& s, std::string_view suffix) {
    return std::string_view(s).ends_with(suffix);
}

// Integers become what the model reads; real numbers become integers only when nothing is lost.
Tensor fit_dtype(const Tensor& tensor, DType dtype, const std::string& name) {
    if (tensor.dtype() == dtype) return tensor;
    if (is_float(tensor.dtype()) && !is_float(dtype)) {
        Tensor real = convert_dtype(tensor, DType::f32);
        for (int64_t i = 0; i < real.spec().numel(); ++i)
            if (float value = real.data<float>()[i]; value != std::floor(value))
                fail(text("input '", name, "' is ", dtype, ", the value ", value, " is not a whole number"));
    }
    return convert_dtype(tensor, dtype);
}

Tensor shape_filled_with_ones(const std::string& braced, DType dtype) {
    Tensor tensor = empty_tensor({dtype, parse_braced_shape(braced), {}});
    std::memset(tensor.data(), 1, tensor.spec().bytes());
    return tensor;
}

Tensor read_value(const std::string& value, const TensorSpec& spec, uint64_t seed) {
    if (value.empty()) fail("an input has no value");
    if (value[0] == '#') {
        RandomInput random = parse_random(value);
        Shape shape = random.shape.empty() ? spec.shape : Shape(random.shape);
        return random_tensor({spec.dtype, shape, {}}, random.low, random.high, seed);
    }
    if (value[0] == '{') return shape_filled_with_ones(value, spec.dtype);
    if (ends_with(value, ".npy")) return cli::read_npy(value);
    if (value.find_first_not_of("0123456789+-.,[] eE") != std::string::npos)
        fail(text("'", value,
                  "' is neither a .npy or .npz file, a literal, a shape in braces, nor #rand(...)"));
    return parse_literal(value);
}

void read_archive(const std::string& path, const InputTable& table, Tensors& values) {
    for (auto& [name, tensor] : cli::read_npz(path)) {
        size_t i = table.find(name);
        values[i] = fit_dtype(tensor, table.spec(i).dtype, table.name(i));
    }
}

Tensor with_batch(const Tensor& tensor, int64_t batch, const std::string& name) {
    if (tensor.shape().rank() == 0)
        throw_user("--batch-size", text("input '", name, "' is a scalar"), ErrorClass::value);
    TensorSpec spec = tensor.spec();
    if (spec.bytes() == 0 && spec.shape[0] != batch)
        throw_user("--batch-size", text("input '", name, "' is empty"), ErrorClass::value);
    spec.shape[0] = batch;
    Tensor result = empty_tensor(spec);
    size_t have = tensor.spec().bytes(), bytes = spec.bytes();
    for (size_t at = 0; at < bytes; at += have)
        std::memcpy(static_cast<char*>(result.data()) + at, tensor.data(), std::min(have, bytes - at));
    return result;
}

}  // namespace

Tensors prepare_inputs(const Model& model, const Options& options) {
    InputTable table{model.graph};
    Tensors values(table.size());
    if (options.input.empty() && !model.test_cases.empty()) values = model.test_cases[0].inputs;
    for (auto& [name, value] : split_inputs(options.input)) {
        if (ends_with(value, ".npz")) {
            read_archive(value, table, values);
            continue;
        }
        size_t i = table.find(name);
        values[i] =
            fit_dtype(read_value(value, table.spec(i), options.seed + i), table.spec(i).dtype, table.name(i));
    }
    for (size_t i = 0; i < values.size(); ++i) {
        if (!values[i]) {
            double bound = is_float(table.spec(i).dtype) ? 1 : 0;
            values[i] = random_tensor(table.spec(i), -bound, bound, options.seed + i);
        }
        if (options.batch_size) values[i] = with_batch(values[i], options.batch_size, table.name(i));
    }
    return values;
}

}  // namespace mge::load_and_run
