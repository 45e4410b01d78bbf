// SPDX-License-Identifier: Apache-2.0
#include "libmge/model/tensor_checks.h"

#include <atomic>
#include <map>

#include "libmge/base/hash.h"
#include "libmge/base/threads/each_claimed.h"
#include "libmge/base/threads/threads.h"
#include "libmge/model/packed_constants.h"

namespace mge {
namespace {

void lower_to(std::atomic<size_t>& least, size_t value) {
    size_t now = least.load();
    while (value < now && !least.compare_exchange_weak(now, value)) {
    }
}

[[noreturn]] void fail_damaged(const CheckedFile& file, size_t index, const TensorSpec& spec) {
    file.fail("tensor ", index, " (", spec, ") is damaged (checksum)");
}

}  // namespace

// Weights that a single node reads: a pass that uses the bytes leaves no node that reads the constant, and
// constant folding verifies it.
void TensorChecks::leave_packed_weights() {
    // Inner graphs of operators compile separately.
    if (file_.list(table_.graphs()).size() || !is_packed_here(file_.string(table_.packed_for()))) return;
    auto set = [&](int index, bool is_late) {
        if (index >= 0 && size_t(index) < tensors_.size()) is_late_[size_t(index)] = is_late;
    };
    for (auto* entry : file_.list(table_.packed())) set(entry->constant(), true);
    for (auto* entry : file_.list(table_.packed())) set(entry->copy(), false);
    for (auto* test : file_.list(table_.test_cases())) {
        for (int id : file_.list(test->inputs())) set(id, false);
        for (int id : file_.list(test->outputs())) set(id, false);
    }
    std::vector<int> readers = readers_of_tensors();
    constexpr size_t worth_waiting = 4096;
    for (size_t i = 0; i < tensors_.size(); ++i)
        if (readers[i] != 1 || tensors_[i].dtype() == DType::boolean ||
            tensors_[i].spec().bytes() <= worth_waiting)
            is_late_[i] = false;
}

// As operands of nodes.
std::vector<int> TensorChecks::readers_of_tensors() const {
    std::vector<int> readers(tensors_.size());
    auto values = file_.list(table_.values());
    for (auto* node : file_.list(table_.nodes()))
        for (int id : file_.list(node->inputs())) {
            if (id < 0 || size_t(id) >= values.size()) continue;
            int index = values.vector->Get(flatbuffers::uoffset_t(id))->tensor();
            if (index >= 0 && size_t(index) < readers.size()) ++readers[size_t(index)];
        }
    return readers;
}

void TensorChecks::verify() const {
    size_t bytes = 0;
    for (size_t i = 0; i < tensors_.size(); ++i) bytes += is_late_[i] ? 0 : tensors_[i].spec().bytes();
    std::atomic<size_t> first_damaged = tensors_.size();
    for_each_claimed(is_worth_reading_together(bytes) ? default_threads() : 1, tensors_.size(),
                     [&](size_t i) {
                         if (!is_late_[i] && !is_intact(i)) lower_to(first_damaged, i);
                     });
    if (size_t i = first_damaged; i < tensors_.size()) fail_damaged(file_, i, tensors_[i].spec());
}

std::shared_ptr<const VerifyConstant> TensorChecks::late_verification() const {
    struct Stored {
        size_t index;
        TensorSpec spec;
        uint64_t checksum;
    };
    std::map<const void*, Stored> late;
    for (size_t i = 0; i < tensors_.size(); ++i)
        if (is_late_[i])
            late.emplace(tensors_[i].address(), Stored{i, tensors_[i].spec(), stored_checksum(i)});
    if (late.empty()) return nullptr;
    return std::make_shared<const VerifyConstant>(
        [late = std::move(late), label = file_.label()](const void* constant) {
            auto it = late.find(constant);
            if (it == late.end()) return;
            auto& [index, spec, stored] = it->second;
            if (checksum(constant, spec.bytes()) != stored) fail_damaged(CheckedFile(label, 0), index, spec);
        });
}

uint64_t TensorChecks::stored_checksum(size_t index) const {
    return table_.tensors()->Get(flatbuffers::uoffset_t(index))->checksum();
}

bool TensorChecks::is_intact(size_t index) const {
    return checksum(tensors_[index].data(), tensors_[index].spec().bytes()) == stored_checksum(index);
}

}  // namespace mge
