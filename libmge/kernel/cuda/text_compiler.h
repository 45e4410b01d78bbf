// SPDX-License-Identifier: Apache-2.0
#pragma once
// Device text that is compiled while the program runs: by NVRTC, or for a GPU that is emulated by the host's
// compiler.

#include <memory>
#include <string>

#include "libmge/kernel/cuda/types.h"

namespace mge::cuda {

// A kernel with one parameter, a plain struct.
class CompiledKernel {
public:
    virtual ~CompiledKernel() = default;
    virtual void launch(Stream stream, unsigned grid, unsigned block, const void* argument) const = 0;
};

// Loaded code whose kernels are found by name, for the life of the process.
class LoadedText {
public:
    virtual ~LoadedText() = default;
    virtual std::unique_ptr<const CompiledKernel> kernel(const std::string& name) const = 0;
};

// Empty if code can be compiled; otherwise the missing part.
const std::string& why_no_text_compiler();

// For all devices of the architecture ("sm_90"). InternalError with the compiler's messages for invalid code.
std::unique_ptr<const LoadedText> load_text(const std::string& text, const std::string& architecture);

// The machine code for a source, stored on disk (gpu-kernels/ in the cache folder) for later processes. Needs
// no GPU. Only with NVRTC.
std::string compile_text(const std::string& text, const std::string& architecture);

}  // namespace mge::cuda
