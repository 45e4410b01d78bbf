// SPDX-License-Identifier: Apache-2.0
#include "apps/load_and_run/options/input.h"

#include <CLI/CLI.hpp>

#include "apps/cli/options/number_list.h"
#include "apps/cli/options/numbers.h"

namespace mge::load_and_run {

void add(CLI::App& app, InputOptions& o) {
    app.add_option("--input", o.values,
                   "Values of the inputs, see below; given several times: several tests in one run")
        ->type_name("NAME:VALUE;...")
        ->allow_extra_args(false);
    cli::add_number_list(app, "--batch-size,--batch", o.batch_sizes,
                         "Replace the first dimension of every input; data is repeated to fill it. Several: "
                         "each test with each of them",
                         1, 1u << 31);
    cli::add_dimension_option(app, o.dimensions);
    app.add_option("--shapes", o.shapes, "A test of random numbers per shape: x:(1,3,224,224),(1,3,256,256)")
        ->type_name("NAME:SHAPE,...");
    app.add_flag("--round-robin", o.round_robin,
                 "Also time the tests by turns: the latency of each, and what a switch costs");
    app.add_option("--seed", o.seed, "Seed of random inputs and arrivals")
        ->check(cli::whole_number(0, UINT64_MAX))
        ->capture_default_str();
    app.add_flag("--copy-to-host", o.copy_to_host,
                 "Copy every output to separate memory within the timed run");
}

void check(const InputOptions& o) {
    (void)o.dimensions.sizes();
    if (!o.shapes.empty() && (!o.values.empty() || !o.batch_sizes.empty() || o.dimensions.is_given()))
        throw_value_error("--shapes", "contradicts --input, --batch-size and --dim; give one of them");
}

}  // namespace mge::load_and_run
