// SPDX-License-Identifier: Apache-2.0
#pragma once
// The members of one team and how they share work; see thread_team.h for its purpose.
//
// A region is one round of work: its number and its number of shares are in one word, so that both are read
// together. A share is claimed by storing the region's number in it, which only succeeds over an older one: a
// late member finds all shares of its region claimed. The caller waits only for shares, not for members.
//
// Next to busy neighbours (TeamWidth) two threads remain, and take care. While the caller has its own CPU,
// the other thread shares one: it starts no share that may last beyond the system's next tick, where it could
// lose its CPU in the middle of the share; instead it sleeps, which leaves the CPU to the neighbour. If the
// caller shares a CPU, too, both take shares as usual: the system takes and returns both CPUs at the same
// ticks.

#include <atomic>
#include <memory>
#include <thread>
#include <vector>

#include "libmge/base/threads/idle_cpus.h"
#include "libmge/base/threads/run_delay.h"
#include "libmge/base/threads/spin.h"
#include "libmge/base/threads/system_tick.h"
#include "libmge/base/threads/team_width.h"
#include "libmge/base/threads/thread_team.h"

namespace mge {

class OwnTeam {
public:
    // The caller and threads - 1 more; MemoryError when the system refuses one.
    explicit OwnTeam(int threads);
    ~OwnTeam();
    OwnTeam(const OwnTeam&) = delete;
    OwnTeam& operator=(const OwnTeam&) = delete;

    int threads() const { return int(members_.size()); }
    // Called by the thread that made the team, outside of any region.
    void run(int shares, Share fn, void* argument, Waiting waiting = Waiting::never);
    // Called in a share of this team.
    void meet(int shares);

    // For tests: fixes the number of members that take part.
    void keep_width(int width) { kept_width_ = width; }
    // For tests: assumes that no share ends before the next tick.
    void keep_members_idle();

private:
    using Region = uint64_t;  // number, then shares in the lowest bits
    static constexpr int bits_for_shares = 16;
    static int shares_of(Region region) { return int(region & ((1 << bits_for_shares) - 1)); }

    // On its own cache line.
    struct alignas(64) Member {
        std::atomic<Region> claimed{0};     // the last region whose share with this index was claimed
        std::atomic<uint32_t> wake_ups{0};  // futex on which it sleeps
        std::atomic<bool> is_asleep{false};
        std::atomic<pid_t> thread_id{0};
        std::thread thread;  // the caller has no thread here
    };

    // The last regions that a member took part in, and stood aside in.
    struct Seen {
        Region done = 0, aside = 0;
    };

    void work(int member);
    bool has_work(int member, const Seen& seen) const;
    bool should_stay_idle() const;
    void await_work(int member, const Seen& seen);
    void sleep_until_work(int member, const Seen& seen);
    bool has_callers_cpu() const;
    bool leave_callers_cpu();
    bool has_taken_often(Ticks now);
    void take_shares(Region region, int first);
    bool claim(Region region, int share);
    void name_threads();
    int choose_width(Ticks now);
    void take_care(Ticks now);
    void stop_taking_care();
    void note_share(Ticks length);
    void lose_cpu();
    void do_share(Region region, int share);
    void wake_member(int member);
    void await_shares(Ticks own_share);
    bool is_absent(Region region, Ticks begin) const;
    void finish();

    const Ticks microsecond_ = ticks_per_microsecond();
    const Ticks tick_period_ = system_tick_period();
    std::vector<std::unique_ptr<Member>> members_;
    TeamWidth width_policy_;
    IdleCpus idle_cpus_;
    RunDelay run_delay_;
    int kept_width_ = 0;
    Ticks taken_since_ = 0;
    int times_taken_ = 0;
    bool takes_care_ = false;
    Ticks looked_ = 0;  // time of the last check for threads that wait for a CPU
    // Sums over the caller's recent shares. Their quotient is the expected length of the share at a random
    // moment.
    double square_lengths_ = 0, lengths_ = 0;

    // Written by the caller before it publishes a region.
    alignas(64) Share fn_ = nullptr;
    void* argument_ = nullptr;
    alignas(64) std::atomic<Region> region_{0};
    std::atomic<int> width_{1};
    std::atomic<int> callers_cpu_{-1};  // on which the last region began
    std::atomic<Region> needs_all_{0};  // the region whose shares meet: each needs its own thread
    std::atomic<bool> is_ending_{false};
    std::atomic<bool> minds_ticks_{false};  // members do
    std::atomic<Ticks> share_length_{0};    // by which they judge
    std::atomic<bool> keeps_idle_{false};
    // Written by all in it.
    alignas(64) std::atomic<uint32_t> pending_{0};  // shares not done
    std::atomic<bool> is_caller_asleep_{false};
    std::atomic<bool> has_lost_cpu_{false};
    std::atomic<bool> has_taken_cpu_{false};  // a member, the caller's
    alignas(64) std::atomic<uint32_t> arrived_{0};
    std::atomic<uint32_t> meetings_{0};
    std::atomic<int> asleep_in_meeting_{0};
};

}  // namespace mge
