// SPDX-License-Identifier: Apache-2.0
#pragma once
// The times of a profile for the operators of a graph.

#include <string>
#include <vector>

#include "apps/profile/findings.h"
#include "libmge/graph/graph.h"

namespace mge::dump {

// One step of the profile: an operator, or several that the compiler fused.
struct TimedStep {
    int step = -1;              // index into the profile's steps
    std::vector<NodeId> nodes;  // operators of the graph; the first one has most of the work. Empty: none
    double seconds = 0, share = 0;
    profile::StepLimit limit;
};

struct GraphTimes {
    std::string file;  // name of the profile
    Profile profile;
    profile::ShareBase base;  // shares are fractions of it
    std::vector<TimedStep> steps;
    std::vector<profile::Finding> findings;
    std::vector<int> step_of;     // by operator: index into `steps`, or -1
    std::vector<double> seconds;  // by operator: of the steps that it is the first one of
};

// Reads a profile and assigns its steps. The graph must have origins. Throws UserError if the profile is one
// of another model.
GraphTimes read_times(const std::string& path, const Graph& graph);

}  // namespace mge::dump
