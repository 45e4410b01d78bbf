// SPDX-License-Identifier: Apache-2.0
#pragma once
// Device text that is compiled while the program runs (NVRTC).

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

// Empty when text can be compiled; else what is missing.
const std::string& why_no_text_compiler();

// The kernel `name` of a text, which may include headers of kernel/cuda and kernel/scalar, for the calling
// thread's device. Compiled once per process, and kept on disk (gpu-kernels/ in the cache folder) for the
// next one. InternalError with the compiler's words when the text is wrong.
std::shared_ptr<const CompiledKernel> compile_kernel(const std::string& text, const std::string& name);

// The machine code of a text for an architecture ("sm_90"), from the disk or new. Needs no GPU.
std::string compile_text(const std::string& text, const std::string& architecture);

}  // namespace mge::cuda
