/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
/* Functions of the process, and errors.
 *
 * Every function of Lite returns 0, or -1 after an error; then LITE_get_last_error() on the same thread
 * describes it. */
#include <stddef.h>
#include <stdint.h>

#include "lite-c/common_enum_c.h"
#include "lite-c/macro.h"
#include "lite-c/network_c.h"

#ifdef __cplusplus
extern "C" {
#endif

/* The code of this thread's last failed call; the text lives until the thread's next failure, "" before
 * the first. */
LITE_CAPI ErrorCode LITE_get_last_error_code(void);
LITE_CAPI const char* LITE_get_last_error(void);
LITE_CAPI void LITE_clear_last_error(void);

LITE_CAPI int LITE_get_version(int* major, int* minor, int* patch);
LITE_CAPI int LITE_get_device_count(LiteDeviceType device_type, size_t* count);
LITE_CAPI int LITE_try_coalesce_all_free_memory(void);

/* Decrypts `input_length` bytes. Called with output NULL it returns how many bytes there will be; then it
 * writes them at `output`, and returns how many it has written: another number is an error. */
typedef size_t (*LiteDecryptionFunc)(const void* input_data, size_t input_length, const uint8_t* key_data,
                                     size_t key_length, uint8_t* output);
/* A cipher that models may name. */
LITE_CAPI int LITE_register_decryption_and_key(const char* decrypt_name, const LiteDecryptionFunc func,
                                               const uint8_t* key_data, size_t key_size);
/* Another function or key; NULL: as it is. A key that is not NULL and has 0 bytes is an empty key. */
LITE_CAPI int LITE_update_decryption_or_key(const char* decrypt_name, const LiteDecryptionFunc func,
                                            const uint8_t* key_data, size_t key_size);

/* Reads the information of a packed model; values that are not written keep their defaults. Strings and
 * arrays stored in `config` and `network_io` must live until the call of LITE_load_model_* returns.
 * Returns 0, or another number if the information is invalid. */
typedef int (*LiteParseInfoFunc)(const void* info_data, size_t length, const char* model_name,
                                 LiteConfig* config, LiteNetworkIO* network_io, int* device_id,
                                 size_t* nr_threads, int* is_inplace_mode, int* use_tensorrt);
LITE_CAPI int LITE_register_parse_info_func(const char* info_type, const LiteParseInfoFunc func);

/* Opens a library of operators. */
LITE_CAPI int LITE_set_loader_lib_path(const char* loader_path);
/* A file with measured times of algorithms for all networks loaded from now on; always_sync: each is written
 * before the next is measured. */
LITE_CAPI int LITE_set_persistent_cache(const char* cache_path, int always_sync);
LITE_CAPI int LITE_dump_persistent_cache(const char* cache_path);
/* Errors: this build has no TensorRT. */
LITE_CAPI int LITE_set_tensor_rt_cache(const char* tensorrt_cache_path);
LITE_CAPI int LITE_dump_tensor_rt_cache(void);

LITE_CAPI int LITE_set_log_level(LiteLogLevel level);
LITE_CAPI int LITE_get_log_level(LiteLogLevel* level);

/* A table of the process: the physical address of a piece of virtual memory on a device. */
LITE_CAPI int LITE_register_memory_pair(void* vir_ptr, void* phy_ptr, size_t length, LiteDeviceType device,
                                        LiteBackend backend);
LITE_CAPI int LITE_clear_memory_pair(void* vir_ptr, void* phy_ptr, LiteDeviceType device,
                                     LiteBackend backend);
LITE_CAPI int LITE_lookup_physic_ptr(void* vir_ptr, void** phy_ptr, LiteDeviceType device,
                                     LiteBackend backend);

#ifdef __cplusplus
}
#endif
