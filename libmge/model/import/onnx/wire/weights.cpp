// SPDX-License-Identifier: Apache-2.0
#include "libmge/model/import/onnx/wire/weights.h"

#include <algorithm>
#include <charconv>
#include <filesystem>

#include "libmge/base/number_text.h"
#include "libmge/base/numbers/ceil_div.h"
#include "libmge/device/device.h"
#include "libmge/model/import/onnx/operators.h"
#include "libmge/model/onnx_dtypes.h"
#include "libmge/tensor/narrow.h"

namespace mge::onnx {
namespace {

using file::TensorProto;

// The number in an entry of external data.
size_t number_in(const std::string& key, const std::string& digits) {
    size_t value = 0;
    auto [end, problem] = std::from_chars(digits.data(), digits.data() + digits.size(), value);
    if (problem != std::errc() || end != digits.data() + digits.size())
        invalid("the ", key, " '", digits.substr(0, 32), "' of its external data is not a number");
    return value;
}

Shape shape_of(const TensorProto& tensor) {
    Shape shape;
    if (tensor.dims_size() > max_rank) unsupported("a constant of rank ", tensor.dims_size());
    for (int64_t extent : tensor.dims()) {
        if (extent < 0) invalid("a constant has a dimension of size ", extent);
        shape.push_back(extent);
    }
    checked_numel("constant", shape);
    return shape;
}

Bytes bytes_of(const std::string& text) { return std::as_bytes(std::span(text)); }

// Numbers stored individually in the message, in a type that may be wider than theirs.
template <class T, class Numbers>
Tensor from_numbers(const TensorSpec& spec, const Numbers& numbers) {
    if (int64_t(numbers.size()) != spec.numel())
        invalid("a constant of ", spec, " has ", counted(numbers.size(), "number"));
    Tensor values = empty_tensor(spec, host_device);
    std::ranges::transform(numbers, static_cast<T*>(values.data()), [](auto number) { return T(number); });
    return values;
}

// Number of elements per byte in files, for elements of less than 8 bits.
int per_byte(DType dtype) { return is_narrow(dtype) ? 8 / narrow_width(dtype) : 1; }
size_t bytes_in_file(const TensorSpec& spec) {
    auto n = size_t(per_byte(spec.dtype));
    return n == 1 ? spec.bytes() : ceil_div(size_t(spec.numel()), n);
}

// The first element is in the lowest bits.
Tensor unpacked(const TensorSpec& spec, Bytes packed) {
    if (packed.size() != bytes_in_file(spec))
        invalid("a constant of ", spec, " has ", counted(packed.size(), "byte"));
    auto n = size_t(per_byte(spec.dtype)), width = 8 / n;
    std::vector<uint8_t> codes(size_t(spec.numel()));
    for (size_t i = 0; i < codes.size(); ++i)
        codes[i] = uint8_t(std::to_integer<unsigned>(packed[i / n]) >> i % n * width & ((1U << width) - 1));
    return tensor_from_host(spec, codes.data(), host_device);
}

Tensor from_typed_fields(const TensorProto& tensor, const TensorSpec& spec) {
    auto& small = tensor.int32_data();
    switch (spec.dtype) {
        case DType::f32:
            return from_numbers<float>(spec, tensor.float_data());
        case DType::f64:
            return from_numbers<double>(spec, tensor.double_data());
        case DType::i64:
            return from_numbers<int64_t>(spec, tensor.int64_data());
        case DType::u32:
            return from_numbers<uint32_t>(spec, tensor.uint64_data());
        case DType::u64:
            return from_numbers<uint64_t>(spec, tensor.uint64_data());
        case DType::i32:
            return from_numbers<int32_t>(spec, small);
        case DType::boolean:
            return from_numbers<bool>(spec, small);
        case DType::f16:
        case DType::bf16:
        case DType::u16:
        case DType::i16:
            return from_numbers<uint16_t>(spec, small);
        default:
            break;
    }
    if (per_byte(spec.dtype) == 1) return from_numbers<uint8_t>(spec, small);
    std::vector<std::byte> packed;
    for (auto number : small) packed.push_back(std::byte(number));
    return unpacked(spec, packed);
}

// Nonzero values are true, in memory too.
Tensor from_bytes(const TensorSpec& spec, Bytes bytes) {
    if (per_byte(spec.dtype) > 1) return unpacked(spec, bytes);
    if (bytes.size() != spec.bytes()) invalid("a constant of ", spec, " has ", counted(bytes.size(), "byte"));
    if (spec.dtype != DType::boolean) return tensor_from_host(spec, bytes.data(), host_device);
    std::vector<uint8_t> values;
    for (auto byte : bytes) values.push_back(byte != std::byte{});
    return tensor_from_host(spec, values.data(), host_device);
}

}  // namespace

std::optional<DType> dtype_of(int data_type) {
    auto row = std::ranges::find(onnx_dtypes, data_type, &OnnxDType::number);
    return row == std::end(onnx_dtypes) ? std::nullopt : std::optional(row->dtype);
}

std::string name_of_data_type(int data_type) {
    if (!TensorProto::DataType_IsValid(data_type)) return text("number ", data_type);
    return TensorProto::DataType_Name(TensorProto::DataType(data_type));
}

// A path that leads out of the folder would make any file of the machine a part of the model. If the user's
// own path to the model is a link, as in caches with content-addressed files, its target's folder is allowed,
// too.
const MappedFile& ExternalFiles::open(const std::string& location) {
    if (auto found = files_.find(location); found != files_.end()) return *found->second;
    namespace fs = std::filesystem;
    std::error_code problem;
    fs::path resolved = fs::canonical(model_, problem).parent_path();
    if (problem)
        invalid("its external data '", location, "' needs its path; load it by that, not from memory");
    fs::path model = model_,
             folder = fs::canonical(model.has_parent_path() ? model.parent_path() : ".", problem);
    fs::path target = problem ? fs::path() : fs::canonical(folder / location, problem);
    if (problem) invalid("its external data '", location, "' cannot be found: ", problem.message());
    auto holds_target = [&](const fs::path& outer) {
        auto [end, _] = std::mismatch(outer.begin(), outer.end(), target.begin(), target.end());
        return end == outer.end();
    };
    if (fs::path(location).is_absolute() || (!holds_target(folder) && !holds_target(resolved)))
        invalid("its external data '", location, "' is outside of the model's folder");
    if (!fs::is_regular_file(target)) invalid("its external data '", location, "' is not a regular file");
    return *files_.emplace(location, MappedFile::open(target.string(), access_)).first->second;
}

Bytes ExternalFiles::find(const TensorProto& tensor, size_t size) {
    std::string location;
    size_t offset = 0, length = size;
    for (auto& entry : tensor.external_data()) {
        if (entry.key() == "location") location = entry.value();
        if (entry.key() == "offset") offset = number_in(entry.key(), entry.value());
        if (entry.key() == "length") length = number_in(entry.key(), entry.value());
    }
    if (location.empty()) invalid("its external data has no location");
    if (location.find('\0') != location.npos)
        invalid("the location of its external data contains a zero byte");
    Bytes bytes = open(location).bytes();
    if (offset > bytes.size() || length > bytes.size() - offset)
        invalid("its external data '", location, "' has ", counted(bytes.size(), "byte"),
                ", but the constant needs ", length, " from byte ", offset, " on");
    return bytes.subspan(offset, length);
}

Tensor tensor_of(const TensorProto& tensor, Bytes raw, ExternalFiles& files) {
    auto dtype = dtype_of(tensor.data_type());
    if (!dtype) unsupported("a constant of dtype ", name_of_data_type(tensor.data_type()));
    if (tensor.has_segment()) unsupported("a segmented constant");
    TensorSpec spec{*dtype, shape_of(tensor), {}};
    if (tensor.data_location() == TensorProto::EXTERNAL)
        return from_bytes(spec, files.find(tensor, bytes_in_file(spec)));
    return tensor.has_raw_data() ? from_bytes(spec, raw) : from_typed_fields(tensor, spec);
}

Tensor tensor_of(const TensorProto& tensor, ExternalFiles& files) {
    return tensor_of(tensor, bytes_of(tensor.raw_data()), files);
}

}  // namespace mge::onnx
