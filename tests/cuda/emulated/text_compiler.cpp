// SPDX-License-Identifier: Apache-2.0
// NVRTC of the emulated GPU: the host's compiler.
#include "libmge/kernel/cuda/text_compiler.h"

#include <dlfcn.h>
#include <stdlib.h>

#include <atomic>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <map>
#include <mutex>
#include <sstream>
#include <vector>

#include "libmge/base/error.h"
#include "tests/cuda/emulated/cuda_runtime.h"
#include "tests/cuda/emulated/memory.h"

namespace mge::cuda {
namespace {

namespace fs = std::filesystem;

std::atomic<size_t> compiled{0};
std::atomic<bool> is_missing{false};

// Kernels have one parameter of whatever type, which a launch keeps. Without an argument a call says how
// large one is.
constexpr auto caller = R"(
template <class A>
static unsigned long call_kernel(void (*kernel)(A), const void* argument) {
    if (argument) kernel(*static_cast<const A*>(argument));
    return sizeof(A);
}
)";
constexpr std::string_view kernel_begin = "extern \"C\" __global__ void ";

// "call_fused_1" for a kernel "fused_1", which is in the namespace "text_1".
std::string entries_of(std::string_view source) {
    std::string entries = caller;
    for (size_t at = source.find(kernel_begin); at != source.npos; at = source.find(kernel_begin, at)) {
        at += kernel_begin.size();
        auto name = source.substr(at, source.find('(', at) - at);
        entries +=
            text("extern \"C\" unsigned long call_", name, "(const void* argument) { return call_kernel(text",
                 name.substr(name.rfind('_')), "::", name, ", argument); }\n");
    }
    return entries;
}

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
    if (!::dladdr(reinterpret_cast<const void*>(&load_text), &info)) return {};
    std::string path = info.dli_fname;
    return path.ends_with(".so") ? fs::absolute(path).string() : std::string();
}

void compile(const std::string& what, const fs::path& from, const fs::path& to, const fs::path& log) {
    std::string command = text(MGE_HOST_COMPILER, " -std=c++20 -O1 -w -ffp-contract=off -fPIC ", what, " -I ",
                               MGE_SOURCE_FOLDER, "/tests/cuda/emulated -I ", MGE_SOURCE_FOLDER, " -o ",
                               to.string(), ' ', from.string(), " 2> ", log.string());
    if (std::system(command.c_str()) != 0)
        throw InternalError(text("device text does not compile: ", content_of(log), '\n', content_of(from)));
}

// A folder with the header that a text begins with, read already: most of the compiler's time is its.
const Folder& read_header(const std::string& source) {
    static std::map<std::string, Folder> folders;
    size_t begin = source.find('"') + 1;
    std::string header = source.substr(begin, source.find('"', begin) - begin);
    auto [found, is_new] = folders.try_emplace(header);
    if (!is_new) return found->second;
    fs::path read = found->second.path() / (header + ".gch");
    fs::create_directories(read.parent_path());
    compile("-x c++-header", fs::path(MGE_SOURCE_FOLDER) / header, read, found->second.path() / "log");
    return found->second;
}

void* build(const std::string& source) {
    Folder folder;
    fs::path text_path = folder.path() / "kernel.cpp", library = folder.path() / "kernel.so";
    std::ofstream(text_path) << source << entries_of(source);
    std::string options = text("-shared -I ", read_header(source).path().string());
    if (auto own = own_library(); !own.empty()) options += " -Wl,--no-as-needed " + own;
    compile(options, text_path, library, folder.path() / "log");
    void* loaded = ::dlopen(library.c_str(), RTLD_NOW | RTLD_LOCAL);
    MGE_CHECK(loaded, ::dlerror());
    return loaded;
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

class HostText final : public LoadedText {
public:
    explicit HostText(void* library) : library_(library) {}
    std::unique_ptr<const CompiledKernel> kernel(const std::string& name) const override {
        void* call = ::dlsym(library_, ("call_" + name).c_str());
        MGE_CHECK(call, "no kernel ", name);
        return std::make_unique<HostKernel>(reinterpret_cast<Call>(call));
    }

private:
    void* library_;
};

}  // namespace

const std::string& why_no_text_compiler() {
    static const std::string nothing, missing = "cannot open libnvrtc.so.13";
    return is_missing ? missing : nothing;
}

std::unique_ptr<const LoadedText> load_text(const std::string& source, const std::string&) {
    static std::mutex building;
    std::lock_guard lock(building);
    ++compiled;
    return std::make_unique<HostText>(build(source));
}

size_t emulated::compiled_texts() { return compiled; }
void emulated::hide_text_compiler(bool hides) { is_missing = hides; }

}  // namespace mge::cuda
