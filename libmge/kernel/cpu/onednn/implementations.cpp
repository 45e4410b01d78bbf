// SPDX-License-Identifier: Apache-2.0
#include "libmge/kernel/cpu/onednn/implementations.h"

#include <algorithm>
#include <optional>

#include "libmge/base/address_space.h"
#include "libmge/base/error.h"
#include "libmge/device/cpu/cpu_device.h"

namespace mge::onednn {
namespace {

bool contains(const std::string& name, const char* part) { return name.find(part) != std::string::npos; }

// Which instruction set an implementation is made for, by its name: higher ones have wider vectors or more
// instructions for them; 0 where the name does not say.
int instruction_set(const std::string& name) {
    if (contains(name, "avx512")) return 4;
    if (contains(name, "avx2")) return 3;
    if (name.ends_with(":avx")) return 2;
    return contains(name, "sse41") ? 1 : 0;
}

// Those for older instruction sets are slower than their successors. Trying them costs search time, and for
// small problems one of them may win a measurement by chance.
void drop_outdated(std::vector<Implementation>& list) {
    int best = 0;
    for (auto& i : list) best = std::max(best, instruction_set(i.name));
    std::erase_if(list, [&](const Implementation& i) {
        int set = instruction_set(i.name);
        return set != 0 && set < best;
    });
}

#if DNNL_VERSION_MAJOR == 2
constexpr Eltwise hardswish{dnnl_eltwise_hardswish};
#else
constexpr Eltwise hardswish{dnnl_eltwise_hardswish, 1.0f / 6, 0.5f};
#endif

std::optional<Eltwise> eltwise(Activation activation) {
    switch (activation) {
        case Activation::relu:
        case Activation::relu_keeps_nan:
            return Eltwise{dnnl_eltwise_relu};
        case Activation::relu6:
        case Activation::relu6_keeps_nan:
            return Eltwise{dnnl_eltwise_clip, 0, 6};
        case Activation::hswish:
            return hardswish;
        case Activation::silu:
            return Eltwise{dnnl_eltwise_swish, 1};
        case Activation::gelu:
            return Eltwise{dnnl_eltwise_gelu_erf};
        case Activation::sigmoid:
            return Eltwise{dnnl_eltwise_logistic};
        case Activation::tanh:
            return Eltwise{dnnl_eltwise_tanh};
        default:
            return std::nullopt;
    }
}

}  // namespace

const char* implementation_name(const_dnnl_primitive_desc_t desc) {
    const char* name = "";
    check(dnnl_primitive_desc_query(desc, dnnl_query_impl_info_str, 0, &name), "dnnl_query_impl_info_str");
    return name;
}

std::vector<Implementation> implementations(const Operation& operation, const PrimitiveAttr& attr,
                                            const IsWanted& is_wanted) {
    std::vector<Implementation> result;
    require_address_space(description_address_space, "the descriptions of oneDNN primitives");
    bool is_found = false;
    visit_implementations(operation, attr, [&](PrimitiveDesc desc) {
        const char* name = implementation_name(desc.get());
        bool is_slow = contains(name, "simple") && !contains(name, "layer_normalization");
        // The general product without generated code is still written for vectors.
        const bool is_reference = contains(name, "ref") && !is_general_product(name);
        // oneDNN 2.6.3 has generated kernels for 512-bit SVE that accept an activation and leave it out.
        const bool is_wrong = contains(name, "sve_");
        if (is_reference || is_slow || is_wrong) return true;
        result.push_back({name, std::move(desc)});
        is_found = is_wanted && is_wanted(result.back());
        return !is_found;
    });
    if (!is_found) drop_outdated(result);
    return result;
}

bool computes_in(DType dtype) {
    return dtype == DType::f32 || (dtype == DType::bf16 && cpu_isa() >= Isa::avx512_bf16);
}

Support has_dtypes_of_product(const Problem& p) {
    constexpr size_t factors = 2;
    DType factor = p.inputs[0].dtype, sum = p.outputs[0].dtype;
    bool widens = factor == DType::bf16 && sum == DType::f32;
    if (factor != sum && !widens) return {"one dtype for all operands, or bf16 factors and f32 sums"};
    for (size_t i = 1; i < p.inputs.size(); ++i)
        if (p.has_input(i) && p.inputs[i].dtype != (i < factors ? factor : sum))
            return {"operands of several dtypes"};
    return supported;
}

PrimitiveAttr attributes(bool sum_destination, Activation activation) {
    dnnl_primitive_attr_t made;
    check(dnnl_primitive_attr_create(&made), "dnnl_primitive_attr_create");
    PrimitiveAttr attr(made);
    check(dnnl_primitive_attr_set_scratchpad_mode(made, dnnl_scratchpad_mode_user),
          "dnnl_primitive_attr_set_scratchpad_mode");
    auto applied = eltwise(activation);
    if (!sum_destination && !applied) return attr;
    dnnl_post_ops_t list;
    check(dnnl_post_ops_create(&list), "dnnl_post_ops_create");
    PostOps post_ops(list);
    if (sum_destination) append_sum(list);
    if (applied) append_eltwise(list, *applied);
    check(dnnl_primitive_attr_set_post_ops(made, list), "dnnl_primitive_attr_set_post_ops");
    return attr;
}

std::vector<Implementation> normalisations(const Operation& operation, const MemoryDesc& images) {
    auto list = implementations(operation, attributes(false, Activation::none));
    for (auto& way : list) way.name = text("onednn:", way.name, '/', layout_name(images));
    return list;
}

std::vector<Candidate> candidates_of(const std::vector<Implementation>& list) {
    std::vector<Candidate> result;
    for (bool general : {false, true})
        for (auto& way : list) {
            auto same = [&](const Candidate& other) { return other.name == way.name; };
            if (is_general_product(way.name) != general || std::any_of(result.begin(), result.end(), same))
                continue;
            result.push_back({way.name, 0, attributes_of(way.name)});
        }
    return result;
}

PrimitiveDesc take_way(std::vector<Implementation> list, const std::string& name) {
    auto it =
        std::find_if(list.begin(), list.end(), [&](const Implementation& way) { return way.name == name; });
    MGE_CHECK(it != list.end(), "no implementation named ", name);
    return std::move(it->desc);
}

}  // namespace mge::onednn
