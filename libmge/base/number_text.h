// SPDX-License-Identifier: Apache-2.0
#pragma once
// Numbers as text, independent of the locale: printf() and strtod() write and read a comma if the program has
// set such a locale (setlocale(); Python's locale.setlocale).

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "libmge/base/api.h"

namespace mge {

MGE_API std::string decimal_text(double value, int digits);  // as printf("%.*g")
MGE_API std::string hexadecimal_text(double value);          // exact, as printf("%a"): "0x1.8p+0"
// "1 run", "3 runs"; `many` where an s is not enough.
MGE_API std::string counted(int64_t count, std::string_view one, std::string_view many = {});
// A whole word of either type; std::nullopt for other words and numbers out of range.
MGE_API std::optional<double> parse_number(std::string_view word);

}  // namespace mge
