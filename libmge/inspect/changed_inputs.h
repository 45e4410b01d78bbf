// SPDX-License-Identifier: Apache-2.0
#pragma once
// Finds eager operators that change their read-only inputs. A checksum of each input on the host is computed
// before and after an operator; inputs whose memory the operator reuses for its results are excluded.

#include <mutex>
#include <string>
#include <vector>

#include "libmge/eager/operator_observer.h"

namespace mge {

// For all threads; one search at a time, and a second start resets it. Cannot be combined with an operator
// recorder.
class MGE_API ChangedInputs final : public OperatorObserver {
public:
    void start();
    // A line for each input that was found: "input 1 of add has changed".
    std::vector<std::string> stop();
    std::vector<uint64_t> before(std::span<const Tensor> inputs, std::span<const Tensor> outputs) override;
    void ran(const OperatorRun& run) override;

private:
    std::mutex mutex_;
    std::vector<std::string> found_;
};

// The only one.
MGE_API ChangedInputs& changed_inputs();

}  // namespace mge
