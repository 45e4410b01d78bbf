/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
/* Tensors in C. lite/tensor.h describes the functions. A function returns 0, or -1 after an error
 * (lite-c/global_c.h). */
#include <stddef.h>

#include "lite-c/common_enum_c.h"
#include "lite-c/macro.h"

#ifdef __cplusplus
extern "C" {
#endif

#define LAYOUT_MAX_DIM (7)

/* A shape and an element type; the first `ndim` sizes are valid. */
typedef struct LiteLayout {
    size_t shapes[LAYOUT_MAX_DIM];
    size_t ndim;
    LiteDataType data_type;
} LiteLayout;

typedef struct LiteTensorDesc {
    int is_pinned_host;
    LiteLayout layout;
    LiteDeviceType device_type;
    int device_id;
} LiteTensorDesc;

/* Has no dimensions; its element type is float. */
LITE_CAPI extern const LiteLayout default_layout;
/* Describes a tensor on CPU 0, not pinned, without a layout. */
LITE_CAPI extern const LiteTensorDesc default_desc;

/* A handle of a tensor, which LITE_destroy_tensor() frees. */
typedef void* LiteTensor;

LITE_CAPI int LITE_make_tensor(const LiteTensorDesc tensor_describe, LiteTensor* tensor);
/* Does nothing for an invalid or destroyed handle. NULL is an error. */
LITE_CAPI int LITE_destroy_tensor(LiteTensor tensor);

LITE_CAPI int LITE_set_tensor_layout(LiteTensor tensor, const LiteLayout layout);
LITE_CAPI int LITE_reset_tensor_memory(LiteTensor tensor, void* prepared_data, size_t data_length_in_byte);
LITE_CAPI int LITE_reset_tensor(LiteTensor tensor, const LiteLayout layout, void* prepared_data);
LITE_CAPI int LITE_tensor_reshape(LiteTensor tensor, const int* shape, int size);
/* `step` may be NULL. */
LITE_CAPI int LITE_tensor_slice(const LiteTensor tensor, const size_t* start, const size_t* end,
                                const size_t* step, size_t size, LiteTensor* slice_tensor);
LITE_CAPI int LITE_tensor_fill_zero(LiteTensor tensor);
LITE_CAPI int LITE_tensor_copy(LiteTensor dst_tensor, const LiteTensor src_tensor);
LITE_CAPI int LITE_tensor_share_memory_with(LiteTensor dst_tensor, const LiteTensor src_tensor);
LITE_CAPI int LITE_tensor_concat(LiteTensor* tensors, int nr_tensor, int dim, LiteDeviceType dst_device,
                                 int device_id, LiteTensor* result_tensor);

LITE_CAPI int LITE_get_tensor_memory(const LiteTensor tensor, void** data);
LITE_CAPI int LITE_get_tensor_memory_with_index(const LiteTensor tensor, const size_t* index, size_t size,
                                                void** data);
LITE_CAPI int LITE_get_tensor_total_size_in_byte(const LiteTensor tensor, size_t* size);
LITE_CAPI int LITE_get_tensor_layout(const LiteTensor tensor, LiteLayout* layout);
LITE_CAPI int LITE_get_tensor_device_type(const LiteTensor tensor, LiteDeviceType* device_type);
LITE_CAPI int LITE_get_tensor_device_id(const LiteTensor tensor, int* device_id);
LITE_CAPI int LITE_is_pinned_host(const LiteTensor tensor, int* is_pinned_host);
LITE_CAPI int LITE_is_memory_continue(const LiteTensor tensor, int* is_continue);

#ifdef __cplusplus
}
#endif
