// SPDX-License-Identifier: Apache-2.0
#include "python/src/model_argument.h"

#include <memory>
#include <span>
#include <vector>

#include "libmge/model/open.h"
#include "python/src/gil.h"

namespace nb = nanobind;

namespace mge::python {

Model open_argument(const ModelArgument& given) {
    auto* bytes = std::get_if<nb::bytes>(&given);
    if (!bytes) {
        GilReleased released;
        return open_model(std::get<std::filesystem::path>(given).string());
    }
    auto content = std::as_bytes(std::span(bytes->c_str(), bytes->size()));
    GilReleased released;
    auto kept = std::make_shared<std::vector<std::byte>>(content.begin(), content.end());
    return open_model(ModelBytes{*kept, kept, "the given bytes"});
}

}  // namespace mge::python
