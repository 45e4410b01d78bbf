// SPDX-License-Identifier: Apache-2.0
// What NVRTC is to a GPU, the host's compiler is to the emulated one.
#include "libmge/kernel/cuda/text_compiler.h"

#include <dlfcn.h>
#include <stdlib.h>

#include <cstring>
#include <filesystem>
#include <fstream>
#include <map>
#include <mutex>
#include <sstream>
#include <vector>

#include "libmge/base/error.h"
#include "tests/cuda/emulated/cuda_runtime.h"

namespace mge::cuda {
namespace {

namespace fs = std::filesystem;

// Kernels have one parameter of whatever type, which a launch keeps.
constexpr auto entry = R"(
template <class A>
static unsigned long call_kernel(void (*kernel)(A), const void* argument) {
    if (argument) kernel(*static_cast<const A*>(argument));
    return sizeof(A);
}
// Without an argument it says how large one is.
extern "C" unsigned long call(const void* argument) { return call_kernel()";

class Folder {
public:
    Folder() {
        std::string name = fs::temp_directory_path() / "mge-emulated-XXXXXX";
        MGE_CHECK(::mkdtemp(name.data()), "no temporary folder");
        path_ = name;
    }
    ~Folder() { fs::remove_all(path_); }
    Folder(const Folder&) = delete;
    fs::path path() const { return path_; }

private:
    fs::path path_;
};

std::string content_of(const fs::path& path) {
    std::ostringstream stream;
    stream << std::ifstream(path).rdbuf();
    return stream.str();
}

using Call = unsigned long (*)(const void*);

// The library that the emulation is in, which the new one links; nothing when it is in the program itself.
std::string own_library() {
    Dl_info info{};
    if (!::dladdr(reinterpret_cast<const void*>(&compile_kernel), &info)) return {};
    std::string path = info.dli_fname;
    return path.ends_with(".so") ? fs::absolute(path).string() : std::string();
}

Call build(const std::string& source, const std::string& name) {
    Folder folder;
    fs::path text_path = folder.path() / "kernel.cpp", library = folder.path() / "kernel.so",
             log = folder.path() / "log";
    std::ofstream(text_path) << source << entry << name << ", argument); }\n";
    std::string command =
        text(MGE_HOST_COMPILER, " -std=c++20 -O1 -w -ffp-contract=off -shared -fPIC -I ", MGE_SOURCE_FOLDER,
             "/tests/cuda/emulated -I ", MGE_SOURCE_FOLDER, " -o ", library.string(), ' ', text_path.string(),
             ' ', own_library(), " 2> ", log.string());
    if (std::system(command.c_str()) != 0)
        throw InternalError(text("device text does not compile: ", content_of(log), '\n', source));
    void* loaded = ::dlopen(library.c_str(), RTLD_NOW | RTLD_LOCAL);
    MGE_CHECK(loaded, ::dlerror());
    return reinterpret_cast<Call>(::dlsym(loaded, "call"));
}

class HostKernel final : public CompiledKernel {
public:
    explicit HostKernel(Call call) : call_(call) {}
    void launch(Stream stream, unsigned grid, unsigned block, const void* argument) const override {
        std::vector<char> kept(call_(nullptr));
        std::memcpy(kept.data(), argument, kept.size());
        auto status = emulated::launch(stream, grid, block, 0, [kept, call = call_] { call(kept.data()); });
        MGE_CHECK(status == cudaSuccess, "error ", int(status));
    }

private:
    Call call_;
};

}  // namespace

const std::string& why_no_text_compiler() {
    static const std::string nothing;
    return nothing;
}

std::shared_ptr<const CompiledKernel> compile_kernel(const std::string& source, const std::string& name) {
    static std::mutex mutex;
    static std::map<std::string, std::shared_ptr<const CompiledKernel>> kernels;
    std::lock_guard lock(mutex);
    auto& slot = kernels[source + name];
    if (!slot) slot = std::make_shared<HostKernel>(build(source, name));
    return slot;
}

}  // namespace mge::cuda
