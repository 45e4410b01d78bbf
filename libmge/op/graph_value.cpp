// SPDX-License-Identifier: Apache-2.0
#include "libmge/op/graph_value.h"

#include "libmge/base/error.h"

namespace mge {

void throw_graph_value(std::string_view who) {
    throw_user(who,
               "an input is a value of a graph and has no elements yet; operators are recorded while an "
               "InterpreterScope of the graph's builder is open: InterpreterScope scope(builder)");
}

}  // namespace mge
