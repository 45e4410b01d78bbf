// SPDX-License-Identifier: Apache-2.0
#include "libmge/kernel/cpu/onednn/primitive.h"

#include <array>
#include <atomic>
#include <map>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <variant>

#include "libmge/base/address_space.h"
#include "libmge/base/hash.h"
#include "libmge/base/threads/per_process.h"
#include "libmge/device/cpu/cpu_device.h"
#include "libmge/kernel/cpu/onednn/implementations.h"

namespace mge::onednn {
namespace {

// A generated kernel takes 256 KB, and a primitive seldom has more than a dozen.
constexpr size_t code_address_space = size_t(16) << 20;

// Everything that two equal primitives have in common, byte by byte.
class Key {
public:
    template <class T>
    void add(const T& value) {
        bytes_.append(reinterpret_cast<const char*>(&value), sizeof(value));
    }
    void add_text(std::string_view text) { bytes_.append(text).push_back('\0'); }
    Fingerprint fingerprint() const { return mge::fingerprint(bytes_.data(), bytes_.size()); }

private:
    std::string bytes_;
};

void add(Key& key, const ConvolutionDesc& d) {
    key.add(d.direction), key.add(d.algorithm);
    key.add(d.stride), key.add(d.dilation), key.add(d.padding), key.add(d.padding_after);
}
void add(Key&, const MatmulDesc&) {}
void add(Key& key, const LayerNormDesc& d) { key.add(d.epsilon), key.add(d.flags); }

// False: of a kind that is not shared.
bool add_operation(Key& key, const_dnnl_primitive_desc_t desc, dnnl_primitive_kind_t kind) {
    if (kind == dnnl_reorder) return true;  // described by its memory alone
    auto operation = operation_of(desc);
    if (!operation) return false;
    std::visit(
        [&]<class Desc>(const Desc& d) {
            if constexpr (requires { add(key, d); }) add(key, d);
        },
        *operation);
    return true;
}

// A scratchpad of the primitive's own serves one thread at a time.
bool has_own_scratchpad(const_dnnl_primitive_desc_t desc, const_dnnl_primitive_attr_t attr) {
    dnnl_scratchpad_mode_t mode;
    int64_t bytes = 0;
    return dnnl_primitive_attr_get_scratchpad_mode(attr, &mode) ||
           dnnl_primitive_desc_query(desc, dnnl_query_memory_consumption_s64, 0, &bytes) ||
           (mode == dnnl_scratchpad_mode_library && bytes > 0);
}

// The attributes that attributes() sets; a primitive with any other attribute is not shared.
bool add_attributes(Key& key, const_dnnl_primitive_desc_t desc) {
    const_dnnl_primitive_attr_t attr;
    const_dnnl_post_ops_t list;
    if (dnnl_primitive_desc_get_attr(desc, &attr) || has_own_scratchpad(desc, attr) ||
        dnnl_primitive_attr_get_post_ops(attr, &list))
        return false;
    for (int i = 0; i < dnnl_post_ops_len(list); ++i) {
        auto kind = dnnl_post_ops_get_kind(list, i);
        key.add(kind);
        if (kind == dnnl_sum) continue;
        if (kind != dnnl_eltwise) return false;
        auto eltwise = eltwise_at(list, i);
        key.add(eltwise.kind), key.add(eltwise.alpha), key.add(eltwise.beta);
    }
    return true;
}

// False: a layout that cannot be compared.
bool add_memory(Key& key, const_dnnl_primitive_desc_t desc) {
    for (int argument : {DNNL_ARG_SRC_0, DNNL_ARG_SRC_1, DNNL_ARG_WEIGHTS, DNNL_ARG_BIAS, DNNL_ARG_DST,
                         DNNL_ARG_MEAN, DNNL_ARG_VARIANCE, DNNL_ARG_DIFF_SRC, DNNL_ARG_DIFF_WEIGHTS,
                         DNNL_ARG_DIFF_BIAS, DNNL_ARG_DIFF_DST, DNNL_ARG_WORKSPACE, DNNL_ARG_SCRATCHPAD}) {
        MemoryDesc memory = memory_of(desc, argument);
        if (memory.rank() == 0) continue;
        auto text = memory.text();
        if (!text) return false;
        key.add(argument);
        key.add_text(*text);
    }
    return true;
}

// Returns nullopt if it cannot be compared.
std::optional<Fingerprint> key_of(const_dnnl_primitive_desc_t desc) {
    Key key;
    auto kind = kind_of(desc);
    key.add(kind);
    key.add_text(implementation_name(desc));
    // Its division of work depends on the number of threads.
    key.add(ThreadScope::threads());
    if (!add_operation(key, desc, kind) || !add_attributes(key, desc) || !add_memory(key, desc))
        return std::nullopt;
    return key.fingerprint();
}

struct Table {
    std::mutex mutex;
    std::map<Fingerprint, std::weak_ptr<dnnl_primitive>> known;

    Primitive find(const Fingerprint& key) {
        auto it = known.find(key);
        return it == known.end() ? nullptr : it->second.lock();
    }
};

Table& table() {
    static PerProcess<Table> tables;
    return tables.get();
}

// The general matrix product generates its kernels when it first runs, for a tenth of a second: rather here
// than in the first run of a program.
std::atomic<bool> has_general_product{false};  // its address identifies them among pieces of memory
void generate_general_product() {
    [[maybe_unused]] static const bool done = [] {
        constexpr int side = 2;  // one by one takes a way without them
        const std::array<float, side * side> ones{1, 1, 1, 1};
        std::array<float, side * side> product{};
        check(dnnl_sgemm('N', 'N', side, side, side, 1, ones.data(), side, ones.data(), side, 0,
                         product.data(), side),
              "dnnl_sgemm");
        has_general_product.store(true, std::memory_order_relaxed);
        return true;
    }();
}

Primitive create(const_dnnl_primitive_desc_t desc) {
    require_address_space(code_address_space, "the code of a oneDNN primitive");
    if (is_general_product(implementation_name(desc))) generate_general_product();
    dnnl_primitive_t made;
    check(dnnl_primitive_create(&made, desc), "dnnl_primitive_create");
    return {made, Destroy{}};
}

}  // namespace

Primitive make_primitive(const_dnnl_primitive_desc_t desc) {
    auto key = key_of(desc);
    if (!key) return create(desc);
    Table& t = table();
    {
        std::lock_guard lock(t.mutex);
        if (auto primitive = t.find(*key)) return primitive;
    }
    // Without the lock: generating code takes a while.
    Primitive made = create(desc);
    std::lock_guard lock(t.mutex);
    if (auto primitive = t.find(*key)) return primitive;
    std::erase_if(t.known, [](auto& entry) { return entry.second.expired(); });
    t.known[*key] = made;
    return made;
}

Primitive make_reorder(const MemoryDesc& from, const MemoryDesc& to) {
    // Without attributes a reorder to a Winograd layout would own a scratchpad for its whole lifetime.
    auto attr = attributes(false, {});
    require_address_space(description_address_space, "the descriptions of oneDNN primitives");
    PrimitiveDesc desc = reorder_desc(from, to, attr);
    MGE_CHECK(desc, "oneDNN has no reorder from ", layout_name(from), " to ", layout_name(to));
    return make_primitive(desc.get());
}

MemoryDesc scratchpad_of(const Primitive& primitive) {
    const_dnnl_primitive_desc_t desc;
    check(dnnl_primitive_get_primitive_desc(primitive.get(), &desc), "dnnl_primitive_get_primitive_desc");
    return MemoryDesc(dnnl_primitive_desc_query_md(desc, dnnl_query_scratchpad_md, 0));
}

bool has_independent_shares(const Primitive& primitive) {
    const_dnnl_primitive_desc_t desc;
    check(dnnl_primitive_get_primitive_desc(primitive.get(), &desc), "dnnl_primitive_get_primitive_desc");
    std::string name = implementation_name(desc);
    auto kind = kind_of(desc);
    if (kind == dnnl_reorder) return true;
    if (kind == dnnl_matmul) return name.starts_with("brg");
    if (kind != dnnl_convolution && kind != dnnl_pooling) return false;
    dnnl_prop_kind_t direction = dnnl_prop_kind_undef;
    check(dnnl_primitive_desc_query(desc, dnnl_query_prop_kind, 0, &direction), "dnnl_query_prop_kind");
    return is_forward(direction) && !is_general_product(name);
}

std::vector<MemoryPiece> pieces_of(const Primitive& primitive) {
    // Measured with version 2.6 over the primitives of seven nets: 12 to 20 KiB a reorder; 40 to 180 KiB the
    // others, by the number of kernels each generates.
    constexpr size_t reorder = 20 << 10, other = 64 << 10;
    constexpr size_t of_general_product = 3900 << 10, of_general_product_before_avx512 = 1700 << 10;
    const_dnnl_primitive_desc_t desc;
    check(dnnl_primitive_get_primitive_desc(primitive.get(), &desc), "dnnl_primitive_get_primitive_desc");
    std::vector<MemoryPiece> pieces{{primitive.get(), kind_of(desc) == dnnl_reorder ? reorder : other}};
    // Its code stays until the process ends, even when a search generated it and chose another algorithm.
    if (has_general_product.load(std::memory_order_relaxed))
        pieces.push_back({&has_general_product,
                          cpu_isa() >= Isa::avx512 ? of_general_product : of_general_product_before_avx512});
    return pieces;
}

}  // namespace mge::onednn
