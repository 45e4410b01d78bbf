/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
/* Functions of the process, and errors.
 *
 * Every function that returns int returns 0, or -1 after an error; LITE_get_last_error() on the same thread
 * then describes it. Functions are thread-safe. lite/global.h describes them. */
#include <stddef.h>
#include <stdint.h>

#include "lite-c/common_enum_c.h"
#include "lite-c/macro.h"
#include "lite-c/network_c.h"

#ifdef __cplusplus
extern "C" {
#endif

/* The code and message of this thread's last failed call; OK and "" before the first. The text lives until
 * the thread's next failure. */
LITE_CAPI ErrorCode LITE_get_last_error_code(void);
LITE_CAPI const char* LITE_get_last_error(void);
LITE_CAPI void LITE_clear_last_error(void);

LITE_CAPI int LITE_get_version(int* major, int* minor, int* patch);
LITE_CAPI int LITE_get_device_count(LiteDeviceType device_type, size_t* count);
LITE_CAPI int LITE_try_coalesce_all_free_memory(void);

/* Decrypts `input_length` bytes. With output NULL it returns the size of the result in bytes. Then it is
 * called again, writes the result to `output` and returns the number of written bytes, which must be that
 * size. */
typedef size_t (*LiteDecryptionFunc)(const void* input_data, size_t input_length, const uint8_t* key_data,
                                     size_t key_length, uint8_t* output);
/* Adds a cipher that models may name. A name that is taken is an error. */
LITE_CAPI int LITE_register_decryption_and_key(const char* decrypt_name, const LiteDecryptionFunc func,
                                               const uint8_t* key_data, size_t key_size);
/* Replaces the function or key of a cipher. NULL keeps the present one; a key that is not NULL and has 0
 * bytes is an empty key. */
LITE_CAPI int LITE_update_decryption_or_key(const char* decrypt_name, const LiteDecryptionFunc func,
                                            const uint8_t* key_data, size_t key_size);

/* Reads the information of a packed model; values that are not written keep their defaults. Strings and
 * arrays stored in `config` and `network_io` must live until the call of LITE_load_model_* returns.
 * Returns 0, or another number if the information is invalid. */
typedef int (*LiteParseInfoFunc)(const void* info_data, size_t length, const char* model_name,
                                 LiteConfig* config, LiteNetworkIO* network_io, int* device_id,
                                 size_t* nr_threads, int* is_inplace_mode, int* use_tensorrt);
LITE_CAPI int LITE_register_parse_info_func(const char* info_type, const LiteParseInfoFunc func);

/* Loads a library of own operators. */
LITE_CAPI int LITE_set_loader_lib_path(const char* loader_path);
/* Sets the file of measured times for networks that are loaded afterwards. With always_sync each measurement
 * is on the disk before the next one begins. */
LITE_CAPI int LITE_set_persistent_cache(const char* cache_path, int always_sync);
LITE_CAPI int LITE_dump_persistent_cache(const char* cache_path);
/* Always errors: this build has no TensorRT. */
LITE_CAPI int LITE_set_tensor_rt_cache(const char* tensorrt_cache_path);
LITE_CAPI int LITE_dump_tensor_rt_cache(void);

LITE_CAPI int LITE_set_log_level(LiteLogLevel level);
LITE_CAPI int LITE_get_log_level(LiteLogLevel* level);

/* A table of the process: the physical addresses of ranges of virtual memory on a device. `length` is in
 * bytes. */
LITE_CAPI int LITE_register_memory_pair(void* vir_ptr, void* phy_ptr, size_t length, LiteDeviceType device,
                                        LiteBackend backend);
LITE_CAPI int LITE_clear_memory_pair(void* vir_ptr, void* phy_ptr, LiteDeviceType device,
                                     LiteBackend backend);
LITE_CAPI int LITE_lookup_physic_ptr(void* vir_ptr, void** phy_ptr, LiteDeviceType device,
                                     LiteBackend backend);

#ifdef __cplusplus
}
#endif
