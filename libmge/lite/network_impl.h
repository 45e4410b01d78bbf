// SPDX-License-Identifier: Apache-2.0
#pragma once
// The implementation of a network. Its settings are set before a model is loaded; Loaded contains what
// depends on the model. Runs happen on the network's own thread, or in place on the caller's.

#include <atomic>
#include <exception>
#include <functional>
#include <list>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "libmge/base/threads/per_process.h"
#include "libmge/compile/run/run_turn.h"
#include "libmge/compile/run/worker.h"
#include "libmge/kernel/fastrun_cache.h"
#include "libmge/lite/compile_options.h"
#include "libmge/lite/model_file.h"
#include "libmge/lite/network_ports.h"
#include "libmge/lite/run_dump.h"
#include "libmge/lite/runner.h"
#include "libmge/lite/shared_model.h"
#include "lite/network.h"

namespace lite {

struct Settings {
    Configuration configuration;
    AlgorithmPolicy policy;
    std::optional<mge::CompileOptions> compile_options;  // override the other two
    int stream_id = 0;
    bool configured_outputs_only = false;
    bool uses_model_info = true;
    bool measures_layouts = false;

    size_t threads() const { return configuration.threads.value_or(1); }
};

struct Callbacks {
    StartCallback start;
    FinishCallback finish;
    AsyncCallback async;
};

// Error for settings that are incompatible with it.
void require_asynchronous(const Settings& settings);

class Network::NetworkImplBase {
public:
    NetworkImplBase(const Config& config, const NetworkIO& io);
    ~NetworkImplBase();
    // Ends the implementation of a destroyed Network; inside its callback, only after the caller has
    // returned.
    static void end(std::unique_ptr<NetworkImplBase> network);

    // --- before and after loading ---

    bool is_loaded() const { return loaded_ != nullptr; }
    void require_loaded(const char* what) const;
    void require_not_loaded(const char* what) const;
    // Error if this thread is in a callback of the network.
    void require_outside(const char* what) const;
    // The settings of the loaded model, otherwise the current settings.
    const Settings& settings() const { return loaded_ ? loaded_->settings : settings_; }
    // The settings for the next load.
    Settings& own_settings() { return settings_; }
    bool is_on_cpu() const;
    mge::DeviceId device() const;
    const std::string& extra_info() const;

    void load(const std::string& path);
    void load(const void* data, size_t bytes);
    void share_weights(NetworkImplBase& source);
    void share_memory(NetworkImplBase& source);
    void set_allocator(std::shared_ptr<Allocator> allocator);

    // --- inputs and outputs ---

    const std::vector<Input>& inputs() const { return loaded_->inputs; }
    const std::vector<Output>& outputs() const { return loaded_->outputs; }

    // --- runs ---

    void forward();
    void wait();
    class Entered;
    // Waits for the run in flight.
    void set_callbacks(const std::function<void(Callbacks&)>& change);
    void call_in_threads(const ThreadAffinityCallback& callback);
    // Compiles again if a model is loaded; a failure keeps the previous state.
    void change_policy(const AlgorithmPolicy& policy);

    // --- reports of runs ---

    void enable_profile(const std::string& path);
    void dump_text(const std::string& path);
    void dump_binary(const std::string& folder);
    // The context that runs with the current inputs.
    mge::Context& context();
    const mge::Program& program() { return context().program(); }
    std::shared_ptr<const mge::Program> shared_program();
    const std::shared_ptr<SharedModel>& model() const { return loaded_->model; }
    // The compile options of its programs.
    const mge::CompileOptions& compile_options() const { return loaded_->options; }
    const std::shared_ptr<mge::ContextMemory>& memory() const { return memory_; }

private:
    struct Loaded {
        Settings settings;
        std::string extra_info;
        std::shared_ptr<SharedModel> model;
        mge::DeviceId device;
        bool keeps_places = false, has_stored_options = false;
        std::shared_ptr<mge::FastrunCache> cache;
        mge::CompileOptions options;
        std::vector<Input> inputs;
        std::vector<Output> outputs;
        std::shared_ptr<const mge::Program> first;   // the first program
        std::list<std::unique_ptr<Runner>> runners;  // the most recently used first
        mge::OpenPrograms open_programs;
        IOTensors start_tensors, finish_tensors;
        bool skips_next = false;
        void note_tensors();
    };

    void load(ModelFile file);
    void finish_loading(std::unique_ptr<Loaded> loaded);
    mge::CompileOptions make_options(Loaded& loaded) const;
    void end_runs();
    // Compiles for the current inputs if their shapes are known.
    void prepare_ahead(Loaded& loaded) const;
    void recompile();

    static mge::TensorSpecs input_specs(const Loaded& loaded);
    void require_shapes(const Loaded& loaded, const mge::TensorSpecs& inputs) const;
    static mge::TensorSpecs output_specs(const Loaded& loaded, const mge::TensorSpecs& inputs);
    static std::optional<mge::OpenProgram> open_program(Loaded& loaded, ProgramRequest request,
                                                        OutputMemory memory);
    std::unique_ptr<Runner> make_runner(Loaded& loaded, const mge::TensorSpecs& inputs) const;
    Runner& runner_for(Loaded& loaded, const mge::TensorSpecs& inputs) const;
    Runner& bound_runner();
    // Only without a run in flight.
    Runner& next_runner();

    // For the rest of a call: calls of other threads wait. Nested calls come from the same thread; those of
    // the network's own thread are refused before.
    std::unique_lock<std::recursive_mutex> alone() const { return std::unique_lock(calls_.get()); }
    bool forget_lost_run();
    void call_start();
    void skip_run(Runner& runner);
    void start(Runner& runner);
    void run_model();
    void work();
    void finish();
    void call_async();
    void write_records();
    // On the network's thread; returns when it is done.
    void run_on_worker(const std::function<void()>& pending);
    // An empty path ends the dump.
    void change_dump(const std::string& path, void (RunDump::*open)(const std::string&));

    Settings settings_;
    std::shared_ptr<mge::ContextMemory> memory_ = std::make_shared<mge::ContextMemory>();
    bool has_shared_memory_ = false;
    std::shared_ptr<mge::ContextAllocator> allocator_;
    Callbacks callbacks_;
    std::string profile_path_;
    std::unique_ptr<RunDump> dump_;  // null: no dump
    std::unique_ptr<Loaded> loaded_;

    // Between forward() and wait().
    bool is_pending_ = false, is_async_ = false;
    Runner* running_ = nullptr;
    std::exception_ptr failure_;
    // The thread's next task instead of a run; empty: a run.
    std::function<void()> pending_;
    mge::RunTurn turn_;
    mutable mge::PerProcess<std::recursive_mutex> calls_;
    // Last: its thread ends before the members that it uses.
    mge::Worker worker_{[this] { work(); }};
};

// A call of a user's that may call back, on his thread: the innermost of a list. A network that is destroyed
// meanwhile ends with it.
class Network::NetworkImplBase::Entered {
public:
    explicit Entered(NetworkImplBase& network) : network_(&network) { innermost_ = this; }
    ~Entered() { innermost_ = outer_; }
    Entered(const Entered&) = delete;
    Entered& operator=(const Entered&) = delete;

private:
    friend class NetworkImplBase;
    static constinit thread_local Entered* innermost_;
    NetworkImplBase* network_;
    Entered* outer_ = innermost_;
    std::unique_ptr<NetworkImplBase> ended_;
};

// Access for tests and the rest of Lite.
class NetworkHelper {
public:
    static Network::NetworkImplBase& impl(const Network& network) { return *network.impl_; }
};

}  // namespace lite
