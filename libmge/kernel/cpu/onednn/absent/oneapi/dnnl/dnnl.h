// SPDX-License-Identifier: Apache-2.0
#pragma once
// Replaces oneDNN's header in builds without the library (MGE_ONEDNN=OFF). It has the part that
// describes memory, which our own kernels use for their packed weights, under the names of oneDNN 2.

#include <cstddef>
#include <cstdint>

#define DNNL_VERSION_MAJOR 2
inline constexpr int DNNL_MAX_NDIMS = 12;

enum dnnl_status_t { dnnl_success, dnnl_out_of_memory, dnnl_invalid_arguments };
enum dnnl_data_type_t { dnnl_data_type_undef, dnnl_f16, dnnl_bf16, dnnl_f32, dnnl_s32, dnnl_s8, dnnl_u8 };
enum dnnl_format_kind_t { dnnl_format_kind_undef, dnnl_blocked };
enum dnnl_format_tag_t {
    dnnl_format_tag_any,
    dnnl_abcd,
    dnnl_Abcd4a,
    dnnl_Abcd8a,
    dnnl_Abcd16a,
    dnnl_Acdb32a,
    dnnl_BA16a16b,
    dnnl_BA16a32b,
    dnnl_BA16a64b,
    dnnl_BA16a32b2a,
};

using dnnl_dims_t = int64_t[DNNL_MAX_NDIMS];

struct dnnl_blocking_desc_t {
    dnnl_dims_t strides;  // between whole blocks
    int inner_nblks;
    dnnl_dims_t inner_blks, inner_idxs;  // from the outermost block to the innermost
};

struct dnnl_memory_desc_t {
    int ndims;
    dnnl_dims_t dims, padded_dims, padded_offsets;
    dnnl_data_type_t data_type;
    int64_t offset0;
    dnnl_format_kind_t format_kind;
    struct {
        dnnl_blocking_desc_t blocking;
    } format_desc;
    struct {
        uint64_t flags;
    } extra;
};
inline constexpr uint64_t dnnl_memory_extra_flag_none = 0;

struct dnnl_version_t {
    int major, minor, patch;
    const char* hash;
};

// Primitives are only declared.
using dnnl_engine_t = struct dnnl_engine*;
using dnnl_stream_t = struct dnnl_stream*;
void dnnl_primitive_desc_destroy(struct dnnl_primitive_desc*);
void dnnl_primitive_destroy(struct dnnl_primitive*);
void dnnl_primitive_attr_destroy(struct dnnl_primitive_attr*);
void dnnl_post_ops_destroy(struct dnnl_post_ops*);
void dnnl_memory_destroy(struct dnnl_memory*);
void dnnl_stream_destroy(struct dnnl_stream*);

// Version 0.
const dnnl_version_t* dnnl_version();
const char* dnnl_dt2str(dnnl_data_type_t type);
size_t dnnl_data_type_size(dnnl_data_type_t type);
size_t dnnl_memory_desc_get_size(const dnnl_memory_desc_t* desc);
int dnnl_memory_desc_equal(const dnnl_memory_desc_t* a, const dnnl_memory_desc_t* b);
dnnl_status_t dnnl_memory_desc_init_by_tag(dnnl_memory_desc_t* desc, int rank, const int64_t* dims,
                                           dnnl_data_type_t type, dnnl_format_tag_t tag);
dnnl_status_t dnnl_memory_desc_init_by_strides(dnnl_memory_desc_t* desc, int rank, const int64_t* dims,
                                               dnnl_data_type_t type, const int64_t* strides);
dnnl_status_t dnnl_memory_desc_init_submemory(dnnl_memory_desc_t* part, const dnnl_memory_desc_t* whole,
                                              const int64_t* dims, const int64_t* offsets);
