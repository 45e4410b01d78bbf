// SPDX-License-Identifier: Apache-2.0
#pragma once
// oneDNN divides its work by OpenMP: the libraries of Debian and Ubuntu call six functions of libgomp. They
// are redirected to our teams by writing into that library's import table, and only there: other users of
// OpenMP in the process are not affected. Calls of oneDNN that are not ours (another library may share it)
// are forwarded to libgomp.

#include <atomic>

namespace mge {

// Returns false, without an effect, if oneDNN is not loaded as a shared library, or imports other OpenMP
// functions. Called once per process.
bool lead_openmp_imports_to_teams();

// Settings for oneDNN's parallel regions entered from this thread.
struct RegionRules {
    int threads = 0;           // threads of our team; 0: the regions are libgomp's
    bool never_waits = false;  // their shares do not wait for each other
    // Set when a share raises the flag of invalid operations (base/invalid_flag.h). Null: not needed.
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
