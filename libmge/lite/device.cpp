// SPDX-License-Identifier: Apache-2.0
#include "libmge/lite/device.h"

#include <algorithm>
#include <string_view>

#include "libmge/base/text.h"
#include "libmge/device/device.h"
#include "libmge/device/gpu.h"
#include "libmge/device/kinds.h"
#include "libmge/lite/as_lite_error.h"

namespace lite {
namespace {

constexpr int max_number = 255;  // largest number of a device, and of a stream

struct DeviceTypeName {
    LiteDeviceType type;
    std::string_view name;
};
constexpr DeviceTypeName device_types[] = {
    {LITE_CPU, "CPU"}, {LITE_CUDA, "CUDA"},           {LITE_ATLAS, "ATLAS"},
    {LITE_NPU, "NPU"}, {LITE_CAMBRICON, "CAMBRICON"}, {LITE_DEVICE_DEFAULT, "DEVICE_DEFAULT"}};

std::string& cuda_kind() {
    static std::string kind = "gpu";
    return kind;
}

void check_number(const char* what, int number, LiteDeviceType type) {
    if (number < 0 || number > max_number)
        throw Error(
            mge::text(what, " ", number, " of device ", name_of(type), ": they are 0 to ", max_number));
}

[[noreturn]] void throw_not_built(LiteDeviceType type) {
    throw Error(mge::text("this build has no device ", name_of(type),
                          "; there are CPU, and CUDA on machines with an NVIDIA GPU"));
}

}  // namespace

std::string name_of(LiteDeviceType type) {
    for (auto& [known, name] : device_types)
        if (known == type) return std::string(name);
    throw Error(mge::text("there is no type of device ", static_cast<int>(type),
                          "; they are CPU 0, CUDA 1, ATLAS 3, NPU 4, CAMBRICON 5 and DEVICE_DEFAULT 7"));
}

void require_backend(LiteBackend backend) {
    if (backend != LITE_DEFAULT)
        throw Error(mge::text("there is no backend ", static_cast<int>(backend),
                              "; LITE_DEFAULT (0) is the only one"));
}

mge::DeviceId device_of(LiteDeviceType type, int id, int stream) {
    if (id == -1) id = 0;
    check_number("number", id, type);
    check_number("stream", stream, type);
    if (type == LITE_CPU || type == LITE_DEVICE_DEFAULT)
        return {
            .index = static_cast<uint8_t>(id), .stream = static_cast<uint8_t>(stream), .is_default = false};
    if (type != LITE_CUDA) throw_not_built(type);
    return as_lite_error([&] { return mge::parse_device(mge::text(cuda_kind(), id, ':', stream)); });
}

LiteDeviceType device_type_of(mge::DeviceId device) { return device.is_host() ? LITE_CPU : LITE_CUDA; }

size_t device_count(LiteDeviceType type) {
    name_of(type);
    if (type == LITE_CPU || type == LITE_DEVICE_DEFAULT) return 1;
    if (type != LITE_CUDA) return 0;
    if (cuda_kind() == "gpu") return static_cast<size_t>(mge::gpus().count);
    auto kinds = mge::added_device_kinds();
    auto found = std::ranges::find(kinds, cuda_kind(), &mge::DeviceKind::name);
    return found == kinds.end() ? 0 : static_cast<size_t>(found->count);
}

void let_cuda_mean(std::string kind) { cuda_kind() = std::move(kind); }

}  // namespace lite
