// SPDX-License-Identifier: Apache-2.0
#include "apps/cli/options/dimension_option.h"

#include <CLI/CLI.hpp>
#include <charconv>
#include <nlohmann/json.hpp>

namespace mge::cli {
namespace {

// A name may contain '='; the size is what follows the last one.
std::pair<std::string, int64_t> parse_size(const std::string& given) {
    auto equals = given.rfind('=');
    int64_t size = -1;
    if (equals != std::string::npos && equals > 0) {
        const char *begin = given.data() + equals + 1, *end = given.data() + given.size();
        auto [stop, error] = std::from_chars(begin, end, size);
        if (error != std::errc() || stop != end) size = -1;
    }
    if (size < 0)
        throw UsageError(text('[', dimension_flag, "] '", given,
                              "' is invalid: expected NAME=SIZE with a size of at least 0"),
                         "write, for example, --dim batch=4");
    return {given.substr(0, equals), size};
}

}  // namespace

ExtentValues DimensionOption::sizes() const {
    ExtentValues result;
    for (auto& each : given) {
        auto [name, size] = parse_size(each);
        if (auto known = result.emplace(name, size).first->second; known != size)
            throw UsageError(
                text('[', dimension_flag, "] dimension '", name, "' is given as ", known, " and ", size),
                "give each dimension one size");
    }
    return result;
}

void add_dimension_option(CLI::App& command, DimensionOption& option) {
    command
        .add_option(dimension_flag, option.given,
                    "Size of every open dimension with this name; may be repeated for several names")
        ->type_name("NAME=SIZE")
        ->allow_extra_args(false);
}

Json dimensions_json(const Shape& shape, const OpenDimensions& dimensions) {
    Json list = Json::array();
    for (int axis = 0; axis < shape.rank(); ++axis) list.push_back(shape[axis]);
    for (auto& each : dimensions)
        if (each.axis < shape.rank()) list[size_t(each.axis)] = each.name.empty() ? Json() : Json(each.name);
    return list;
}

}  // namespace mge::cli
