// SPDX-License-Identifier: Apache-2.0
#include "python/src/model_opening.h"

#include <memory>
#include <span>
#include <vector>

#include "libmge/model/open.h"
#include "python/src/gil.h"

namespace mge::python {

Model open_path(const std::filesystem::path& path) {
    GilReleased released;
    return open_model(path.string());
}

Model open_content(const nanobind::bytes& content) {
    auto bytes = std::as_bytes(std::span(content.c_str(), content.size()));
    GilReleased released;
    auto kept = std::make_shared<std::vector<std::byte>>(bytes.begin(), bytes.end());
    return open_model(ModelBytes{*kept, kept, "the given bytes"});
}

}  // namespace mge::python
