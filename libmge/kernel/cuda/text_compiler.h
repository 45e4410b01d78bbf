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

// A text whose kernels are found by their names, as long as the process lives.
class LoadedText {
public:
    virtual ~LoadedText() = default;
    virtual std::unique_ptr<const CompiledKernel> kernel(const std::string& name) const = 0;
};

// Empty when text can be compiled; else what is missing.
const std::string& why_no_text_compiler();

// For all devices of the architecture ("sm_90"). InternalError with the compiler's words when the text is
// wrong.
std::unique_ptr<const LoadedText> load_text(const std::string& text, const std::string& architecture);

// The machine code of a text, kept on disk (gpu-kernels/ in the cache folder) for the next process. Needs no
// GPU. By NVRTC alone.
std::string compile_text(const std::string& text, const std::string& architecture);

}  // namespace mge::cuda
