// SPDX-License-Identifier: Apache-2.0
#include "apps/load_and_run/inputs/input_json.h"

#include <cmath>
#include <nlohmann/json.hpp>

#include "apps/cli/files/text_file.h"
#include "apps/cli/output/fit_numbers.h"
#include "libmge/base/error.h"
#include "libmge/base/number_text.h"
#include "libmge/device/device.h"
#include "libmge/tensor/dtype_dispatch.h"
#include "libmge/tensor/narrow.h"

namespace mge::load_and_run {
namespace {

// An ordered one looks for each key among all that came before.
using SortedJson = nlohmann::json;

constexpr std::pair<std::string_view, DType> json_dtypes[] = {
    {"float32", DType::f32}, {"float", DType::f32},   {"float16", DType::f16}, {"int32", DType::i32},
    {"int", DType::i32},     {"int16", DType::i16},   {"int8", DType::i8},     {"uint16", DType::u16},
    {"uint8", DType::u8},    {"bool", DType::boolean}};

class InputReader {
public:
    InputReader(const std::string& path, const std::string& name) : path_(path), name_(name) {}

    Tensor read(const SortedJson& input) const {
        if (!input.is_object()) fail("is not an object with shape, type and raw");
        for (auto* key : {"shape", "type", "raw"})
            if (!input.contains(key)) fail(text("has no '", key, "'"));
        TensorSpec spec{dtype_of(input["type"]), shape_of(input["shape"]), {}};
        std::vector<double> numbers;
        flatten(input["raw"], numbers);
        if (int64_t(numbers.size()) != spec.numel())
            fail(text("has ", counted(numbers.size(), "number"), " for the shape ", spec.shape));
        return to_tensor(spec, numbers);
    }

private:
    [[noreturn]] void fail(const std::string& what) const {
        throw ModelError(text("'", path_, "': input '", name_, "' ", what));
    }

    DType dtype_of(const SortedJson& type) const {
        for (auto& [name, dtype] : json_dtypes)
            if (type == name) return dtype;
        fail(text("has the type ", type.dump(),
                  "; known are float32, float16, int32, int16, int8, uint16, uint8, bool"));
    }

    Shape shape_of(const SortedJson& list) const {
        if (!list.is_array() || list.size() > size_t(max_rank)) fail("needs a list of sizes as its shape");
        Shape shape;
        for (auto& extent : list) {
            if (!extent.is_number_unsigned() || extent.get<uint64_t>() > (uint64_t(1) << 31))
                fail(text("has the dimension ", extent.dump()));
            shape.push_back(extent.get<int64_t>());
        }
        try {
            checked_numel("shape", shape);
        } catch (const UserError& e) {
            fail(text("cannot be: ", e.what()));
        }
        return shape;
    }

    void flatten(const SortedJson& value, std::vector<double>& numbers) const {
        if (value.is_array())
            for (auto& part : value) flatten(part, numbers);
        else if (value.is_number())
            numbers.push_back(value.get<double>());
        else if (value.is_boolean())
            numbers.push_back(value.get<bool>());
        else
            fail(text("holds ", value.dump(), ", which is not a number"));
    }

    // Whole numbers are rounded to, as MegEngine does.
    Tensor to_tensor(const TensorSpec& spec, const std::vector<double>& numbers) const {
        Tensor result = empty_tensor(spec, host_device);
        bool is_whole = !is_float(spec.dtype) && (!is_narrow(spec.dtype) || is_narrow_int(spec.dtype));
        auto number_at = [&](int64_t i) {
            return is_whole ? std::round(numbers[size_t(i)]) : numbers[size_t(i)];
        };
        cli::fit_numbers(result, number_at, "--input");
        return result;
    }

    const std::string &path_, &name_;
};

}  // namespace

std::map<std::string, Tensor> read_json_inputs(const std::string& path) {
    SortedJson all = SortedJson::parse(cli::read_json_text(path), nullptr, false);
    if (!all.is_object()) throw ModelError(text("'", path, "' is not a JSON object of inputs by name"));
    std::map<std::string, Tensor> result;
    for (auto& [name, input] : all.items()) result[name] = InputReader(path, name).read(input);
    return result;
}

}  // namespace mge::load_and_run
