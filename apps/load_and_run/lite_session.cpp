// SPDX-License-Identifier: Apache-2.0
#include "apps/load_and_run/lite_session.h"

#include <exception>
#include <utility>

#include "libmge/device/device.h"
#include "libmge/kernel/fastrun_cache.h"
#include "libmge/lite/engine.h"
#include "libmge/lite/layout.h"
#include "libmge/model/crypt/cipher.h"
#include "libmge/tensor/tensor.h"
#include "lite/global.h"
#include "lite/network.h"

namespace mge::load_and_run {
namespace {

// Errors of the engine keep their kind, and with it the tool its exit code.
template <class Work>
auto with_own_errors(Work&& work) {
    try {
        return std::forward<Work>(work)();
    } catch (const lite::Error& e) {
        std::rethrow_if_nested(e);
        throw UserError(e.what());
    }
}

class LiteContext final : public Context {
public:
    explicit LiteContext(std::shared_ptr<lite::Network> network) : network_(std::move(network)) {}

    void* input(size_t i) override { return network_->get_input_tensor(i)->get_memory_ptr(); }
    void bind_input(size_t i, const void* data) override {
        size_t bytes = program().inputs().at(i).spec.bytes();
        network_->get_input_tensor(i)->reset(const_cast<void*>(data), bytes);
    }
    void bind_output(size_t i, void* data, size_t bytes) override {
        auto tensor = network_->get_output_tensor(i);
        tensor->set_layout(lite::layout_of(program().outputs().at(i).spec));
        tensor->reset(data, bytes);
    }
    void run() override {
        with_own_errors([&] { network_->forward(); });
    }
    void start() override { run(); }
    void wait() override {
        with_own_errors([&] { network_->wait(); });
    }
    Tensor output(size_t i) override { return copy_output(i); }
    Tensor copy_output(size_t i) override {
        TensorSpec spec = engine().output(i).spec();
        return tensor_from_host(spec, network_->get_output_tensor(i)->get_memory_ptr(), host_device);
    }

    // Queries that Lite's interface lacks go to the context behind it.
    const Program& program() const override { return engine().program(); }
    const std::shared_ptr<ContextMemory>& memory() const override { return engine().memory(); }
    void fake_next_exec() override { engine().fake_next_exec(); }
    void record_async_error(std::exception_ptr error) override {
        engine().record_async_error(std::move(error));
    }
    void observe(StepObserver* observer) override { engine().observe(observer); }
    void attach(StepObserver& observer) override { engine().attach(observer); }
    void detach(StepObserver& observer) override { engine().detach(observer); }
    void on_output(size_t i, std::function<void(const Tensor&)> callback) override {
        engine().on_output(i, std::move(callback));
    }
    Tensor value(ValueId id) override { return engine().value(id); }
    std::vector<double> time_steps() override { return engine().time_steps(); }

private:
    Context& engine() const { return lite::context_of(*network_); }

    std::shared_ptr<lite::Network> network_;
};

lite::Config config_of(const Options& options, const CompileOptions& flags) {
    lite::Config config;
    bool is_gpu = !flags.device.is_host();
    config.device_type = is_gpu ? LITE_CUDA : LITE_CPU;
    config.device_id = flags.device.index;
    config.bare_model_cryption_name = options.run.model.keys.cipher;
    config.options.fake_next_exec = flags.fake_next_exec;
    return config;
}

void give_key(const cli::ModelFile& model) {
    auto& keys = model.keys;
    if (!keys.key.are_given()) return;
    std::string cipher = keys.cipher.empty() ? container_cipher : keys.cipher;
    auto key = cli::key_provider(keys.key)({model.path, cipher, ""});
    auto bytes = std::span(reinterpret_cast<const uint8_t*>(key.data()), key.size());
    lite::update_decryption_or_key(cipher, {}, {bytes.begin(), bytes.end()});
}

void refuse(const char* option, const char* why) {
    throw_value_error("--lite", "cannot be combined with ", option, ", which ", why);
}

void check_has_calls(const Options& options) {
    auto& run = options.run;
    if (options.graph.optimize_for_inference)
        refuse("--optimize-for-inference", "changes the model before it is compiled");
    if (run.fitting) refuse("--fitting", "compiles one model in many ways");
    if (run.share_param_mem) refuse("--share-param-mem", "reads the file by itself");
    if (options.algorithms.cache_key.are_given())
        refuse("--cache-key-file", "is for encrypted caches, which Lite does not read");
}

}  // namespace

LiteSession::LiteSession(const Options& options, const CompileOptions& flags)
    : options_(options), flags_(flags) {
    check_has_calls(options);
    with_own_errors([&] {
        give_key(options.run.model);
        if (flags.select.cache && !flags.select.cache->path().empty())
            lite::set_persistent_cache(flags.select.cache->path(), true);
    });
}

std::shared_ptr<lite::Network> LiteSession::load() const {
    lite::NetworkIO io;
    for (size_t i = 0; i < inputs_.size(); ++i)
        if (!names_[i].empty())
            io.inputs.push_back(
                {.name = names_[i], .is_host = false, .config_layout = lite::layout_of(inputs_[i])});
    auto network = std::make_shared<lite::Network>(config_of(options_, flags_), io);
    lite::compile_with(*network, flags_);
    if (flags_.device.is_host()) lite::Runtime::set_cpu_threads_number(network, size_t(flags_.threads));
    if (!options_.device.runs_on_worker() && flags_.device.is_host())
        lite::Runtime::set_cpu_inplace_mode(network);
    first_ ? lite::Runtime::shared_weight_with_network(network, first_)
           : network->load_model(options_.run.model.path);
    return network;
}

std::shared_ptr<const Program> LiteSession::compile(const TensorSpecs& inputs,
                                                    const std::vector<std::string>& names) {
    inputs_ = inputs;
    names_ = names;
    return with_own_errors([&] {
        compiled_ = load();
        if (!first_) first_ = compiled_;
        return lite::program_of(*compiled_);
    });
}

std::unique_ptr<Context> LiteSession::make_context() {
    // Several threads may request further contexts.
    if (!compiled_) return std::make_unique<LiteContext>(with_own_errors([&] { return load(); }));
    return std::make_unique<LiteContext>(std::exchange(compiled_, nullptr));
}

}  // namespace mge::load_and_run
