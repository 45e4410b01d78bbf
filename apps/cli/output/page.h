// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <string_view>

namespace mge::cli {

// A self-contained page before and after its JSON data. CMake makes it (mge_page in cmake/MgePage.cmake).
struct Page {
    std::string_view before_data, after_data;
};

}  // namespace mge::cli
