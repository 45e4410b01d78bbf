// SPDX-License-Identifier: Apache-2.0
#pragma once
// Kernels whose code is made at run time. Most of a compiler's time is spent on the headers, which are the
// same for all: so the sources of a program's steps are joined, each in a separate namespace.

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
        std::string name, argument, body;  // function of one parameter "x", of the type `argument`
        auto operator<=>(const Kernel&) const = default;
    };
    std::string header;       // a header of kernel/cuda, whose names can be used
    std::string definitions;  // behind it
    std::vector<Kernel> kernels;

    auto operator<=>(const KernelText&) const = default;
};

// Joins several sources. The kernel "fused" of the second is "fused_1".
std::string joined_text(std::span<const KernelText> texts);

// A kernel of a source, for GPUs of a compute capability (times ten). Equal ones are compiled once per
// process: with everything else that `together` collects; if that is null, at the first launch.
std::shared_ptr<const CompiledKernel> compile_kernel(KernelText text, const std::string& name,
                                                     int compute_capability, PrepareTogether* together);

}  // namespace mge::cuda
