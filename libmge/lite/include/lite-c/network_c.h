/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
/* Networks in C. lite/network.h describes the functions, their threads and the order of calls. A function
 * returns 0, or -1 after an error (lite-c/global_c.h). */
#include <stddef.h>
#include <stdint.h>

#include "lite-c/common_enum_c.h"
#include "lite-c/macro.h"
#include "lite-c/tensor_c.h"

#ifdef __cplusplus
extern "C" {
#endif

/* How a model is compiled: lite/network.h and docs/compile-options.md describe the fields. All are int, which
 * other languages can declare easily. */
typedef struct LiteOptions {
    int weight_preprocess;
    int fuse_preprocess;
    int fake_next_exec;
    int var_sanity_check_first_run;
    int const_shape;
    int force_dynamic_alloc;
    int force_output_dynamic_alloc;
    int force_output_use_user_specified_memory;
    int no_profiling_on_shape_change;
    int jit_level;
    int comp_node_seq_record_level;
    int graph_opt_level;
    int async_exec_level;
    int enable_nchw44;
    int enable_nchw44_dot;
    int enable_nchw88;
    int enable_nhwcd4;
    int enable_nchw4;
    int enable_nchw32;
    int enable_nchw64;
    int enable_f16_io_comp;
    int precision;
    int weight_bits;
    int copy_model_files;
} LiteOptions;
LITE_CAPI extern const LiteOptions default_option;

typedef struct LiteConfig {
    int has_compression;
    int device_id; /* -1: 0 */
    LiteDeviceType device_type;
    LiteBackend backend;
    const char* bare_model_cryption_name; /* NULL: not encrypted */
    LiteOptions options;
    int auto_optimize_inference;
    const char* discrete_input_name; /* NULL: no such input */
} LiteConfig;
/* Returns the address of one configuration with the defaults, always the same. Copy it before you change
 * it. */
LITE_CAPI LiteConfig* default_config(void);

typedef struct LiteExtraConfig {
    int disable_configure_by_model_info;
} LiteExtraConfig;

typedef struct LiteIO {
    const char* name;
    int is_host;
    LiteIOType io_type;
    LiteLayout config_layout;
} LiteIO;
LITE_CAPI extern const LiteIO default_io;

typedef struct LiteNetworkIO {
    LiteIO* inputs;
    LiteIO* outputs;
    size_t input_size;
    size_t output_size;
} LiteNetworkIO;
/* Returns the address of settings without inputs and outputs, like default_config(). */
LITE_CAPI LiteNetworkIO* default_network_io(void);

typedef void* (*LiteAllocate)(LiteDeviceType device_type, int device_id, size_t size, size_t align);
typedef void (*LiteFree)(LiteDeviceType device_type, int device_id, void* ptr);

/* Called once in each thread that computes, with its number from 0. Results of callbacks are ignored, except
 * those of a start callback: a nonzero result ends the run. Loading, changing or destroying the network in
 * its callback is an error. */
typedef int (*LiteThreadAffinityCallback)(int thread_id);
typedef int (*LiteAsyncCallback)(void);
typedef int (*LiteAsyncCallbackWithData)(void* user_data);
/* The settings of each input (or output), its tensor, and their number. */
typedef int (*LiteStartCallback)(const LiteIO* inputs, const LiteTensor* input_tensors, size_t size);
typedef int (*LiteStartCallbackWithData)(const LiteIO* inputs, const LiteTensor* input_tensors, size_t size,
                                         void* user_data);
typedef int (*LiteFinishCallback)(const LiteIO* outputs, const LiteTensor* output_tensors, size_t size);
typedef int (*LiteFinishCallbackWithData)(const LiteIO* outputs, const LiteTensor* output_tensors,
                                          size_t size, void* user_data);

/* A handle of a network, which LITE_destroy_network() frees. A function given an invalid or destroyed handle
 * returns -1. */
typedef void* LiteNetwork;

LITE_CAPI int LITE_make_default_network(LiteNetwork* network);
LITE_CAPI int LITE_make_network(LiteNetwork* network, const LiteConfig config,
                                const LiteNetworkIO network_io);
LITE_CAPI int LITE_make_network_config(LiteNetwork* network, const LiteConfig config);
/* Does nothing for an invalid or destroyed handle. NULL is an error, and so is a call inside a callback of
 * the network. */
LITE_CAPI int LITE_destroy_network(LiteNetwork network);

LITE_CAPI int LITE_load_model_from_mem(LiteNetwork network, void* model_mem, size_t size);
LITE_CAPI int LITE_load_model_from_path(LiteNetwork network, const char* model_path);
/* Before loading. */
LITE_CAPI int LITE_compute_only_configured_output(LiteNetwork network);
LITE_CAPI int LITE_shared_weight_with_network(LiteNetwork dst_network, const LiteNetwork src_network);
LITE_CAPI int LITE_forward(const LiteNetwork network);
LITE_CAPI int LITE_wait(const LiteNetwork network);

/* The tensor belongs to the network: it must not be destroyed, and becomes invalid with the network, or
 * when the network loads another model. */
LITE_CAPI int LITE_get_io_tensor(LiteNetwork network, const char* io_name, LiteTensorPhase phase,
                                 LiteTensor* tensor);
LITE_CAPI int LITE_get_discrete_tensor(LiteNetwork network, const char* io_name, size_t n_idx,
                                       LiteTensorPhase phase, LiteTensor* tensor);
/* Names live as long as the network. */
LITE_CAPI int LITE_get_input_name(const LiteNetwork network, size_t index, const char** name);
/* The name of an open dimension of an input, "" if the file gives none; NULL for a fixed axis. */
LITE_CAPI int LITE_get_input_dimension_name(const LiteNetwork network, size_t index, size_t axis,
                                            const char** name);
LITE_CAPI int LITE_get_output_name(const LiteNetwork network, size_t index, const char** name);
/* Stores the number of inputs, and their names in an array of that size; either pointer may be NULL. */
LITE_CAPI int LITE_get_all_input_name(const LiteNetwork network, size_t* size, const char** name);
LITE_CAPI int LITE_get_all_output_name(const LiteNetwork network, size_t* size, const char** name);

LITE_CAPI int LITE_set_device_id(LiteNetwork network, int device_id);
LITE_CAPI int LITE_get_device_id(const LiteNetwork network, int* device_id);
LITE_CAPI int LITE_set_stream_id(LiteNetwork network, int stream_id);
LITE_CAPI int LITE_get_stream_id(const LiteNetwork network, int* stream_id);
LITE_CAPI int LITE_get_device_type(const LiteNetwork network, LiteDeviceType* device_type);
/* The text lives as long as the network; `info_size` may be NULL. */
LITE_CAPI int LITE_get_model_extra_info(const LiteNetwork network, const char** info, int* info_size);

LITE_CAPI int LITE_set_cpu_inplace_mode(LiteNetwork network);
LITE_CAPI int LITE_is_cpu_inplace_mode(const LiteNetwork network, int* is_cpu_inplace_mode);
LITE_CAPI int LITE_set_cpu_threads_number(LiteNetwork network, size_t nr_threads);
LITE_CAPI int LITE_get_cpu_threads_number(const LiteNetwork network, size_t* nr_threads);
LITE_CAPI int LITE_set_runtime_thread_affinity(LiteNetwork network,
                                               const LiteThreadAffinityCallback thread_affinity_callback);
LITE_CAPI int LITE_use_tensorrt(LiteNetwork network);
/* Also resets LITE_set_network_algo_fastrun_config() to 0, so call that one afterwards. */
LITE_CAPI int LITE_set_network_algo_policy(LiteNetwork network, LiteAlgoSelectStrategy strategy);
LITE_CAPI int LITE_set_network_algo_fastrun_config(LiteNetwork network, unsigned int shared_batch_size,
                                                   int binary_equal_between_batch);
LITE_CAPI int LITE_set_network_algo_workspace_limit(LiteNetwork network, size_t workspace_limit);
LITE_CAPI int LITE_set_memory_allocator(LiteNetwork network, const LiteAllocate allocate_fun,
                                        const LiteFree free_fun);
/* `dst_network` gets the memory of `src_network`. The name is MegEngine's; the one below it is the same
 * function. */
LITE_CAPI int LITE_share_runtime_memroy(LiteNetwork dst_network, LiteNetwork src_network);
LITE_CAPI int LITE_share_runtime_memory(LiteNetwork dst_network, LiteNetwork src_network);
LITE_CAPI int LITE_extra_configure(const LiteNetwork network, LiteExtraConfig extra_config);

/* NULL removes a callback. */
LITE_CAPI int LITE_set_async_callback(LiteNetwork network, const LiteAsyncCallback async_callback);
LITE_CAPI int LITE_set_async_callback_with_userdata(LiteNetwork network,
                                                    LiteAsyncCallbackWithData async_callback,
                                                    void* user_data);
LITE_CAPI int LITE_set_start_callback(LiteNetwork network, const LiteStartCallback start_callback);
LITE_CAPI int LITE_set_start_callback_with_userdata(LiteNetwork network,
                                                    LiteStartCallbackWithData start_callback,
                                                    void* user_data);
LITE_CAPI int LITE_set_finish_callback(LiteNetwork network, const LiteFinishCallback finish_callback);
LITE_CAPI int LITE_set_finish_callback_with_userdata(LiteNetwork network,
                                                     LiteFinishCallbackWithData finish_callback,
                                                     void* user_data);

/* An empty path stops the writing. */
LITE_CAPI int LITE_enable_profile_performance(const LiteNetwork network, const char* profile_file_path);
LITE_CAPI int LITE_enable_io_txt_dump(LiteNetwork network, const char* io_txt_out_file);
LITE_CAPI int LITE_enable_io_bin_dump(LiteNetwork network, const char* io_bin_out_dir);

LITE_CAPI int LITE_get_static_memory_alloc_info(LiteNetwork network, const char* log_dir);
LITE_CAPI int LITE_enable_global_layout_transform(LiteNetwork network);
LITE_CAPI int LITE_dump_layout_transform_model(LiteNetwork network, const char* dump_file_path);
/* Stores the inputs and outputs of a model that is not loaded. The arrays belong to the library. They live
 * until the next query for the same path (by address) or memory, or until 1024 other queries. */
LITE_CAPI int LITE_get_model_io_info_by_path(const char* model_path, const LiteConfig config,
                                             LiteNetworkIO* ios);
LITE_CAPI int LITE_get_model_io_info_by_memory(const void* model_mem, size_t size, const LiteConfig config,
                                               LiteNetworkIO* ios);

#ifdef __cplusplus
}
#endif
