// SPDX-License-Identifier: Apache-2.0
// Two threads that run one model at the same time, with one copy of its weights.
//
//     shared_weights MODEL [RUNS]
#include <lite/network.h>

#include <array>
#include <cstdlib>
#include <iostream>
#include <memory>
#include <thread>

namespace {

void fill(lite::Network& network, float value) {
    for (auto& name : network.get_all_input_name()) {
        auto tensor = network.get_io_tensor(name, LITE_INPUT);
        if (tensor->get_layout().data_type != LITE_FLOAT) throw lite::Error(name + " is not of float32");
        auto* data = static_cast<float*>(tensor->get_memory_ptr());
        size_t count = tensor->get_tensor_total_size_in_byte() / sizeof(float);
        for (size_t i = 0; i < count; ++i) data[i] = value;
    }
}

float first_output(lite::Network& network, int runs) {
    for (int i = 0; i < runs; ++i) {
        network.forward();
        network.wait();
    }
    return *static_cast<float*>(network.get_output_tensor(0)->get_memory_ptr());
}

}  // namespace

int main(int argc, char** argv) try {
    if (argc < 2 || argc > 3) {
        std::cerr << "usage: shared_weights MODEL [RUNS]\n";
        return 2;
    }
    int runs = argc > 2 ? std::atoi(argv[2]) : 10;
    auto source = std::make_shared<lite::Network>(), other = std::make_shared<lite::Network>();
    source->load_model(argv[1]);
    lite::Runtime::shared_weight_with_network(other, source);
    fill(*source, 0.25F);
    fill(*other, 0.75F);

    std::array<float, 2> results{};
    std::thread thread([&] { results[1] = first_output(*other, runs); });
    results[0] = first_output(*source, runs);
    thread.join();
    std::cout << "0.25 gives " << results[0] << ", 0.75 gives " << results[1] << '\n';
    return 0;
} catch (const std::exception& error) {
    std::cerr << error.what() << '\n';
    return 1;
}
