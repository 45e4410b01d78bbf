// SPDX-License-Identifier: Apache-2.0
#include "libmge/device/cuda/library.h"

#include <dlfcn.h>

#include <filesystem>
#include <vector>

#include "libmge/base/error.h"
#include "libmge/base/files/plugin.h"

namespace mge::cuda {
namespace {

namespace fs = std::filesystem;

void* open_file(const fs::path& path) { return ::dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL); }

// Returns folders that may contain "nvidia": those above this library and the interpreter's site-packages.
std::vector<fs::path> package_roots() {
    std::vector<fs::path> roots;
    std::error_code error;
    for (auto at = fs::absolute(own_library(), error).parent_path(); at.has_relative_path();
         at = at.parent_path())
        roots.push_back(at);
    fs::path interpreter = fs::read_symlink("/proc/self/exe", error);
    for (auto& entry : fs::directory_iterator(interpreter.parent_path().parent_path() / "lib", error))
        if (entry.path().filename().string().starts_with("python"))
            for (auto* packages : {"site-packages", "dist-packages"})
                roots.push_back(entry.path() / packages);
    return roots;
}

}  // namespace

Library::Library(const char* file, const char* package) : file_(file) {
    handle_ = open_file(file);
    if (handle_) return;
    const char* why = ::dlerror();
    why_not_ = text("cannot open ", file, " (", why ? why : "unknown",
                    "); install NVIDIA's Python package or name its folder in LD_LIBRARY_PATH");
    open_in_packages(package);
}

void Library::open_in_packages(const char* package) {
    std::error_code error;
    for (auto& root : package_roots()) {
        fs::path folder = root / "nvidia" / package / "lib";
        if (!fs::exists(folder / file_, error)) continue;
        handle_ = open_file(folder / file_);
        if (handle_) return why_not_.clear();
        if (const char* why = ::dlerror()) why_not_ = text("cannot open ", file_, ": ", why);
    }
}

void* Library::find(const char* name) {
    void* found = handle_ ? ::dlsym(handle_, name) : nullptr;
    if (handle_ && !found) {
        why_not_ = text(file_, " has no function ", name, "; another version is needed");
        handle_ = nullptr;
    }
    return found;
}

}  // namespace mge::cuda
