// SPDX-License-Identifier: Apache-2.0
#include "libmge/device/gpu.h"

#include <atomic>
#include <filesystem>

#include "libmge/base/error.h"
#include "libmge/base/files/plugin.h"
#include "libmge/device/kinds.h"

namespace mge {
namespace {

constexpr const char* library_name = "libmge_cuda.so";

const DeviceKind* find_gpu(const std::vector<DeviceKind>& kinds) {
    for (auto& kind : kinds)
        if (kind.name == "gpu") return &kind;
    return nullptr;
}

std::atomic<CudaVersion> version_of{nullptr};

// Loads the backend, which registers itself. Returns an error text or an empty string.
std::string load_library() {
    std::error_code error;
    auto path = own_library().parent_path() / library_name;
    if (!std::filesystem::exists(path, error))
        return text("this build has no CUDA backend (no ", library_name, " in ", path.parent_path().string(),
                    ')');
    auto [add, why_not] = open_plugin(path, "mge_add_cuda_backend");
    if (!add) return text("cannot load the CUDA backend: ", why_not);
    reinterpret_cast<void (*)()>(add)();
    return {};
}

GpuKind find_or_load() {
    std::string why;
    if (!find_gpu(added_device_kinds())) try {
            why = load_library();
        } catch (const std::exception& e) {
            why = e.what();
        }
    auto kinds = added_device_kinds();
    auto* found = find_gpu(kinds);
    return found ? GpuKind{found->count, found->why_unavailable} : GpuKind{0, why};
}

}  // namespace

const GpuKind& gpus() {
    static const GpuKind kind = find_or_load();
    return kind;
}

int cuda_version(const char* library) {
    gpus();
    CudaVersion query = version_of.load();
    return query ? query(library) : 0;
}

void set_cuda_version(CudaVersion source) { version_of = source; }

}  // namespace mge
