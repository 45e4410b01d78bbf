// SPDX-License-Identifier: Apache-2.0
#pragma once
// A model that runs: load, fill the inputs, forward, wait, read the outputs.
//
//     lite::Network network;
//     network.load_model("resnet.mge");
//     network.get_input_tensor(0)->copy_from(image);
//     network.forward();
//     network.wait();
//     auto scores = network.get_output_tensor(0);

#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include "lite/common_enum_c.h"
#include "lite/error.h"
#include "lite/macro.h"
#include "lite/tensor.h"

namespace lite {

inline LiteAlgoSelectStrategy operator|(LiteAlgoSelectStrategy a, LiteAlgoSelectStrategy b) {
    return static_cast<LiteAlgoSelectStrategy>(static_cast<uint32_t>(a) | static_cast<uint32_t>(b));
}

// How a model is compiled; the options of the graph of the same names (docs/compile-options.md).
struct LITE_API Options {
    bool weight_preprocess = false;
    bool fuse_preprocess = false;
    bool fake_next_exec = false;
    bool var_sanity_check_first_run = true;
    bool const_shape = false;
    bool force_dynamic_alloc = false;
    bool force_output_dynamic_alloc = false;
    bool force_output_use_user_specified_memory = false;
    bool no_profiling_on_shape_change = false;
    uint8_t jit_level = 0;
    uint8_t comp_node_seq_record_level = 0;
    uint8_t graph_opt_level = 2;
    uint16_t async_exec_level = 1;
    // The layout that images have inside; one at most.
    bool enable_nchw44 = false;
    bool enable_nchw44_dot = false;
    bool enable_nchw88 = false;
    bool enable_nhwcd4 = false;
    bool enable_nchw4 = false;
    bool enable_nchw32 = false;
    bool enable_nchw64 = false;
    bool enable_f16_io_comp = false;
    // Allowed deviation from f32 arithmetic, where that is faster: 0 strict; 1 relaxed, factors of products
    // as bf16; 2 fast, also values between steps.
    uint8_t precision = 0;
    // Number of bits per weight in linear layers: 8 or 4; arithmetic stays f32. 0: unchanged, or as the model
    // specifies.
    uint8_t weight_bits = 0;
    // Model files are read into memory instead of being mapped: for files that may change while in use.
    bool copy_model_files = false;
};

// How a network is loaded.
struct LITE_API Config {
    bool has_compression = false;  // the weights are stored in 8 or 16 bits; this is detected anyway
    int device_id = 0;             // -1: 0
    LiteDeviceType device_type = LiteDeviceType::LITE_CPU;
    LiteBackend backend = LiteBackend::LITE_DEFAULT;
    // The cipher of a model that is not packed: a name of register_decryption_and_key(); "": not encrypted.
    std::string bare_model_cryption_name = {};
    Options options = {};
    bool auto_optimize_inference = false;  // the engine chooses the layout and packs weights
    // An input whose images are given as separate tensors: get_discrete_tensors().
    std::string discrete_input_name = {};
};

struct LITE_API ExtraConfig {
    bool disable_configure_by_model_info = false;  // the configuration inside a packed model is ignored
};

// An input or output of a network.
struct LITE_API IO {
    std::string name;
    bool is_host = true;  // the user's data is on the host; false: on the network's device
    LiteIOType io_type = LiteIOType::LITE_IO_VALUE;
    Layout config_layout = {};  // layout of an input that replaces the model's
};

// Settings of inputs and outputs, by name.
struct LITE_API NetworkIO {
    std::vector<IO> inputs = {};
    std::vector<IO> outputs = {};
};

// An allocator that the user gives to a network. Several threads may call it at once.
class LITE_API Allocator {
public:
    virtual ~Allocator() = default;
    // Returns `size` bytes at an address divisible by `align`; null if memory is short.
    virtual void* allocate(LiteDeviceType device_type, int device_id, size_t size, size_t align) = 0;
    virtual void free(LiteDeviceType device_type, int device_id, void* ptr) = 0;
};

// Called once in each thread that computes, with its number from 0.
using ThreadAffinityCallback = std::function<void(int thread_id)>;
using AsyncCallback = std::function<void()>;
// By name, the settings of an input or output, and its tensor.
using IOTensors = std::unordered_map<std::string, std::pair<IO, std::shared_ptr<Tensor>>>;
using StartCallback = std::function<void(const IOTensors&)>;
using FinishCallback = std::function<void(const IOTensors&)>;

// Functions marked "before loading" and "after loading" throw an error otherwise. Calls of several threads on
// one network are serialised. A thread that needs the outputs of its own run must exclude others from setting
// the inputs until it has read the outputs. Several networks, also those that share weights, may run at once.
// In a child made by fork() a network works as before; a run in flight at the fork is lost there, and wait()
// reports that. Errors are lite::Error; a network that failed to load may load another model. Callbacks must
// not load or change their network; a network that is destroyed in its callback finishes its run first. Only
// a finish callback that wait() calls may start the next run.
class LITE_API Network {
public:
    class NetworkImplBase;

    Network(const Config& config = {}, const NetworkIO& networkio = {});
    Network(const NetworkIO& networkio, const Config& config = {});
    ~Network();
    Network(const Network&) = delete;
    Network& operator=(const Network&) = delete;

    // Loads a model file of any format, detected from its contents. The memory is the caller's and must
    // outlive the network.
    void load_model(void* model_mem, size_t size);
    void load_model(std::string model_path);
    // Before loading: outputs that the NetworkIO does not name are not computed.
    void compute_only_configured_output();

    // After loading. The tensors belong to the network: forward() reads what was written to an input. Throws
    // for an unknown name or index. For a discrete input use get_discrete_tensors().
    std::shared_ptr<Tensor> get_io_tensor(std::string io_name,
                                          LiteTensorPhase phase = LiteTensorPhase::LITE_IO);
    std::vector<std::shared_ptr<Tensor>> get_discrete_tensors(
        std::string io_name, LiteTensorPhase phase = LiteTensorPhase::LITE_INPUT);
    std::shared_ptr<Tensor> get_input_tensor(size_t index);
    std::vector<std::shared_ptr<Tensor>> get_input_tensors(size_t index);
    std::shared_ptr<Tensor> get_output_tensor(size_t index);

    // An empty function removes a callback.
    //
    // Called on the thread of the run when all outputs are ready; wait() is not needed then. Throws if
    // combined with force_output_use_user_specified_memory or with in-place mode.
    Network& set_async_callback(const AsyncCallback& async_callback);
    // Called by forward() before the first operator. An exception ends the run.
    Network& set_start_callback(const StartCallback& start_callback);
    // Called when the outputs are ready: by wait(), or after the asynchronous callback.
    Network& set_finish_callback(const FinishCallback& finish_callback);

    // After loading. Starts a run with the current inputs and returns. Waits for an earlier run first. Input
    // shapes may differ from those of the last run: the network is then compiled for them once, or for all
    // sizes of a dimension such as the length of a language model's past.
    void forward();
    // After loading. Waits until the run has ended, and throws its errors. The outputs are valid until the
    // next run.
    void wait();

    // After loading. Names are in the order of the model. Throws for an index beyond the last.
    std::string get_input_name(size_t index) const;
    std::string get_output_name(size_t index) const;
    // Returns the name of an open dimension of an input, "" if the file gives none; nullopt for a fixed axis.
    std::optional<std::string> get_input_dimension_name(size_t index, size_t axis) const;
    std::vector<std::string> get_all_input_name() const;
    std::vector<std::string> get_all_output_name() const;

    // The setters: before loading.
    Network& set_device_id(int device_id);
    int get_device_id() const;
    Network& set_stream_id(int stream_id);
    int get_stream_id() const;

    // Writes the times of each run's operators to this file, for mge-profile, in the format of MegEngine's
    // GraphProfiler. "" stops it.
    void enable_profile_performance(std::string profile_file_path);
    // Returns the data for the application in a packed model; "" if there is none.
    const std::string& get_model_extra_info();
    LiteDeviceType get_device_type() const;
    // Writes the memory plan as JSON into a folder, which is created if necessary.
    void get_static_memory_alloc_info(const std::string& log_dir = "logs/test") const;
    // Before loading. Ignores or applies the configuration in a packed model.
    void extra_configure(const ExtraConfig& extra_config);

private:
    friend class NetworkHelper;
    std::unique_ptr<NetworkImplBase> impl_;
};

// Settings of how a network runs. All functions throw lite::Error, also for a null network.
class LITE_API Runtime {
public:
    // Before loading, on a CPU: how many threads compute.
    static void set_cpu_threads_number(std::shared_ptr<Network> dst_network, size_t nr_threads);
    static size_t get_cpu_threads_number(std::shared_ptr<Network> dst_network);
    // After loading, on a CPU: is called once in each thread that computes, with its number from 0.
    static void set_runtime_thread_affinity(std::shared_ptr<Network> network,
                                            const ThreadAffinityCallback& thread_affinity_callback);
    // Before loading, on a CPU: forward() computes on the caller's thread.
    static void set_cpu_inplace_mode(std::shared_ptr<Network> dst_network);
    static bool is_cpu_inplace_mode(std::shared_ptr<Network> dst_network);
    // Always throws: this build has no TensorRT.
    static void use_tensorrt(std::shared_ptr<Network> dst_network);
    // HEURISTIC or PROFILE, with REPRODUCIBLE and OPTIMIZED; 0: unchanged. After loading, the network is
    // compiled again. `shared_batch_size`: algorithms are measured for this batch size and used for all; 0:
    // each batch size is measured.
    static void set_network_algo_policy(std::shared_ptr<Network> dst_network, LiteAlgoSelectStrategy strategy,
                                        uint32_t shared_batch_size = 0,
                                        bool binary_equal_between_batch = false);
    // After loading. Limits the scratch memory of an algorithm, in bytes.
    static void set_network_algo_workspace_limit(std::shared_ptr<Network> dst_network,
                                                 size_t workspace_limit);
    // Before loading. The allocator provides all memory of the network's runs.
    static void set_memory_allocator(std::shared_ptr<Network> dst_network,
                                     std::shared_ptr<Allocator> user_allocator);
    // Before loading `dst_network`. Both networks share the memory of intermediate values, and must not run
    // at once.
    static void share_runtime_memory_with(std::shared_ptr<Network> dst_network,
                                          std::shared_ptr<Network> src_network);
    // Loads `dst_network` with the model and the weights of `src_network`, which may be destroyed. They may
    // run at once.
    static void shared_weight_with_network(std::shared_ptr<Network> dst_network,
                                           const std::shared_ptr<Network> src_network);
    // Writes every value of each run to a text file, or to files in a folder, for `mge-dump iodiff`. The
    // latest call counts; "" stops it.
    static void enable_io_txt_dump(std::shared_ptr<Network> dst_network, std::string io_txt_out_file);
    static void enable_io_bin_dump(std::shared_ptr<Network> dst_network, std::string io_bin_out_dir);
    // Before loading. Chooses layouts by measured times. The second function then writes the model with them.
    static void enable_global_layout_transform(std::shared_ptr<Network> network);
    static void dump_layout_transform_model(std::shared_ptr<Network> network,
                                            std::string optimized_model_path);
    // Returns inputs and outputs of a model without loading it. Shapes known only at run time have no
    // dimensions.
    static NetworkIO get_model_io_info(const std::string& model_path, const Config& config = {});
    static NetworkIO get_model_io_info(const void* model_mem, size_t size, const Config& config = {});
};

}  // namespace lite
