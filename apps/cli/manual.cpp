// SPDX-License-Identifier: Apache-2.0
#include "apps/cli/manual.h"

namespace mge::cli {

std::span<const Entry> environment() {
    static const std::vector<Entry> entries{
        {"MGE_THREADS", "Threads an operator may use; default: the smaller of CPU affinity and cgroup quota"},
        {"MGE_THREAD_TEAM", "Whose threads work on an operator: own (default) or openmp"},
        {"MGE_FILE_LIMIT",
         "What a file may make a tool allocate, as --file-limit; default: 1GiB, or the file's own size"},
        {"MGE_MAP_FILES", "0: read files into memory instead of mapping them"},
        {"MGE_ISA",
         "Limits the instruction set: sse4, avx2, avx_vnni, avx512, avx512_vnni, avx512_bf16 or amx"},
        {"MGE_LOG",
         "Channels of the log on stderr, separated by commas, or all: dispatch, passes, memory, fastrun, "
         "program"},
        {"XDG_CACHE_HOME",
         "The fast-run cache is mge/fastrun.sqlite in it; default: .cache in HOME, or in the home that the "
         "system knows, or a folder of the user's own in TMPDIR"},
        {"NO_COLOR", "With any value but an empty one: no colours"},
    };
    return entries;
}

std::span<const std::string> tool_names() {
    static const std::vector<std::string> names{"load_and_run", "mge-crypt", "mge-dump", "mge-fastrun-cache",
                                                "mge-profile"};
    return names;
}

std::string examples_text(const Manual& manual) {
    std::string result = manual.examples.empty() ? "" : "Examples:";
    for (auto& example : manual.examples) result += "\n  " + example.command + "\n      " + example.does;
    return result;
}

}  // namespace mge::cli
