// SPDX-License-Identifier: Apache-2.0
#include "apps/load_and_run/inputs/shapes.h"

#include <algorithm>
#include <charconv>

#include "apps/cli/options/named_values.h"
#include "libmge/base/error.h"

namespace mge::load_and_run {
namespace {

[[noreturn]] void refuse_shapes(const std::string& what) {
    throw_value_error("--shapes", what + "; expected NAME:(1,3,224,224),(1,3,256,256)");
}

// Reads "(1,3,224,224)" from the front of `rest` and removes it.
Shape take_shape(std::string_view& rest, const std::string& given) {
    size_t end = rest.find(')');
    if (rest.empty() || rest[0] != '(' || end == rest.npos)
        refuse_shapes(text("'", given, "' is not a list of shapes"));
    std::string_view words = rest.substr(1, end - 1);
    rest.remove_prefix(end + 1);
    Shape shape;
    while (!words.empty()) {
        size_t comma = std::min(words.find(','), words.size());
        std::string_view word = words.substr(0, comma);
        word.remove_prefix(std::min(word.find_first_not_of(' '), word.size()));
        int64_t extent = -1;
        auto [stop, error] = std::from_chars(word.data(), word.data() + word.size(), extent);
        if (error != std::errc() || stop != word.data() + word.size() || extent < 0)
            refuse_shapes(text("'", word, "' in '", given, "' is not a dimension"));
        shape.push_back(extent);
        words.remove_prefix(std::min(comma + 1, words.size()));
    }
    return shape;
}

std::vector<Shape> shapes_of(const std::string& given) {
    std::vector<Shape> shapes;
    std::string_view rest = given;
    while (true) {
        shapes.push_back(take_shape(rest, given));
        if (rest.empty()) return shapes;
        if (rest[0] != ',') refuse_shapes(text("'", given, "' is not a list of shapes"));
        rest.remove_prefix(1);
        rest.remove_prefix(std::min(rest.find_first_not_of(' '), rest.size()));
    }
}

size_t position_of(const std::string& name, const std::vector<std::string>& names) {
    if (name.empty() && names.size() == 1) return 0;
    auto at = std::ranges::find(names, name);
    if (at == names.end()) refuse_shapes(text("the model has no input '", name, "'"));
    return size_t(at - names.begin());
}

}  // namespace

std::vector<InputShapes> parse_shapes(const std::string& given, const std::vector<std::string>& names) {
    std::vector<std::vector<Shape>> lists(names.size());
    size_t count = 1;
    for (auto& [name, list] : cli::split_named_values(given, names)) {
        auto& shapes = lists[position_of(name, names)];
        if (!shapes.empty()) refuse_shapes(text("the input '", name, "' is given twice"));
        shapes = shapes_of(list);
        if (shapes.size() > 1 && count > 1 && shapes.size() != count)
            refuse_shapes(text("'", name, "' has ", shapes.size(), " shapes, another input ", count));
        count = std::max(count, shapes.size());
    }
    std::vector<InputShapes> result(count);
    for (size_t k = 0; k < count; ++k)
        for (size_t i = 0; i < names.size(); ++i) {
            result[k].by_input.emplace_back();
            if (lists[i].empty()) continue;
            auto& shape = lists[i][lists[i].size() == 1 ? 0 : k];
            result[k].by_input[i] = shape;
            result[k].text += text(result[k].text.empty() ? "" : ";", names[i], ':', shape);
        }
    return result;
}

}  // namespace mge::load_and_run
