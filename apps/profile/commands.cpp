// SPDX-License-Identifier: Apache-2.0
#include "apps/profile/commands.h"

#include <CLI/CLI.hpp>
#include <algorithm>
#include <iostream>
#include <map>
#include <nlohmann/json.hpp>
#include <set>

#include "apps/cli/options/numbers.h"
#include "apps/cli/options/one_of.h"
#include "apps/cli/options/output_option.h"
#include "apps/cli/output/table.h"
#include "apps/profile/diff.h"
#include "apps/profile/files.h"
#include "apps/profile/show.h"
#include "apps/profile/text.h"
#include "libmge/base/error.h"
#include "libmge/base/joined.h"
#include "libmge/base/threads/threads.h"
#include "libmge/inspect/peak.h"
#include "libmge/inspect/profile/profile_spans.h"
#include "libmge/model/import/megengine/counterparts.h"

namespace mge::profile {
namespace {

using Names = std::vector<std::string>;

// Default rows per table without --top; profile_analyze shows three.
constexpr size_t rows_of_table = 10, rows_of_grid = 3;

template <class T>
CLI::Option* add_choice(CLI::App& app, const std::string& name, T& value,
                        const std::map<std::string, T>& choices, const std::string& description) {
    std::vector<std::string> words;
    for (auto& [word, meaning] : choices) words.push_back(word);
    auto set = [&value, choices](const std::string& word) { value = choices.at(word); };
    return app.add_option_function<std::string>(name, set, description)->check(cli::one_of(words));
}

void add_statistic(CLI::App& app, RunStatistic& statistic) {
    add_choice<RunStatistic>(app, "--statistic", statistic,
                             {{"median", RunStatistic::median},
                              {"mean", RunStatistic::mean},
                              {"min", RunStatistic::min},
                              {"max", RunStatistic::max},
                              {"last", RunStatistic::last}},
                             "Time of an operator that ran several times (default: median)");
}

// The filters shared by show and diff.
void add_selection(CLI::App& app, RowSelection& s, int& top) {
    app.add_option("-t,--top", top, "Number of operators; 0: all")
        ->check(cli::whole_number(0, 1'000'000'000));
    app.add_option("--type", s.types, "Only operators of this type; may be repeated")
        ->allow_extra_args(false);
    app.add_option("--opr-name", s.name_pattern, "Only operators whose name matches from its start")
        ->type_name("REGEX");
    app.add_option("--input-dtype", s.input_dtype, "Only operators with an input of this dtype")
        ->type_name("DTYPE");
    app.add_option("--min-time", s.min_time, "Only operators that take at least this time")
        ->check(cli::real_number())
        ->type_name("SECONDS");
    app.add_option("--max-time", s.max_time, "Only operators that take at most this time")
        ->check(cli::real_number())
        ->type_name("SECONDS");
    add_choice<Aggregate>(app, "--aggregate", s.aggregate,
                          {{"max", Aggregate::max},
                           {"min", Aggregate::min},
                           {"sum", Aggregate::sum},
                           {"mean", Aggregate::mean}},
                          "Combine the operators into one row");
    app.add_option("--aggregate-by", "Combine operators of the same type; needs --aggregate")
        ->check(cli::one_of({"type"}))
        ->each([&s](const std::string&) { s.by_type = true; });
    add_statistic(app, s.statistic);
}

void check_selection(const RowSelection& s) {
    if (s.by_type && s.aggregate == Aggregate::none)
        throw cli::UsageError("--aggregate-by needs --aggregate", "add --aggregate sum");
    if (s.min_time > s.max_time)
        throw cli::UsageError("--min-time is larger than --max-time", "nothing could be shown");
}

// Adds the types that MegEngine calls by one of the wanted names: its "ConvolutionForward", "Convolution" in
// files, is "conv2d" here.
void add_types_of_megengine(Names& wanted, const Profile& profile) {
    std::set<std::string> types;
    for (auto& step : profile.steps) types.insert(step.type);
    Names added;
    for (auto& type : types) {
        auto* op = find_op(type);
        if (!op) continue;
        const TensorSpec matrix;
        for (auto inputs : {std::span(&matrix, 1), Specs()}) {  // one, and batches
            auto name = megengine::counterpart(*op, inputs).type;
            if (std::ranges::any_of(wanted, [&](auto& w) { return w == name || w == name + "Forward"; }))
                added.push_back(type);
        }
    }
    wanted.insert(wanted.end(), added.begin(), added.end());
}

// Refuses a type or dtype that no operator has: it is probably a typo.
void check_filters(const RowSelection& s, std::initializer_list<const Profile*> profiles) {
    std::set<std::string> types, dtypes;
    for (auto* profile : profiles)
        for (auto& step : profile->steps) {
            types.insert(step.type);
            for (int id : step.inputs)
                if (id >= 0) dtypes.insert(profile->values[size_t(id)].dtype);
        }
    auto require_one = [](const char* option, const Names& wanted, const std::set<std::string>& known) {
        if (wanted.empty() || std::ranges::any_of(wanted, [&](auto& w) { return known.contains(w); })) return;
        throw cli::UsageError(text(option, ": no operator has '", printable(wanted.front()), "'"),
                              "there are " + printable(joined(known, ", ")));
    };
    require_one("--type", s.types, types);
    require_one("--input-dtype", s.input_dtype ? Names{*s.input_dtype} : Names(), dtypes);
}

struct ShowArguments {
    std::string file;
    ShowOptions options;
    int top = -1;
    std::string end_key = "end";
    bool wants_peak = false;
};

Profile open(const std::string& file, bool wants_peak) {
    Profile profile = read_profile(file);
    if (!wants_peak) return profile;
    if (!profile.devices.empty())
        throw cli::UsageError(text("--peak measures a CPU; '", file, "' was recorded on ",
                                   printable(profile.devices.front().model)),
                              "load_and_run --profile measures its peak performance");
    profile.peak = measure_peak(profile.threads ? profile.threads : default_threads());
    if (!profile.peak) throw MemoryError("[--peak] there are no 128 MiB to measure it with");
    return profile;
}

int show(const cli::Invocation& invocation, ShowArguments& a) {
    auto& selection = a.options.selection;
    check_selection(selection);
    selection.until_kernel = a.end_key == "kern";
    selection.top = a.top >= 0                                    ? size_t(a.top)
                    : a.options.style == ShowOptions::Style::grid ? rows_of_grid
                                                                  : rows_of_table;
    Profile profile = open(a.file, a.wants_peak);
    add_types_of_megengine(selection.types, profile);
    // MegEngine's tool shows an empty table.
    if (a.options.style != ShowOptions::Style::grid) check_filters(selection, {&profile});
    Shown shown = select(profile, a.options);
    print(std::cout, profile, shown, a.options);
    cli::Json result = invocation.json.empty() ? cli::Json() : to_json(profile, shown);
    if (shown.device_total == 0.0)
        return cli::finish(invocation, result, ErrorCode::model,
                           text("'", a.file, "' holds no device time at all: nothing was measured"));
    return cli::finish(invocation, result);
}

struct DiffArguments {
    std::string before, after, html;
    RowSelection selection;
    int top = -1;
    bool any_models = false;
};

void refuse_different_models(const Profile& before, const Profile& after) {
    constexpr double least_common = 0.8;
    double common = common_part(before, after);
    if (common >= least_common) return;
    throw UserError(text("the profiles are of different models, '", printable(before.model), "' and '",
                         printable(after.model), "': they share ", percent_text(common),
                         " of the operators; --any-models compares them nevertheless"));
}

int diff(const cli::Invocation& invocation, DiffArguments& a) {
    check_selection(a.selection);
    a.selection.top = a.top >= 0 ? size_t(a.top) : rows_of_table;
    Profile before = read_profile(a.before), after = read_profile(a.after);
    for (auto* profile : {&before, &after}) add_types_of_megengine(a.selection.types, *profile);
    check_filters(a.selection, {&before, &after});
    if (!a.any_models) refuse_different_models(before, after);
    auto comparison = compare(before, after, a.selection);
    cli::Json report = to_json(comparison);
    report["common_part"] = common_part(before, after);
    if (!a.html.empty()) {
        RowSelection all = a.selection;
        all.top = 0;
        auto page = compare(before, after, all);
        cli::write_output(invocation, a.html,
                          [&](std::ostream& stream) { write_comparison(stream, page, before, after); });
        if (a.html != "-") std::cout << "wrote " << a.html << '\n';
        report["html"] = a.html;
    }
    if (a.html != "-") print(std::cout, comparison);
    return cli::finish(invocation, report);
}

struct ExportArguments {
    std::string file;
    std::map<std::string, std::string> outputs;  // format to path
    HtmlOptions options;
    bool wants_peak = false;
};

// Stdout is not among the places of cli::refuse_same_outputs().
void refuse_two_on_stdout(const ExportArguments& a) {
    if (std::ranges::count_if(a.outputs, [](auto& output) { return output.second == "-"; }) > 1)
        throw cli::UsageError("two formats cannot both go to stdout", "give each format a separate file");
}

int export_files(const cli::Invocation& invocation, ExportArguments& a) {
    refuse_two_on_stdout(a);
    Profile profile = open(a.file, a.wants_peak);
    cli::Json written = cli::Json::object();
    for (auto& format : export_formats()) {
        auto& path = a.outputs[std::string(format.name)];
        if (path.empty()) continue;
        cli::write_output(invocation, path,
                          [&](std::ostream& stream) { format.write(stream, profile, a.options); });
        if (path != "-") std::cout << "wrote " << path << '\n';
        written[std::string(format.name)] = path;
    }
    if (written.empty())
        throw cli::UsageError("nothing to write", "give --chrome, --csv, --megengine or --html with a file");
    return cli::finish(invocation, {{"written", written}});
}

cli::Json checked(const std::string& file) {
    Profile profile = read_profile(file);
    bool is_ours = profile.format == Profile::Format::mge;
    std::cout << file << ": ok, " << origin_text(profile) << '\n';
    return {{"file", file},
            {"format", is_ours ? "mge-profile" : "megengine"},
            {"steps", profile.steps.size()},
            {"values", profile.values.size()},
            {"runs", is_ours ? profile.runs.size() : 1},
            {"model", profile.model}};
}

// Checks every file, even after a damaged one.
int check(const cli::Invocation& invocation, const Names& files) {
    cli::Json list = cli::Json::array();
    std::string first_fault;
    for (auto& file : files) {
        try {
            list.push_back(checked(file));
        } catch (const ModelError& e) {
            list.push_back({{"file", file}, {"fault", e.what()}});
            if (first_fault.empty())
                first_fault = e.what();
            else
                std::cout << e.what() << '\n';
        }
    }
    if (first_fault.empty()) return cli::finish(invocation, {{"files", list}});
    return cli::finish(invocation, {{"files", list}}, ErrorCode::model, first_fault);
}

}  // namespace

void add_show(cli::App& app) {
    auto a = std::make_shared<ShowArguments>();
    auto& command = app.command("show", "Tables of operators and their times",
                                [a, &app] { return show(app.invocation(), *a); });
    auto& o = a->options;
    command.add_option("FILE", a->file, "Profile of ours or MegEngine's graph profile")->required();
    add_selection(command, o.selection, a->top);
    command
        .add_option("--order-by", o.selection.order_by,
                    "Column to sort by, ascending with a leading '+'; " + joined(row_columns()))
        ->type_name("[+]COLUMN");
    command
        .add_option("--top-end-key", a->end_key, "end: all of an operator's time; kern: until its work began")
        ->check(cli::one_of({"end", "kern"}));
    add_choice<ShowOptions::Only>(command, "--print-only", o.only,
                                  {{"summary", ShowOptions::Only::summary},
                                   {"device", ShowOptions::Only::device},
                                   {"host", ShowOptions::Only::host}},
                                  "Only this part");
    command.add_flag("--show-host", o.show_host, "Host times too");
    command.add_flag("--copy-time", o.copy_time, "Times of copies between devices in the summary");
    command.add_flag("--dump-only-opr", o.names_only, "Only name, type and id of each operator");
    add_choice<ShowOptions::Style>(command, "--style", o.style,
                                   {{"table", ShowOptions::Style::table},
                                    {"grid", ShowOptions::Style::grid},
                                    {"confluence", ShowOptions::Style::confluence}},
                                   "grid: identical to MegEngine's profile_analyze (default: table)");
    command.add_flag_callback(
        "--confluence,--wiki", [a] { a->options.style = ShowOptions::Style::confluence; },
        "The same as --style confluence");
    command.add_flag("--peak", a->wants_peak, "Measure this machine's peak performance and compare with it");
}

void add_diff(cli::App& app) {
    auto a = std::make_shared<DiffArguments>();
    auto& command = app.command("diff", "Shows what became slower and faster in a second profile",
                                [a, &app] { return diff(app.invocation(), *a); });
    command.add_option("BEFORE", a->before, "Profile")->required();
    command.add_option("AFTER", a->after, "Profile to compare with it")->required();
    add_selection(command, a->selection, a->top);
    cli::written(command.add_option("--html", a->html, "Write the comparison of all steps as a page, too"))
        ->type_name("OUT");
    command.add_flag("--any-models", a->any_models, "Compare profiles of different models, too");
}

void add_export(cli::App& app) {
    auto a = std::make_shared<ExportArguments>();
    auto& command = app.command("export", "Writes a profile in other formats",
                                [a, &app] { return export_files(app.invocation(), *a); });
    command.add_option("FILE", a->file, "Profile of ours or MegEngine's graph profile")->required();
    for (auto& format : export_formats())
        cli::written(command.add_option(text("--", format.name), a->outputs[std::string(format.name)],
                                        format.description))
            ->type_name("OUT");
    add_statistic(command, a->options.statistic);
    command
        .add_option(
            "--graph-page", a->options.graph_page,
            "Link each step to the page that mge-dump graph --html writes: its address, seen from --html")
        ->type_name("ADDRESS");
    command.add_flag("--peak", a->wants_peak, "Measure this machine's peak performance for the roofline");
}

void add_check(cli::App& app) {
    auto files = std::make_shared<Names>();
    auto& command = app.command("check", "Checks whether files are valid profiles",
                                [files, &app] { return check(app.invocation(), *files); });
    command.add_option("FILE", *files, "Profiles")->required();
}

std::span<const ExportFormat> export_formats() {
    static constexpr ExportFormat formats[] = {
        {"chrome", "Trace for chrome://tracing and ui.perfetto.dev",
         [](std::ostream& s, const Profile& p, const HtmlOptions&) { write_chrome(s, p); }},
        {"csv", "One line per operator",
         [](std::ostream& s, const Profile& p, const HtmlOptions& o) { write_csv(s, p, o.statistic); }},
        {"megengine", "MegEngine's graph profile",
         [](std::ostream& s, const Profile& p, const HtmlOptions&) { write_megengine_profile(s, p); }},
        {"html", "One page with findings, timeline, memory, roofline and tables", write_html},
    };
    return formats;
}

}  // namespace mge::profile
