// SPDX-License-Identifier: Apache-2.0
#include "libmge/device/device.h"

#include <charconv>
#include <cstring>
#include <deque>
#include <mutex>

#include "libmge/base/error.h"
#include "libmge/device/cpu/cpu_device.h"
#include "libmge/tensor/dtype_dispatch.h"

namespace mge {
namespace {

struct Kind {
    std::string name;
    int count = 0;
    Device& (*open)(int index) = nullptr;
};

struct Kinds {
    std::mutex mutex;
    std::deque<Kind> list{{"cpu", 256, open_cpu}};
};

Kinds& kinds() {
    static Kinds all;
    return all;
}

DeviceId& default_id() {
    static DeviceId id;
    return id;
}

[[noreturn]] void throw_name(std::string_view name) {
    throw UserError(text("'", name,
                         "' is not a device name: expected xpux, cpuN, multithreadN or the name of a loaded ",
                         "backend with a number, and optionally :STREAM"));
}

int parse_number(std::string_view digits, std::string_view name) {
    int number = 0;
    auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), number);
    if (digits.empty() || error != std::errc() || end != digits.data() + digits.size() || number < 0 ||
        number > 255)
        throw_name(name);
    return number;
}

uint8_t find_kind(std::string_view word, std::string_view name) {
    if (word == "cpu" || word == "xpu" || word == "multithread") return 0;
    std::lock_guard lock(kinds().mutex);
    for (size_t i = 1; i < kinds().list.size(); ++i)
        if (kinds().list[i].name == word) return uint8_t(i);
    if (word == "gpu" || word == "cuda")
        throw DeviceError(text("device '", name, "' is not available: this build has no CUDA backend"));
    throw_name(name);
}

}  // namespace

DeviceId parse_device(std::string_view name) {
    DeviceId id;
    id.is_default = false;
    std::string_view rest = name;
    if (size_t colon = rest.find(':'); colon != std::string_view::npos) {
        id.stream = uint8_t(parse_number(rest.substr(colon + 1), name));
        rest = rest.substr(0, colon);
    }
    if (rest == "xpux" || rest == "cpux") {
        id.is_default = rest == "xpux";
        return id;
    }
    size_t digits = rest.find_first_of("0123456789");
    if (digits == std::string_view::npos) throw_name(name);
    id.kind = find_kind(rest.substr(0, digits), name);
    id.index = uint8_t(parse_number(rest.substr(digits), name));
    std::lock_guard lock(kinds().mutex);
    if (id.index >= kinds().list[id.kind].count)
        throw DeviceError(
            text("device '", name, "' does not exist: there are ", kinds().list[id.kind].count));
    return id;
}

std::string logical_name(DeviceId id) {
    return id.is_default && id.kind == 0 && id.index == 0 ? text("xpux:", int(id.stream)) : physical_name(id);
}

std::string physical_name(DeviceId id) {
    std::lock_guard lock(kinds().mutex);
    return text(kinds().list.at(id.kind).name, int(id.index), ':', int(id.stream));
}

Device& device(DeviceId id) {
    if (id.kind == 0) [[likely]]
        return open_cpu(id.index);
    std::lock_guard lock(kinds().mutex);
    return kinds().list.at(id.kind).open(id.index);
}

DeviceId default_device() { return default_id(); }
void set_default_device(DeviceId id) { default_id() = id; }

uint8_t add_device_kind(std::string name, int count, Device& (*open)(int index)) {
    std::lock_guard lock(kinds().mutex);
    for (auto& kind : kinds().list)
        if (kind.name == name) throw UserError(text("a backend named '", name, "' is loaded already"));
    if (kinds().list.size() >= 255) throw UserError("too many kinds of devices");
    kinds().list.push_back({std::move(name), count, open});
    return uint8_t(kinds().list.size() - 1);
}

Tensor empty_tensor(const TensorSpec& spec, DeviceId id) {
    return Tensor(spec, device(id).allocate(spec.bytes()), 0, id);
}

Tensor tensor_from_host(const TensorSpec& spec, const void* data, DeviceId id) {
    Tensor tensor = empty_tensor(spec, id);
    if (size_t bytes = spec.bytes()) device(id).copy_from_host(tensor.data(), data, bytes);
    return tensor;
}

Tensor scalar_tensor(double value, DType dtype, DeviceId id) {
    Tensor result;
    dispatch_dtype(dtype, AllTypes{}, [&](auto type) {
        using T = typename decltype(type)::type;
        T element;
        if constexpr (std::is_integral_v<T> || std::is_same_v<T, float>)
            element = T(value);
        else
            element = T(float(value));
        result = tensor_from_host({dtype, {}, {}}, &element, id);
    });
    return result;
}

}  // namespace mge
