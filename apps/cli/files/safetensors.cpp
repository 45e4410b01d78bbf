// SPDX-License-Identifier: Apache-2.0
#include "apps/cli/files/safetensors.h"

#include <nlohmann/json.hpp>

#include "libmge/base/error.h"
#include "libmge/base/files/file.h"

namespace mge::cli {
namespace {

std::string type_name(DType dtype) {
    constexpr const char* names[] = {"",    "BOOL", "U8",  "I8",  "U16",  "I16", "U32",
                                     "I32", "U64",  "I64", "F16", "BF16", "F32", "F64"};
    MGE_CHECK(dtype != DType::none);
    if (dtype == DType::e4m3fn) return "F8_E4M3";
    if (dtype == DType::e5m2) return "F8_E5M2";
    if (dtype == DType::e8m0) return "F8_E8M0";
    if (is_narrow(dtype))
        throw UserError(text("safetensors has no dtype for ", dtype, "; convert it"), ErrorClass::type);
    return names[size_t(dtype)];
}

}  // namespace

void write_safetensors(const std::string& path, const std::vector<std::pair<std::string, Tensor>>& arrays,
                       const std::map<std::string, std::string>& metadata) {
    nlohmann::ordered_json header = nlohmann::ordered_json::object();
    if (!metadata.empty()) header["__metadata__"] = metadata;
    size_t offset = 0;
    for (auto& [name, tensor] : arrays) {
        size_t end = offset + tensor.spec().bytes();
        header[name] = {{"dtype", type_name(tensor.dtype())},
                        {"shape", tensor.shape().dims()},
                        {"data_offsets", {offset, end}}};
        offset = end;
    }
    std::string head = header.dump(-1, ' ', false, nlohmann::ordered_json::error_handler_t::replace);
    head.append((8 - head.size() % 8) % 8, ' ');  // aligns the data to 8 bytes
    write_file_atomically(path, [&](std::ostream& stream) {
        uint64_t length = head.size();
        for (int i = 0; i < 8; ++i) stream.put(char(length >> 8 * i));
        stream << head;
        for (auto& [name, tensor] : arrays)
            stream.write(static_cast<const char*>(tensor.data()), std::streamsize(tensor.spec().bytes()));
    });
}

}  // namespace mge::cli
