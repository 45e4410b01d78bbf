// SPDX-License-Identifier: Apache-2.0
#pragma once

namespace mge {

// ASCII only, regardless of the locale: in Turkish the capital of "i" is not a single byte.
constexpr char capital(char c) { return c >= 'a' && c <= 'z' ? char(c - 'a' + 'A') : c; }

}  // namespace mge
