// SPDX-License-Identifier: Apache-2.0
#include "apps/dump/evaluate/page.h"

#include <algorithm>
#include <span>

#include "apps/cli/files/image_file.h"
#include "apps/cli/output/table.h"
#include "libmge/base/text.h"

namespace mge::dump {
namespace {

using cli::format_number;

constexpr size_t shown_classes = 50;

constexpr auto style = R"(
:root { color-scheme: light dark; --text: #1a1a1a; --dim: #555; --back: #fff; --line: #ccc; --bad: #b00020; }
@media (prefers-color-scheme: dark) {
  :root { --text: #eee; --dim: #aaa; --back: #16181c; --line: #444; --bad: #ff8a80; }
}
body { font: 15px/1.5 system-ui, sans-serif; color: var(--text); background: var(--back); margin: 0 auto;
  padding: 1rem; max-width: 100rem; }
h1 { font-size: 1.4rem; } h2 { font-size: 1.15rem; margin-top: 2rem; }
.wide { overflow-x: auto; }
table { border-collapse: collapse; } th, td { padding: .25rem .75rem; text-align: right; white-space: nowrap;
  border-bottom: 1px solid var(--line); }
th:first-child, td:first-child, td.name { text-align: left; }
.images { display: grid; grid-template-columns: repeat(auto-fill, minmax(11rem, 1fr)); gap: 1rem; }
figure { margin: 0; overflow-wrap: anywhere; } img { width: 100%; image-rendering: auto; }
figcaption { font-size: .85rem; } .wrong { color: var(--bad); } .dim { color: var(--dim); }
)";

std::string as_html(const std::string& given) {
    std::string result;
    for (char c : given)
        result += c == '&'   ? "&amp;"
                  : c == '<' ? "&lt;"
                  : c == '>' ? "&gt;"
                  : c == '"' ? "&quot;"
                             : std::string(1, c);
    return result;
}

std::string percent(double share) { return format_number(100 * share, 2); }

std::string base64(const std::vector<uint8_t>& bytes) {
    constexpr auto digits = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    std::string result;
    for (size_t i = 0; i < bytes.size(); i += 3) {
        size_t count = std::min<size_t>(3, bytes.size() - i);
        uint32_t group = 0;
        for (size_t k = 0; k < 3; ++k) group = group << 8 | (k < count ? bytes[i + k] : 0u);
        for (size_t k = 0; k < 4; ++k) result += k <= count ? digits[group >> (18 - 6 * k) & 63] : '=';
    }
    return result;
}

void write_models(std::ostream& stream, const std::vector<EvaluatedModel>& models) {
    stream << "<div class=wide><table><tr><th>model<th>top-1 %<th>top-5 %";
    if (models.size() > 1) stream << "<th>same as first %<th>gained<th>lost";
    for (auto& model : models) {
        auto& scores = model.scores;
        stream << "<tr><td>" << as_html(model.path) << "<td>" << percent(scores.top1()) << "<td>"
               << percent(scores.top5());
        if (models.size() == 1) continue;
        auto agreement = compare(models[0].scores, scores);
        stream << "<td>" << percent(double(agreement.same) / double(scores.predictions.size())) << "<td>"
               << agreement.gained << "<td>" << agreement.lost;
    }
    stream << "</table></div>\n";
}

void write_classes(std::ostream& stream, const Scores& scores, const LabelledImages& images) {
    auto classes = scores.by_class();
    std::vector<size_t> order;
    for (size_t i = 0; i < classes.size(); ++i)
        if (classes[i].images) order.push_back(i);
    std::ranges::stable_sort(order, {},
                             [&](size_t i) { return double(classes[i].top1) / double(classes[i].images); });
    stream
        << "<h2>Classes with the lowest top-1</h2>\n<div class=wide><table><tr><th>class<th>images<th>top-1 "
           "%<th>top-5 %<th>most often taken for\n";
    for (size_t i : std::span(order).first(std::min(order.size(), shown_classes))) {
        auto& c = classes[i];
        stream << "<tr><td>" << as_html(images.class_name(int64_t(i))) << "<td>" << c.images << "<td>"
               << percent(double(c.top1) / double(c.images)) << "<td>"
               << percent(double(c.top5) / double(c.images)) << "<td class=name>"
               << (c.confused ? as_html(images.class_name(c.confused_with)) + text(" (", c.confused, ")")
                              : "");
    }
    stream << "</table></div>\n";
}

void write_images(std::ostream& stream, const EvaluatedModel& model, const LabelledImages& images,
                  const TensorSpec& input, const Preprocessing& how, size_t shown) {
    stream << "<h2>Worst images of " << as_html(model.path) << "</h2>\n<div class=images>\n";
    auto order = model.scores.worst_first();
    for (size_t i : std::span(order).first(std::min(order.size(), shown))) {
        auto& image = images.images[i];
        auto& p = model.scores.predictions[i];
        Tensor pixels = cropped_image(images.path(image), input, how);
        if (how.is_bgr) pixels = cli::swap_red_and_blue(pixels);
        std::string label = as_html(images.class_name(p.label)),
                    predicted = as_html(images.class_name(p.predicted));
        stream << "<figure><img alt=\"" << label << "\" src=\"data:image/png;base64,"
               << base64(cli::encode_png(pixels)) << "\"><figcaption>" << label << ' ' << percent(p.of_label)
               << " %<br><span" << (p.rank ? " class=wrong" : "") << ">predicted: " << predicted << ' '
               << percent(p.of_predicted) << " %</span><br><span class=dim>" << as_html(image.name)
               << "</span></figcaption></figure>\n";
    }
    stream << "</div>\n";
}

}  // namespace

void write_page(std::ostream& stream, const std::vector<EvaluatedModel>& models, const LabelledImages& images,
                const TensorSpec& input, const Preprocessing& how, size_t shown_images) {
    stream << "<!doctype html>\n<html lang=en><meta charset=utf-8>\n<meta name=viewport "
              "content=\"width=device-width, initial-scale=1\">\n<title>Evaluation of "
           << as_html(models.at(0).path) << "</title>\n<style>" << style << "</style>\n<main>\n<h1>"
           << cli::counted(images.images.size(), "image") << " of " << as_html(images.folder) << "</h1>\n";
    write_models(stream, models);
    write_classes(stream, models[0].scores, images);
    for (auto& model : models) write_images(stream, model, images, input, how, shown_images);
    stream << "</main></html>\n";
}

}  // namespace mge::dump
