// SPDX-License-Identifier: Apache-2.0
#include "apps/dump/evaluate/labelled_images.h"

#include <algorithm>
#include <charconv>
#include <filesystem>
#include <optional>
#include <sstream>

#include "apps/cli/files/image_file.h"
#include "libmge/base/error.h"
#include "libmge/base/files/file.h"

namespace mge::dump {
namespace {

namespace fs = std::filesystem;

std::string without_blanks(const std::string& line) {
    size_t begin = line.find_first_not_of(" \t\r");
    return begin == line.npos ? "" : line.substr(begin, line.find_last_not_of(" \t\r") - begin + 1);
}

std::vector<std::string> lines_of(const std::string& path) {
    std::istringstream stream(read_text(path));
    std::vector<std::string> lines;
    for (std::string line; std::getline(stream, line);) lines.push_back(without_blanks(line));
    while (!lines.empty() && lines.back().empty()) lines.pop_back();
    return lines;
}

std::optional<int64_t> number_in(const std::string& word) {
    int64_t value = 0;
    auto [end, error] = std::from_chars(word.data(), word.data() + word.size(), value);
    bool is_whole = error == std::errc() && end == word.data() + word.size() && value >= 0;
    return is_whole ? std::optional(value) : std::nullopt;
}

int64_t label_in(const std::string& word, const std::vector<std::string>& names, const std::string& place) {
    if (auto known = std::ranges::find(names, word); known != names.end()) return known - names.begin();
    if (auto number = number_in(word)) return *number;
    throw_value_error("--labels", place, ": '", word, "' is not the number of a class",
                      names.empty() ? "" : ", nor its name");
}

std::vector<LabelledImage> images_of_file(const std::string& path, const std::vector<std::string>& names) {
    std::vector<LabelledImage> images;
    auto lines = lines_of(path);
    for (size_t i = 0; i < lines.size(); ++i) {
        if (lines[i].empty() || lines[i][0] == '#') continue;
        std::string place = text("'", path, "' line ", i + 1);
        size_t separator = lines[i].find_last_of(", \t");
        if (separator == std::string::npos)
            throw_value_error("--labels", place, ": expected NAME LABEL, found '", lines[i], "'");
        std::string name = lines[i].substr(0, separator);
        name.resize(name.find_last_not_of(", \t") + 1);
        images.push_back({name, label_in(lines[i].substr(separator + 1), names, place)});
    }
    return images;
}

std::vector<std::string> sorted_names(const fs::path& folder, bool wants_folders) {
    std::vector<std::string> names;
    for (auto& entry : fs::directory_iterator(folder)) {
        bool is_wanted = wants_folders ? entry.is_directory() : cli::is_image_name(entry.path().string());
        if (is_wanted) names.push_back(entry.path().filename().string());
    }
    std::ranges::sort(names);
    return names;
}

void add_images_of_folders(LabelledImages& result) {
    auto classes = sorted_names(result.folder, true);
    for (size_t label = 0; label < classes.size(); ++label)
        for (auto& name : sorted_names(fs::path(result.folder) / classes[label], false))
            result.images.push_back({classes[label] + '/' + name, int64_t(label)});
    if (result.class_names.empty()) result.class_names = classes;
}

}  // namespace

std::string LabelledImages::class_name(int64_t label) const {
    return size_t(label) < class_names.size() ? class_names[size_t(label)] : std::to_string(label);
}

LabelledImages read_labelled_images(const std::string& folder, const std::string& label_file,
                                    const std::string& class_file) {
    LabelledImages result{folder, {}, {}};
    if (!fs::is_directory(folder)) throw_value_error("--images", "'", folder, "' is not a folder");
    if (!class_file.empty()) result.class_names = lines_of(class_file);
    if (label_file.empty())
        add_images_of_folders(result);
    else
        result.images = images_of_file(label_file, result.class_names);
    if (result.images.empty())
        throw_value_error(
            "--images", "'", folder, "' has no images: expected ",
            label_file.empty() ? "a subfolder per class, or --labels FILE" : "lines of --labels");
    return result;
}

}  // namespace mge::dump
