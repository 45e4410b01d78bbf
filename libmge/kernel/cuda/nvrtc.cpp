// SPDX-License-Identifier: Apache-2.0
#include <nvrtc.h>

#include <array>
#include <filesystem>
#include <mutex>
#include <optional>
#include <vector>

#include "libmge/base/error.h"
#include "libmge/base/files/cache_folder.h"
#include "libmge/base/files/file.h"
#include "libmge/base/hash.h"
#include "libmge/base/log.h"
#include "libmge/device/cuda/library.h"
#include "libmge/device/cuda/runtime.h"
#include "libmge/kernel/cuda/device_text.h"
#include "libmge/kernel/cuda/text_compiler.h"

namespace mge::cuda {
namespace {

// The functions of the library, which is opened when text is first compiled.
struct Nvrtc {
    std::string why_not;
    decltype(&nvrtcVersion) version = nullptr;
    decltype(&nvrtcCreateProgram) create = nullptr;
    decltype(&nvrtcCompileProgram) compile = nullptr;
    decltype(&nvrtcDestroyProgram) destroy = nullptr;
    decltype(&nvrtcGetProgramLogSize) log_size = nullptr;
    decltype(&nvrtcGetProgramLog) log = nullptr;
    decltype(&nvrtcGetCUBINSize) cubin_size = nullptr;
    decltype(&nvrtcGetCUBIN) cubin = nullptr;

    Nvrtc() {
        constexpr int major = CUDART_VERSION / 1000, minor = CUDART_VERSION % 1000 / 10;
        // Its second library, which it opens by name only: it must be loaded already if its folder is not a
        // system folder.
        Library(text("libnvrtc-builtins.so.", major, '.', minor).c_str(), "cu13");
        Library library(text("libnvrtc.so.", major).c_str(), "cu13");
        library.take(version, "nvrtcVersion");
        library.take(create, "nvrtcCreateProgram");
        library.take(compile, "nvrtcCompileProgram");
        library.take(destroy, "nvrtcDestroyProgram");
        library.take(log_size, "nvrtcGetProgramLogSize");
        library.take(log, "nvrtcGetProgramLog");
        library.take(cubin_size, "nvrtcGetCUBINSize");
        library.take(cubin, "nvrtcGetCUBIN");
        why_not = library.why_not();
    }
};

const Nvrtc& nvrtc() {
    static const Nvrtc functions;
    return functions;
}

// Headers that the compiler has besides our own: it has no system headers.
constexpr std::array system_texts{
    DeviceText{"cstddef",
               "#pragma once\n"
               "using size_t = decltype(sizeof(0));\n"
               // Built-in in other compilers.
               "template <class A, class B> inline constexpr bool is_same_type = false;\n"
               "template <class A> inline constexpr bool is_same_type<A, A> = true;\n"
               "#define __is_same(A, B) is_same_type<A, B>\n"},
    DeviceText{"cstdint",
               "#pragma once\n"
               "using int8_t = signed char; using uint8_t = unsigned char;\n"
               "using int16_t = short; using uint16_t = unsigned short;\n"
               "using int32_t = int; using uint32_t = unsigned;\n"
               "using int64_t = long; using uint64_t = unsigned long; using uintptr_t = unsigned long;\n"},
    DeviceText{"cuda_runtime.h", "#pragma once\n"},
    DeviceText{"cuda_runtime_api.h", "#pragma once\n"},
};

struct Headers {
    std::vector<const char*> names, texts;
    Headers() {
        for (std::span<const DeviceText> list : {std::span<const DeviceText>(system_texts), device_texts()})
            for (auto& header : list) {
                names.push_back(header.name);
                texts.push_back(header.text);
            }
    }
};

class Program {
public:
    Program(const std::string& source, const Headers& headers) {
        check_call(nvrtc().create(&program_, source.c_str(), "made.cu", int(headers.names.size()),
                                  headers.texts.data(), headers.names.data()),
                   "nvrtcCreateProgram");
    }
    ~Program() { nvrtc().destroy(&program_); }
    Program(const Program&) = delete;

    std::string compile(std::span<const std::string> options) {
        std::vector<const char*> words;
        for (auto& option : options) words.push_back(option.c_str());
        nvrtcResult result = nvrtc().compile(program_, int(words.size()), words.data());
        if (result != NVRTC_SUCCESS) throw InternalError(text("device text does not compile: ", read_log()));
        size_t bytes = 0;
        check_call(nvrtc().cubin_size(program_, &bytes), "nvrtcGetCUBINSize");
        std::string cubin(bytes, '\0');
        check_call(nvrtc().cubin(program_, cubin.data()), "nvrtcGetCUBIN");
        return cubin;
    }

private:
    static void check_call(nvrtcResult result, const char* call) {
        if (result != NVRTC_SUCCESS) throw DeviceError(text("cuda: ", call, ": error ", int(result)));
    }
    std::string read_log() {
        size_t bytes = 0;
        check_call(nvrtc().log_size(program_, &bytes), "nvrtcGetProgramLogSize");
        std::string words(bytes, '\0');
        check_call(nvrtc().log(program_, words.data()), "nvrtcGetProgramLog");
        return words;
    }
    nvrtcProgram program_ = nullptr;
};

std::vector<std::string> options_for(const std::string& architecture) {
    return {"--gpu-architecture=" + architecture, "--std=c++20", "--device-as-default-execution-space",
            "--split-compile=0"};  // by as many threads as there are cores
}

// --- cubins on disk ---

// Depends on everything that affects a cubin.
std::string key_of(const std::string& source, const std::string& architecture) {
    int major = 0, minor = 0;
    nvrtc().version(&major, &minor);
    std::string all = text(source, '\0', major, '.', minor);
    for (auto& option : options_for(architecture)) all += '\0' + option;
    for (auto& header : device_texts()) all += header.text;
    return hex_text(fingerprint(all.data(), all.size()));
}

std::optional<std::filesystem::path> file_of(const std::string& key) {
    auto folder = cache_folder();
    if (!folder) return std::nullopt;
    return std::filesystem::path(*folder) / "gpu-kernels" / (key + ".cubin");
}

// A cubin after a line with its checksum. A damaged file counts as missing.
std::string read_cubin(const std::filesystem::path& path) try {
    std::error_code error;
    if (!std::filesystem::is_regular_file(path, error)) return {};
    std::string content = read_text(path.string());
    size_t line = content.find('\n');
    if (line == std::string::npos) return {};
    std::string cubin = content.substr(line + 1);
    return content.substr(0, line) == text(checksum(cubin.data(), cubin.size())) ? cubin : std::string();
} catch (const UserError&) {
    return {};
}

void keep_cubin(const std::filesystem::path& path, const std::string& cubin) try {
    std::filesystem::create_directories(path.parent_path());
    write_file_atomically(
        path.string(),
        [&](std::ostream& stream) { stream << checksum(cubin.data(), cubin.size()) << '\n'
                                           << cubin; },
        FileReaders::owner);
} catch (const std::exception& e) {
    static std::once_flag warned;
    std::call_once(warned, [&] { log_warning(text("compiled kernels of GPUs are not kept: ", e.what())); });
}

// --- kernels ---

class LoadedKernel final : public CompiledKernel {
public:
    explicit LoadedKernel(cudaKernel_t kernel) : kernel_(kernel) {}
    void launch(Stream stream, unsigned grid, unsigned block, const void* argument) const override {
        void* arguments[] = {const_cast<void*>(argument)};
        check(cudaLaunchKernel(reinterpret_cast<const void*>(kernel_), dim3{grid, 1, 1}, dim3{block, 1, 1},
                               arguments, 0, stream),
              "cudaLaunchKernel");
    }

private:
    cudaKernel_t kernel_;
};

// Never unloaded: kernels are kept for the life of the process.
class LoadedCubin final : public LoadedText {
public:
    explicit LoadedCubin(const std::string& cubin) {
        check(cudaLibraryLoadData(&library_, cubin.data(), nullptr, nullptr, 0, nullptr, nullptr, 0),
              "cudaLibraryLoadData");
    }
    std::unique_ptr<const CompiledKernel> kernel(const std::string& name) const override {
        cudaKernel_t found = nullptr;
        check(cudaLibraryGetKernel(&found, library_, name.c_str()), "cudaLibraryGetKernel");
        return std::make_unique<LoadedKernel>(found);
    }

private:
    cudaLibrary_t library_ = nullptr;
};

}  // namespace

const std::string& why_no_text_compiler() { return nvrtc().why_not; }

std::string compile_text(const std::string& source, const std::string& architecture) {
    if (!why_no_text_compiler().empty()) throw DeviceError(why_no_text_compiler());
    auto path = file_of(key_of(source, architecture));
    if (path)
        if (std::string cubin = read_cubin(*path); !cubin.empty()) return cubin;
    static const Headers headers;
    std::string cubin = Program(source, headers).compile(options_for(architecture));
    if (path) keep_cubin(*path, cubin);
    return cubin;
}

std::unique_ptr<const LoadedText> load_text(const std::string& source, const std::string& architecture) {
    return std::make_unique<LoadedCubin>(compile_text(source, architecture));
}

}  // namespace mge::cuda
