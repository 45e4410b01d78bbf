// SPDX-License-Identifier: Apache-2.0
#include <CLI/CLI.hpp>
#include <cmath>
#include <nlohmann/json.hpp>
#include <optional>

#include "apps/cli/files/model_file.h"
#include "apps/cli/options/device_option.h"
#include "apps/cli/options/numbers.h"
#include "apps/cli/options/output_option.h"
#include "apps/cli/output/progress.h"
#include "apps/dump/commands.h"
#include "apps/dump/test_data.h"
#include "apps/dump/written.h"
#include "libmge/compile/plain.h"
#include "libmge/compile/program.h"

namespace mge::dump {
namespace {

struct TestCaseOptions {
    cli::ModelFile input;
    std::string output;
    std::vector<std::string> data;
    std::string device;
    TestDataOptions reading;
    bool no_assert = false, append = false;
    std::optional<double> max_error;
};

// Runs the graph without optimisations, as a reference for later runs.
Tensors run_plainly(const Graph& graph, const Tensors& inputs, DeviceId device) {
    CompileOptions options;
    options.device = device;
    options.level = 0;
    auto program = Program::compile(graph, specs_of(inputs), options);
    auto context = Context::create(program);
    context->fill_inputs(inputs);
    context->run();
    Tensors outputs;
    for (size_t i = 0; i < program->outputs().size(); ++i)
        outputs.push_back(plain_on_host(context->copy_output(i)));
    return outputs;
}

cli::Json describe(const TestCase& test) {
    cli::Json inputs = cli::Json::array();
    for (auto& input : test.inputs)
        inputs.push_back({{"dtype", name_of(input.dtype())}, {"shape", input.shape().dims()}});
    cli::Json result{{"name", test.name}, {"inputs", inputs}, {"outputs", test.outputs.size()}};
    if (test.max_error) result["max_error"] = *test.max_error;
    return result;
}

int run(const TestCaseOptions& options, const cli::Invocation& invocation) {
    if (options.max_error && std::isnan(*options.max_error))
        throw cli::UsageError("--maxerr is not a number", "give the tolerated error, as in 1e-4");
    Model model = options.input.read();
    DeviceId device = cli::device_of(options.device);
    if (!options.append) model.test_cases.clear();
    auto specifications = expand_lists(options.data);
    if (specifications.empty()) throw cli::UsageError("--data names no test case", "give at least one");
    cli::Progress progress("test cases", specifications.size());
    TestDataOptions reading = options.reading;
    for (auto& specification : specifications) {
        TestCase test{specification, read_test_data(specification, model.graph, reading), {}};
        reading.seed += test.inputs.size();  // the next case has other random numbers
        test.max_error = options.max_error;
        if (!options.no_assert) test.outputs = run_plainly(model.graph, test.inputs, device);
        model.test_cases.push_back(std::move(test));
        progress.advance();
    }
    cli::Json tests = cli::Json::array();
    for (auto& test : model.test_cases) tests.push_back(describe(test));
    return cli::finish(invocation, {{"input", options.input.path},
                                    {"output", write_and_describe(options.output, model)},
                                    {"test_cases", tests}});
}

constexpr const char* details = R"(A test case is one --data:
  image.png            of the only input; also .jpg, .ppm, .pgm; blue, green, red as OpenCV reads it
  data.npy             of the only input
  #rand(min,max)       random numbers for all inputs
  a:x.npy;b:#rand(0,1,8,...)   one part per input; ... stands for the input's other extents
  @list.txt            a file with one of these per line
--input-transform is an expression over data, the numbers of the file behind --repeat:
  (data - 128) / 255   + - * /, parentheses; np.array([104, 117, 124]) for the channels
  data.transpose(0, 3, 1, 2), .reshape(1, 3, 1, 1), data[:, ::-1], data[..., [2, 1, 0]])";

}  // namespace

void add_testcase(cli::App& app) {
    auto options = std::make_shared<TestCaseOptions>();
    auto& command = app.command("testcase", "Writes the model with test cases: inputs and expected outputs",
                                [options, &app] { return run(*options, app.invocation()); });
    cli::add_model_file(command, options->input);
    cli::add_written_file(command, "output", options->output, "The .mge file to write");
    command.add_option("--data", options->data, "Data of a test case, see below; may be repeated")
        ->required()
        ->expected(1)
        ->multi_option_policy(CLI::MultiOptionPolicy::TakeAll)
        ->type_name("SPEC");
    command.add_flag("--resize-input", options->reading.resize,
                     "Scale images to the input's height and width");
    command.add_option("--repeat", options->reading.repeat, "Repeat the data of files along the first axis")
        ->check(cli::whole_number(1, 1'000'000))
        ->capture_default_str();
    command.add_option("--seed", options->reading.seed, "Seed of #rand")
        ->check(cli::whole_number(0, UINT64_MAX))
        ->capture_default_str();
    command
        .add_option("--input-transform", options->reading.transform,
                    "Python expression that transforms file data, see below")
        ->type_name("EXPRESSION");
    cli::add_device_option(command, options->device, "Compute the outputs");
    auto* no_assert = command.add_flag("--no-assert", options->no_assert,
                                       "Store inputs only, without outputs to compare with");
    command
        .add_option("--maxerr", options->max_error,
                    "Tolerated error |got - expected| / max(min(|got|, |expected|), 1), "
                    "stored with the outputs (default: load_and_run's tolerance)")
        ->check(cli::real_number())
        ->type_name("E")
        ->excludes(no_assert);
    command.add_flag("--append", options->append, "Keep the test cases of the model");
    command.footer(details);
}

}  // namespace mge::dump
