// SPDX-License-Identifier: Apache-2.0
#include "libmge/eager/tape.h"

#include <algorithm>
#include <array>
#include <atomic>
#include <bit>
#include <functional>
#include <mutex>
#include <optional>
#include <utility>

#include "libmge/base/number_text.h"
#include "libmge/base/threads/at_fork.h"
#include "libmge/device/device.h"
#include "libmge/eager/fused_gradients.h"
#include "libmge/eager/gradient_reads.h"
#include "libmge/eager/tape_nodes.h"
#include "libmge/eager/written_elsewhere.h"
#include "libmge/op/autocast.h"
#include "libmge/ops/create/full.h"
#include "libmge/ops/elementwise/arithmetic.h"

namespace mge {
namespace {

constexpr int max_tapes = 64;

// TensorImpl::tape_node packs recorder, node number and output index.
constexpr int output_bits = 12, number_bits = 40;
constexpr uint64_t outputs_of_node = uint64_t(1) << output_bits, output_mask = outputs_of_node - 1;
constexpr int recorder_count = 1 << (64 - output_bits - number_bits);

// A number is reused only when no value can carry it any more, so stale tape_node entries are harmless.
struct RecorderNumbers {
    std::mutex mutex;
    std::vector<int> free;
    int used = 0;
    std::array<uint64_t, recorder_count> next_node{};

    int take() {
        std::lock_guard lock(mutex);
        if (!free.empty()) {
            int number = free.back();
            free.pop_back();
            return number;
        }
        if (used == recorder_count) throw UserError("too many threads record gradients at once");
        return used++;
    }
    void give_back(int number, uint64_t next) {
        std::lock_guard lock(mutex);
        next_node[size_t(number)] = next;
        free.push_back(number);
    }
};

RecorderNumbers& recorder_numbers() {
    static auto& numbers = *std::make_unique<RecorderNumbers>().release();
    return numbers;
}
const HeldAcrossFork numbers_at_fork([]() -> auto& { return recorder_numbers().mutex; });

// Smaller values are kept: finding out whether the gradient rule reads them costs more.
constexpr size_t bytes_worth_dropping = 16 << 10;

// Bytes of all values of a node. nullopt if one has no memory: a trace decides itself what it keeps.
std::optional<size_t> concrete_bytes(TapeNode& node) {
    size_t bytes = 0;
    for (auto& tensor : node.tensors()) {
        if (!tensor) continue;
        if (tensor.is_symbolic() || !tensor.shape().is_known()) return std::nullopt;
        bytes += tensor.spec().bytes();
    }
    return bytes;
}

Tensor with_entries_of(const Tensor& tensor, Tensor result) {
    result.impl()->tracked_by = tensor.impl()->tracked_by;
    result.impl()->tape_node = tensor.impl()->tape_node;
    return result;
}

// Returns the tensor without its memory but with its tape entries.
Tensor without_memory(const Tensor& tensor) {
    return with_entries_of(tensor, Tensor(tensor.spec(), {}, 0, tensor.device()));
}

// Returns a copy of the value with its tape entries.
Tensor in_own_memory(const Tensor& tensor) {
    Tensor copy = empty_tensor(tensor.spec(), tensor.device());
    queue_of(tensor.device()).copy(copy.address(), tensor.address(), tensor.spec().bytes());
    return with_entries_of(tensor, std::move(copy));
}

// Drops the values that the gradient rule does not read. Copies those that it reads and others may write.
void keep_read_values(const OpInfo& op, const void* params, TapeNode& node, bool may_be_written) {
    GradientReads reads = gradient_reads(op, params, node.inputs(), node.outputs());
    auto keep = [&](std::span<Tensor> tensors, uint64_t read) {
        for (size_t i = 0; i < tensors.size(); ++i) {
            if (!tensors[i]) continue;
            if (i < 64 && !(read >> i & 1))
                tensors[i] = without_memory(tensors[i]);
            else if (may_be_written && is_written_elsewhere(tensors[i]))
                tensors[i] = in_own_memory(tensors[i]);
        }
    };
    keep(node.inputs(), reads.inputs);
    keep(node.outputs(), reads.outputs);
}

// Returns a new handle for the value that no tape follows.
Tensor fresh_handle(const Tensor& tensor) { return current_interpreter().alias(tensor); }

}  // namespace

// Records for all tapes of a thread. It is the thread's innermost interpreter while a tape is active.
struct Recorder final : Interpreter {
    TapeNodes nodes;
    uint64_t used_bits = 0;    // existing tapes
    uint64_t active_bits = 0;  // recording tapes
    std::array<uint64_t, max_tapes> first_node{}, age{};
    uint64_t ages = 0;
    Interpreter* base = nullptr;
    int number;
    std::atomic<uint64_t> abandoned_bits{0};

    Recorder() : number(recorder_numbers().take()) {
        nodes.begin_at(recorder_numbers().next_node[size_t(number)]);
    }
    ~Recorder() override { recorder_numbers().give_back(number, nodes.next()); }

    Tensor alias(const Tensor& tensor) override { return below().alias(tensor); }
    Interpreter& below() { return base ? *base : eager_interpreter(); }

    void set_active(uint64_t bits) {
        active_bits = bits;
        exchange_interpreter(bits ? this : base);
    }

    uint64_t note(uint64_t node, uint64_t output) const {
        return uint64_t(number) << (output_bits + number_bits) | node << output_bits | output;
    }
    static uint64_t node_of(const Tensor& tensor) {
        return tensor.impl()->tape_node >> output_bits & ((uint64_t(1) << number_bits) - 1);
    }
    static uint64_t output_of(const Tensor& tensor) { return tensor.impl()->tape_node & output_mask; }

    // Returns the tapes of `bits` that follow the value. A bit may be stale: the value is then older than the
    // tape that now has the bit.
    uint64_t followers(const Tensor& tensor, uint64_t bits) const {
        if (!tensor) return 0;
        const TensorImpl& impl = *tensor.impl();
        uint64_t candidates = impl.tracked_by & bits;
        if (!candidates) [[likely]]
            return 0;
        if (impl.tape_node >> (output_bits + number_bits) != uint64_t(number)) return 0;
        uint64_t node = node_of(tensor), found = 0;
        for (; candidates; candidates &= candidates - 1) {
            int bit = std::countr_zero(candidates);
            if (first_node[size_t(bit)] <= node) found |= uint64_t(1) << bit;
        }
        return found;
    }
    uint64_t followers(std::span<const Tensor> tensors) const {
        uint64_t found = 0;
        for (auto& tensor : tensors) found |= followers(tensor, active_bits);
        return found;
    }

    TapeNode& push(uint64_t tapes) {
        TapeNode& node = nodes.push();
        node.tapes = tapes;
        return node;
    }
    void mark(const Tensor& output, uint64_t tapes, uint64_t node, uint64_t index) const {
        output.impl()->tracked_by = tapes;
        output.impl()->tape_node = note(node, index);
    }
    // Marks the results of the next node. Returns false if none can have a gradient.
    bool mark_results(std::span<const Tensor> outputs, uint64_t tapes) const {
        bool any = false;
        for (size_t i = 0; i < outputs.size(); ++i) {
            if (!outputs[i] || !is_float(outputs[i].dtype())) continue;
            any = true;
            mark(outputs[i], tapes, nodes.next() + i / outputs_of_node, i % outputs_of_node);
        }
        return any;
    }
    // Pushes the node of an operator, and one more for every further 4096 outputs; returns the first.
    TapeNode& push_results(size_t outputs, uint64_t tapes) {
        TapeNode& node = push(tapes);
        node.grad_count = uint32_t(outputs);
        for (size_t first = outputs_of_node; first < outputs; first += outputs_of_node) {
            TapeNode& more = push(tapes);
            more.continues = uint32_t(first / outputs_of_node);
            more.grad_count = uint32_t(std::min(outputs - first, outputs_of_node));
        }
        return node;
    }

    Tensors apply(const OpInfo& op, const void* params, std::span<const Tensor> inputs) override {
        Tensors outputs = below().apply(op, params, inputs);
        if (uint64_t tapes = op.gradient ? followers(inputs) : 0) record(op, params, inputs, outputs, tapes);
        return outputs;
    }
    Tensor apply_one(const OpInfo& op, const void* params, std::span<const Tensor> inputs) override {
        Tensor output = below().apply_one(op, params, inputs);
        if (uint64_t tapes = op.gradient ? followers(inputs) : 0)
            record(op, params, inputs, {&output, 1}, tapes);
        return output;
    }

    void record(const OpInfo& op, const void* params, std::span<const Tensor> inputs,
                std::span<const Tensor> outputs, uint64_t tapes) {
        if (!mark_results(outputs, tapes)) return;
        TapeNode& node = push_results(outputs.size(), tapes);
        node.op = &op;
        if (!op.fields.empty()) node.params = op.params.copy(params);
        node.set_tensors(inputs, outputs);
        bool may_be_written = is_any_written_elsewhere();
        auto bytes = concrete_bytes(node);
        if (bytes && (may_be_written || *bytes >= bytes_worth_dropping)) [[unlikely]]
            keep_read_values(op, params, node, may_be_written);
    }

    // Copies the values that nodes hold in a storage.
    void keep_values(const Storage* storage) {
        for (uint64_t i = nodes.first(); i < nodes.next(); ++i)
            for (auto& tensor : nodes[i].tensors())
                if (tensor && !tensor.is_symbolic() && tensor.impl()->storage.get() == storage)
                    tensor = in_own_memory(tensor);
    }

    void forget(int bit, uint64_t from) {
        uint64_t mask = ~(uint64_t(1) << bit);
        for (uint64_t i = std::max(from, nodes.first()); i < nodes.next(); ++i) {
            TapeNode& node = nodes[i];
            if (!node.tapes) continue;
            node.tapes &= mask;
            if (!node.tapes) node.forget();
        }
        nodes.trim();
        used_bits &= mask;
    }

    void forget_abandoned() {
        uint64_t bits = abandoned_bits.exchange(0, std::memory_order_acquire);
        if (bits & active_bits) set_active(active_bits & ~bits);
        for (; bits; bits &= bits - 1) {
            int bit = std::countr_zero(bits);
            forget(bit, first_node[size_t(bit)]);
        }
    }

    int take_bit() {
        forget_abandoned();
        if (~used_bits == 0) throw UserError("[Tape] more than 64 tapes at once on a thread");
        int bit = std::countr_zero(~used_bits);
        used_bits |= uint64_t(1) << bit;
        return bit;
    }

    // The recorder of this thread; null before its first tape.
    static std::shared_ptr<Recorder>& of_thread() {
        thread_local std::shared_ptr<Recorder> recorder;
        return recorder;
    }
    static const std::shared_ptr<Recorder>& here() {
        auto& recorder = of_thread();
        if (!recorder) [[unlikely]]
            recorder = std::make_shared<Recorder>();
        return recorder;
    }
};

namespace {

// Gradients of the outputs of each node, accumulated during one backward pass.
class ArrivedGradients {
public:
    ArrivedGradients(uint64_t first, uint64_t next) : first_(first), slots_(next - first) {}

    void add(uint64_t node, uint64_t output, const Tensor& grad) {
        Slot& slot = slots_[node - first_];
        if (output > 0 && slot.more.size() < output) slot.more.resize(output);
        Tensor& sum = output == 0 ? slot.first : slot.more[output - 1];
        sum = sum ? ops::add(sum, grad) : grad;
        slot.any = true;
    }
    bool any(uint64_t node) const { return slots_[node - first_].any; }
    // The gradient of a node's first output so far; may be null.
    const Tensor& first(uint64_t node) const { return slots_[node - first_].first; }
    // Moves the gradients of a node's outputs to `grads`.
    void take(uint64_t node, std::span<Tensor> grads) {
        Slot& slot = slots_[node - first_];
        grads[0] = std::move(slot.first);
        for (size_t i = 1; i < grads.size() && i <= slot.more.size(); ++i)
            grads[i] = std::move(slot.more[i - 1]);
        slot.more.clear();
    }

private:
    struct Slot {
        Tensor first;
        std::vector<Tensor> more;
        bool any = false;
    };
    uint64_t first_;
    std::vector<Slot> slots_;
};

// One backward pass of the tape with bit `bit`.
class BackwardPass {
public:
    BackwardPass(Recorder& recorder, int bit, uint64_t first)
        : recorder_(recorder),
          bit_(bit),
          first_(std::max(first, recorder.nodes.first())),
          last_(recorder.nodes.next()),
          arrived_(first_, last_) {}

    void seed(const Tensor& y, const Tensor& dy) {
        if (!follows(y)) return;
        Tensor grad = dy ? dy : ops::full_like(y, {.value = 1});
        bool known = grad.shape().is_known() && y.shape().is_known();
        if (known && !(grad.shape() == y.shape()))
            throw_user("backward",
                       text("the gradient of a result of shape ", y.shape(), " has shape ", grad.shape()));
        arrived_.add(Recorder::node_of(y), Recorder::output_of(y), grad);
        note_unused(y);
    }

    // The last node of the pass that adds to the gradient of a leaf.
    struct LastAddition {
        uint64_t node;
        size_t leaf;
    };
    // The additions to the leaves on which ys depend, in the order of the pass.
    std::vector<LastAddition> last_additions(std::span<const Tensor> ys, std::span<const uint64_t> leaves) {
        std::vector<bool> is_reached(last_ - first_);
        std::vector<uint64_t> first_user(leaves.size(), last_);
        for (auto& y : ys)
            if (follows(y)) is_reached[Recorder::node_of(y) - first_] = true;
        for (uint64_t number = last_; number-- > first_;) {
            if (!is_reached[number - first_]) continue;
            is_reached[number - recorder_.nodes[number].continues - first_] = true;
            for (auto& input : recorder_.nodes[number].inputs()) {
                if (!follows(input)) continue;
                uint64_t source = Recorder::node_of(input);
                is_reached[source - first_] = true;
                auto leaf = std::ranges::lower_bound(leaves, source);
                if (leaf != leaves.end() && *leaf == source)
                    first_user[size_t(leaf - leaves.begin())] = number;
            }
        }
        std::vector<LastAddition> additions;
        for (size_t i = 0; i < leaves.size(); ++i)
            if (first_user[i] != last_) additions.push_back({first_user[i], i});
        std::ranges::stable_sort(additions, std::greater{}, &LastAddition::node);
        return additions;
    }

    // Returns the gradients of `leaves`, which are node numbers. `additions`: those after which on_ready is
    // called.
    Tensors run(std::span<const uint64_t> leaves, std::span<const LastAddition> additions,
                const Tape::OnReady& on_ready) {
        Tensors result(leaves.size());
        for (uint64_t number = last_; number-- > first_;) {
            TapeNode& node = recorder_.nodes[number];
            if (!(node.tapes & mask())) continue;
            bool is_used = unused_.empty() || !std::erase(unused_, number);
            if (is_used && !unused_.empty()) [[unlikely]]
                note_uses(node);
            if (arrived_.any(number)) {
                auto leaf = std::ranges::lower_bound(leaves, number);
                Tensor* leaf_grad = is_used && leaf != leaves.end() && *leaf == number
                                        ? &result[size_t(leaf - leaves.begin())]
                                        : nullptr;
                visit(number, node, leaf_grad);
            }
            drop(recorder_.nodes[number]);
            for (; !additions.empty() && additions[0].node == number; additions = additions.subspan(1))
                if (auto& grad = arrived_.first(leaves[additions[0].leaf])) on_ready(additions[0].leaf, grad);
        }
        return result;
    }

private:
    uint64_t mask() const { return uint64_t(1) << bit_; }
    bool follows(const Tensor& tensor) const { return recorder_.followers(tensor, mask()) != 0; }

    // Adds the attached value of y and the earlier handles of the same value to unused_.
    void note_unused(const Tensor& y) {
        for (const Tensor* value = &y; follows(*value);) {
            uint64_t number = Recorder::node_of(*value);
            TapeNode& node = recorder_.nodes[number];
            if (node.op || node.custom || node.continues) return;
            unused_.push_back(number);
            if (!node.input_count) return;
            value = &node.inputs()[0];
        }
    }

    void note_uses(TapeNode& node) {
        for (auto& input : node.inputs())
            if (follows(input)) std::erase(unused_, Recorder::node_of(input));
    }

    void drop(TapeNode& node) {
        node.tapes &= ~mask();
        if (!node.tapes) node.forget();
    }

    void visit(uint64_t number, TapeNode& node, Tensor* leaf_grad) {
        size_t inputs = node.input_count;
        Buffer grads(node.grad_count);
        arrived_.take(number, grads.span());
        if (leaf_grad) *leaf_grad = grads.span()[0];
        if (node.continues) return pass_on(number, node, grads.span());
        if (!node.op && !node.custom) {
            if (inputs) hand_on(node, 0, grads.span()[0]);
            return;
        }
        Tensors input_grads = apply_rule(node, grads.span());
        // The rule may have added nodes of older tapes, but nodes never move.
        for (size_t i = 0; i < inputs && i < input_grads.size(); ++i)
            if (input_grads[i]) hand_on(node, i, input_grads[i]);
    }

    void pass_on(uint64_t number, const TapeNode& node, std::span<const Tensor> grads) {
        for (size_t i = 0; i < grads.size(); ++i)
            if (grads[i])
                arrived_.add(number - node.continues, node.continues * outputs_of_node + i, grads[i]);
    }

    void hand_on(TapeNode& node, size_t input, const Tensor& grad) {
        const Tensor& target = node.inputs()[input];
        if (follows(target)) arrived_.add(Recorder::node_of(target), Recorder::output_of(target), grad);
    }

    Tensors apply_rule(TapeNode& node, std::span<const Tensor> grads) {
        auto inputs = node.inputs();
        std::array<bool, 16> few;
        std::unique_ptr<bool[]> many(inputs.size() > few.size() ? std::make_unique<bool[]>(inputs.size())
                                                                : nullptr);
        bool* needed = many ? many.get() : few.data();
        for (size_t i = 0; i < inputs.size(); ++i) needed[i] = follows(inputs[i]);
        if (node.custom) return node.custom->backward(grads, {needed, inputs.size()});
        static const NoParams none;
        const void* params = node.params ? node.params.get() : &none;
        const GradientArguments arguments{*node.op,       params, inputs,
                                          node.outputs(), grads,  {needed, inputs.size()}};
        if (auto fused = fused_gradients(arguments)) return std::move(*fused);
        return node.op->gradient(arguments);
    }

    // Holds the gradients of a node's outputs.
    class Buffer {
    public:
        explicit Buffer(size_t size) : size_(size), many_(size > few_.size() ? size : 0) {}
        std::span<Tensor> span() { return many_.empty() ? std::span(few_.data(), size_) : std::span(many_); }

    private:
        std::array<Tensor, 2> few_;
        size_t size_;
        std::vector<Tensor> many_;
    };

    Recorder& recorder_;
    int bit_;
    uint64_t first_, last_;
    ArrivedGradients arrived_;
    std::vector<uint64_t> unused_;  // attached values that are results and that no operator has used so far
};

// Restricts recording to tapes older than `age` for the life of the scope.
class OlderTapesOnly {
public:
    OlderTapesOnly(Recorder& recorder, uint64_t age) : recorder_(recorder), active_(recorder.active_bits) {
        uint64_t bits = active_;
        for (uint64_t rest = active_; rest; rest &= rest - 1) {
            int bit = std::countr_zero(rest);
            if (recorder.age[size_t(bit)] >= age) bits &= ~(uint64_t(1) << bit);
        }
        recorder.set_active(bits);
    }
    ~OlderTapesOnly() { recorder_.set_active(active_ & recorder_.used_bits); }
    OlderTapesOnly(const OlderTapesOnly&) = delete;
    OlderTapesOnly& operator=(const OlderTapesOnly&) = delete;

private:
    Recorder& recorder_;
    uint64_t active_;
};

}  // namespace

void keep_values_for_tapes(const Storage* storage) {
    if (auto& recorder = Recorder::of_thread()) recorder->keep_values(storage);
}

Tape::Tape() : recorder_(Recorder::here()) {
    bit_ = recorder_->take_bit();
    first_node_ = recorder_->nodes.next();
    age_ = ++recorder_->ages;
    recorder_->first_node[size_t(bit_)] = first_node_;
    recorder_->age[size_t(bit_)] = age_;
}

Tape::~Tape() { release(); }

void Tape::check_thread(const char* what) const {
    if (recorder_ != Recorder::here())
        throw_user("Tape", text(what, " was called on another thread than the one that made the tape"));
    if (bit_ < 0) throw_user("Tape", text(what, " was called after release"));
}

Tensor Tape::attach(const Tensor& tensor) {
    check_thread("attach");
    uint64_t known = recorder_->followers(tensor, recorder_->used_bits);
    Tensor handle = fresh_handle(tensor);
    uint64_t number = recorder_->nodes.next();
    TapeNode& node = recorder_->push(known | uint64_t(1) << bit_);
    node.grad_count = 1;
    if (known) node.set_tensors({&tensor, 1}, {});
    recorder_->mark(handle, node.tapes, number, 0);
    leaves_.push_back(number);
    return handle;
}

void Tape::start() {
    check_thread("start");
    recorder_->set_active(recorder_->active_bits | uint64_t(1) << bit_);
}

void Tape::stop() {
    if (bit_ < 0) return;
    check_thread("stop");
    if (is_recording()) recorder_->set_active(recorder_->active_bits & ~(uint64_t(1) << bit_));
}

bool Tape::is_recording() const { return bit_ >= 0 && (recorder_->active_bits >> bit_ & 1); }

std::vector<size_t> Tape::arrival_order(std::span<const Tensor> ys) const {
    check_thread("arrival_order");
    std::vector<size_t> order;
    for (auto& addition : BackwardPass(*recorder_, bit_, first_node_).last_additions(ys, leaves_))
        order.push_back(addition.leaf);
    return order;
}

Tensors Tape::backward(std::span<const Tensor> ys, std::span<const Tensor> dys, const OnReady& on_ready) {
    check_thread("backward");
    if (!dys.empty() && dys.size() != ys.size())
        throw_user(
            "backward",
            text(counted(ys.size(), "result"), ", but ", counted(dys.size(), "gradient"), " of results"),
            ErrorClass::assertion);
    stop();
    Tensors grads;
    {
        OlderTapesOnly scope(*recorder_, age_);
        MixedPrecisionPaused as_recorded;  // gradients have the dtypes of their values
        BackwardPass pass(*recorder_, bit_, first_node_);
        for (size_t i = 0; i < ys.size(); ++i) pass.seed(ys[i], dys.empty() ? Tensor() : dys[i]);
        std::vector<BackwardPass::LastAddition> additions;
        if (on_ready) additions = pass.last_additions(ys, leaves_);
        grads = pass.run(leaves_, additions, on_ready);
    }
    release();
    return grads;
}

void Tape::release() {
    if (bit_ < 0) return;
    int bit = std::exchange(bit_, -1);
    leaves_.clear();
    if (recorder_ != Recorder::here()) {
        recorder_->abandoned_bits.fetch_or(uint64_t(1) << bit, std::memory_order_release);
        return;
    }
    if (recorder_->active_bits >> bit & 1)
        recorder_->set_active(recorder_->active_bits & ~(uint64_t(1) << bit));
    recorder_->forget(bit, first_node_);
}

RecordingPaused::RecordingPaused() : recorder_(Recorder::here()), active_(recorder_->active_bits) {
    if (active_) recorder_->set_active(0);
}
RecordingPaused::~RecordingPaused() {
    // Tapes may have started or ended meanwhile.
    if (active_) recorder_->set_active((active_ & recorder_->used_bits) | recorder_->active_bits);
}

bool is_recorded(const Tensor& tensor) {
    auto& recorder = *Recorder::here();
    return recorder.followers(tensor, recorder.active_bits) != 0;
}

Tensors record_custom(std::span<const Tensor> inputs, std::span<const Tensor> outputs,
                      std::shared_ptr<CustomGradient> gradient) {
    auto& recorder = *Recorder::here();
    Tensors handles(outputs.size());
    for (size_t i = 0; i < outputs.size(); ++i) handles[i] = fresh_handle(outputs[i]);
    uint64_t tapes = recorder.followers(inputs);
    if (!tapes) return handles;
    recorder.mark_results(handles, tapes);
    TapeNode& node = recorder.push_results(handles.size(), tapes);
    node.custom = std::move(gradient);
    node.set_tensors(inputs, {});
    return handles;
}

Interpreter* exchange_base_interpreter(Interpreter* base) {
    auto& recorder = *Recorder::here();
    Interpreter* before = std::exchange(recorder.base, base);
    if (!recorder.active_bits) exchange_interpreter(base);
    return before;
}

}  // namespace mge
