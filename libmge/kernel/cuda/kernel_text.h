// SPDX-License-Identifier: Apache-2.0
#pragma once
// Kernels whose text is made while the program runs. Most of a compiler's time goes to the headers, which are
// the same for all: so the texts of a program's steps become one, where each has a namespace of its own.

#include <compare>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "libmge/kernel/cuda/text_compiler.h"
#include "libmge/kernel/prepare_together.h"

namespace mge::cuda {

struct KernelText {
    struct Kernel {
        std::string name, argument, body;  // of one parameter "x", of the type `argument`
        auto operator<=>(const Kernel&) const = default;
    };
    std::string header;       // of kernel/cuda, whose names can be used
    std::string definitions;  // behind it
    std::vector<Kernel> kernels;

    auto operator<=>(const KernelText&) const = default;
};

// One text of several. The kernel "fused" of the second is "fused_1".
std::string joined_text(std::span<const KernelText> texts);

// A kernel of a text, for GPUs of a compute capability (times ten). Equal ones are compiled once in a
// process: with everything else that `together` collects; where that is null, when one is first launched.
std::shared_ptr<const CompiledKernel> compile_kernel(KernelText text, const std::string& name,
                                                     int compute_capability, PrepareTogether* together);

}  // namespace mge::cuda
