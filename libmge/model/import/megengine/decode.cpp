// SPDX-License-Identifier: Apache-2.0
#include "libmge/model/import/megengine/decode.h"

#include "libmge/model/import/megengine/user_info.h"

namespace mge::megengine {
namespace {

using file::DTypeEnum;

struct DTypeRow {
    DTypeEnum type;
    std::string_view name;
    DType dtype;
};
constexpr DTypeRow dtypes[] = {
    {DTypeEnum::Float32, "Float32", DType::f32},
    {DTypeEnum::Uint8, "Uint8", DType::u8},
    {DTypeEnum::Int8, "Int8", DType::i8},
    {DTypeEnum::Int16, "Int16", DType::i16},
    {DTypeEnum::Int32, "Int32", DType::i32},
    {DTypeEnum::IntB1, "IntB1", DType::none},
    {DTypeEnum::IntB2, "IntB2", DType::none},
    {DTypeEnum::IntB4, "IntB4", DType::none},
    {DTypeEnum::Byte, "Byte", DType::none},
    {DTypeEnum::Float16, "Float16", DType::f16},
    {DTypeEnum::UintB4, "UintB4", DType::none},
    {DTypeEnum::Quantized8Asymm, "Quantized8Asymm", DType::none},
    {DTypeEnum::QuantizedS32, "QuantizedS32", DType::none},
    {DTypeEnum::QuantizedS8, "QuantizedS8", DType::none},
    {DTypeEnum::Quantized4Asymm, "Quantized4Asymm", DType::none},
    {DTypeEnum::QuantizedS4, "QuantizedS4", DType::none},
    {DTypeEnum::QuantizedS16, "QuantizedS16", DType::none},
    {DTypeEnum::BFloat16, "BFloat16", DType::bf16},
    {DTypeEnum::Bool, "Bool", DType::boolean},
    {DTypeEnum::Uint16, "Uint16", DType::u16},
    {DTypeEnum::QuantizedS1, "QuantizedS1", DType::none},
    {DTypeEnum::Complex64, "Complex64", DType::none},
};

const DTypeRow* find_dtype(DTypeEnum type) {
    auto found = std::ranges::find(dtypes, type, &DTypeRow::type);
    return found == std::end(dtypes) ? nullptr : found;
}

struct OptionBit {
    uint64_t bit;
    std::string_view name;
};
// Bits of Metadata.optimize_options.
constexpr OptionBit option_bits[] = {
    {1, "f16_io_f32_comp"},       {2, "f16_io_comp"},        {4, "fuse_conv_bias_nonlinearity"},
    {8, "fuse_conv_bias_with_z"}, {16, "weight_preprocess"}, {32, "fuse_preprocess"},
    {64, "fuse_grain"},
};
constexpr std::string_view layout_names[] = {"default",    "nchw4",  "nhwcd4", "nchw88", "nchw44",
                                             "nchw44_dot", "nchw32", "chwn4",  "nchw64"};

std::string options_text(uint64_t options) {
    std::string result;
    for (auto& [bit, name] : option_bits)
        if (options & bit) result += text(result.empty() ? "" : " ", name);
    if (uint64_t layout = options >> 32)
        result += text(result.empty() ? "" : " ",
                       "layout=", layout < std::size(layout_names) ? layout_names[layout] : "unknown");
    return result.empty() ? "none" : result;
}

}  // namespace

DType dtype_from_file(DTypeEnum type) {
    auto* row = find_dtype(type);
    return row ? row->dtype : DType::none;
}

FileDType file_dtype(const file::DType* dtype) {
    if (!dtype) return {};
    auto* quantised = dtype->param_as_LinearQuantizationParam();
    return {dtype->type(), dtype_from_file(dtype->type()), quantised ? quantised->scale() : 1,
            quantised ? quantised->zero_point() : 0};
}

std::string_view name_of(DTypeEnum type) {
    auto* row = find_dtype(type);
    return row ? row->name : "unknown";
}

std::string_view without_version(std::string_view type) {
    size_t v = type.find_last_not_of("0123456789");
    return v != std::string_view::npos && v + 1 < type.size() && type[v] == 'V' ? type.substr(0, v) : type;
}

Shape Decoding::shape(const flatbuffers::Vector<uint32_t>* dims, const std::string& where) const {
    if (count(dims) > size_t(max_rank)) fail(where, ": rank ", count(dims), " is above ", max_rank);
    Shape result;
    for (size_t i = 0; i < count(dims); ++i) result.push_back(dims->Get(flatbuffers::uoffset_t(i)));
    try {
        checked_numel("model", result);
    } catch (const UserError& e) {
        fail(where, ": ", e.what());
    }
    return result;
}

std::vector<uint32_t> Decoding::numbers(const flatbuffers::Vector<uint32_t>* list) {
    charge(count(list) * sizeof(uint32_t));
    std::vector<uint32_t> result(count(list));
    for (size_t i = 0; i < result.size(); ++i) result[i] = list->Get(flatbuffers::uoffset_t(i));
    return result;
}

std::map<std::string, std::string> Decoding::metadata(uint32_t version, bool is_valid, bool is_modified,
                                                      uint64_t optimize_options,
                                                      std::string_view user_info) const {
    std::map<std::string, std::string> result;
    if (version)
        result["megengine_version"] = text(version / 100'000, '.', version / 100 % 1000, '.', version % 100);
    if (!is_valid) return result;
    if (is_modified) result["graph_modified"] = "true";
    result["optimize_options"] = options_text(optimize_options);
    if (auto info = user_info_text(user_info); !info.empty()) result["user_info"] = info;
    return result;
}

AlignedBytes::AlignedBytes(std::span<const std::byte> bytes) : bytes_(bytes) {
    if (reinterpret_cast<uintptr_t>(bytes.data()) % alignof(uint64_t) == 0) return;
    auto copy = std::make_shared<std::vector<uint64_t>>((bytes.size() + 7) / 8);
    std::memcpy(copy->data(), bytes.data(), bytes.size());
    bytes_ = std::as_bytes(std::span(*copy)).first(bytes.size());
    copy_ = std::move(copy);
}

}  // namespace mge::megengine
