// SPDX-License-Identifier: Apache-2.0
#include "libmge/base/files/plugin.h"

#include <dlfcn.h>

#include "libmge/base/text.h"

namespace mge {

std::filesystem::path own_library() {
    Dl_info info{};
    if (!::dladdr(reinterpret_cast<const void*>(&own_library), &info) || !info.dli_fname) return {};
    return info.dli_fname;
}

PluginFunction open_plugin(const std::filesystem::path& file, const char* function, bool shows_symbols) {
    void* library = ::dlopen(file.c_str(), RTLD_NOW | (shows_symbols ? RTLD_GLOBAL : RTLD_LOCAL));
    if (!library) return {nullptr, ::dlerror()};
    void* found = ::dlsym(library, function);
    return {found,
            found ? "" : text("'", file.string(), "' is no such plugin: it has no function ", function)};
}

}  // namespace mge
