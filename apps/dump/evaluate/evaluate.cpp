// SPDX-License-Identifier: Apache-2.0
#include <CLI/CLI.hpp>
#include <algorithm>
#include <iostream>
#include <nlohmann/json.hpp>

#include "apps/cli/files/model_file.h"
#include "apps/cli/options/numbers.h"
#include "apps/cli/options/output_option.h"
#include "apps/cli/output/progress.h"
#include "apps/cli/output/table.h"
#include "apps/dump/commands.h"
#include "apps/dump/evaluate/page.h"

namespace mge::dump {
namespace {

using cli::Json;

struct EvaluateOptions {
    std::vector<std::string> models;
    cli::ModelFile input;  // keys and libraries of the models
    std::string images, labels, class_names, page;
    Preprocessing how;
    int64_t batch = 0;
    size_t worst = 24;
};

constexpr size_t printed_classes = 10;

std::string percent_text(double share) { return cli::format_number(100 * share, 2); }

void print_accuracy(const std::vector<EvaluatedModel>& models) {
    std::vector<std::vector<std::string>> rows{{"model", "top-1 %", "top-5 %", "images/s"}};
    if (models.size() > 1) rows[0].insert(rows[0].end(), {"same as first %", "gained", "lost"});
    for (auto& model : models) {
        auto& scores = model.scores;
        auto images = double(scores.predictions.size());
        rows.push_back({model.path, percent_text(scores.top1()), percent_text(scores.top5()),
                        cli::format_number(images / scores.seconds, 1)});
        if (models.size() == 1) continue;
        auto agreement = compare(models[0].scores, scores);
        rows.back().push_back(percent_text(double(agreement.same) / images));
        rows.back().push_back(std::to_string(agreement.gained));
        rows.back().push_back(std::to_string(agreement.lost));
    }
    cli::print_table(std::cout, rows, {"images/s", "lost", "gained"});
}

void print_classes(const Scores& scores, const LabelledImages& images, bool shows_all) {
    auto classes = scores.by_class();
    std::vector<size_t> order;
    for (size_t i = 0; i < classes.size(); ++i)
        if (classes[i].images) order.push_back(i);
    auto share = [&](size_t i) { return double(classes[i].top1) / double(classes[i].images); };
    if (!shows_all) std::ranges::stable_sort(order, {}, share);
    size_t shown = shows_all ? order.size() : std::min(order.size(), printed_classes);
    std::vector<std::vector<std::string>> rows{
        {"class", "images", "top-1 %", "top-5 %", "most often taken for"}};
    for (size_t i : std::span(order).first(shown)) {
        auto& c = classes[i];
        rows.push_back({images.class_name(int64_t(i)), std::to_string(c.images), percent_text(share(i)),
                        percent_text(double(c.top5) / double(c.images)),
                        c.confused ? text(images.class_name(c.confused_with), " (", c.confused, ")") : "-"});
    }
    std::cout << '\n';
    cli::print_table(std::cout, rows);
    if (shown < order.size())
        std::cout << "(the lowest of " << order.size() << " classes; --verbose shows all)\n";
}

Json classes_json(const Scores& scores, const LabelledImages& images) {
    Json list = Json::array();
    auto classes = scores.by_class();
    for (size_t i = 0; i < classes.size(); ++i) {
        auto& c = classes[i];
        if (c.images == 0) continue;
        list.push_back({{"class", i},
                        {"name", images.class_name(int64_t(i))},
                        {"images", c.images},
                        {"top1", c.top1},
                        {"top5", c.top5}});
        if (c.confused) list.back().update({{"confused_with", c.confused_with}, {"confused", c.confused}});
    }
    return list;
}

Json worst_json(const Scores& scores, const LabelledImages& images, size_t count) {
    Json list = Json::array();
    auto order = scores.worst_first();
    for (size_t i : std::span(order).first(std::min(order.size(), count))) {
        auto& p = scores.predictions[i];
        list.push_back({{"image", images.images[i].name},
                        {"label", p.label},
                        {"predicted", p.predicted},
                        {"rank", p.rank},
                        {"probability_of_label", p.of_label},
                        {"probability_of_predicted", p.of_predicted}});
    }
    return list;
}

Json model_json(const EvaluatedModel& model, const Scores& first, const LabelledImages& images,
                size_t worst) {
    auto& scores = model.scores;
    auto agreement = compare(first, scores);
    return {{"model", model.path},
            {"top1", scores.top1()},
            {"top5", scores.top5()},
            {"seconds", scores.seconds},
            {"same_as_first", agreement.same},
            {"gained", agreement.gained},
            {"lost", agreement.lost},
            {"classes", classes_json(scores, images)},
            {"worst", worst_json(scores, images, worst)}};
}

// Writes the page with the first model's view of the images.
void write_page_of(const EvaluateOptions& options, const std::vector<EvaluatedModel>& models,
                   const LabelledImages& images, const TensorSpec& input, const cli::Invocation& invocation) {
    if (options.page.empty()) return;
    cli::write_output(invocation, options.page, [&](std::ostream& stream) {
        write_page(stream, models, images, input, options.how, options.worst);
    });
}

int run(const EvaluateOptions& options, const cli::Invocation& invocation) {
    auto images = read_labelled_images(options.images, options.labels, options.class_names);
    std::vector<EvaluatedModel> models;
    TensorSpec input;
    cli::Progress progress("evaluating", images.images.size() * options.models.size());
    for (auto& path : options.models) {
        cli::ModelFile file = options.input;
        file.path = path;
        Model model = file.read();
        auto scores = evaluate(model, images, options.how, options.batch,
                               [&](size_t count) { progress.advance(count); });
        if (models.empty()) input = model.graph.value(model.graph.inputs()[0]).spec;
        if (!models.empty() && models[0].scores.classes != scores.classes)
            throw UserError(text("'", path, "' has ", scores.classes, " classes, '", models[0].path, "' has ",
                                 models[0].scores.classes),
                            ErrorClass::value);
        models.push_back({path, std::move(scores)});
    }
    print_accuracy(models);
    print_classes(models[0].scores, images, invocation.verbose);
    write_page_of(options, models, images, input, invocation);
    Json list = Json::array();
    for (auto& model : models) list.push_back(model_json(model, models[0].scores, images, options.worst));
    Json result{{"images", images.images.size()}, {"classes", models[0].scores.classes}, {"evaluated", list}};
    if (!options.page.empty()) result["page"] = options.page;
    return cli::finish(invocation, result);
}

void add_preprocessing(CLI::App& command, Preprocessing& how) {
    command
        .add_option("--resize", how.resize,
                    "Resize the shorter side to this, then cut out the centre (default: resize to the input)")
        ->check(cli::whole_number(1, 1 << 16));
    auto numbers = [&](const char* name, std::vector<double>& values, double least, const char* description) {
        command.add_option(name, values, description)
            ->delimiter(',')
            ->allow_extra_args(false)
            ->check(cli::real_number(least))
            ->type_name("R,G,B");
    };
    numbers("--mean", how.mean, -1e30, "Subtract this from each channel, after the division");
    numbers("--std", how.deviation, 1e-30, "Divide each channel by this, last");
    command.add_option("--divide-by", how.divisor, "Divide pixels by this first; 1 leaves 0 to 255")
        ->check(cli::real_number(1e-30))
        ->capture_default_str();
    command.add_flag("--bgr", how.is_bgr, "Channels in the order blue, green, red; so are --mean and --std");
}

}  // namespace

void add_evaluate(cli::App& app) {
    auto options = std::make_shared<EvaluateOptions>();
    auto& command = app.command("evaluate", "Measures the accuracy of classifiers on a folder of images",
                                [options, &app] { return run(*options, app.invocation()); });
    cli::add_model_files(command, options->models);
    command.get_option("model")->required();
    cli::add_model_options(command, options->input);
    command
        .add_option("--images", options->images, "Folder of images; without --labels a subfolder per class")
        ->required()
        ->type_name("FOLDER");
    command.add_option("--labels", options->labels, "File with a line NAME LABEL for each image")
        ->type_name("FILE");
    command
        .add_option("--class-names", options->class_names, "File with the name of each class, one per line")
        ->type_name("FILE");
    add_preprocessing(command, options->how);
    command.add_option("--batch-size", options->batch, "Images per run (default: the batch of the model)")
        ->check(cli::whole_number(1, 1 << 16));
    cli::written(command.add_option("--html", options->page, "Write a page with the worst images"))
        ->type_name("FILE.html");
    command.add_option("--worst", options->worst, "Images to list, those with the lowest probability first")
        ->check(cli::whole_number(0, 10'000))
        ->capture_default_str();
}

}  // namespace mge::dump
