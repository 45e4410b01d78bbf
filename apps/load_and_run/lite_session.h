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
// the file, and the others share its weights.
class LiteSession {
public:
    // `flags`: compile options, unless the model has stored ones. UserError for options that Lite's interface
    // lacks.
    LiteSession(const Options& options, const CompileOptions& flags);

    // A new network for these inputs, which have `names`; its program.
    std::shared_ptr<const Program> compile(const TensorSpecs& inputs, const std::vector<std::string>& names);
    // A context that runs the network. Each further context has a separate network.
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
