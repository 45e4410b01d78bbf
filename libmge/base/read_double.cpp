// SPDX-License-Identifier: Apache-2.0
#include "libmge/base/read_double.h"

#if defined(_LIBCPP_VERSION) && _LIBCPP_VERSION < 200000
#include <locale.h>

#include <cerrno>
#include <cmath>
#include <cstdlib>
#include <string>
#endif

namespace mge {

#if defined(_LIBCPP_VERSION) && _LIBCPP_VERSION < 200000
std::from_chars_result read_double(const char* first, const char* last, double& value,
                                   std::chars_format format) {
    static const locale_t c = ::newlocale(LC_ALL_MASK, "C", nullptr);
    // Unlike from_chars, strtod skips spaces and a plus, and reads the prefix of hexadecimal numbers itself.
    const bool is_hexadecimal = format == std::chars_format::hex;
    std::string word(first, last);
    if (word.empty() || word[0] <= ' ' || word[0] == '+') return {first, std::errc::invalid_argument};
    word = is_hexadecimal ? "0x" + word : word.substr(0, word.find_first_of("xX"));
    char* end = nullptr;
    errno = 0;
    const double number = ::strtod_l(word.c_str(), &end, c);
    const char* behind = first + (end - word.c_str()) - (is_hexadecimal ? 2 : 0);
    if (behind <= first) return {first, std::errc::invalid_argument};
    // strtod also sets it for subnormal numbers.
    const bool is_out_of_range = errno == ERANGE && (number == 0 || std::isinf(number));
    if (is_out_of_range) return {behind, std::errc::result_out_of_range};
    value = number;
    return {behind, {}};
}
#else
std::from_chars_result read_double(const char* first, const char* last, double& value,
                                   std::chars_format format) {
    return std::from_chars(first, last, value, format);
}
#endif

}  // namespace mge
