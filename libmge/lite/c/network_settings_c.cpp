// SPDX-License-Identifier: Apache-2.0
// Settings of how networks run and of files to write.
#include <limits>

#include "libmge/base/text.h"
#include "libmge/lite/c/call.h"

using namespace lite;
using namespace lite::c;

namespace {

class AllocatorOfC final : public Allocator {
public:
    AllocatorOfC(LiteAllocate allocate, LiteFree free) : allocate_(allocate), free_(free) {}
    void* allocate(LiteDeviceType device_type, int device_id, size_t size, size_t align) override {
        return allocate_(device_type, device_id, size, align);
    }
    void free(LiteDeviceType device_type, int device_id, void* ptr) override {
        free_(device_type, device_id, ptr);
    }

private:
    LiteAllocate allocate_;
    LiteFree free_;
};

int share_runtime_memory(const char* function, LiteNetwork dst_network, LiteNetwork src_network) {
    return run(function, [&](const Call& call) {
        auto &target = call.network(dst_network, "dst_network"),
             &source = call.network(src_network, "src_network");
        Runtime::share_runtime_memory_with(target.network, source.network);
    });
}

}  // namespace

int LITE_set_device_id(LiteNetwork network, int device_id) {
    return run(__func__, [&](const Call& call) { call.network(network).network->set_device_id(device_id); });
}

int LITE_get_device_id(const LiteNetwork network, int* device_id) {
    return network_fact(__func__, network, device_id, "device_id",
                        [](auto& from) { return from.network->get_device_id(); });
}

int LITE_set_stream_id(LiteNetwork network, int stream_id) {
    return run(__func__, [&](const Call& call) { call.network(network).network->set_stream_id(stream_id); });
}

int LITE_get_stream_id(const LiteNetwork network, int* stream_id) {
    return network_fact(__func__, network, stream_id, "stream_id",
                        [](auto& from) { return from.network->get_stream_id(); });
}

int LITE_get_device_type(const LiteNetwork network, LiteDeviceType* device_type) {
    return network_fact(__func__, network, device_type, "device_type",
                        [](auto& from) { return from.network->get_device_type(); });
}

int LITE_get_model_extra_info(const LiteNetwork network, const char** info, int* info_size) {
    return run(__func__, [&](const Call& call) {
        auto& source = call.network(network);
        auto& result = call.given(info, "info");
        const std::string& extra = source.network->get_model_extra_info();
        constexpr size_t most = std::numeric_limits<int>::max();
        if (extra.size() > most)
            throw Error(mge::text("the extra info has ", extra.size(), " bytes; C can be told of ", most));
        result = source.texts.keep(extra);
        if (info_size) *info_size = static_cast<int>(extra.size());
    });
}

int LITE_set_cpu_inplace_mode(LiteNetwork network) {
    return run(__func__,
               [&](const Call& call) { Runtime::set_cpu_inplace_mode(call.network(network).network); });
}

int LITE_is_cpu_inplace_mode(const LiteNetwork network, int* is_cpu_inplace_mode) {
    return network_fact(__func__, network, is_cpu_inplace_mode, "is_cpu_inplace_mode",
                        [](auto& from) { return Runtime::is_cpu_inplace_mode(from.network); });
}

int LITE_set_cpu_threads_number(LiteNetwork network, size_t nr_threads) {
    return run(__func__, [&](const Call& call) {
        Runtime::set_cpu_threads_number(call.network(network).network, nr_threads);
    });
}

int LITE_get_cpu_threads_number(const LiteNetwork network, size_t* nr_threads) {
    return network_fact(__func__, network, nr_threads, "nr_threads",
                        [](auto& from) { return Runtime::get_cpu_threads_number(from.network); });
}

int LITE_use_tensorrt(LiteNetwork network) {
    return run(__func__, [&](const Call& call) { Runtime::use_tensorrt(call.network(network).network); });
}

int LITE_set_network_algo_policy(LiteNetwork network, LiteAlgoSelectStrategy strategy) {
    return run(__func__, [&](const Call& call) {
        auto& target = call.network(network);
        if (strategy == 0)
            throw Error(
                "LITE_set_network_algo_policy: the strategy is 0; it has LITE_ALGO_HEURISTIC or "
                "LITE_ALGO_PROFILE");
        Runtime::set_network_algo_policy(target.network, strategy);
    });
}

int LITE_set_network_algo_fastrun_config(LiteNetwork network, unsigned int shared_batch_size,
                                         int binary_equal_between_batch) {
    return run(__func__, [&](const Call& call) {
        // Without a strategy, the previous one is kept.
        Runtime::set_network_algo_policy(call.network(network).network,
                                         static_cast<LiteAlgoSelectStrategy>(0), shared_batch_size,
                                         binary_equal_between_batch != 0);
    });
}

int LITE_set_network_algo_workspace_limit(LiteNetwork network, size_t workspace_limit) {
    return run(__func__, [&](const Call& call) {
        Runtime::set_network_algo_workspace_limit(call.network(network).network, workspace_limit);
    });
}

int LITE_set_memory_allocator(LiteNetwork network, const LiteAllocate allocate_fun, const LiteFree free_fun) {
    return run(__func__, [&](const Call& call) {
        auto& target = call.network(network);
        call.pointer(allocate_fun, "allocate_fun");
        call.pointer(free_fun, "free_fun");
        Runtime::set_memory_allocator(target.network, std::make_shared<AllocatorOfC>(allocate_fun, free_fun));
    });
}

int LITE_share_runtime_memroy(LiteNetwork dst_network, LiteNetwork src_network) {
    return share_runtime_memory(__func__, dst_network, src_network);
}

int LITE_share_runtime_memory(LiteNetwork dst_network, LiteNetwork src_network) {
    return share_runtime_memory(__func__, dst_network, src_network);
}

int LITE_extra_configure(const LiteNetwork network, LiteExtraConfig extra_config) {
    return run(__func__, [&](const Call& call) {
        bool is_off = extra_config.disable_configure_by_model_info != 0;
        call.network(network).network->extra_configure({.disable_configure_by_model_info = is_off});
    });
}

int LITE_enable_profile_performance(const LiteNetwork network, const char* profile_file_path) {
    return run(__func__, [&](const Call& call) {
        auto& target = call.network(network);
        target.network->enable_profile_performance(call.pointer(profile_file_path, "profile_file_path"));
    });
}

int LITE_enable_io_txt_dump(LiteNetwork network, const char* io_txt_out_file) {
    return run(__func__, [&](const Call& call) {
        auto& target = call.network(network);
        Runtime::enable_io_txt_dump(target.network, call.pointer(io_txt_out_file, "io_txt_out_file"));
    });
}

int LITE_enable_io_bin_dump(LiteNetwork network, const char* io_bin_out_dir) {
    return run(__func__, [&](const Call& call) {
        auto& target = call.network(network);
        Runtime::enable_io_bin_dump(target.network, call.pointer(io_bin_out_dir, "io_bin_out_dir"));
    });
}

int LITE_get_static_memory_alloc_info(LiteNetwork network, const char* log_dir) {
    return run(__func__, [&](const Call& call) {
        auto& source = call.network(network);
        source.network->get_static_memory_alloc_info(call.pointer(log_dir, "log_dir"));
    });
}

int LITE_enable_global_layout_transform(LiteNetwork network) {
    return run(__func__, [&](const Call& call) {
        Runtime::enable_global_layout_transform(call.network(network).network);
    });
}

int LITE_dump_layout_transform_model(LiteNetwork network, const char* dump_file_path) {
    return run(__func__, [&](const Call& call) {
        auto& source = call.network(network);
        Runtime::dump_layout_transform_model(source.network, call.pointer(dump_file_path, "dump_file_path"));
    });
}
