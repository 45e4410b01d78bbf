// SPDX-License-Identifier: Apache-2.0
#pragma once
// The page of `mge-profile export --html`, made by CMake from page/page.html, page.css and page.js: the text
// before and after the data.

#include <string_view>

namespace mge::profile {

extern const std::string_view page_before_data, page_after_data;

}  // namespace mge::profile
