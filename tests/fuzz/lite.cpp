// SPDX-License-Identifier: Apache-2.0
// Models of every kind through the C interface of Lite, as programs in other languages load them: what is
// wrong with one is -1 and a message.
#include <memory>
#include <optional>

#include "libmge/base/hash.h"
#include "libmge/model/open.h"
#include "libmge/model/pack.h"
#include "lite-c/global_c.h"
#include "tests/fuzz/files.h"
#include "tests/fuzz/models.h"
#include "tests/fuzz/mutate_bytes.h"

namespace mge::fuzz {
namespace {

struct DestroysNetwork {
    void operator()(void* network) const { LITE_destroy_network(network); }
};
using Network = std::unique_ptr<void, DestroysNetwork>;

void expect(int code) {
    if (code == 0) return;
    std::string message = LITE_get_last_error();
    if (message.size() <= std::string_view("Error: ").size())
        throw InternalError("an error without a message");
    if (message.find("internal error at ") != std::string::npos) throw InternalError(message);
    throw ModelError(message);
}

// Whether loading and running it is fast. True if that is unknown because it is damaged.
bool is_quick(Bytes input) try {
    auto owner = std::make_shared<std::string>(text_of(input));
    return is_small(open_model({bytes_of(*owner), owner, "input"}).graph);
} catch (const Error&) {
    return true;
}

LiteConfig config_for(uint64_t choice) {
    LiteConfig config = *default_config();
    config.options.graph_opt_level = int(choice % 4);
    config.options.const_shape = choice / 4 % 2;
    config.options.force_output_dynamic_alloc = choice / 8 % 2;
    config.options.comp_node_seq_record_level = choice / 16 % 4 == 0;
    config.auto_optimize_inference = choice / 64 % 4 == 0;
    config.has_compression = choice / 256 % 4 == 0;
    return config;
}

Network load(std::string& model, uint64_t choice) {
    void* handle = nullptr;
    expect(LITE_make_network_config(&handle, config_for(choice)));
    Network network(handle);
    if (choice % 3 == 0) expect(LITE_set_cpu_inplace_mode(handle));
    expect(LITE_load_model_from_mem(handle, model.data(), model.size()));
    return network;
}

void clear_inputs(void* network) {
    size_t count = 0;
    expect(LITE_get_all_input_name(network, &count, nullptr));
    std::vector<const char*> names(count);
    expect(LITE_get_all_input_name(network, nullptr, names.data()));
    for (auto* name : names) {
        LiteTensor tensor = nullptr;
        expect(LITE_get_io_tensor(network, name, LITE_INPUT, &tensor));
        expect(LITE_tensor_fill_zero(tensor));
    }
}

void look_at_outputs(void* network) {
    size_t count = 0;
    expect(LITE_get_all_output_name(network, &count, nullptr));
    for (size_t i = 0; i < count; ++i) {
        const char* name = nullptr;
        LiteTensor tensor = nullptr;
        LiteLayout layout;
        void* memory = nullptr;
        expect(LITE_get_output_name(network, i, &name));
        expect(LITE_get_io_tensor(network, name, LITE_OUTPUT, &tensor));
        expect(LITE_get_tensor_layout(tensor, &layout));
        expect(LITE_get_tensor_memory(tensor, &memory));
    }
}

}  // namespace

void try_input(Bytes input) {
    uint64_t choice = checksum(input.data(), input.size());
    std::string model = text_of(input);
    LiteNetworkIO ios{};
    // At one place: of each other it would keep what it answers, and libFuzzer look for leaks after each
    // input.
    static std::string model_bytes(largest_input, '\0');
    model_bytes = model;
    expect(LITE_get_model_io_info_by_memory(model_bytes.data(), model_bytes.size(), *default_config(), &ios));
    if (!is_quick(input)) throw ModelError("too large to be run here");
    Network network = load(model, choice);
    clear_inputs(network.get());
    expect(LITE_forward(network.get()));
    expect(LITE_wait(network.get()));
    look_at_outputs(network.get());
}

std::vector<std::string> seeds() {
    std::vector<std::string> result = model_files();
    for (auto [folder, ending] :
         {std::pair{"fuzz/lite", ""}, {"megengine", ".mge"}, {"packed", "packed.lite"}})
        for (auto& file : data_files(folder, ending))
            if (file.size() <= largest_input) result.push_back(file);
    return result;
}

void mutate(std::string& input, Random& random) {
    static const std::vector<std::string> others = seeds();
    if (is_model(bytes_of(input)) && !random.one_in(8)) return mutate_model(input, random);
    mutate_tables(input, others, random);
}

}  // namespace mge::fuzz
