// SPDX-License-Identifier: Apache-2.0
#include "libmge/device/device.h"

#include <algorithm>
#include <array>
#include <atomic>
#include <charconv>
#include <mutex>
#include <optional>
#include <vector>

#include "libmge/base/error.h"
#include "libmge/device/cpu/cpu_device.h"
#include "libmge/device/gpu.h"
#include "libmge/device/kinds.h"
#include "libmge/tensor/element_bytes.h"

namespace mge {
namespace {

struct Kind {
    std::string name;
    int count = 0;
    Device& (*open)(int index) = nullptr;
    std::string why_unavailable;
};

constexpr size_t max_kinds = 255;

// Append-only. Reads take no lock, because a child of fork() could inherit it locked; the lock orders
// writers.
struct Kinds {
    std::array<Kind, max_kinds> list;
    std::atomic<size_t> count{1};
    std::mutex adding;
    // [kind][index]: the device has been requested.
    std::array<std::array<std::atomic<bool>, 256>, max_kinds> is_used{};

    Kinds() { list[0] = {"cpu", 256, open_cpu, {}}; }
    size_t size() const { return count.load(std::memory_order_acquire); }
    const Kind& at(uint8_t kind) const {
        MGE_CHECK(kind < size(), "kind of device ", int(kind));
        return list[kind];
    }
};

Kinds& kinds() {
    static Kinds all;
    return all;
}

[[noreturn]] void throw_name(std::string_view name) {
    bool means_gpu = name.starts_with("gpu") || name.starts_with("cuda");
    throw UserError(
        text("'", name, "' is not a device name: expected xpux, cpuN, multithreadN or the name of a loaded ",
             "backend with a number, and optionally :STREAM", means_gpu ? "; the first GPU is gpu0" : ""),
        ErrorClass::value);
}

int parse_number(std::string_view digits, std::string_view name) {
    int number = 0;
    auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), number);
    if (digits.empty() || error != std::errc() || end != digits.data() + digits.size() || number < 0 ||
        number > 255)
        throw_name(name);
    return number;
}

std::optional<uint8_t> find_added(std::string_view word) {
    for (size_t i = 1; i < kinds().size(); ++i)
        if (kinds().list[i].name == word) return uint8_t(i);
    return std::nullopt;
}

uint8_t find_kind(std::string_view word, std::string_view name) {
    if (word == "cpu" || word == "xpu" || word == "multithread") return 0;
    if (word == "cuda") word = "gpu";
    if (auto kind = find_added(word)) return *kind;
    if (word != "gpu") throw_name(name);
    auto& why = gpus().why_unavailable;
    if (auto kind = find_added(word)) return *kind;
    throw DeviceError(text("device '", name, "' is not available: ", why));
}

}  // namespace

DeviceId parse_device(std::string_view name) {
    DeviceId id;
    id.is_default = false;
    // MegEngine's CPUs that compute in the calling thread. The number of threads is a setting here.
    constexpr std::string_view with_threads = "multithread:default:";
    if (name == "cpu:default") return id;
    if (name.starts_with(with_threads)) {
        (void)parse_number(name.substr(with_threads.size()), name);
        return id;
    }
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
    auto& kind = kinds().at(id.kind);
    if (kind.count == 0)
        throw DeviceError(text("device '", name, "' is not available: ", kind.why_unavailable));
    if (id.index >= kind.count)
        throw DeviceError(text("device '", name, "' does not exist: there are ", kind.count));
    return id;
}

std::string logical_name(DeviceId id) {
    return id.is_default && id.kind == 0 && id.index == 0 ? text("xpux:", int(id.stream)) : physical_name(id);
}

std::string physical_name(DeviceId id) {
    return text(kinds().at(id.kind).name, int(id.index), ':', int(id.stream));
}

Device& device(DeviceId id) {
    if (id.kind == 0) [[likely]]
        return open_cpu(id.index);
    auto& kind = kinds().at(id.kind);
    kinds().is_used[id.kind][id.index].store(true, std::memory_order_relaxed);
    return kind.open(id.index);
}

StorageRef Device::allocate_host(size_t bytes) { return queue_of(host_device).allocate(bytes); }

MemoryStatus Device::memory_status() const { return mge::memory_status(); }

double Event::milliseconds_since(const Event&) const {
    throw InternalError("the event has no time stamp: it is not from record_time()");
}

Queue& queue_of(DeviceId id) { return device(id).queue(id.stream); }

uint8_t add_device_kind(std::string name, int count, Device& (*open)(int index),
                        std::string why_unavailable) {
    auto& all = kinds();
    std::lock_guard lock(all.adding);
    size_t kind = all.size();
    for (size_t i = 0; i < kind; ++i)
        if (all.list[i].name == name) throw UserError(text("a backend named '", name, "' is loaded already"));
    if (kind == max_kinds) throw UserError("too many kinds of devices");
    all.list[kind] = {std::move(name), count, open, std::move(why_unavailable)};
    all.count.store(kind + 1, std::memory_order_release);
    return uint8_t(kind);
}

void release_cached_memory() {
    release_cached_by_cpus();
    auto& all = kinds();
    for (size_t kind = 1; kind < all.size(); ++kind)
        for (size_t index = 0; index < all.is_used[kind].size(); ++index)
            if (all.is_used[kind][index].load(std::memory_order_relaxed))
                all.list[kind].open(int(index)).release_cached();
}

std::vector<DeviceKind> added_device_kinds() {
    auto& all = kinds();
    std::vector<DeviceKind> result;
    for (size_t i = 1; i < all.size(); ++i)
        result.push_back({all.list[i].name, all.list[i].count, all.list[i].why_unavailable});
    return result;
}

void copy_between(DeviceId to, void* target, DeviceId from, const void* source, size_t bytes) {
    if (bytes == 0) return;
    Queue &there = queue_of(to), &here = queue_of(from);
    if (from.is_host()) return there.copy_from_host(target, source, bytes);
    if (to.is_host()) return here.copy_to_host(target, source, bytes);
    if (to.kind != from.kind) {
        std::vector<std::byte> passing(bytes);
        here.copy_to_host(passing.data(), source, bytes);
        return there.copy_from_host(target, passing.data(), bytes);
    }
    if (to == from) return there.copy(target, source, bytes);
    there.run_after(here);
    there.copy(target, source, bytes);
    // The source's memory must not be reused before the copy.
    here.run_after(there);
}

Tensor empty_tensor(const TensorSpec& spec, DeviceId id) {
    return Tensor(spec, queue_of(id).allocate(spec.bytes()), 0, id);
}

Tensor tensor_from_host(const TensorSpec& spec, const void* data, DeviceId id) {
    Tensor tensor = empty_tensor(spec, id);
    size_t bytes = spec.bytes();
    std::vector<uint8_t> truths;  // normalises nonzero bytes to 1
    if (spec.dtype == DType::boolean) {
        auto* given = static_cast<const uint8_t*>(data);
        truths.resize(bytes);
        std::transform(given, given + bytes, truths.begin(), [](uint8_t byte) { return byte != 0; });
        data = truths.data();
    }
    if (bytes) queue_of(id).copy_from_host(tensor.address(), data, bytes);
    return tensor;
}

Tensor to_device(const Tensor& tensor, DeviceId id) {
    if (!tensor || tensor.device() == id) return tensor;
    Tensor result = empty_tensor(tensor.spec(), id);
    copy_between(id, result.address(), tensor.device(), tensor.address(), tensor.spec().bytes());
    return result;
}

Tensor to_host(const Tensor& tensor) {
    return !tensor || tensor.device().is_host() ? tensor : to_device(tensor, host_device);
}

Tensor scalar_tensor(double value, DType dtype, DeviceId id) {
    uint64_t element = element_bytes(dtype, value);
    return tensor_from_host({dtype, {}, {}}, &element, id);
}

ParamValue ParamCodec<DeviceId>::get(DeviceId id) { return logical_name(id); }
DeviceId ParamCodec<DeviceId>::set(const ParamValue& value) {
    if (auto* name = std::get_if<std::string>(&value)) return parse_device(*name);
    throw_wrong_param("the name of a device", value);
}

}  // namespace mge
