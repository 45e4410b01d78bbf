// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <memory>

#include "apps/load_and_run/options/options.h"
#include "libmge/compile/program.h"

namespace lite {
class Network;
}

namespace mge::load_and_run {

// With --lite: networks of MegEngine Lite's interface load, compile and run the model. The first one loads
// the file, the others share its weights.
class LiteSession {
public:
    // `flags`: how programs are compiled, unless the model says it. UserError for what that interface has no
    // call for.
    LiteSession(const Options& options, const CompileOptions& flags);

    // A new network for these inputs, which have `names`; its program.
    std::shared_ptr<const Program> compile(const TensorSpecs& inputs, const std::vector<std::string>& names);
    // Its runs, as those of a context. A further one is of a network of its own.
    std::unique_ptr<Context> make_context();

private:
    std::shared_ptr<lite::Network> load() const;

    const Options& options_;
    CompileOptions flags_;
    TensorSpecs inputs_;
    std::vector<std::string> names_;
    std::shared_ptr<lite::Network> first_, compiled_;
};

}  // namespace mge::load_and_run
