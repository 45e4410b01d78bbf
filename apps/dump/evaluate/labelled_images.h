// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cstdint>
#include <string>
#include <vector>

namespace mge::dump {

struct LabelledImage {
    std::string name;  // below the folder
    int64_t label = 0;
};

struct LabelledImages {
    std::string folder;
    std::vector<LabelledImage> images;
    std::vector<std::string> class_names;  // by label; empty: unknown
    std::string path(const LabelledImage& image) const { return folder + '/' + image.name; }
    // Returns the name of a class, or its number.
    std::string class_name(int64_t label) const;
};

// Reads a file of labels: a line "NAME LABEL" or "NAME,LABEL" per image, with the number of the class, or its
// name if `class_file` lists the names, one per line. Without a file of labels, each subfolder is a class,
// in the order of their names. Throws UserError with file and line.
LabelledImages read_labelled_images(const std::string& folder, const std::string& label_file,
                                    const std::string& class_file);

}  // namespace mge::dump
