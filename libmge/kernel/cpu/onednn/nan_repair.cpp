// SPDX-License-Identifier: Apache-2.0
#include "libmge/kernel/cpu/onednn/nan_repair.h"

#include <algorithm>
#include <cmath>
#include <mutex>
#include <vector>

#include "libmge/base/error.h"
#include "libmge/base/invalid_flag.h"
#include "libmge/base/threads/openmp_team.h"
#include "libmge/base/threads/thread_team.h"
#include "libmge/kernel/cpu/onednn/implementations.h"
#include "libmge/kernel/cpu/parallel.h"
#include "libmge/kernel/cpu/reduce/reduce_vectors.h"

namespace mge::onednn {
namespace {

const_dnnl_primitive_desc_t desc_of(const Primitive& primitive) {
    const_dnnl_primitive_desc_t desc;
    check(dnnl_primitive_get_primitive_desc(primitive.get(), &desc), "dnnl_primitive_get_primitive_desc");
    return desc;
}

// The same operation on the same layouts, without post-operations.
Primitive without_post_operations(const_dnnl_primitive_desc_t desc) {
    auto operation = operation_of(desc);
    MGE_CHECK(operation, "neither a convolution nor a matrix product");
    PrimitiveDesc plain = first_implementation(*operation, attributes(false, Activation::none));
    MGE_CHECK(plain, "no implementation without the activation");
    return make_primitive(plain.get());
}

Memory allocate(const MemoryDesc& desc) {
    dnnl_memory_t made;
    check(dnnl_memory_create(&made, desc.get(), engine(), DNNL_MEMORY_ALLOCATE), "dnnl_memory_create");
    return Memory(made);
}

void* address_of(dnnl_memory_t memory) {
    void* address = nullptr;
    check(dnnl_memory_get_data_handle(memory, &address), "dnnl_memory_get_data_handle");
    return address;
}

bool all_finite(const float* x, int64_t n) {
    static const auto sum = reduce_f32(cpu::Reduction::sum).run;
    // A sum that overflows is taken for an infinite value, which costs a copy.
    return n == 0 || std::isfinite(sum(x, n));
}
bool all_finite(const BFloat16* x, int64_t n) {
    return std::all_of(x, x + n, [](BFloat16 value) { return std::isfinite(float(value)); });
}

template <class T>
bool all_finite_in_parts(const T* x, int64_t n) {
    std::atomic<bool> finite{true};
    par_for(ThreadScope::threads(), n, 2 * parallel_grain, [&](int64_t begin, int64_t end) {
        if (!all_finite(x + begin, end - begin)) finite.store(false, std::memory_order_relaxed);
    });
    return finite;
}

// Whether one of the threads that run the primitive raises the flag of invalid operations.
bool raises_invalid(const std::function<void()>& execute) {
    std::atomic<bool> raised{false};
    if (team_kind() == TeamKind::own) {
        RegionScope scope(&RegionRules::raised_invalid, &raised);
        watch_invalid(raised, execute);
        return raised;
    }
    run_openmp_shares(
        openmp_threads(), [](void*, int, int) { clear_invalid_flag(); }, nullptr);
    execute();
    auto look = [](void* found, int, int) {
        if (is_invalid_flag_raised())
            static_cast<std::atomic<bool>*>(found)->store(true, std::memory_order_relaxed);
    };
    run_openmp_shares(openmp_threads(), look, &raised);
    return raised;
}

template <class T>
void repair_values(T* y, const T* sums, const T* added, int64_t n, Activation activation) {
    for (int64_t i = 0; i < n; ++i) {
        float sum = float(sums[i]) + (added ? float(added[i]) : 0);
        if (!std::isfinite(sum)) y[i] = T(apply_activation(activation, sum));
    }
}

template <class Fn>
auto dispatch(const MemoryDesc& desc, Fn&& fn) {
    auto n = int64_t(desc.bytes() / dnnl_data_type_size(desc.type()));
    return desc.type() == dnnl_bf16 ? fn(BFloat16(), n) : fn(float(), n);
}

}  // namespace

// Made when it is first needed, which seldom happens.
struct NanRepair::Plain {
    std::once_flag once;
    Primitive primitive;
};

NanRepair::NanRepair(Primitive primitive, Activation activation, bool sums)
    : primitive_(std::move(primitive)),
      activation_(activation),
      sums_(sums),
      y_(memory_of(desc_of(primitive_), DNNL_ARG_DST)),
      plain_(std::make_unique<Plain>()) {}
NanRepair::~NanRepair() = default;

const NanRepair::Plain& NanRepair::plain() const {
    std::call_once(plain_->once, [&] { plain_->primitive = without_post_operations(desc_of(primitive_)); });
    return *plain_;
}

void NanRepair::repair(std::span<const dnnl_exec_arg_t> arguments, void* y, const void* added) const {
    auto& primitive = plain().primitive;
    Memory sums = allocate(y_), scratchpad = allocate(scratchpad_of(primitive));
    std::vector<dnnl_exec_arg_t> list;
    for (auto& argument : arguments) {
        if (argument.arg == DNNL_ARG_SCRATCHPAD) continue;
        list.push_back({argument.arg, argument.arg == DNNL_ARG_DST ? sums.get() : argument.memory});
    }
    list.push_back({DNNL_ARG_SCRATCHPAD, scratchpad.get()});
    check(dnnl_primitive_execute(primitive.get(), stream(), int(list.size()), list.data()),
          "dnnl_primitive_execute");
    dispatch(y_, [&]<class T>(T, int64_t n) {
        repair_values(static_cast<T*>(y), static_cast<const T*>(address_of(sums.get())),
                      static_cast<const T*>(added), n, activation_);
    });
}

void NanRepair::run(std::span<const dnnl_exec_arg_t> arguments, const std::function<void()>& execute) const {
    auto destination = std::ranges::find(arguments, int(DNNL_ARG_DST), &dnnl_exec_arg_t::arg);
    void* y = address_of(destination->memory);
    // Values that are finite change no NaN; the others are needed after they were overwritten.
    std::vector<char> added;
    if (sums_ &&
        !dispatch(y_, [&]<class T>(T, int64_t n) { return all_finite_in_parts(static_cast<T*>(y), n); }))
        added.assign(static_cast<char*>(y), static_cast<char*>(y) + y_.bytes());
    if (raises_invalid(execute)) repair(arguments, y, added.empty() ? nullptr : added.data());
}

}  // namespace mge::onednn
