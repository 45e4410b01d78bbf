// SPDX-License-Identifier: Apache-2.0
#pragma once

namespace mge {

// Of ASCII, whatever language the program has asked for: in Turkish no capital of "i" is one byte.
constexpr char capital(char c) { return c >= 'a' && c <= 'z' ? char(c - 'a' + 'A') : c; }

}  // namespace mge
