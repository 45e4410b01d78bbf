// SPDX-License-Identifier: Apache-2.0
#include "libmge/lite/model_file.h"

#include <span>

#include "libmge/lite/as_lite_error.h"

namespace lite {

ModelFile read_model_file(const std::string& path, const Configuration& given, bool) {
    return as_lite_error([&] {
        return ModelFile{
            mge::open_model(path, {.cipher = given.config.bare_model_cryption_name}), given, {}, {}};
    });
}

ModelFile read_model_file(const void* data, size_t bytes, const Configuration& given, bool) {
    return as_lite_error([&] {
        if (!data || !bytes) throw Error("a model in memory needs an address and a number of bytes");
        std::span content(static_cast<const std::byte*>(data), bytes);
        return ModelFile{mge::open_model(mge::ModelBytes{content, nullptr, "model in memory"},
                                         {.cipher = given.config.bare_model_cryption_name}),
                         given,
                         {},
                         {}};
    });
}

}  // namespace lite
