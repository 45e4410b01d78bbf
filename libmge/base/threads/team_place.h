// SPDX-License-Identifier: Apache-2.0
#pragma once
#include "libmge/base/threads/thread_team.h"

namespace mge {

class OwnTeam;

// While it lives, this thread is in a share of a team.
class PlaceInTeam {
public:
    PlaceInTeam(OwnTeam* team, int share, int shares) : outer_(here_) {
        here_ = {{share, shares}, team, true};
    }
    ~PlaceInTeam() { here_ = outer_; }
    PlaceInTeam(const PlaceInTeam&) = delete;
    PlaceInTeam& operator=(const PlaceInTeam&) = delete;

    static Place place() { return here_.place; }
    static OwnTeam* team() { return here_.team; }  // null outside, and in OpenMP's
    static bool is_inside() { return here_.is_inside; }

private:
    struct Here {
        Place place;
        OwnTeam* team = nullptr;
        bool is_inside = false;
    };
    [[gnu::tls_model("initial-exec")]] static constinit thread_local Here here_;

    Here outer_;
};

}  // namespace mge
