// SPDX-License-Identifier: Apache-2.0
#pragma once
// A model as MegEngine's files say it, whatever the version of the format: operators by name, with their
// parameters, and values by number. Everything refers to the bytes it was decoded from.

#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "libmge/tensor/spec.h"
#include "megengine_params_generated.h"

namespace mge::megengine {

// The dtype of a tensor in a file; `dtype` is DType::none without a counterpart (quantised types).
struct FileDType {
    file::DTypeEnum type = file::DTypeEnum::Float32;
    DType dtype = DType::f32;
    float scale = 1;  // scale of quantised ones
    int zero_point = 0;
};
DType dtype_from_file(file::DTypeEnum type);  // none: no counterpart
FileDType file_dtype(const file::DType* dtype);
std::string_view name_of(file::DTypeEnum type);

struct TensorRecord {
    std::string_view name;
    FileDType dtype;
    Shape shape;
    bool has_data = false, is_plain = true;  // not plain: image or low-bit formats
    std::span<const std::byte> data;
};

struct OperatorRecord {
    std::string type;       // "Reduce", without the suffix that counts versions
    std::string_view name;  // empty if names were not kept
    file::OperatorParam param_type = file::OperatorParam::NONE;
    const void* param = nullptr;
    std::vector<uint32_t> inputs, outputs;  // values
    std::vector<TensorRecord> tensors;
    const file::DType* output_dtype = nullptr;
};

struct OutputRecord {
    uint32_t value = 0;
    std::string_view name;  // empty: that of the value
};

struct ModelRecord {
    std::string format;  // "MegEngine V2"
    std::vector<OperatorRecord> operators;
    std::vector<std::string_view> value_names;  // shorter than the number of values if names were not kept
    std::vector<OutputRecord> outputs;
    std::map<std::string, std::string> metadata;
    // False when operators of an unknown type make values: version 1 does not say how many.
    bool values_are_certain = true;
    // Keeps the data of the fields above alive if it does not belong to the file.
    std::shared_ptr<const void> owner;
    size_t bytes = 0;  // how far the model reaches in the file
};

// The type without the digits that MegEngine appends when an operator's parameters change: "ReduceV2".
std::string_view without_version(std::string_view type);

}  // namespace mge::megengine
