// SPDX-License-Identifier: Apache-2.0
#pragma once
// oneDNN divides its work by OpenMP: Debian's library calls six functions of libgomp. They are led to our
// teams by writing into that library's table of imported functions, and only there: other users of OpenMP in
// the process keep theirs. Calls of oneDNN that are not ours (another library may share it) go on to libgomp.

#include <atomic>

namespace mge {

// False, and nothing is changed, when oneDNN is not there as a shared library, or imports other functions of
// OpenMP than we have. Once per process.
bool lead_openmp_imports_to_teams();

// Of oneDNN's regions that are entered from this thread.
struct RegionRules {
    int threads = 0;           // of our team; 0: the regions are libgomp's
    bool never_waits = false;  // their shares do not wait for each other
    // Set when a share raises the flag of invalid operations (base/invalid_flag.h). Null: nobody looks.
    std::atomic<bool>* raised_invalid = nullptr;
};

// While it lives, one of the rules is another.
class RegionScope {
public:
    template <class T>
    RegionScope(T RegionRules::*rule, T value) : outer_(rules_) {
        rules_.*rule = value;
    }
    ~RegionScope() { rules_ = outer_; }
    RegionScope(const RegionScope&) = delete;
    RegionScope& operator=(const RegionScope&) = delete;

    static const RegionRules& here() { return rules_; }

private:
    [[gnu::tls_model("initial-exec")]] static constinit thread_local RegionRules rules_;
    RegionRules outer_;
};

}  // namespace mge
