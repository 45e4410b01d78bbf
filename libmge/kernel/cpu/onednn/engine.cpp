// SPDX-License-Identifier: Apache-2.0
#include "libmge/kernel/cpu/onednn/engine.h"

#include "libmge/base/error.h"
#include "libmge/base/threads/openmp_team.h"
#include "libmge/base/threads/thread_team.h"
#include "libmge/device/cpu/cpu_device.h"

namespace mge::onednn {
namespace {

dnnl_cpu_isa_t highest_isa() {
    switch (cpu_isa()) {
        case Isa::sse4:
            return dnnl_cpu_isa_sse41;
        case Isa::avx2:
            return dnnl_cpu_isa_avx2;
        case Isa::avx_vnni:
            return dnnl_cpu_isa_avx2_vnni;
        case Isa::avx512:
            return dnnl_cpu_isa_avx512_core;
        case Isa::avx512_vnni:
            return dnnl_cpu_isa_avx512_core_vnni;
        case Isa::avx512_bf16:
            return dnnl_cpu_isa_avx512_core_bf16;
        default:
            return dnnl_cpu_isa_t{};  // all of them
    }
}

dnnl_engine_t make_engine() {
    // Both must precede the first use of the library; a program that used oneDNN itself before keeps its
    // instruction set.
    dnnl_set_max_cpu_isa(highest_isa());
    check(dnnl_set_primitive_cache_capacity(0), "dnnl_set_primitive_cache_capacity");
    dnnl_engine_t engine;
    check(dnnl_engine_create(&engine, dnnl_cpu, 0), "dnnl_engine_create");
    return engine;
}

}  // namespace

void check(dnnl_status_t status, const char* call) {
    if (status == dnnl_out_of_memory) throw MemoryError(text(call, ": oneDNN has no memory left"));
    MGE_CHECK(status == dnnl_success, call, " answered status ", int(status));
}

dnnl_engine_t engine() {
    // Never destroyed: prepared primitives in other static objects may outlive it.
    static const dnnl_engine_t engine = make_engine();
    return engine;
}

dnnl_stream_t stream() {
    thread_local const Stream stream = [] {
        dnnl_stream_t made;
        check(dnnl_stream_create(&made, engine(), dnnl_stream_in_order), "dnnl_stream_create");
        return Stream(made);
    }();
    return stream.get();
}

ThreadScope::ThreadScope(int threads) {
    threads = team_size(threads);
    if (team_kind() == TeamKind::own) {
        own_.emplace(&RegionRules::threads, threads);
        return;
    }
    // A primitive made before the fork requests as many threads as it was made for, but in the child a region
    // must have only one.
    if (is_team_lost()) [[unlikely]]
        forbid_openmp_teams();
    outer_ = openmp_threads();
    if (threads != outer_) set_openmp_threads(threads);
}
ThreadScope::~ThreadScope() {
    if (!own_ && openmp_threads() != outer_) set_openmp_threads(outer_);
}

int ThreadScope::threads() {
    return team_kind() == TeamKind::own ? RegionScope::here().threads : openmp_threads();
}

}  // namespace mge::onednn
