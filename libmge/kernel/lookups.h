// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <functional>
#include <limits>
#include <map>
#include <memory>
#include <optional>
#include <unordered_map>
#include <utility>
#include <vector>

#include "libmge/kernel/neighbourhood.h"
#include "libmge/kernel/problem_words.h"
#include "libmge/kernel/select.h"

namespace mge {

class Witness;

// Results of one compilation about its problems, which are often equal: their candidates, and their times,
// from the cache or measured. So each is listed, looked up and measured once, and it is recorded which times
// this compilation measured and which it found.
class MGE_API Lookups {
public:
    struct Times {
        std::vector<Measurement> measured;  // fastest first
        ChoiceSource source = ChoiceSource::cache;
    };

    Lookups();
    // For tests: the reported disturbances, and the time of day in seconds since 1970.
    Lookups(std::unique_ptr<Witness> witness, std::function<int64_t()> now);
    ~Lookups();

    // Information that was not requested yet is absent.
    struct Known {
        std::optional<std::vector<NamedCandidate>> candidates;
        std::optional<Times> times;
        bool has_sought_newcomers = false;  // candidates that came after the times
        const std::vector<NamedCandidate>& listed(KernelList list, const Problem& problem);
    };
    Known& of(const Problem& problem) { return known_[problem_words(problem)]; }
    // The known bytes that all steps of the program read and write in a run; large by default.
    void set_program_bytes(int64_t bytes) { program_bytes_ = bytes; }
    // The bytes between two runs of the problem's step.
    Neighbourhood neighbourhood(const Problem& problem) const;
    // Called once, before the first measurement.
    void before_measuring(std::function<void()> call) { before_measuring_ = std::move(call); }
    void begin_measuring() {
        if (auto call = std::exchange(before_measuring_, nullptr)) call();
    }
    // Keeps times that this compilation measured.
    const Times& keep_measured(Known& known, std::vector<Measurement> measured);

    // Whether times that were doubted may be measured again: it is a while ago, the longer the more often,
    // and the machine is quiet now.
    bool may_measure_again(const std::vector<Measurement>& doubted, int threads);
    Witness& witness(int threads);
    int64_t now() const { return now_(); }
    // Number of measured problems.
    size_t measured() const { return measured_; }

private:
    // Equal problems of one program may be on several devices, each with its own kernels.
    std::unordered_map<ProblemWords, Known, HashWords> known_;
    std::unique_ptr<Witness> given_;
    std::map<int, std::unique_ptr<Witness>> witnesses_;  // by threads
    std::map<int, bool> is_quiet_;
    std::function<int64_t()> now_;
    size_t measured_ = 0;
    int64_t program_bytes_ = std::numeric_limits<int64_t>::max();
    std::function<void()> before_measuring_;
};

// The neighbourhood of a choice; a large one outside of a compilation, and if batches share times.
Neighbourhood neighbourhood_of(const Problem& problem, const SelectOptions& options);

// Whether a trusted time is known for an algorithm other than the reference that the options accept: then
// there is one, without listing candidates. An untrusted cache may be wrong.
MGE_API bool is_known_to_work(const Problem& problem, const SelectOptions& options);

// The contenders for a choice, those whose times are near the fastest, include one that is not trusted.
MGE_API bool is_doubtful(const std::vector<Measurement>& measured);

}  // namespace mge
