// SPDX-License-Identifier: Apache-2.0
// Files of flags (--flagfile), and the command line that they make.
#include "apps/cli/options/arguments.h"
#include "apps/load_and_run/options/options.h"
#include "libmge/base/error.h"
#include "tests/fuzz/files.h"
#include "tests/fuzz/mutate_bytes.h"

namespace mge::fuzz {
namespace {

constexpr std::string_view lines[] = {"--fast-run\n",
                                      "--iter=3\n",
                                      "--input x:{1,2}\n",
                                      "--threads=2\n",
                                      "--nofast-run\n",
                                      "--batch-size=1,2\n",
                                      "# a comment\n",
                                      "\n",
                                      "--mem-limit 64MiB\n",
                                      "--compare-with=level=0\n",
                                      "--layout-transform=cpu\n",
                                      "--cpuset 0-1\n",
                                      "-fast_run=1\n",
                                      "--tolerance=1e-3\n",
                                      "--streams 2\n",
                                      "--\n"};

}  // namespace

void try_input(Bytes input) {
    // Further files that a mutation names do not belong to the input.
    if (text_of(input).find("flagfile") != std::string::npos) throw UserError("it names other files");
    InputFile file(input);
    auto flags = cli::normalize_arguments(cli::expand_flag_files({"--flagfile", file.path()}));
    cli::Invocation invocation;
    invocation.tool = "load_and_run";
    invocation.arguments = flags;
    invocation.arguments.insert(invocation.arguments.begin(), "model.mge");
    try {
        load_and_run::parse_options(invocation);
    } catch (const cli::Exit&) {  // --help and others of its kind
    }
}

std::vector<std::string> seeds() {
    std::vector<std::string> result = data_files("fuzz/flag_files");
    std::string all;
    for (auto line : lines) {
        result.emplace_back(line);
        all += line;
    }
    result.push_back(all);
    return result;
}

void mutate(std::string& input, Random& random) {
    if (random.one_in(3))
        input.insert(random.one_in(2) ? 0 : input.size(), random.pick(lines));
    else
        mutate_text(input, random);
}

}  // namespace mge::fuzz
