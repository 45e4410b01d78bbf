/* SPDX-License-Identifier: Apache-2.0 */
/* A program in C11 that does with Lite's C interface what nobody should: each such call is -1 with a message,
 * or, where the header says so, nothing; and what was there before still works. Null pointers have tests of
 * their own.
 *
 *   mge_lite_misuse LIBRARY_OF_OPERATORS */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "lite-c/global_c.h"
#include "tests/lite/c_models.h"
#include "tests/lite/c_program.h"

static LiteLayout vector(size_t size) { return (LiteLayout){{size}, 1, LITE_FLOAT}; }

/* --- tensors --- */

static void describe_impossible_tensors(void) {
    struct {
        LiteTensorDesc description;
        const char* reason;
    } cases[] = {
        {{0, {{0}, 0, LITE_FLOAT}, (LiteDeviceType)42, 0}, "there is no type of device 42"},
        {{0, {{0}, 0, LITE_FLOAT}, LITE_NPU, 0}, "no device NPU"},
        {{0, {{0}, 0, LITE_FLOAT}, LITE_CPU, -2}, "number -2 of device CPU"},
        {{0, {{0}, 0, LITE_FLOAT}, LITE_CPU, 256}, "number 256 of device CPU"},
        {{0, {{1}, 8, LITE_FLOAT}, LITE_CPU, 0}, "a layout has 8 dimensions"},
        {{0, {{1}, SIZE_MAX, LITE_FLOAT}, LITE_CPU, 0}, "dimensions; there are 7 at most"},
        {{0, {{1}, 1, (LiteDataType)77}, LITE_CPU, 0}, "there is no data type 77"},
        {{0, {{1}, 1, (LiteDataType)-1}, LITE_CPU, 0}, "there is no data type -1"},
        {{0, {{(size_t)-3, 2}, 2, LITE_FLOAT}, LITE_CPU, 0}, "more bytes than the address space"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; ++i) {
        LiteTensor tensor = NULL;
        fails(LITE_make_tensor(cases[i].description, &tensor), cases[i].reason);
        check(!tensor, "no tensor");
    }
    LiteTensorDesc vast = default_desc;
    vast.layout = vector((size_t)1 << 45);
    LiteTensor tensor = NULL;
    works(LITE_make_tensor(vast, &tensor), "memory is taken later");
    fails(LITE_tensor_fill_zero(tensor), "cannot allocate");
    works(LITE_set_tensor_layout(tensor, vector(2)), "a tensor that fits");
    works(LITE_tensor_fill_zero(tensor), "its memory");
    works(LITE_destroy_tensor(tensor), "LITE_destroy_tensor");
}

static void slice_beyond_the_ends(void) {
    LiteTensor tensor = counting(4, 6), part = NULL;
    size_t zeros[8] = {0}, whole[8] = {4, 6}, longer[] = {4, 7}, vast[] = {SIZE_MAX, SIZE_MAX};
    fails(LITE_tensor_slice(tensor, zeros, longer, NULL, 2, &part), "the dimension has 6 elements");
    fails(LITE_tensor_slice(tensor, zeros, vast, NULL, 1, &part), "the dimension has 4 elements");
    fails(LITE_tensor_slice(tensor, vast, vast, NULL, 1, &part), "the dimension has 4 elements");
    fails(LITE_tensor_slice(tensor, whole, zeros, NULL, 1, &part), "the start is after the end");
    fails(LITE_tensor_slice(tensor, zeros, whole, zeros, 2, &part), "steps are 1 or more");
    fails(LITE_tensor_slice(tensor, zeros, whole, NULL, 3, &part), "3 numbers for a tensor");
    fails(LITE_tensor_slice(tensor, zeros, whole, NULL, 8, &part), "'start' has 8 numbers");
    void* element = NULL;
    fails(LITE_get_tensor_memory_with_index(tensor, longer, 2, &element), "index 4 of dimension 0");
    fails(LITE_get_tensor_memory_with_index(tensor, zeros, 3, &element), "an index of 3 numbers");
    check(!part && !element, "nothing was given");
    works(LITE_tensor_slice(tensor, zeros, whole, vast, 1, &part), "a step beyond the end");
    LiteLayout layout;
    works(LITE_get_tensor_layout(part, &layout), "LITE_get_tensor_layout");
    check(layout.shapes[0] == 1 && layout.shapes[1] == 6, "the first row");
    works(LITE_destroy_tensor(part), "LITE_destroy_tensor");
    works(LITE_tensor_slice(tensor, whole, whole, NULL, 1, &part), "a slice of nothing");
    works(LITE_tensor_fill_zero(part), "zeros in nothing");
    check(floats_of(tensor)[23] == 23, "the values of the whole");
    works(LITE_destroy_tensor(part), "LITE_destroy_tensor");
    works(LITE_destroy_tensor(tensor), "LITE_destroy_tensor");
}

static void give_wrong_shapes(void) {
    LiteTensor tensor = counting(4, 6), empty = NULL;
    works(LITE_make_tensor(default_desc, &empty), "LITE_make_tensor");
    const int most = 2147483647;
    int below[] = {-2, 12}, twice[] = {-1, -1}, none[] = {0, -1}, other[] = {25},
        vast[] = {most, most, most, most, most, most, most};
    fails(LITE_tensor_reshape(tensor, below, 2), "dimension 0 is -2");
    fails(LITE_tensor_reshape(tensor, twice, 2), "dimensions 0 and 1 are both -1");
    fails(LITE_tensor_reshape(tensor, none, 2), "24 elements");
    fails(LITE_tensor_reshape(tensor, other, 1), "24 elements");
    fails(LITE_tensor_reshape(tensor, vast, 7), "24 elements");
    fails(LITE_tensor_reshape(tensor, vast, 0), "allowed are 1 to 7");
    fails(LITE_tensor_reshape(tensor, vast, -1), "'size' is -1");
    fails(LITE_tensor_reshape(empty, other, 1), "the tensor has no layout");
    fails(LITE_set_tensor_layout(tensor, vector(SIZE_MAX)), "more bytes than the address space");
    float own[4];
    fails(LITE_reset_tensor_memory(tensor, own, sizeof own), "which needs 96");
    fails(LITE_reset_tensor_memory(empty, own, sizeof own), "the tensor has no layout");
    fails(LITE_tensor_fill_zero(empty), "the tensor has no layout");
    fails(LITE_tensor_copy(tensor, empty), "the tensor has no layout");
    fails(LITE_tensor_share_memory_with(tensor, empty), "the tensor has no layout");
    works(LITE_tensor_copy(tensor, tensor), "a copy of itself");
    works(LITE_tensor_share_memory_with(tensor, tensor), "the memory of its own");
    check(floats_of(tensor)[23] == 23, "the values of before");
    works(LITE_destroy_tensor(tensor), "LITE_destroy_tensor");
    works(LITE_destroy_tensor(empty), "LITE_destroy_tensor");
}

static void join_mismatched_inputs(void) {
    LiteTensor tensor = counting(4, 6), small = counting(2, 2), empty = NULL, joined = NULL;
    works(LITE_make_tensor(default_desc, &empty), "LITE_make_tensor");
    LiteTensor two[] = {tensor, small}, with_empty[] = {tensor, empty};
    fails(LITE_tensor_concat(two, 2, 0, LITE_CPU, 0, &joined),
          "tensors of float32 {2, 2} and of float32 {4, 6}");
    fails(LITE_tensor_concat(with_empty, 2, 0, LITE_CPU, 0, &joined), "tensors of float32 {}");
    fails(LITE_tensor_concat(&empty, 1, 0, LITE_CPU, 0, &joined), "tensors with 0 dimensions");
    int outside[] = {2, -3, 2147483647, -2147483647 - 1};
    for (size_t i = 0; i < 4; ++i)
        fails(LITE_tensor_concat(two, 1, outside[i], LITE_CPU, 0, &joined), "of tensors with 2 dimensions");
    fails(LITE_tensor_concat(two, 1, 0, (LiteDeviceType)9, 0, &joined), "there is no type of device 9");
    fails(LITE_tensor_concat(two, 1, 0, LITE_CPU, -5, &joined), "number -5 of device CPU");
    fails(LITE_tensor_concat(two, 1, 0, LITE_CPU, 300, &joined), "number 300 of device CPU");
    check(!joined, "nothing was joined");
    LiteTensor alike[] = {tensor, tensor};
    LiteLayout layout;
    works(LITE_tensor_concat(alike, 2, -1, LITE_CPU, 0, &joined), "the last dimension");
    works(LITE_get_tensor_layout(joined, &layout), "LITE_get_tensor_layout");
    check(layout.shapes[0] == 4 && layout.shapes[1] == 12, "joined along the last dimension");
    LiteTensor all[] = {tensor, small, empty, joined};
    for (size_t i = 0; i < 4; ++i) works(LITE_destroy_tensor(all[i]), "LITE_destroy_tensor");
    fails(LITE_tensor_concat(two, 2, 0, LITE_CPU, 0, &joined), "'tensors[0]' is not a handle");
    fails(LITE_tensor_copy(joined, tensor), "'dst_tensor' is not a handle");
}

/* --- the process --- */

static size_t nothing(const void* in, size_t size, const uint8_t* key, size_t key_size, uint8_t* out) {
    (void)in, (void)size, (void)key, (void)key_size, (void)out;
    return 0;
}
static size_t more_than_there_is(const void* in, size_t size, const uint8_t* key, size_t key_size,
                                 uint8_t* out) {
    (void)in, (void)size, (void)key, (void)key_size, (void)out;
    return SIZE_MAX;
}

static void register_wrong_ciphers(const char* path) {
    uint8_t key[4] = {0};
    fails(LITE_register_decryption_and_key("", nothing, key, 4), "needs a name");
    fails(LITE_register_decryption_and_key("AES_default", nothing, key, 4), "has this name already");
    fails(LITE_register_decryption_and_key("vast", nothing, key, SIZE_MAX),
          "the key has 18446744073709551615 bytes");
    fails(LITE_update_decryption_or_key("nobody", nothing, key, 4), "there is no cipher 'nobody'");
    fails(LITE_update_decryption_or_key("AES_default", NULL, key, 4), "has 32 bytes, but this key has 4");
    works(LITE_register_decryption_and_key("nothing", nothing, key, 0), "a cipher without a key");
    works(LITE_register_decryption_and_key("more", more_than_there_is, key, 4),
          "LITE_register_decryption_and_key");
    const char* cases[][2] = {{"nothing", "returned no data"},
                              {"more", "requests space for 18446744073709551615 bytes"},
                              {"nobody", "there is no cipher 'nobody'"},
                              {"AES_default", "AES_default file"},
                              {"RC4_default", "wrong key, or a damaged RC4_default file"},
                              {"SIMPLE_FAST_RC4_default", "wrong key, or a damaged"},
                              {"aes-256-gcm", "is not encrypted with aes-256-gcm"}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; ++i) {
        LiteConfig config = *default_config();
        config.bare_model_cryption_name = cases[i][0];
        LiteNetwork network = NULL;
        works(LITE_make_network_config(&network, config), "LITE_make_network_config");
        fails(LITE_load_model_from_path(network, path), cases[i][1]);
        works(LITE_destroy_network(network), "LITE_destroy_network");
    }
}

static void misuse_process_queries(const char* path) {
    size_t count = 0;
    char memory[8];
    void* physical = NULL;
    const LiteDeviceType unknown = (LiteDeviceType)42;
    fails(LITE_get_device_count(unknown, &count), "there is no type of device 42");
    fails(LITE_set_log_level((LiteLogLevel)9), "there is no log level 9");
    fails(LITE_set_log_level((LiteLogLevel)-1), "there is no log level -1");
    fails(LITE_register_memory_pair(memory, memory, 8, unknown, LITE_DEFAULT),
          "there is no type of device 42");
    fails(LITE_clear_memory_pair(memory, memory, unknown, LITE_DEFAULT), "there is no type of device 42");
    fails(LITE_lookup_physic_ptr(memory, &physical, unknown, LITE_DEFAULT), "there is no type of device 42");
    fails(LITE_register_memory_pair(memory, memory, 8, LITE_CPU, (LiteBackend)3), "there is no backend 3");
    fails(LITE_register_memory_pair(memory, memory, 0, LITE_CPU, LITE_DEFAULT), "a number of bytes");
    fails(LITE_register_memory_pair(memory, memory, SIZE_MAX, LITE_CPU, LITE_DEFAULT),
          "beyond the address space");
    fails(LITE_clear_memory_pair(memory, memory, LITE_CPU, LITE_DEFAULT), "no memory pair");
    fails(LITE_set_loader_lib_path(""), "cannot be read");
    fails(LITE_set_loader_lib_path(path), "cannot be loaded");
    fails(LITE_set_loader_lib_path("/"), "cannot be loaded");
    fails(LITE_set_persistent_cache("", 0), "is empty");
    fails(LITE_set_persistent_cache("/", 0), "not a regular file");
    fails(LITE_set_persistent_cache(path, 0), "not a cache of MegEngine");
    fails(LITE_dump_persistent_cache(""), "is empty");
    fails(LITE_dump_persistent_cache("/"), "not a regular file");
}

/* --- models --- */

static LiteNetwork new_network(void) {
    LiteNetwork network = NULL;
    works(LITE_make_default_network(&network), "LITE_make_default_network");
    return network;
}

static void run_sum(LiteNetwork network) {
    for (size_t i = 0; i < 4; ++i) {
        floats_of(tensor_of(network, "a"))[i] = (float)i;
        floats_of(tensor_of(network, "b"))[i] = 10;
    }
    works(LITE_forward(network), "LITE_forward");
    works(LITE_wait(network), "LITE_wait");
}
static void check_sum(LiteNetwork network) { check(floats_of(tensor_of(network, "sum"))[3] == 13, "a sum"); }
static void expect_sum(LiteNetwork network) {
    run_sum(network);
    check_sum(network);
}

static void load_invalid_models(const char* path) {
    LiteNetwork network = new_network();
    size_t size = 0;
    uint8_t* bytes = read_file(path, &size);
    fails(LITE_load_model_from_path(network, ""), "No such file");
    fails(LITE_load_model_from_path(network, in_folder("none")), "No such file");
    fails(LITE_load_model_from_path(network, "/"), "not a regular file");
    fails(LITE_load_model_from_path(network, "/dev/zero"), "not a regular file");
    fails(LITE_load_model_from_path(network, "/proc/self/maps"), "is not a model this program knows");
    for (size_t cut = 0; cut < size; cut += size / 9 + 1) {
        write_file(in_folder("cut"), bytes, cut);
        fails(LITE_load_model_from_path(network, in_folder("cut")), cut ? "(truncated?)" : "it has 0 bytes");
    }
    uint8_t* anywhere = malloc(size + 64);
    for (size_t offset = 0; offset < 64; offset += 9) {
        const size_t sizes[] = {size - 1, size + 1, (size_t)1 << 33};
        memcpy(anywhere + offset, bytes, size);
        for (size_t i = 0; i < 3; ++i)
            fails(LITE_load_model_from_mem(network, anywhere + offset, sizes[i]), "is not a valid model");
    }
    free(anywhere);
    fails(LITE_load_model_from_mem(network, bytes, SIZE_MAX), "more than the address space holds");
    fails(LITE_load_model_from_mem(network, bytes, 0), "a number of bytes");
    LiteNetworkIO ios = *default_network_io();
    fails(LITE_get_model_io_info_by_path("/", *default_config(), &ios), "not a regular file");
    fails(LITE_get_model_io_info_by_memory(bytes, size - 1, *default_config(), &ios), "is not a valid model");
    LiteConfig config = *default_config();
    config.device_type = (LiteDeviceType)42;
    fails(LITE_get_model_io_info_by_path(path, config, &ios), "there is no type of device 42");
    check(!ios.inputs && !ios.input_size, "what was there before");
    const char* parts[][3] = {{"nobody", "x", "the parser 'nobody'"},
                              {"LITE_default", "{", "not a JSON object"}};
    for (size_t i = 0; i < 2; ++i) {
        works(write_packed(in_folder("packed"), path, parts[i][0], parts[i][1]), "write_packed");
        fails(LITE_load_model_from_path(network, in_folder("packed")), parts[i][2]);
    }
    works(LITE_load_model_from_path(network, path), "a model after all");
    expect_sum(network);
    fails(LITE_load_model_from_path(network, in_folder("cut")), "(truncated?)");
    expect_sum(network);
    works(LITE_load_model_from_path(network, path), "a second load");
    expect_sum(network);
    works(LITE_destroy_network(network), "LITE_destroy_network");
    free(bytes);
}

static void configure_impossibly(const char* path) {
    LiteConfig usual = *default_config(), config = usual;
    LiteNetwork network = NULL;
    config.device_type = (LiteDeviceType)42;
    fails(LITE_make_network_config(&network, config), "there is no type of device 42");
    config = usual, config.backend = (LiteBackend)1;
    fails(LITE_make_network_config(&network, config), "there is no backend 1");
    struct {
        LiteConfig config;
        const char* reason;
    } cases[] = {
        {usual, "number -7"}, {usual, "'none'"}, {usual, "NCHW"}, {usual, "99"}, {usual, "contradicts"}};
    cases[0].config.device_id = -7;
    cases[1].config.discrete_input_name = "none";
    cases[2].config.options.enable_nchw44 = cases[2].config.options.enable_nchw88 = 1;
    cases[3].config.options.graph_opt_level = 99;
    cases[4].config.options.force_output_dynamic_alloc = 1;
    cases[4].config.options.force_output_use_user_specified_memory = 1;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; ++i) {
        works(LITE_make_network_config(&network, cases[i].config), "LITE_make_network_config");
        fails(LITE_load_model_from_path(network, path), cases[i].reason);
        works(LITE_destroy_network(network), "LITE_destroy_network");
    }
    network = new_network();
    fails(LITE_set_cpu_threads_number(network, SIZE_MAX), "[threads]");
    fails(LITE_set_cpu_threads_number(network, ((size_t)1 << 32) + 1), "[threads]");
    works(LITE_set_stream_id(network, -1), "LITE_set_stream_id");
    fails(LITE_load_model_from_path(network, path), "stream -1");
    works(LITE_set_stream_id(network, 0), "LITE_set_stream_id");
    works(LITE_load_model_from_path(network, path), "LITE_load_model_from_path");
    works(LITE_destroy_network(network), "LITE_destroy_network");
}

static void describe_inputs_wrongly(const char* path) {
    LiteIO input = default_io;
    LiteNetworkIO ios = {&input, NULL, 1, 0};
    input.name = "a";
    struct {
        LiteIOType type;
        LiteLayout layout;
        const char* reason;
    } cases[] = {{(LiteIOType)9, {{0}, 0, LITE_FLOAT}, "the type 9"},
                 {LITE_IO_VALUE, {{1}, 99, LITE_FLOAT}, "99 dimensions"},
                 {LITE_IO_VALUE, {{SIZE_MAX}, 1, LITE_FLOAT}, "more bytes than the address space"},
                 {LITE_IO_VALUE, {{4}, 1, (LiteDataType)50}, "there is no data type 50"},
                 {LITE_IO_VALUE, {{4}, 1, LITE_INT8}, "is configured as int8 {4}"},
                 {LITE_IO_VALUE, {{4}, 99, LITE_INT8}, "as int8 {4, 0, 0, 0, 0, 0, 0}; the model"},
                 {LITE_IO_VALUE, {{5}, 1, LITE_FLOAT}, "do not broadcast"}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; ++i) {
        LiteNetwork network = NULL;
        input.io_type = cases[i].type;
        input.config_layout = cases[i].layout;
        works(LITE_make_network(&network, *default_config(), ios), "LITE_make_network");
        fails(LITE_load_model_from_path(network, path), cases[i].reason);
        works(LITE_destroy_network(network), "LITE_destroy_network");
    }
    ios = (LiteNetworkIO){NULL, NULL, SIZE_MAX, 0};
    LiteNetwork network = NULL;
    fails(LITE_make_network(&network, *default_config(), ios), "null for their array");
}

/* --- networks --- */

static void use_before_loading(void) {
    LiteNetwork network = new_network();
    LiteTensor tensor = NULL;
    const char* name = NULL;
    size_t size = 0;
    fails(LITE_forward(network), "no model is loaded");
    fails(LITE_wait(network), "no model is loaded");
    fails(LITE_get_io_tensor(network, "a", LITE_IO, &tensor), "no model is loaded");
    fails(LITE_get_discrete_tensor(network, "a", 0, LITE_INPUT, &tensor), "no model is loaded");
    fails(LITE_get_input_name(network, 0, &name), "no model is loaded");
    fails(LITE_get_all_output_name(network, &size, NULL), "no model is loaded");
    fails(LITE_get_static_memory_alloc_info(network, in_folder("info")),
          "get_static_memory_alloc_info: no model");
    fails(LITE_dump_layout_transform_model(network, in_folder("x")), "no model is loaded");
    fails(LITE_set_network_algo_workspace_limit(network, 0), "no model is loaded");
    fails(LITE_shared_weight_with_network(network, network), "no model is loaded");
    fails(LITE_share_runtime_memory(network, network), "already shares its memory with itself");
    works(LITE_destroy_network(network), "LITE_destroy_network");
    fails(LITE_forward(network), "not a handle of a network, or of one that was destroyed");
    works(LITE_destroy_network(network), "a second LITE_destroy_network");
}

static int no_thread(int thread) { return thread; }
static void* no_memory(LiteDeviceType type, int id, size_t size, size_t align) {
    (void)type, (void)id, (void)size, (void)align;
    return NULL;
}
static void* crooked_memory(LiteDeviceType type, int id, size_t size, size_t align) {
    static char memory[1 << 20];
    (void)type, (void)id, (void)size;
    return memory + align + 1 - (uintptr_t)memory % align;
}
static void keep_memory(LiteDeviceType type, int id, void* memory) { (void)type, (void)id, (void)memory; }

static void set_too_late(const char* path) {
    LiteNetwork network = load(path);
    LiteExtraConfig extra = {1};
    fails(LITE_extra_configure(network, extra), "a model is already loaded");
    fails(LITE_set_device_id(network, 1), "a model is already loaded");
    fails(LITE_set_stream_id(network, 1), "a model is already loaded");
    fails(LITE_set_cpu_threads_number(network, 2), "a model is already loaded");
    fails(LITE_set_cpu_inplace_mode(network), "a model is already loaded");
    fails(LITE_enable_global_layout_transform(network), "a model is already loaded");
    fails(LITE_set_memory_allocator(network, no_memory, keep_memory), "a model is already loaded");
    fails(LITE_share_runtime_memory(network, network), "a model is already loaded");
    fails(LITE_shared_weight_with_network(network, network), "already shares its weights with itself");
    fails(LITE_use_tensorrt(network), "");
    fails(LITE_dump_layout_transform_model(network, in_folder("x")), "before loading");
    fails(LITE_set_network_algo_policy(network, (LiteAlgoSelectStrategy)0), "the strategy is 0");
    fails(LITE_set_network_algo_policy(network, (LiteAlgoSelectStrategy)16),
          "there is no algorithm strategy 16");
    fails(LITE_set_network_algo_policy(network, LITE_ALGO_REPRODUCIBLE), "neither LITE_ALGO_HEURISTIC nor");
    expect_sum(network);
    works(LITE_destroy_network(network), "LITE_destroy_network");
    LiteAllocate allocators[] = {no_memory, crooked_memory};
    for (size_t i = 0; i < 2; ++i) {
        network = new_network();
        works(LITE_set_memory_allocator(network, allocators[i], keep_memory), "LITE_set_memory_allocator");
        fails(LITE_load_model_from_path(network, in_folder("classifier.mge")), "allocator did not provide");
        works(LITE_destroy_network(network), "LITE_destroy_network");
    }
    network = new_network();
    fails(LITE_set_runtime_thread_affinity(network, no_thread), "no model is loaded");
    works(LITE_destroy_network(network), "LITE_destroy_network");
}

static void run_with_wrong_inputs(const char* path) {
    LiteNetwork network = load(path);
    LiteTensor tensor = NULL, a = tensor_of(network, "a"), sum = tensor_of(network, "sum");
    const char* name = NULL;
    fails(LITE_get_io_tensor(network, "a", (LiteTensorPhase)9, &tensor), "there is no tensor phase 9");
    fails(LITE_get_discrete_tensor(network, "a", 0, (LiteTensorPhase)9, &tensor),
          "there is no tensor phase 9");
    fails(LITE_get_io_tensor(network, "a", LITE_OUTPUT, &tensor), "there is no output 'a'");
    fails(LITE_get_discrete_tensor(network, "a", 0, LITE_INPUT, &tensor), "there is no discrete input 'a'");
    fails(LITE_get_input_name(network, SIZE_MAX, &name), "the network has 2");
    fails(LITE_get_output_name(network, 2, &name), "the network has 2");
    works(LITE_forward(network), "a run before its inputs are set");
    works(LITE_wait(network), "LITE_wait");
    works(LITE_wait(network), "nothing to wait for");
    works(LITE_set_tensor_layout(a, vector(5)), "LITE_set_tensor_layout");
    fails(LITE_forward(network), "do not broadcast");
    works(LITE_set_tensor_layout(a, (LiteLayout){{4}, 1, LITE_INT8}), "LITE_set_tensor_layout");
    fails(LITE_forward(network), "input 'a' is int8 {4}; the model reads float32");
    works(LITE_set_tensor_layout(a, default_layout), "LITE_set_tensor_layout");
    fails(LITE_forward(network), "input 'a' has no layout");
    works(LITE_wait(network), "no run is under way");
    works(LITE_set_tensor_layout(a, vector(4)), "LITE_set_tensor_layout");
    float few[2];
    fails(LITE_reset_tensor_memory(sum, few, sizeof few), "which needs 16");
    works(LITE_reset_tensor(sum, vector(2), few), "LITE_reset_tensor");
    expect_sum(network);
    check(floats_of(sum) != few, "memory that is large enough");
    fails(LITE_enable_io_txt_dump(network, "/"), "cannot write '/'");
    fails(LITE_enable_io_bin_dump(network, path), "cannot make folder");
    fails(LITE_get_static_memory_alloc_info(network, path), "cannot make folder");
    works(LITE_enable_profile_performance(network, in_folder("none/profile.json")), "a path");
    works(LITE_forward(network), "LITE_forward");
    fails(LITE_wait(network), "No such file");
    works(LITE_enable_profile_performance(network, ""), "no profile");
    expect_sum(network);
    works(LITE_destroy_network(network), "LITE_destroy_network");
}

/* --- inside of callbacks --- */

static LiteNetwork called_by = NULL;
static int calls = 0;
static _Atomic int ends = 0;

static int do_nothing(void) { return 0; }
static int look_at_nothing(const LiteIO* ios, const LiteTensor* tensors, size_t size) {
    (void)ios, (void)tensors, (void)size;
    return 0;
}

/* What ends, changes or repeats the run that called. */
static void interfere(void) {
    const char* inside = "inside of a callback";
    ++calls;
    fails(LITE_destroy_network(called_by), inside);
    fails(LITE_load_model_from_path(called_by, in_folder("sum.mge")), inside);
    fails(LITE_shared_weight_with_network(called_by, called_by), "");
    fails(LITE_set_network_algo_policy(called_by, LITE_ALGO_HEURISTIC), inside);
    fails(LITE_set_network_algo_workspace_limit(called_by, 100), inside);
    fails(LITE_set_start_callback(called_by, look_at_nothing), inside);
    fails(LITE_set_finish_callback(called_by, look_at_nothing), inside);
    fails(LITE_set_async_callback(called_by, do_nothing), inside);
    fails(LITE_set_runtime_thread_affinity(called_by, no_thread), inside);
    fails(LITE_enable_profile_performance(called_by, in_folder("profile.json")), inside);
    fails(LITE_enable_io_txt_dump(called_by, in_folder("values.txt")), inside);
    fails(LITE_enable_io_bin_dump(called_by, in_folder("values")), inside);
    fails(LITE_get_static_memory_alloc_info(called_by, in_folder("plan")), inside);
    LiteNetwork other = load(in_folder("sum.mge"));
    expect_sum(other);
    works(LITE_destroy_network(other), "another network");
}

static int interfere_with_io(const LiteIO* ios, const LiteTensor* tensors, size_t size) {
    check(size == 2 && ios[0].name && LITE_destroy_tensor(tensors[0]) == 0, "a network's tensor stays");
    interfere();
    works(LITE_wait(called_by), "nothing is waited for");
    return 0;
}
static int interfere_at_start(const LiteIO* ios, const LiteTensor* tensors, size_t size) {
    fails(LITE_forward(called_by), "inside of a run");
    return interfere_with_io(ios, tensors, size);
}
static int start_another_run(const LiteIO* ios, const LiteTensor* tensors, size_t size) {
    (void)ios, (void)tensors, (void)size;
    if (calls++) return 0;
    works(LITE_forward(called_by), "the next run");
    fails(LITE_forward(called_by), "inside of a run");
    return 0;
}
static int interfere_later(void) {
    fails(LITE_forward(called_by), "inside of a run");
    interfere();
    return ends = 1;
}
static int interfere_in_thread(int thread) {
    if (thread == 0) interfere();
    return 0;
}

static void interfere_in_callbacks(const char* path) {
    called_by = load(path);
    works(LITE_set_start_callback(called_by, interfere_at_start), "LITE_set_start_callback");
    works(LITE_set_finish_callback(called_by, interfere_with_io), "LITE_set_finish_callback");
    expect_sum(called_by);
    check(calls == 2, "a call at the start and one at the end");
    works(LITE_set_start_callback(called_by, look_at_nothing), "LITE_set_start_callback");
    works(LITE_set_finish_callback(called_by, look_at_nothing), "LITE_set_finish_callback");
    works(LITE_set_runtime_thread_affinity(called_by, interfere_in_thread),
          "LITE_set_runtime_thread_affinity");
    works(LITE_set_async_callback(called_by, interfere_later), "LITE_set_async_callback");
    expect_sum(called_by);
    check(calls == 4 && ends == 1, "a call in the thread and one from there");
    works(LITE_destroy_network(called_by), "LITE_destroy_network");
    called_by = load(path);
    calls = 0;
    works(LITE_enable_profile_performance(called_by, in_folder("profile.json")),
          "LITE_enable_profile_performance");
    works(LITE_set_finish_callback(called_by, start_another_run), "LITE_set_finish_callback");
    run_sum(called_by);
    works(LITE_wait(called_by), "the run that the callback has started");
    check_sum(called_by);
    check(calls == 2 && size_of_file(in_folder("profile.json")) > 0, "two runs, and the profile of the last");
    works(LITE_destroy_network(called_by), "LITE_destroy_network");
}

int main(void) {
    open_folder();
    char sum[400];
    strcpy(sum, in_folder("sum.mge"));
    works(write_sum_and_difference(sum), "write_sum_and_difference");
    works(write_classifier(in_folder("classifier.mge"), 1), "write_classifier");
    describe_impossible_tensors();
    slice_beyond_the_ends();
    give_wrong_shapes();
    join_mismatched_inputs();
    register_wrong_ciphers(sum);
    misuse_process_queries(sum);
    load_invalid_models(sum);
    configure_impossibly(sum);
    describe_inputs_wrongly(sum);
    use_before_loading();
    set_too_late(sum);
    run_with_wrong_inputs(sum);
    interfere_in_callbacks(sum);
    close_folder();
    return 0;
}
