// SPDX-License-Identifier: Apache-2.0
#include "apps/cli/manual.h"

#include "generated_tool_names.h"

namespace mge::cli {

std::span<const Entry> environment() {
    static const std::vector<Entry> entries{
        {"MGE_THREADS", "Threads an operator may use; default: the smaller of CPU affinity and cgroup quota"},
        {"MGE_THREAD_TEAM", "Threads that run operators: own (default) or openmp"},
        {"MGE_FILE_LIMIT",
         "Memory that reading one file may allocate, as --file-limit; default: 1GiB, or the file's own size"},
        {"MGE_MAP_FILES", "0: read files into memory instead of mapping them"},
        {"MGE_ISA",
         "Limits the instruction set: sse4, avx2, avx_vnni, avx512, avx512_vnni, avx512_bf16 or amx; on Arm "
         "neon, "
         "neon_dotprod, neon_fp16 or neon_i8mm_bf16"},
        {"MGE_LOG",
         "Channels of the log on stderr, separated by commas, or all: dispatch, passes, memory, fastrun, "
         "program"},
        {"MGE_MODEL_CACHE",
         "Folder of the model cache; 0: none; default: mge/packed-weights in XDG_CACHE_HOME"},
        {"XDG_CACHE_HOME",
         "Folder of the fast-run cache mge/fastrun.sqlite; default: .cache in HOME, else in the home folder "
         "of the account, else a private folder in TMPDIR"},
        {"NO_COLOR", "Disables colours if not empty"},
    };
    return entries;
}

std::span<const char* const> tool_names() { return generated_tool_names; }

std::string examples_text(const Manual& manual) {
    std::string result = manual.examples.empty() ? "" : "Examples:";
    for (auto& example : manual.examples) result += "\n  " + example.command + "\n      " + example.does;
    return result;
}

}  // namespace mge::cli
