// SPDX-License-Identifier: Apache-2.0
#pragma once
// oneDNN through its C API, set up once per process: highest instruction set from cpu_isa(), and no primitive
// cache, because with it the enumeration of implementations repeats entries.

#include <oneapi/dnnl/dnnl.h>

#include <memory>
#include <optional>

#include "libmge/base/threads/openmp_imports.h"

namespace mge::onednn {

// On failure: MemoryError if oneDNN is out of memory, otherwise InternalError with call and status.
void check(dnnl_status_t status, const char* call);

dnnl_engine_t engine();
dnnl_stream_t stream();  // one per thread

// Describing a primitive takes small blocks of memory, which oneDNN uses unchecked.
inline constexpr size_t description_address_space = size_t(2) << 20;

struct Destroy {
    void operator()(dnnl_primitive_desc* p) const { dnnl_primitive_desc_destroy(p); }
    void operator()(dnnl_primitive* p) const { dnnl_primitive_destroy(p); }
    void operator()(dnnl_primitive_attr* p) const { dnnl_primitive_attr_destroy(p); }
    void operator()(dnnl_post_ops* p) const { dnnl_post_ops_destroy(p); }
    void operator()(dnnl_memory* p) const { dnnl_memory_destroy(p); }
    void operator()(dnnl_stream* p) const { dnnl_stream_destroy(p); }
};
using PrimitiveDesc = std::unique_ptr<dnnl_primitive_desc, Destroy>;
using PrimitiveAttr = std::unique_ptr<dnnl_primitive_attr, Destroy>;
using PostOps = std::unique_ptr<dnnl_post_ops, Destroy>;
using Memory = std::unique_ptr<dnnl_memory, Destroy>;
using Stream = std::unique_ptr<dnnl_stream, Destroy>;

// While it lives, oneDNN made or run from this thread uses `threads` threads.
class ThreadScope {
public:
    explicit ThreadScope(int threads);
    ~ThreadScope();
    ThreadScope(const ThreadScope&) = delete;
    ThreadScope& operator=(const ThreadScope&) = delete;

    static int threads();

private:
    std::optional<RegionScope> own_;
    int outer_ = 0;  // OpenMP's
};

}  // namespace mge::onednn
