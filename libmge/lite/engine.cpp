// SPDX-License-Identifier: Apache-2.0
#include "libmge/lite/engine.h"

#include "libmge/lite/network_impl.h"

namespace lite {

void compile_with(Network& network, const mge::CompileOptions& options) {
    auto& impl = NetworkHelper::impl(network);
    impl.require_not_loaded("compile_with");
    impl.own_settings().compile_options = options;
}

mge::Context& context_of(Network& network) { return NetworkHelper::impl(network).context(); }

std::shared_ptr<const mge::Program> program_of(Network& network) {
    return NetworkHelper::impl(network).shared_program();
}

}  // namespace lite
