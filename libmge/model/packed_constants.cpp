// SPDX-License-Identifier: Apache-2.0
#include "libmge/model/packed_constants.h"

#include <map>
#include <set>

#include "libmge/device/device.h"
#include "libmge/graph/inner_graph.h"

namespace mge {
namespace {

std::string this_machine() { return device(host_device).fingerprint(); }

std::map<const void*, Tensor> constants_of(const Graph& graph) {
    std::map<const void*, Tensor> constants;
    for (auto& [path, part] : with_inner_graphs(graph))
        for (auto& value : part->values())
            if (value.is_constant()) constants.emplace(value.constant.address(), value.constant);
    return constants;
}

}  // namespace

PackedConstants pack_constants(const Graph& graph, const CompileOptions& options) {
    auto constants = constants_of(graph);
    PackedCopyNotes notes;
    CompileOptions noting = options;
    noting.select.packed_copies = &notes;
    auto program = Program::compile(graph, noting);
    PackedConstants packed{this_machine(), {}};
    std::set<const void*> seen;
    for (auto& copy : notes.living()) {
        auto constant = constants.find(copy.constant);  // passes make others
        if (constant == constants.end() || !seen.insert(copy.data).second) continue;
        Tensor bytes({DType::u8, {int64_t(copy.bytes)}, {}}, borrow_storage(copy.data, copy.bytes, program));
        packed.all.push_back({constant->second, std::move(bytes), copy.layouts});
    }
    return packed;
}

bool is_packed_here(std::string_view machine) { return machine == this_machine(); }

void offer_packed(const PackedConstants& packed, const std::shared_ptr<const void>& owner,
                  const std::shared_ptr<const VerifyConstant>& verify) {
    if (packed.all.empty() || !is_packed_here(packed.machine)) return;
    std::vector<PackedCopy> copies;
    for (auto& each : packed.all)
        copies.push_back(
            {each.constant.address(), each.layouts, each.copy.address(), each.copy.spec().bytes()});
    offer_packed_copies(owner, std::move(copies), verify);
}

}  // namespace mge
