// SPDX-License-Identifier: Apache-2.0
#pragma once
// How a dump says where its values come from: "3:0,4:0;3/conv2d/1/5f00aa/conv1;4/relu/1/77/" is output 0 of
// the operators 3 and 4 of the source graph; of each operator the name, how many outputs it has, its kind
// (SourceNode) and what somebody called it. Bytes that would end a part stand as \xNN.

#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "libmge/base/files/file_limit.h"
#include "libmge/inspect/io_dump/io_dump.h"

namespace mge {

// Empty when nothing is known.
std::string origin_text(const DumpedOrigin& origin);
// Nullopt for what is none.
std::optional<DumpedOrigin> parse_origin(std::string_view text, FileBudget& budget);

// Which operators of one network another has too. Their dumps tell of those operators only whose work a step
// did.
class MGE_API MatchedOperators {
public:
    MatchedOperators(const std::vector<SourceNode>& here, const std::vector<SourceNode>& there);
    // The number here of an operator there; −1: there is none.
    NodeId number(NodeId there) const;

private:
    std::map<NodeId, NodeId> numbers_;
};
// All that the records of a dump tell of, ascending.
MGE_API std::vector<SourceNode> operators_of(const IoDump& dump);

}  // namespace mge
