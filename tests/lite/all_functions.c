/* SPDX-License-Identifier: Apache-2.0 */
/* A program in C11 that calls every function of Lite's C interface and looks at what it did.
 *
 *   mge_lite_all_functions LIBRARY_OF_OPERATORS */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "lite-c/global_c.h"
#include "tests/lite/c_models.h"
#include "tests/lite/c_program.h"

/* --- tensors --- */

static void describe_tensors(void) {
    LiteTensor tensor = counting(4, 6);
    LiteLayout layout = default_layout;
    LiteDeviceType type = LITE_NPU;
    size_t bytes = 0;
    int id = -1, is_pinned = -1, is_dense = -1;
    works(LITE_get_tensor_layout(tensor, &layout), "LITE_get_tensor_layout");
    check(layout.ndim == 2 && layout.shapes[1] == 6 && layout.data_type == LITE_FLOAT, "the layout");
    works(LITE_get_tensor_total_size_in_byte(tensor, &bytes), "LITE_get_tensor_total_size_in_byte");
    check(bytes == 96, "96 bytes");
    works(LITE_get_tensor_device_type(tensor, &type), "LITE_get_tensor_device_type");
    works(LITE_get_tensor_device_id(tensor, &id), "LITE_get_tensor_device_id");
    works(LITE_is_pinned_host(tensor, &is_pinned), "LITE_is_pinned_host");
    works(LITE_is_memory_continue(tensor, &is_dense), "LITE_is_memory_continue");
    check(type == LITE_CPU && id == 0 && is_pinned == 0 && is_dense == 1, "where the tensor lies");
    layout.ndim = 1;
    layout.shapes[0] = 5;
    works(LITE_set_tensor_layout(tensor, layout), "LITE_set_tensor_layout");
    works(LITE_get_tensor_total_size_in_byte(tensor, &bytes), "LITE_get_tensor_total_size_in_byte");
    check(bytes == 20, "20 bytes");
    works(LITE_destroy_tensor(tensor), "LITE_destroy_tensor");
    works(LITE_destroy_tensor(tensor), "a second LITE_destroy_tensor");
    fails(LITE_destroy_tensor(NULL), "'tensor' is null");
    fails(LITE_tensor_fill_zero(tensor), "not a handle of a tensor");
}

static void change_tensors(void) {
    LiteTensor tensor = counting(4, 6), part = NULL, copy = NULL, joined = NULL;
    size_t start[] = {1, 2}, end[] = {3, 6}, step[] = {1, 3}, index[] = {1, 1};
    works(LITE_tensor_slice(tensor, start, end, step, 2, &part), "LITE_tensor_slice");
    void* element = NULL;
    works(LITE_get_tensor_memory_with_index(part, index, 2, &element), "LITE_get_tensor_memory_with_index");
    check(element == floats_of(tensor) + 17, "the address of an element");
    works(LITE_make_tensor(default_desc, &copy), "LITE_make_tensor");
    works(LITE_tensor_copy(copy, part), "LITE_tensor_copy");
    check(floats_of(copy)[0] == 8 && floats_of(copy)[3] == 17, "what was copied");
    works(LITE_tensor_fill_zero(part), "LITE_tensor_fill_zero");
    check(floats_of(tensor)[17] == 0 && floats_of(tensor)[16] == 16, "zeros in the slice alone");
    LiteTensor both[] = {copy, part};
    works(LITE_tensor_concat(both, 2, 1, LITE_CPU, 2, &joined), "LITE_tensor_concat");
    check(floats_of(joined)[1] == 11 && floats_of(joined)[2] == 0, "what was joined");
    int flat[] = {-1};
    works(LITE_tensor_reshape(joined, flat, 1), "LITE_tensor_reshape");
    LiteLayout layout;
    works(LITE_get_tensor_layout(joined, &layout), "LITE_get_tensor_layout");
    check(layout.ndim == 1 && layout.shapes[0] == 8, "the new shape");
    works(LITE_tensor_share_memory_with(copy, tensor), "LITE_tensor_share_memory_with");
    check(floats_of(copy) == floats_of(tensor), "one memory");
    float own[8] = {7};
    works(LITE_reset_tensor_memory(joined, own, sizeof own), "LITE_reset_tensor_memory");
    check(floats_of(joined) == own, "the caller's memory");
    layout.shapes[0] = 2;
    works(LITE_reset_tensor(joined, layout, own + 2), "LITE_reset_tensor");
    check(floats_of(joined) == own + 2, "other memory of the caller");
    LiteTensor all[] = {tensor, part, copy, joined};
    for (size_t i = 0; i < 4; ++i) works(LITE_destroy_tensor(all[i]), "LITE_destroy_tensor");
}

/* --- the process --- */

static void read_errors(void) {
    fails(LITE_make_tensor(default_desc, NULL), "LITE_make_tensor: the argument 'tensor' is null");
    LITE_clear_last_error();
    check(LITE_get_last_error_code() == OK && *LITE_get_last_error() == '\0', "LITE_clear_last_error");
}

static void query_process(void) {
    int major = -1, minor = -1, patch = -1;
    works(LITE_get_version(&major, &minor, &patch), "LITE_get_version");
    check(major >= 0 && minor >= 0 && patch >= 0, "the version");
    size_t count = 0;
    works(LITE_get_device_count(LITE_CPU, &count), "LITE_get_device_count");
    check(count >= 1, "a CPU");
    works(LITE_get_device_count(LITE_ATLAS, &count), "LITE_get_device_count");
    check(count == 0, "no ATLAS");
    works(LITE_try_coalesce_all_free_memory(), "LITE_try_coalesce_all_free_memory");
    LiteLogLevel level = INFO;
    works(LITE_set_log_level(WARN), "LITE_set_log_level");
    works(LITE_get_log_level(&level), "LITE_get_log_level");
    check(level == WARN, "the level that was set");
    fails(LITE_set_tensor_rt_cache("cache"), "TensorRT");
    fails(LITE_dump_tensor_rt_cache(), "TensorRT");
}

static void keep_addresses(void) {
    char memory[64], physical[64];
    void* found = NULL;
    works(LITE_register_memory_pair(memory, physical, 64, LITE_CPU, LITE_DEFAULT),
          "LITE_register_memory_pair");
    works(LITE_lookup_physic_ptr(memory + 5, &found, LITE_CPU, LITE_DEFAULT), "LITE_lookup_physic_ptr");
    check(found == physical + 5, "the physical address");
    works(LITE_clear_memory_pair(memory, physical, LITE_CPU, LITE_DEFAULT), "LITE_clear_memory_pair");
    check(LITE_lookup_physic_ptr(memory, &found, LITE_CPU, LITE_DEFAULT) == -1, "no physical address");
}

static void keep_measured_times(void) {
    const char *cache = in_folder("cache"), *dumped = in_folder("dumped");
    works(LITE_set_persistent_cache(cache, 1), "LITE_set_persistent_cache");
    works(LITE_dump_persistent_cache(dumped), "LITE_dump_persistent_cache");
    check(size_of_file(dumped) >= 0, "a dumped cache");
}

static void load_operators(const char* library) {
    fails(LITE_set_loader_lib_path(in_folder("no_library.so")), "no_library.so");
    works(LITE_set_loader_lib_path(library), "LITE_set_loader_lib_path");
}

/* --- networks --- */

static void fill(LiteTensor tensor) {
    size_t bytes = 0;
    works(LITE_get_tensor_total_size_in_byte(tensor, &bytes), "LITE_get_tensor_total_size_in_byte");
    for (size_t i = 0; i < bytes / sizeof(float); ++i) floats_of(tensor)[i] = (float)(i % 13) / 13;
}

/* Runs the classifier; its ten scores. */
static const float* run(LiteNetwork network) {
    fill(tensor_of(network, "data"));
    works(LITE_forward(network), "LITE_forward");
    works(LITE_wait(network), "LITE_wait");
    return floats_of(tensor_of(network, "score"));
}

static float expected[10];

static void expect_scores(LiteNetwork network, const char* what) {
    const float* scores = run(network);
    for (size_t i = 0; i < 10; ++i) {
        float difference = scores[i] - expected[i];
        check(difference < 1e-5f && difference > -1e-5f, what);
    }
}

static void load_and_run(const char* path) {
    LiteNetwork network = load(path);
    const float* scores = run(network);
    float sum = 0;
    for (size_t i = 0; i < 10; ++i) sum += expected[i] = scores[i];
    check(sum > .9999f && sum < 1.0001f, "scores that add up to 1");
    check(expected[0] != expected[1], "scores that differ");
    size_t size = 0;
    uint8_t* bytes = read_file(path, &size);
    LiteNetwork other = NULL;
    works(LITE_make_network_config(&other, *default_config()), "LITE_make_network_config");
    works(LITE_load_model_from_mem(other, bytes, size), "LITE_load_model_from_mem");
    expect_scores(other, "the scores of a model in memory");
    works(LITE_destroy_network(other), "LITE_destroy_network");
    works(LITE_destroy_network(other), "a second LITE_destroy_network");
    fails(LITE_destroy_network(NULL), "'network' is null");
    free(bytes);
    works(LITE_destroy_network(network), "LITE_destroy_network");
    fails(LITE_forward(network), "not a handle of a network");
}

static void configure(const char* path) {
    LiteConfig config = *default_config();
    config.options.graph_opt_level = 0;
    config.device_type = LITE_DEVICE_DEFAULT;
    LiteIO output = default_io, input = default_io;
    output.name = "score";
    output.io_type = LITE_IO_SHAPE;
    input.name = "data";
    input.config_layout = (LiteLayout){{2, 3, 16, 16}, 4, LITE_FLOAT};
    LiteNetworkIO io = *default_network_io();
    io.inputs = &input;
    io.input_size = 1;
    io.outputs = &output;
    io.output_size = 1;
    LiteNetwork network = NULL;
    works(LITE_make_network(&network, config, io), "LITE_make_network");
    works(LITE_load_model_from_path(network, path), "LITE_load_model_from_path");
    works(LITE_forward(network), "LITE_forward");
    works(LITE_wait(network), "LITE_wait");
    LiteLayout layout = default_layout;
    works(LITE_get_tensor_layout(tensor_of(network, "score"), &layout), "LITE_get_tensor_layout");
    check(layout.ndim == 2 && layout.shapes[0] == 2 && layout.shapes[1] == 10, "the shape of the output");
    LiteDeviceType type = LITE_NPU;
    works(LITE_get_device_type(network, &type), "LITE_get_device_type");
    check(type == LITE_CPU, "a network on the CPU");
    config.options.jit_level = 256;
    fails(LITE_make_network_config(&network, config), "jit_level is 256");
    works(LITE_destroy_network(network), "LITE_destroy_network");
}

static void name_inputs_and_outputs(const char* path) {
    LiteNetwork network = load(path);
    const char *name = NULL, *names[2] = {NULL, NULL};
    size_t size = 0;
    works(LITE_get_input_name(network, 1, &name), "LITE_get_input_name");
    check(strcmp(name, "b") == 0, "the second input");
    works(LITE_get_input_dimension_name(network, 1, 0, &name), "LITE_get_input_dimension_name");
    check(name == NULL, "its first axis has a fixed size");
    works(LITE_get_output_name(network, 1, &name), "LITE_get_output_name");
    check(strcmp(name, "difference") == 0, "the second output");
    works(LITE_get_all_input_name(network, &size, NULL), "LITE_get_all_input_name");
    check(size == 2, "two inputs");
    works(LITE_get_all_input_name(network, NULL, names), "LITE_get_all_input_name");
    check(strcmp(names[0], "a") == 0 && strcmp(names[1], "b") == 0, "the inputs in order");
    works(LITE_get_all_output_name(network, &size, names), "LITE_get_all_output_name");
    check(size == 2 && strcmp(names[0], "sum") == 0, "the outputs in order");
    fails(LITE_get_input_name(network, 2, &name), "2");
    fails(LITE_compute_only_configured_output(network), "loaded");
    LiteTensor tensor = NULL;
    fails(LITE_get_io_tensor(network, "none", LITE_IO, &tensor), "none");
    check(tensor_of(network, "a") == tensor_of(network, "a"), "one handle for a tensor");
    works(LITE_destroy_tensor(tensor_of(network, "a")), "LITE_destroy_tensor of a network's tensor");
    works(LITE_tensor_fill_zero(tensor_of(network, "a")), "a tensor that stays");
    works(LITE_destroy_network(network), "LITE_destroy_network");
}

static void choose_devices(const char* path) {
    LiteNetwork network = NULL;
    int device = -1, stream = -1, is_in_place = -1;
    size_t threads = 0;
    works(LITE_make_default_network(&network), "LITE_make_default_network");
    works(LITE_set_device_id(network, 4), "LITE_set_device_id");
    works(LITE_set_stream_id(network, 1), "LITE_set_stream_id");
    works(LITE_set_cpu_threads_number(network, 2), "LITE_set_cpu_threads_number");
    works(LITE_set_cpu_inplace_mode(network), "LITE_set_cpu_inplace_mode");
    works(LITE_get_device_id(network, &device), "LITE_get_device_id");
    works(LITE_get_stream_id(network, &stream), "LITE_get_stream_id");
    works(LITE_get_cpu_threads_number(network, &threads), "LITE_get_cpu_threads_number");
    works(LITE_is_cpu_inplace_mode(network, &is_in_place), "LITE_is_cpu_inplace_mode");
    check(device == 4 && stream == 1 && threads == 2 && is_in_place == 1, "what was set");
    works(LITE_load_model_from_path(network, path), "LITE_load_model_from_path");
    works(LITE_get_tensor_device_id(tensor_of(network, "data"), &device), "LITE_get_tensor_device_id");
    check(device == 4, "the device of an input");
    expect_scores(network, "the scores of two threads in place");
    fails(LITE_set_device_id(network, 1), "");
    check(LITE_use_tensorrt(network) == -1, "no TensorRT");
    works(LITE_destroy_network(network), "LITE_destroy_network");
}

static _Atomic int thread_calls = 0;  // two threads call at once
static int note_thread(int thread_id) { return thread_calls += 1 + 10 * thread_id; }

static void bind_threads(const char* path) {
    LiteNetwork network = NULL;
    works(LITE_make_default_network(&network), "LITE_make_default_network");
    works(LITE_set_cpu_threads_number(network, 2), "LITE_set_cpu_threads_number");
    check(LITE_set_runtime_thread_affinity(network, note_thread) == -1, "threads before loading");
    works(LITE_load_model_from_path(network, path), "LITE_load_model_from_path");
    works(LITE_set_runtime_thread_affinity(network, note_thread), "LITE_set_runtime_thread_affinity");
    expect_scores(network, "the scores of two threads");
    check(thread_calls == 12, "threads 0 and 1, each once");
    works(LITE_destroy_network(network), "LITE_destroy_network");
}

static void choose_algorithms(const char* path) {
    LiteNetwork network = load(path);
    works(LITE_set_network_algo_policy(network, LITE_ALGO_HEURISTIC | LITE_ALGO_REPRODUCIBLE),
          "LITE_set_network_algo_policy");
    works(LITE_set_network_algo_fastrun_config(network, 1, 1), "LITE_set_network_algo_fastrun_config");
    works(LITE_set_network_algo_workspace_limit(network, 1000), "LITE_set_network_algo_workspace_limit");
    expect_scores(network, "the scores of other algorithms");
    fails(LITE_set_network_algo_policy(network, (LiteAlgoSelectStrategy)0), "strategy");
    works(LITE_destroy_network(network), "LITE_destroy_network");
    works(LITE_make_default_network(&network), "LITE_make_default_network");
    works(LITE_enable_global_layout_transform(network), "LITE_enable_global_layout_transform");
    works(LITE_load_model_from_path(network, path), "LITE_load_model_from_path");
    expect_scores(network, "the scores in other layouts");
    works(LITE_dump_layout_transform_model(network, in_folder("transformed.mge")),
          "LITE_dump_layout_transform_model");
    works(LITE_destroy_network(network), "LITE_destroy_network");
    network = load(in_folder("transformed.mge"));
    expect_scores(network, "the scores of the model as it was transformed");
    works(LITE_destroy_network(network), "LITE_destroy_network");
}

static int allocations = 0, frees = 0;
static void* take(LiteDeviceType device_type, int device_id, size_t size, size_t align) {
    check(device_type == LITE_CPU && device_id == 0, "memory of the CPU");
    ++allocations;
    return aligned_alloc(align, (size + align - 1) / align * align);
}
static void give_back(LiteDeviceType device_type, int device_id, void* ptr) {
    check(device_type == LITE_CPU && device_id == 0, "memory of the CPU");
    ++frees;
    free(ptr);
}

static void share_memory(const char* path) {
    LiteNetwork network = NULL, weights = NULL, arena = NULL;
    works(LITE_make_default_network(&network), "LITE_make_default_network");
    works(LITE_set_memory_allocator(network, take, give_back), "LITE_set_memory_allocator");
    works(LITE_load_model_from_path(network, path), "LITE_load_model_from_path");
    expect_scores(network, "the scores in the caller's memory");
    check(allocations > 0, "memory of the caller");
    works(LITE_make_default_network(&weights), "LITE_make_default_network");
    works(LITE_shared_weight_with_network(weights, network), "LITE_shared_weight_with_network");
    works(LITE_destroy_network(network), "LITE_destroy_network");
    check(frees == allocations, "all memory given back");
    expect_scores(weights, "the scores with shared weights");
    works(LITE_make_default_network(&arena), "LITE_make_default_network");
    works(LITE_share_runtime_memory(arena, weights), "LITE_share_runtime_memory");
    works(LITE_share_runtime_memroy(arena, weights), "LITE_share_runtime_memroy");
    works(LITE_load_model_from_path(arena, path), "LITE_load_model_from_path");
    expect_scores(arena, "the scores in shared memory");
    expect_scores(weights, "the scores of the network that shares");
    works(LITE_destroy_network(arena), "LITE_destroy_network");
    works(LITE_destroy_network(weights), "LITE_destroy_network");
}

/* --- callbacks --- */

static int starts = 0, finishes = 0, answer = 0;
static _Atomic int ends = 0;

static int at_start(const LiteIO* inputs, const LiteTensor* input_tensors, size_t size) {
    check(size == 1 && strcmp(inputs[0].name, "data") == 0, "the input of a start callback");
    check(floats_of(input_tensors[0])[1] == 1.f / 13, "the values of an input");
    ++starts;
    return answer;
}
static int at_start_with(const LiteIO* inputs, const LiteTensor* input_tensors, size_t size,
                         void* user_data) {
    ++*(int*)user_data;
    return at_start(inputs, input_tensors, size);
}
static int at_finish(const LiteIO* outputs, const LiteTensor* output_tensors, size_t size) {
    check(size == 2 && strcmp(outputs[0].name, "score") == 0, "the outputs of a finish callback");
    check(floats_of(output_tensors[0])[0] == expected[0], "the values of an output");
    return ++finishes;
}
static int at_finish_with(const LiteIO* outputs, const LiteTensor* output_tensors, size_t size,
                          void* user_data) {
    ++*(int*)user_data;
    return at_finish(outputs, output_tensors, size);
}
static int at_end(void) { return ends = 1; }
static int at_end_with(void* user_data) {
    *(int*)user_data = 1;
    return ends = 2;
}

static void call_back(const char* path) {
    LiteNetwork network = load(path);
    int counted = 0;
    works(LITE_set_start_callback(network, at_start), "LITE_set_start_callback");
    works(LITE_set_finish_callback(network, at_finish), "LITE_set_finish_callback");
    expect_scores(network, "scores with callbacks");
    check(starts == 1 && finishes == 1, "each callback once");
    works(LITE_set_start_callback_with_userdata(network, at_start_with, &counted),
          "LITE_set_start_callback_with_userdata");
    works(LITE_set_finish_callback_with_userdata(network, at_finish_with, &counted),
          "LITE_set_finish_callback_with_userdata");
    expect_scores(network, "scores with callbacks");
    check(starts == 2 && finishes == 2 && counted == 2, "each callback once, with data");
    answer = 5;
    check(LITE_forward(network) == -1 || LITE_wait(network) == -1, "a run that its start callback ends");
    check(strstr(LITE_get_last_error(), "returned 5") != NULL, "why the run ended");
    answer = 0;
    works(LITE_destroy_network(network), "LITE_destroy_network");
}

static void run_asynchronously(const char* path) {
    LiteNetwork network = load(path);
    int data = 0;
    fill(tensor_of(network, "data"));
    works(LITE_set_async_callback(network, at_end), "LITE_set_async_callback");
    works(LITE_forward(network), "LITE_forward");
    while (ends != 1) continue;
    check(floats_of(tensor_of(network, "score"))[3] == expected[3], "scores that nobody waited for");
    works(LITE_set_async_callback_with_userdata(network, at_end_with, &data),
          "LITE_set_async_callback_with_userdata");
    works(LITE_forward(network), "LITE_forward");
    while (ends != 2) continue;
    works(LITE_wait(network), "LITE_wait");
    check(data == 1, "the data of a callback");
    works(LITE_destroy_network(network), "LITE_destroy_network");
}

/* --- what networks write and say --- */

static void write_reports(const char* path) {
    LiteNetwork network = load(path);
    works(LITE_enable_profile_performance(network, in_folder("profile.json")),
          "LITE_enable_profile_performance");
    works(LITE_enable_io_txt_dump(network, in_folder("values.txt")), "LITE_enable_io_txt_dump");
    expect_scores(network, "the scores of an observed run");
    check(size_of_file(in_folder("profile.json")) > 0, "a profile");
    check(size_of_file(in_folder("values.txt")) > 0, "values as text");
    works(LITE_get_static_memory_alloc_info(network, in_folder("plan")), "LITE_get_static_memory_alloc_info");
    works(LITE_destroy_network(network), "LITE_destroy_network");
    network = load(path);
    works(LITE_enable_io_bin_dump(network, in_folder("values")), "LITE_enable_io_bin_dump");
    expect_scores(network, "the scores of a dumped run");
    works(LITE_destroy_network(network), "LITE_destroy_network");
}

static void query_models(const char* path) {
    LiteNetworkIO ios = *default_network_io();
    works(LITE_get_model_io_info_by_path(path, *default_config(), &ios), "LITE_get_model_io_info_by_path");
    check(ios.input_size == 1 && strcmp(ios.inputs[0].name, "data") == 0, "the input of a file");
    check(ios.output_size == 2 && strcmp(ios.outputs[1].name, "pooled") == 0, "the outputs of a file");
    check(ios.outputs[0].config_layout.shapes[1] == 10, "the shape of an output");
    size_t size = 0;
    uint8_t* bytes = read_file(path, &size);
    LiteNetworkIO again = *default_network_io();
    works(LITE_get_model_io_info_by_memory(bytes, size, *default_config(), &again),
          "LITE_get_model_io_info_by_memory");
    check(again.inputs != ios.inputs && again.inputs[0].config_layout.shapes[3] == 16,
          "the same from memory");
    free(bytes);
}

static size_t exclusive_or(const void* input, size_t size, const uint8_t* key, size_t key_size,
                           uint8_t* output) {
    for (size_t i = 0; output && i < size; ++i)
        output[i] = (uint8_t)(((const uint8_t*)input)[i] ^ key[i % key_size]);
    return size;
}
static size_t too_much(const void* input, size_t size, const uint8_t* key, size_t key_size, uint8_t* output) {
    (void)input, (void)key, (void)key_size;
    return output ? size + 1 : size;
}
static size_t too_little(const void* input, size_t size, const uint8_t* key, size_t key_size,
                         uint8_t* output) {
    size_t written = output ? size - 1 : size;
    return exclusive_or(input, written, key, key_size, output);
}

static void decrypt(const char* path) {
    uint8_t key[] = {0x5a, 0x01, 0xff}, wrong[] = {1, 2, 3};
    size_t size = 0;
    uint8_t* bytes = read_file(path, &size);
    exclusive_or(bytes, size, key, sizeof key, bytes);
    write_file(in_folder("hidden.mge"), bytes, size);
    free(bytes);
    works(LITE_register_decryption_and_key("xor", exclusive_or, wrong, sizeof wrong),
          "LITE_register_decryption_and_key");
    fails(LITE_register_decryption_and_key("xor", exclusive_or, wrong, sizeof wrong), "xor");
    LiteConfig config = *default_config();
    config.bare_model_cryption_name = "xor";
    LiteNetwork network = NULL;
    works(LITE_make_network_config(&network, config), "LITE_make_network_config");
    check(LITE_load_model_from_path(network, in_folder("hidden.mge")) == -1, "a wrong key");
    works(LITE_update_decryption_or_key("xor", NULL, key, sizeof key), "LITE_update_decryption_or_key");
    works(LITE_load_model_from_path(network, in_folder("hidden.mge")), "the right key");
    expect_scores(network, "the scores of an encrypted model");
    fails(LITE_update_decryption_or_key("AES_default", NULL, key, 0), "has 0");
    works(LITE_update_decryption_or_key("AES_default", NULL, NULL, 0), "a key that stays");
    works(LITE_update_decryption_or_key("xor", too_much, NULL, 0), "LITE_update_decryption_or_key");
    fails(LITE_load_model_from_path(network, in_folder("hidden.mge")), "requesting space for");
    works(LITE_update_decryption_or_key("xor", too_little, key, sizeof key), "LITE_update_decryption_or_key");
    fails(LITE_load_model_from_path(network, in_folder("hidden.mge")), "requesting space for");
    works(LITE_destroy_network(network), "LITE_destroy_network");
}

static int infos = 0;
static int parse_info(const void* info_data, size_t length, const char* model_name, LiteConfig* config,
                      LiteNetworkIO* network_io, int* device_id, size_t* nr_threads, int* is_inplace_mode,
                      int* use_tensorrt) {
    static LiteIO output;
    ++infos;
    check(*use_tensorrt == 0 && strcmp(model_name, "net") == 0, "what a parser is given");
    if (length != 4 || memcmp(info_data, "good", 4) != 0) return 1;
    output = default_io;
    output.name = "pooled";
    network_io->outputs = &output;
    network_io->output_size = 1;
    config->options.graph_opt_level = 1;
    *device_id = 3;
    *nr_threads = 2;
    *is_inplace_mode = 1;
    return 0;
}

static void read_packed_models(const char* path) {
    works(LITE_register_parse_info_func("by_hand", parse_info), "LITE_register_parse_info_func");
    fails(LITE_register_parse_info_func("by_hand", parse_info), "by_hand");
    works(write_packed(in_folder("good.lite"), path, "by_hand", "good"), "write_packed");
    works(write_packed(in_folder("bad.lite"), path, "by_hand", "evil"), "write_packed");
    LiteNetwork network = load(in_folder("good.lite"));
    int device = 0, is_in_place = 0;
    size_t threads = 0;
    works(LITE_get_device_id(network, &device), "LITE_get_device_id");
    works(LITE_get_cpu_threads_number(network, &threads), "LITE_get_cpu_threads_number");
    works(LITE_is_cpu_inplace_mode(network, &is_in_place), "LITE_is_cpu_inplace_mode");
    check(infos == 1 && device == 3 && threads == 2 && is_in_place == 1, "what the parser said");
    expect_scores(network, "the scores of a packed model");
    works(LITE_destroy_network(network), "LITE_destroy_network");
    works(LITE_make_default_network(&network), "LITE_make_default_network");
    fails(LITE_load_model_from_path(network, in_folder("bad.lite")), "returned 1");
    LiteExtraConfig without = {1};
    works(LITE_extra_configure(network, without), "LITE_extra_configure");
    works(LITE_load_model_from_path(network, in_folder("bad.lite")), "a model without its information");
    check(infos == 2, "an information that was left alone");
    works(LITE_destroy_network(network), "LITE_destroy_network");
    works(write_packed(
              in_folder("extra.lite"), path, "LITE_default",
              "{\"valid\": true, \"name\": \"net\", \"version\": \"1.0.0\", \"extra_info\": {\"a\": 1}}"),
          "write_packed");
    network = load(in_folder("extra.lite"));
    const char* info = NULL;
    int size = 0;
    works(LITE_get_model_extra_info(network, &info, &size), "LITE_get_model_extra_info");
    check(size == (int)strlen(info) && strcmp(info, "{\"a\":1}") == 0, "the extra information");
    works(LITE_destroy_network(network), "LITE_destroy_network");
}

static void give_images_apart(void) {
    works(write_classifier(in_folder("batch.mge"), 2), "write_classifier");
    LiteConfig config = *default_config();
    config.discrete_input_name = "data";
    LiteNetwork network = NULL;
    works(LITE_make_network_config(&network, config), "LITE_make_network_config");
    works(LITE_load_model_from_path(network, in_folder("batch.mge")), "LITE_load_model_from_path");
    LiteTensor image = NULL;
    for (size_t i = 0; i < 2; ++i) {
        works(LITE_get_discrete_tensor(network, "data", i, LITE_INPUT, &image), "LITE_get_discrete_tensor");
        fill(image);
    }
    fails(LITE_get_discrete_tensor(network, "data", 2, LITE_INPUT, &image), "has 2 tensors");
    works(LITE_forward(network), "LITE_forward");
    works(LITE_wait(network), "LITE_wait");
    const float* scores = floats_of(tensor_of(network, "score"));
    for (size_t i = 0; i < 20; ++i) {
        float difference = scores[i] - expected[i % 10];
        check(difference < 1e-5f && difference > -1e-5f, "the scores of images given one by one");
    }
    works(LITE_destroy_network(network), "LITE_destroy_network");
}

int main(int count, char** arguments) {
    check(count == 2, "one argument, a library of operators");
    open_folder();
    const char *classifier = in_folder("classifier.mge"), *two_inputs = in_folder("two_inputs.mge");
    char paths[2][400];
    classifier = strcpy(paths[0], classifier);
    two_inputs = strcpy(paths[1], two_inputs);
    works(write_classifier(classifier, 1), "write_classifier");
    works(write_sum_and_difference(two_inputs), "write_sum_and_difference");
    read_errors();
    describe_tensors();
    change_tensors();
    query_process();
    keep_addresses();
    keep_measured_times();
    load_operators(arguments[1]);
    load_and_run(classifier);
    configure(classifier);
    name_inputs_and_outputs(two_inputs);
    choose_devices(classifier);
    bind_threads(classifier);
    choose_algorithms(classifier);
    share_memory(classifier);
    call_back(classifier);
    run_asynchronously(classifier);
    write_reports(classifier);
    query_models(classifier);
    decrypt(classifier);
    read_packed_models(classifier);
    give_images_apart();
    close_folder();
    return 0;
}
