// SPDX-License-Identifier: Apache-2.0
#include "apps/load_and_run/checks/plan.h"

#include <algorithm>

#include <nlohmann/json.hpp>

#include "apps/cli/files/text_file.h"
#include "apps/cli/output/json_number.h"
#include "apps/cli/output/table.h"
#include "apps/load_and_run/compile_options.h"
#include "libmge/base/error.h"
#include "libmge/base/files/file.h"
#include "libmge/base/hash.h"
#include "libmge/base/joined.h"
#include "libmge/base/number_text.h"
#include "libmge/compile/options/option_list.h"
#include "libmge/model/stored_options.h"

namespace mge::load_and_run {
namespace {

using cli::Json;

constexpr const char* kind = "mge-plan";
constexpr int version = 1;
constexpr std::string_view precisions[] = {"strict", "relaxed", "fast"};

// Fingerprint of the operators and parameters of a model, regardless of its weights.
std::string fingerprint(const Graph& graph) {
    std::string all;
    for (auto& node : graph.nodes())
        all += text(node.op->name, '(', params_text(node.op->fields, node.params.get()), ')');
    return hex_text(checksum(all));
}

// Options that decide which steps there are; a plan has entries of their own for the other such options.
bool is_switch(const OptionInfo& option) { return option.field.starts_with("switches."); }

OptionValue value_of(const Json& value) {
    if (value.is_boolean()) return value.get<bool>();
    return cli::whole_number<int64_t>(value);
}

bool is_dynamic(const StepReport& step) { return step.algorithm == "chosen at run time"; }

std::string step_text(size_t i, const StepReport& step) {
    return text("step ", i, " (", operator_text(step), ")");
}

}  // namespace

void PlanWriter::add(const Graph& model, const CompileOptions& options, const Program& program) {
    Json inputs = Json::array(), steps = Json::array(), passes = Json::object(), switches = Json::object();
    for (auto& port : program.inputs()) inputs.push_back({{"name", port.name}, {"spec", text(port.spec)}});
    const CompileOptions defaults;
    for (auto& option : compile_option_list())
        if (is_switch(option) && option.get(options) != option.get(defaults))
            switches[std::string(option.field)] = to_json(option.get(options));
    for (auto& [name, is_on] : options.passes) passes[name] = is_on;
    for (size_t i = 0; i < program.steps().size(); ++i) {
        auto& step = program.steps()[i];
        Json outputs = Json::array();
        for (ValueId id : step.outputs) outputs.push_back(text(program.values()[size_t(id)].spec));
        steps.push_back({{"step", i},
                         {"op", step.op},
                         {"name", step.name},
                         {"outputs", outputs},
                         {"algorithm", is_dynamic(step) ? Json() : Json(step.algorithm)},
                         {"source", name_of(step.source)},
                         {"workspace", step.workspace}});
    }
    Json entry{{"model", fingerprint(model)},
               {"inputs", inputs},
               {"level", options.level},
               {"layout", image_layout(program)},
               {"passes", passes},
               {"switches", switches},
               {"threads", options.threads},
               {"precision", precisions[size_t(options.precision)]},
               {"weight_bits", options.weight_bits},
               {"reproducible", options.select.reproducible},
               {"steps", steps}};
    std::string written = entry.dump(-1, ' ', false, Json::error_handler_t::replace);
    auto is_for_inputs = [&](auto& known) { return Json::parse(known)["inputs"] == inputs; };
    auto known = std::ranges::find_if(programs_, is_for_inputs);
    if (known == programs_.end()) return programs_.push_back(std::move(written));
    *known = std::move(written);
}

void PlanWriter::write(const std::string& path, const cli::Invocation& invocation) const {
    Json report = cli::make_report(invocation), programs = Json::array();
    for (auto& program : programs_) programs.push_back(Json::parse(program));
    Json plan{{"kind", kind},           {"schema_version", version},
              {"tool", report["tool"]}, {"version", report["version"]},
              {"host", report["host"]}, {"programs", programs}};
    write_file_atomically(path, [&](std::ostream& stream) {
        stream << plan.dump(2, ' ', false, Json::error_handler_t::replace) << '\n';
    });
}

struct PlanReader::Entry {
    std::string model, inputs, layout;
    std::map<std::string, bool, std::less<>> passes;
    PassSwitches switches;
    int level = 2, threads = 1, weight_bits = 0;
    Precision precision = Precision::strict;
    bool reproducible = false;
    std::vector<std::string> ops, algorithms;
};

PlanReader::~PlanReader() = default;

PlanReader::PlanReader(const std::string& path) : path_(path) {
    try {
        Json plan = Json::parse(cli::read_json_text(path));
        if (plan.at("kind") != kind || plan.at("schema_version") != version)
            throw ModelError(text("'", path, "' is not a plan of version ", version));
        for (auto& p : plan.at("programs")) {
            Entry entry;
            entry.model = p.at("model").get<std::string>();
            entry.inputs = joined(p.at("inputs"), ", ",
                                  [](auto& input) { return input.at("spec").template get<std::string>(); });
            entry.layout = p.at("layout").get<std::string>();
            for (auto& [name, is_on] : p.at("passes").items()) entry.passes[name] = is_on.get<bool>();
            entry.level = cli::whole_number<int>(p.at("level"));
            entry.threads = cli::whole_number<int>(p.at("threads"));
            auto name = p.at("precision").get<std::string>();
            auto it = std::find(std::begin(precisions), std::end(precisions), name);
            if (it == std::end(precisions)) throw ModelError(text("'", path, "': precision '", name, "'"));
            entry.precision = Precision(it - std::begin(precisions));
            // Plans of earlier releases have neither switches nor bits.
            CompileOptions options;
            const Json switches = p.value("switches", Json::object());
            for (auto& [field, value] : switches.items()) {
                auto* option = find_option(field);
                if (!option || !is_switch(*option) || !option->set(options, value_of(value)))
                    throw ModelError(text("'", path_, "': switch '", field, "'"));
            }
            entry.switches = options.switches;
            if (p.contains("weight_bits")) entry.weight_bits = cli::whole_number<int>(p.at("weight_bits"));
            entry.reproducible = p.at("reproducible").get<bool>();
            for (auto& step : p.at("steps")) {
                entry.ops.push_back(step.at("op").get<std::string>());
                auto& algorithm = step.at("algorithm");
                entry.algorithms.push_back(algorithm.is_null() ? "" : algorithm.get<std::string>());
            }
            entries_.push_back(std::move(entry));
        }
    } catch (const nlohmann::json::exception&) {
        throw ModelError(text("'", path, "' is not a readable plan; --save-plan FILE writes one"));
    }
}

const PlanReader::Entry& PlanReader::find(const TensorSpecs& inputs) const {
    auto wanted = joined(inputs), known = joined(entries_, " or ", &Entry::inputs);
    for (auto& entry : entries_)
        if (entry.inputs == wanted) return entry;
    throw_value_error("--replay-plan", "'", path_, "' is a plan for the inputs ",
                      known.empty() ? "of no program" : known, ", but given are ", wanted,
                      "; save a plan for these inputs (--save-plan)");
}

void PlanReader::apply(const Graph& model, const TensorSpecs& inputs, int threads,
                       CompileOptions& options) const {
    auto is_of_model = [of = fingerprint(model)](auto& entry) { return entry.model == of; };
    if (std::ranges::none_of(entries_, is_of_model))
        throw_value_error("--replay-plan", "'", path_, "' is the plan of another model");
    auto& entry = find(inputs);
    if (threads > 0 && threads != entry.threads)
        throw_value_error("--replay-plan", "'", path_, "' is a plan for ",
                          cli::counted(size_t(entry.threads), "thread"), ", but the run uses ", threads);
    options.passes = entry.passes;
    options.switches = entry.switches;
    options.level = entry.level;
    options.layout = entry.layout;
    options.threads = entry.threads;
    options.precision = entry.precision;
    options.weight_bits = entry.weight_bits;
    options.select = {.reproducible = entry.reproducible};
    options.algorithms = entry.algorithms;
}

void PlanReader::verify(const TensorSpecs& inputs, const Program& program) const {
    auto& entry = find(inputs);
    auto& steps = program.steps();
    for (size_t i = 0; i < steps.size(); ++i) {
        bool is_free = is_dynamic(steps[i]);
        if (i < entry.ops.size() && steps[i].op == entry.ops[i] &&
            (is_free || steps[i].algorithm == entry.algorithms[i]))
            continue;
        throw DeviceError(
            text("[--replay-plan] ", step_text(i, steps[i]), " runs ", steps[i].algorithm,
                 ", but the plan requires ",
                 i < entry.ops.size() ? entry.ops[i] + " by " + entry.algorithms[i] : "nothing"));
    }
}

void require_cached(const Program& program) {
    std::string missing;
    size_t count = 0;
    for (size_t i = 0; i < program.steps().size(); ++i) {
        auto& step = program.steps()[i];
        if (is_dynamic(step) || step.source != ChoiceSource::heuristic) continue;
        missing += (count++ ? ", " : "") + step_text(i, step);
    }
    if (count)
        throw DeviceError(text("[--require-cache] the cache has no algorithm for ", count, " of ",
                               counted(program.steps().size(), "step"), ": ", missing,
                               "; fill it with --fast-run or mge-fastrun-cache build"));
}

}  // namespace mge::load_and_run
