// SPDX-License-Identifier: Apache-2.0
#include "apps/dump/evaluate/page.h"

#include <algorithm>
#include <span>

#include "apps/cli/files/image_file.h"
#include "apps/dump/page.h"
#include "libmge/base/json_writer.h"

namespace mge::dump {
namespace {

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

void write_models(JsonWriter& json, const std::vector<EvaluatedModel>& models) {
    json.list_member("models", models, [&](auto& model) {
        auto agreement = compare(models[0].scores, model.scores);
        json.object([&] {
            json.member("path", model.path);
            json.member("top1", model.scores.top1());
            json.member("top5", model.scores.top5());
            json.member("same", agreement.same);
            json.member("gained", agreement.gained);
            json.member("lost", agreement.lost);
        });
    });
}

void write_classes(JsonWriter& json, const Scores& scores, const LabelledImages& images) {
    auto classes = scores.by_class();
    json.key("classes");
    json.list_of([&] {
        for (size_t i = 0; i < classes.size(); ++i) {
            auto& c = classes[i];
            if (c.images == 0) continue;
            json.element_begins();
            json.object([&] {
                json.member("name", images.class_name(int64_t(i)));
                json.member("images", c.images);
                json.member("top1", c.top1);
                json.member("top5", c.top5);
                json.member("taken_for",
                            c.confused ? std::optional(images.class_name(c.confused_with)) : std::nullopt);
                json.member("taken", c.confused);
            });
        }
    });
}

void write_images(JsonWriter& json, const EvaluatedModel& model, const LabelledImages& images,
                  const TensorSpec& input, const Preprocessing& how, size_t shown) {
    auto order = model.scores.worst_first();
    json.list_member("images", std::span(order).first(std::min(order.size(), shown)), [&](size_t i) {
        auto& image = images.images[i];
        auto& p = model.scores.predictions[i];
        Tensor pixels = cropped_image(images.path(image), input, how);
        if (how.is_bgr) pixels = cli::swap_red_and_blue(pixels);
        json.object_on_line([&] {
            json.member("name", image.name);
            json.member("label", images.class_name(p.label));
            json.member("of_label", p.of_label);
            json.member("predicted", images.class_name(p.predicted));
            json.member("of_predicted", p.of_predicted);
            json.member("is_wrong", p.rank > 0);
            json.member("png", base64(cli::encode_png(pixels)));
        });
    });
}

}  // namespace

void write_page(std::ostream& stream, const std::vector<EvaluatedModel>& models, const LabelledImages& images,
                const TensorSpec& input, const Preprocessing& how, size_t shown_images) {
    stream << evaluate_page.before_data;
    JsonWriter json(stream, true);
    json.object([&] {
        json.member("folder", images.folder);
        json.member("images", images.images.size());
        write_models(json, models);
        write_classes(json, models.at(0).scores, images);
        json.objects_member("worst", models, [&](auto& model) {
            json.member("path", model.path);
            write_images(json, model, images, input, how, shown_images);
        });
    });
    stream << evaluate_page.after_data;
}

}  // namespace mge::dump
