// SPDX-License-Identifier: Apache-2.0
#include "libmge/op/graph_value.h"

#include "libmge/base/error.h"

namespace mge {

void throw_graph_value(std::string_view who) {
    throw_user(who,
               "an input is a value of a graph and has no elements here; use it inside of the "
               "recorded function, in C++ while an InterpreterScope of its builder is open: "
               "InterpreterScope scope(builder)");
}

}  // namespace mge
