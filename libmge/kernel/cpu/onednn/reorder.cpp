// SPDX-License-Identifier: Apache-2.0
#include "libmge/kernel/cpu/onednn/reorder.h"

#include <algorithm>
#include <array>
#include <mutex>
#include <vector>

#include "libmge/base/threads/per_process.h"
#include "libmge/device/cpu/cpu_device.h"
#include "libmge/kernel/cpu/onednn/copy_blocked.h"
#include "libmge/kernel/cpu/onednn/primitive.h"

namespace mge::onednn {
namespace {

// Smaller constants are moved faster than a kernel for that is generated.
constexpr size_t worth_generating = size_t(1) << 18;

// The layers of a block repeat, each with its own weight; an unused primitive would be generated again.
class LastReorders {
public:
    void keep(const Primitive& primitive) {
        std::lock_guard lock(mutex_);
        if (std::ranges::find(kept_, primitive) == kept_.end()) kept_[next_++ % kept_.size()] = primitive;
    }

private:
    std::mutex mutex_;
    std::array<Primitive, 8> kept_;
    size_t next_ = 0;
};

// oneDNN may be unloaded before objects of static life are destroyed.
LastReorders& last_reorders() { return lasting_per_process<LastReorders>(); }

}  // namespace

void reorder(const MemoryDesc& from, const void* source, const MemoryDesc& to, void* target, int threads) {
    // Without AVX-512, generated code clears the smallest numbers of bf16, and f16 that is moved as bf16.
    const bool is_exact = to.type() != dnnl_bf16 || cpu_isa() >= Isa::avx512;
    if ((to.bytes() < worth_generating || !is_exact) && copy_blocked(from, source, to, target)) return;
    ThreadScope thread_scope(threads);
    dnnl_memory_t made;
    check(dnnl_memory_create(&made, from.get(), engine(), const_cast<void*>(source)), "dnnl_memory_create");
    Memory in(made);
    check(dnnl_memory_create(&made, to.get(), engine(), target), "dnnl_memory_create");
    Memory out(made);
    Primitive primitive = make_reorder(from, to);
    last_reorders().keep(primitive);
    std::vector<dnnl_exec_arg_t> arguments{{DNNL_ARG_FROM, in.get()}, {DNNL_ARG_TO, out.get()}};
    MemoryDesc desc = scratchpad_of(primitive);
    Memory scratchpad;
    if (desc.bytes()) {
        // oneDNN allocates it here, and frees it with the memory object.
        check(dnnl_memory_create(&made, desc.get(), engine(), DNNL_MEMORY_ALLOCATE), "dnnl_memory_create");
        scratchpad.reset(made);
        arguments.push_back({DNNL_ARG_SCRATCHPAD, scratchpad.get()});
    }
    RegionScope scope(&RegionRules::never_waits, true);
    check(dnnl_primitive_execute(primitive.get(), stream(), int(arguments.size()), arguments.data()),
          "dnnl_primitive_execute");
}

}  // namespace mge::onednn
