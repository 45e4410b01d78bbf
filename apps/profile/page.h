// SPDX-License-Identifier: Apache-2.0
#pragma once
// The page of `mge-profile export --html` before and after the data. CMake generates it from page/page.html,
// page.css and page.js.

#include <string_view>

namespace mge::profile {

extern const std::string_view page_before_data, page_after_data;

}  // namespace mge::profile
