// SPDX-License-Identifier: Apache-2.0
// forward(), wait(), and the run between them.

#include <utility>

#include "libmge/base/files/file.h"
#include "libmge/base/log.h"
#include "libmge/base/text.h"
#include "libmge/base/threads/first_failure.h"
#include "libmge/base/threads/start_thread.h"
#include "libmge/device/cpu/affinity.h"
#include "libmge/inspect/profile/profiler.h"
#include "libmge/lite/as_lite_error.h"
#include "libmge/lite/network_impl.h"

namespace lite {
namespace {

// A run or callback of a network on the calling thread: the innermost element of a list.
class Inside {
public:
    explicit Inside(const void* network, bool may_run = false) : network_(network), may_run_(may_run) {
        innermost_ = this;
    }
    ~Inside() { innermost_ = outer_; }
    Inside(const Inside&) = delete;
    Inside& operator=(const Inside&) = delete;

    // Null if the thread is in no run or callback of this network.
    static const Inside* find(const void* network) {
        const Inside* scope = innermost_;
        while (scope && scope->network_ != network) scope = scope->outer_;
        return scope;
    }
    // The run before is over, and the next one may start.
    bool may_run() const { return may_run_; }

private:
    static constinit thread_local const Inside* innermost_;
    const void* network_;
    bool may_run_;
    const Inside* outer_ = innermost_;
};
constinit thread_local const Inside* Inside::innermost_ = nullptr;

void log_failure(const std::exception_ptr& failure) noexcept {
    auto write = [](const char* what) {
        try {
            mge::log_message(mge::LogLevel::error, mge::text("a run failed: ", what));
        } catch (const std::bad_alloc&) {
            // It is kept at least until wait().
        }
    };
    try {
        std::rethrow_exception(failure);
    } catch (const std::exception& e) {
        write(e.what());
    } catch (...) {
        write("an exception that is not a std::exception");
    }
}

}  // namespace

constinit thread_local Network::NetworkImplBase::Entered* Network::NetworkImplBase::Entered::innermost_ =
    nullptr;

void Network::NetworkImplBase::end(std::unique_ptr<NetworkImplBase> network) {
    if (!network || !Inside::find(network.get())) return;
    Entered* outermost = nullptr;
    for (auto* entered = Entered::innermost_; entered; entered = entered->outer_)
        if (entered->network_ == network.get()) outermost = entered;
    if (outermost) {
        outermost->ended_ = std::move(network);
        return;
    }
    // The network's own thread, which cannot wait for its end.
    auto* ended = network.release();
    try {
        mge::start_thread([ended] {
            std::unique_ptr<NetworkImplBase> ended_network(ended);
            ended->alone();  // waits for a call of the thread that started the run
        }).detach();
    } catch (const mge::Error&) {
        mge::log_message(mge::LogLevel::error,
                         "a network that was destroyed in a callback is kept: no thread");
    }
}

void Network::NetworkImplBase::forward() {
    if (auto* scope = Inside::find(this); scope && (!scope->may_run() || is_pending_)) [[unlikely]]
        throw Error("forward: it was called inside of a run of the network");
    auto lock = alone();
    require_loaded("forward");
    forget_lost_run();
    if (is_pending_) wait();
    if (callbacks_.start) call_start();  // it may give inputs other memory
    Runner& runner = as_lite_error([&]() -> Runner& { return bound_runner(); });
    if (loaded_->skips_next) [[unlikely]]
        return as_lite_error([&] { skip_run(runner); });
    as_lite_error([&] {
        runner.fill(loaded_->inputs);
        start(runner);
    });
}

// The tensors' change counters show whether anything has changed.
Runner& Network::NetworkImplBase::bound_runner() {
    auto& inputs = loaded_->inputs;
    auto& runners = loaded_->runners;
    for (auto& input : inputs)
        if (input.is_discrete()) [[unlikely]] {
            input.shape_images();
            input.join_images();
        }
    if (!runners.empty() && runners.front()->is_bound_to(inputs, loaded_->outputs)) [[likely]]
        return *runners.front();
    Runner& runner = runner_for(*loaded_, input_specs(*loaded_));
    runner.bind(inputs, loaded_->outputs);
    return runner;
}

void Network::NetworkImplBase::call_start() {
    Inside scope(this);
    callbacks_.start(loaded_->start_tensors);
}

// Prepares everything without computing; the callbacks for outputs are not called.
void Network::NetworkImplBase::skip_run(Runner& runner) {
    loaded_->skips_next = false;
    runner.context().fake_next_exec();
    runner.context().run();
    runner.context().wait();
}

void Network::NetworkImplBase::start(Runner& runner) {
    running_ = &runner;
    is_async_ = bool(callbacks_.async);
    if (settings().configuration.is_in_place) {
        run_model();
        if (failure_) std::rethrow_exception(std::exchange(failure_, nullptr));
        is_pending_ = true;
        return;
    }
    mge::HeldTurn turn(turn_);
    turn.hand_over([this] { worker_.start(); });
    is_pending_ = true;
}

void Network::NetworkImplBase::run_model() {
    try {
        as_lite_error([this] {
            running_->context().run();
            running_->context().wait();
            if (is_async_) running_->fetch(loaded_->outputs);
        });
    } catch (...) {
        failure_ = std::current_exception();
    }
}

void Network::NetworkImplBase::work() {
    turn_.adopt();
    {
        Inside scope(this);
        if (pending_) {
            pending_();
        } else {
            run_model();
            if (is_async_) call_async();
        }
    }
    turn_.give_back();
}

// Runs on the thread of the run. The caller may never wait, so errors are also logged.
void Network::NetworkImplBase::call_async() {
    try {
        if (!failure_) {
            callbacks_.async();
            finish();
        }
    } catch (...) {
        failure_ = std::current_exception();
    }
    if (failure_) log_failure(failure_);
}

void Network::NetworkImplBase::wait() {
    require_loaded("wait");
    if (Inside::find(this)) return;
    auto lock = alone();
    if (!is_pending_) return;
    if (forget_lost_run())
        throw Error(
            "wait: the run was in flight when this process was forked, and its thread belongs to the parent; "
            "call "
            "forward() again");
    turn_.wait();
    is_pending_ = false;
    if (failure_) [[unlikely]]
        std::rethrow_exception(std::exchange(failure_, nullptr));
    if (is_async_) return;
    as_lite_error([this] { running_->fetch(loaded_->outputs); });
    finish();
}

// A run that was under way when this process was forked: its thread is the parent's.
bool Network::NetworkImplBase::forget_lost_run() {
    if (!turn_.is_lost()) return false;
    turn_.wait();
    failure_ = nullptr;
    return std::exchange(is_pending_, false);
}

void Network::NetworkImplBase::finish() {
    if (callbacks_.finish) {
        Inside scope(this, !is_async_);
        callbacks_.finish(loaded_->finish_tensors);
    }
    bool is_next_under_way = !is_async_ && is_pending_;
    if ((!profile_path_.empty() || dump_) && !is_next_under_way) [[unlikely]]
        as_lite_error([this] { write_records(); });
}

void Network::NetworkImplBase::write_records() {
    if (auto* profiler = running_->profiler(); profiler && !profile_path_.empty()) {
        auto profile =
            mge::make_profile(running_->program(), loaded_->model->model().label, std::span(&profiler, 1));
        mge::write_file_atomically(
            profile_path_, [&](std::ostream& stream) { mge::write_megengine_profile(stream, profile); });
    }
    if (dump_) dump_->flush();
}

void Network::NetworkImplBase::require_outside(const char* what) const {
    if (Inside::find(this))
        throw Error(mge::text(
            what, ": it was called inside of a callback of the network; call it after the callback returns"));
}

void Network::NetworkImplBase::set_callbacks(const std::function<void(Callbacks&)>& change) {
    require_outside("set_callback");
    auto lock = alone();
    turn_.wait();
    Callbacks changed = callbacks_;
    change(changed);
    if (changed.async) require_asynchronous(settings());
    callbacks_ = std::move(changed);
}

void Network::NetworkImplBase::call_in_threads(const ThreadAffinityCallback& callback) {
    require_outside("set_runtime_thread_affinity");
    auto lock = alone();
    int threads = int(settings().threads());
    mge::FirstFailure of_callback;
    // The caller of a run comes last.
    auto call = [&] {
        mge::in_each_thread(threads, [&](int i) {
            Inside scope(this);
            of_callback.guard([&] { callback((i + threads - 1) % threads); });
        });
    };
    as_lite_error([&] {
        if (settings().configuration.is_in_place) return call();
        if (is_pending_) wait();
        run_on_worker(call);
    });
    of_callback.rethrow();
}

void Network::NetworkImplBase::run_on_worker(const std::function<void()>& pending) {
    struct Cleared {
        std::function<void()>& pending;
        ~Cleared() { pending = nullptr; }
    } cleared{pending_};
    mge::FirstFailure failure;
    pending_ = [&] { failure.guard(pending); };
    {
        mge::HeldTurn turn(turn_);
        turn.hand_over([this] { worker_.start(); });
    }
    turn_.wait();
    failure.rethrow();
}

void Network::NetworkImplBase::enable_profile(const std::string& path) {
    require_outside("enable_profile_performance");
    auto lock = alone();
    turn_.wait();
    profile_path_ = path;
    if (!loaded_) return;
    for (auto& runner : loaded_->runners) runner->profile(!path.empty());
}

// Dumps look at the weights as they were before they were packed.
void Network::NetworkImplBase::dump_text(const std::string& path) { change_dump(path, &RunDump::open_text); }

void Network::NetworkImplBase::dump_binary(const std::string& folder) {
    change_dump(folder, &RunDump::open_binary);
}

void Network::NetworkImplBase::change_dump(const std::string& path,
                                           void (RunDump::*open)(const std::string&)) {
    require_outside("enable_io_dump");
    auto lock = alone();
    if (is_pending_) wait();
    std::unique_ptr<RunDump> dump;
    if (!path.empty()) {
        dump = std::make_unique<RunDump>();
        ((*dump).*open)(path);
    } else if (!dump_) {
        return;
    }
    if (loaded_) loaded_->runners.clear();
    dump_ = std::move(dump);
    if (loaded_) recompile();
}

Runner& Network::NetworkImplBase::next_runner() {
    require_loaded("what it runs");
    require_outside("what it runs");
    auto lock = alone();
    turn_.wait();
    for (auto& input : loaded_->inputs) input.shape_images();
    return runner_for(*loaded_, input_specs(*loaded_));
}

mge::Context& Network::NetworkImplBase::context() { return next_runner().context(); }

std::shared_ptr<const mge::Program> Network::NetworkImplBase::shared_program() {
    return next_runner().shared_program();
}

}  // namespace lite
