// SPDX-License-Identifier: Apache-2.0
#include "libmge/device/gpu.h"

#include <dlfcn.h>

#include <atomic>
#include <filesystem>

#include "libmge/base/error.h"
#include "libmge/device/kinds.h"

namespace mge {
namespace {

constexpr const char* library_name = "libmge_cuda.so";

std::filesystem::path own_folder() {
    Dl_info info{};
    if (!::dladdr(reinterpret_cast<const void*>(&gpus), &info) || !info.dli_fname) return {};
    return std::filesystem::path(info.dli_fname).parent_path();
}

const DeviceKind* find_gpu(const std::vector<DeviceKind>& kinds) {
    for (auto& kind : kinds)
        if (kind.name == "gpu") return &kind;
    return nullptr;
}

std::atomic<CudaVersion> version_of{nullptr};

// Loads the backend, which registers itself. Returns an error text or an empty string.
std::string load_library() {
    std::error_code error;
    auto path = own_folder() / library_name;
    if (!std::filesystem::exists(path, error))
        return text("this build has no CUDA backend (no ", library_name, " in ", path.parent_path().string(),
                    ')');
    void* library = ::dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL);
    if (!library) return text("cannot load the CUDA backend: ", ::dlerror());
    auto add = reinterpret_cast<void (*)()>(::dlsym(library, "mge_add_cuda_backend"));
    if (!add) return text(path.string(), " is not the CUDA backend");
    add();
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
