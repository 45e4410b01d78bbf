// SPDX-License-Identifier: Apache-2.0
#pragma once
// A family that offers each algorithm of another one, called "apart:<name>", with the activation as a pass of
// our own over the result. A library computes functions of exponentials vector by vector between stores, at
// several times the cost of our loops, which is more than reading the result again from the cache.

#include "libmge/kernel/activation.h"
#include "libmge/kernel/algorithm.h"

namespace mge::cpu {

Support supports_separate(const Problem& problem, Activation activation);
std::string separate_name(const std::string& name);
std::string name_inside(const std::string& name);
// `inner` computes all but the activation and was prepared for that.
Prepared prepare_separate(const Problem& problem, const Algorithm& inner, Prepared prepared,
                          Activation activation);
void run_separate(const Prepared& prepared, const Launch& launch);

// The problem without its activation. Owns the data to which that points.
template <class Params>
struct WithoutActivation {
    explicit WithoutActivation(const Problem& p) : params(p.as<Params>()), problem(p) {
        params.activation = Activation::none;
        problem.params = &params;
    }
    WithoutActivation(const WithoutActivation&) = delete;
    WithoutActivation& operator=(const WithoutActivation&) = delete;

    Params params;
    Problem problem;
};

// `inner`: a family of kernels(Cpu, Op).
template <class Op, Algorithm (*inner)()>
Algorithm separate_activation() {
    using Params = typename Op::Params;
    return {"apart",
            +[](const Problem& p) {
                Support support = supports_separate(p, p.as<Params>().activation);
                return support ? inner().supports(WithoutActivation<Params>(p).problem) : support;
            },
            +[](const PrepareContext& c) {
                WithoutActivation<Params> without(c.problem);
                Candidate candidate{name_inside(c.candidate.name), c.candidate.id, c.candidate.attributes};
                return prepare_separate(c.problem, inner(),
                                        inner().prepare({without.problem, candidate, c.constants, c.select}),
                                        c.problem.as<Params>().activation);
            },
            run_separate,
            {},
            +[](const Problem& p) {
                auto list = inner().candidates(WithoutActivation<Params>(p).problem);
                for (auto& candidate : list) candidate.name = separate_name(candidate.name);
                return list;
            }};
}

}  // namespace mge::cpu
