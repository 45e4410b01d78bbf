// SPDX-License-Identifier: Apache-2.0
#pragma once
// oneDNN divides its work by OpenMP: Debian's library calls six functions of libgomp. They are led to our
// teams by writing into that library's table of imported functions, and only there: other users of OpenMP in
// the process keep theirs. Calls of oneDNN that are not ours (another library may share it) go on to libgomp.

namespace mge {

// False, and nothing is changed, when oneDNN is not there as a shared library, or imports other functions of
// OpenMP than we have. Once per process.
bool lead_openmp_imports_to_teams();

// While it lives, oneDNN's regions entered from this thread are our team's, of so many threads.
class RegionThreads {
public:
    explicit RegionThreads(int threads) : outer_(threads_) { threads_ = threads; }
    ~RegionThreads() { threads_ = outer_; }
    RegionThreads(const RegionThreads&) = delete;
    RegionThreads& operator=(const RegionThreads&) = delete;

    static int here() { return threads_; }  // 0 outside

private:
    [[gnu::tls_model("initial-exec")]] static constinit thread_local int threads_;
    int outer_;
};

// While it lives, it says whether shares of regions entered from this thread never wait for each other.
class IndependentShares {
public:
    explicit IndependentShares(bool independent) : outer_(independent_) { independent_ = independent; }
    ~IndependentShares() { independent_ = outer_; }
    IndependentShares(const IndependentShares&) = delete;
    IndependentShares& operator=(const IndependentShares&) = delete;

    static bool here() { return independent_; }

private:
    [[gnu::tls_model("initial-exec")]] static constinit thread_local bool independent_;
    bool outer_;
};

}  // namespace mge
