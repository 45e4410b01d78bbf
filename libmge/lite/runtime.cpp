// SPDX-License-Identifier: Apache-2.0
#include "libmge/base/text.h"
#include "libmge/compat/megengine_options.h"
#include "libmge/lite/as_lite_error.h"
#include "libmge/lite/network_impl.h"
#include "libmge/model/stored_options.h"
#include "lite/network.h"

namespace lite {
namespace {

using Impl = Network::NetworkImplBase;

Impl& impl_of(const std::shared_ptr<Network>& network, const char* what) {
    if (!network) throw Error(mge::text(what, ": the network is null"));
    return NetworkHelper::impl(*network);
}

Impl& on_cpu(const std::shared_ptr<Network>& network, const char* what) {
    auto& impl = impl_of(network, what);
    if (!impl.is_on_cpu()) throw Error(mge::text(what, ": the network does not run on a CPU"));
    return impl;
}

}  // namespace

void Runtime::set_cpu_threads_number(std::shared_ptr<Network> dst_network, size_t nr_threads) {
    constexpr auto what = "set_cpu_threads_number";
    auto& impl = on_cpu(dst_network, what);
    impl.require_not_loaded(what);
    if (nr_threads <= 1) return;
    mge::CompileOptions options;
    options.threads = threads_option(nr_threads);
    as_lite_error([&] { mge::check(options); });
    impl.own_settings().configuration.threads = nr_threads;
}

size_t Runtime::get_cpu_threads_number(std::shared_ptr<Network> dst_network) {
    return on_cpu(dst_network, "get_cpu_threads_number").settings().threads();
}

void Runtime::set_runtime_thread_affinity(std::shared_ptr<Network> network,
                                          const ThreadAffinityCallback& thread_affinity_callback) {
    constexpr auto what = "set_runtime_thread_affinity";
    auto& impl = on_cpu(network, what);
    impl.require_loaded(what);
    if (!thread_affinity_callback) throw Error(mge::text(what, ": the callback is null"));
    impl.call_in_threads(thread_affinity_callback);
}

void Runtime::set_cpu_inplace_mode(std::shared_ptr<Network> dst_network) {
    constexpr auto what = "set_cpu_inplace_mode";
    auto& impl = on_cpu(dst_network, what);
    impl.require_not_loaded(what);
    impl.own_settings().configuration.is_in_place = true;
}

bool Runtime::is_cpu_inplace_mode(std::shared_ptr<Network> dst_network) {
    return on_cpu(dst_network, "is_cpu_inplace_mode").settings().configuration.is_in_place;
}

void Runtime::use_tensorrt(std::shared_ptr<Network> dst_network) {
    constexpr auto what = "use_tensorrt";
    impl_of(dst_network, what).require_not_loaded(what);
    mge::CompileOptions options{.naming = mge::compat::path_of};
    as_lite_error([&] { mge::compat::GraphOptimization{.tensorrt = true}.apply(options); });
}

void Runtime::set_network_algo_policy(std::shared_ptr<Network> dst_network, LiteAlgoSelectStrategy strategy,
                                      uint32_t shared_batch_size, bool binary_equal_between_batch) {
    auto& impl = impl_of(dst_network, "set_network_algo_policy");
    auto policy = impl.settings().policy;
    if (auto bits = static_cast<uint32_t>(strategy)) {
        check(bits);
        policy.strategy = bits;
    }
    policy.shared_batch_size = shared_batch_size;
    policy.binary_equal_between_batch = binary_equal_between_batch;
    as_lite_error([&] { impl.change_policy(policy); });
}

void Runtime::set_network_algo_workspace_limit(std::shared_ptr<Network> dst_network, size_t workspace_limit) {
    constexpr auto what = "set_network_algo_workspace_limit";
    auto& impl = impl_of(dst_network, what);
    impl.require_loaded(what);
    auto policy = impl.settings().policy;
    policy.workspace_limit = workspace_limit;
    as_lite_error([&] { impl.change_policy(policy); });
}

void Runtime::set_memory_allocator(std::shared_ptr<Network> dst_network,
                                   std::shared_ptr<Allocator> user_allocator) {
    impl_of(dst_network, "set_memory_allocator").set_allocator(std::move(user_allocator));
}

void Runtime::share_runtime_memory_with(std::shared_ptr<Network> dst_network,
                                        std::shared_ptr<Network> src_network) {
    constexpr auto what = "share_runtime_memory_with";
    impl_of(dst_network, what).share_memory(impl_of(src_network, what));
}

void Runtime::shared_weight_with_network(std::shared_ptr<Network> dst_network,
                                         const std::shared_ptr<Network> src_network) {
    constexpr auto what = "shared_weight_with_network";
    as_lite_error([&] { impl_of(dst_network, what).share_weights(impl_of(src_network, what)); });
}

void Runtime::enable_io_txt_dump(std::shared_ptr<Network> dst_network, std::string io_txt_out_file) {
    as_lite_error([&] { impl_of(dst_network, "enable_io_txt_dump").dump_text(io_txt_out_file); });
}

void Runtime::enable_io_bin_dump(std::shared_ptr<Network> dst_network, std::string io_bin_out_dir) {
    as_lite_error([&] { impl_of(dst_network, "enable_io_bin_dump").dump_binary(io_bin_out_dir); });
}

void Runtime::enable_global_layout_transform(std::shared_ptr<Network> network) {
    constexpr auto what = "enable_global_layout_transform";
    auto& impl = impl_of(network, what);
    impl.require_not_loaded(what);
    impl.own_settings().measures_layouts = true;
}

void Runtime::dump_layout_transform_model(std::shared_ptr<Network> network,
                                          std::string optimized_model_path) {
    constexpr auto what = "dump_layout_transform_model";
    auto& impl = impl_of(network, what);
    impl.require_loaded(what);
    if (!impl.settings().measures_layouts)
        throw Error(mge::text(what, ": call enable_global_layout_transform() before loading"));
    as_lite_error([&] {
        mge::Model model = impl.model()->model();
        mge::store_options(model, impl.compile_options(), impl.program());
        mge::write_model(optimized_model_path, model);
    });
}

}  // namespace lite
