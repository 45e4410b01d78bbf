// SPDX-License-Identifier: Apache-2.0
#include "tests/harness/run_candidate.h"

#include <cstring>

#include "tests/harness/edge_memory.h"

namespace mge::test {
namespace {

class EdgeOutputs final : public OutputAllocator {
public:
    explicit EdgeOutputs(Tensors& outputs) : outputs_(outputs) {}
    void* allocate(size_t output, const TensorSpec& spec) override {
        outputs_.at(output) = edge_tensor(spec);
        return outputs_[output].data();
    }

private:
    Tensors& outputs_;
};

}  // namespace

Tensors run_candidate(const NamedCandidate& named, const Problem& problem, const Tensors& inputs,
                      const InPlace* in_place) {
    Tensors in, out;
    std::vector<const void*> in_data, constants;
    std::vector<void*> out_data;
    for (auto& input : inputs) in.push_back(input ? edge_copy(input) : Tensor());
    for (auto& spec : problem.outputs)
        out.push_back(spec.shape.is_known() && !spec.is_absent() ? edge_tensor(spec) : Tensor());
    if (in_place) {
        auto output = size_t(in_place->output);
        out[output] = Tensor(problem.outputs[output], in[size_t(in_place->input)].impl()->storage);
    }
    for (size_t i = 0; i < in.size(); ++i) {
        in_data.push_back(in[i] ? in[i].data() : nullptr);
        // There is a bit for the first 32 inputs only.
        constants.push_back(i < 32 && problem.is_constant(i) ? in_data.back() : nullptr);
    }
    for (auto& t : out) out_data.push_back(t ? t.data() : nullptr);
    Prepared prepared = named.algorithm->prepare({problem, named.candidate, constants});
    StorageRef workspace = edge_workspace(prepared.workspace());
    EdgeOutputs allocator(out);
    bool may_run_again = !in_place && !named.candidate.attributes.naive;
    for (int times = may_run_again ? 2 : 1; times > 0; --times)
        named.algorithm->run(prepared, {in_data, out_data, workspace->data, problem.threads, &allocator});
    return out;
}

}  // namespace mge::test
