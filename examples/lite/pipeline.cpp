// SPDX-License-Identifier: Apache-2.0
// Two networks that work at the same time: while the second one reads what the first made of an item, the
// first is at the next one.
//
//     pipeline FIRST SECOND [ITEMS]
//
// The output of the first model is the input of the second.
#include <lite/network.h>

#include <condition_variable>
#include <cstdlib>
#include <iostream>
#include <memory>
#include <mutex>
#include <thread>

namespace {

// One result on its way from a network to the next.
class Slot {
public:
    void put(const lite::Tensor& tensor) {
        std::unique_lock lock(mutex_);
        changed_.wait(lock, [&] { return !is_full_; });
        tensor_.copy_from(tensor);
        is_full_ = true;
        changed_.notify_all();
    }
    void take(lite::Tensor& tensor) {
        std::unique_lock lock(mutex_);
        changed_.wait(lock, [&] { return is_full_; });
        tensor.copy_from(tensor_);
        is_full_ = false;
        changed_.notify_all();
    }

private:
    std::mutex mutex_;
    std::condition_variable changed_;
    lite::Tensor tensor_;
    bool is_full_ = false;
};

void fill(lite::Tensor& input, int item) {
    auto* data = static_cast<float*>(input.get_memory_ptr());
    size_t count = input.get_tensor_total_size_in_byte() / sizeof(float);
    for (size_t i = 0; i < count; ++i) data[i] = float(item) + float(i % 7) / 7;
}

float sum_of(const lite::Tensor& tensor) {
    auto* data = static_cast<const float*>(tensor.get_memory_ptr());
    float sum = 0;
    for (size_t i = 0; i < tensor.get_tensor_total_size_in_byte() / sizeof(float); ++i) sum += data[i];
    return sum;
}

}  // namespace

int main(int argc, char** argv) try {
    if (argc < 3 || argc > 4) {
        std::cerr << "usage: pipeline FIRST SECOND [ITEMS]\n";
        return 2;
    }
    int items = argc > 3 ? std::atoi(argv[3]) : 4;
    Slot between;
    lite::Network first, second;
    first.load_model(argv[1]);
    second.load_model(argv[2]);
    auto result = first.get_output_tensor(0);
    // Is called on the first network's own thread, as soon as its outputs are there.
    first.set_async_callback([&] { between.put(*result); });

    std::thread producer([&] {
        for (int item = 0; item < items; ++item) {
            fill(*first.get_input_tensor(0), item);
            first.forward();
            // The input is the next item's from here on.
            first.wait();
        }
    });
    for (int item = 0; item < items; ++item) {
        between.take(*second.get_input_tensor(0));
        second.forward();
        second.wait();
        std::cout << "item " << item << ": " << sum_of(*second.get_output_tensor(0)) << '\n';
    }
    producer.join();
    return 0;
} catch (const std::exception& error) {
    std::cerr << error.what() << '\n';
    return 1;
}
