// SPDX-License-Identifier: Apache-2.0
// A model that is stored with the application's own cipher. XOR protects nothing: it represents a real cipher
// here.
//
//     encrypted encrypt MODEL SECRET KEY
//     encrypted run SECRET KEY
#include <lite/global.h>
#include <lite/network.h>

#include <cstdint>
#include <fstream>
#include <iostream>
#include <iterator>
#include <stdexcept>
#include <string>
#include <vector>

namespace {

using Bytes = std::vector<uint8_t>;

Bytes read(const std::string& path) {
    std::ifstream file(path, std::ios::binary);
    if (!file) throw std::runtime_error("cannot read " + path);
    return {std::istreambuf_iterator<char>(file), {}};
}

Bytes exclusive_or(const void* in, size_t size, const Bytes& key) {
    auto* bytes = static_cast<const uint8_t*>(in);
    Bytes out(bytes, bytes + size);
    for (size_t i = 0; i < size; ++i) out[i] ^= key[i % key.size()];
    return out;
}

void encrypt(const std::string& model, const std::string& secret, const Bytes& key) {
    Bytes plain = read(model), hidden = exclusive_or(plain.data(), plain.size(), key);
    std::ofstream file(secret, std::ios::binary);
    file.write(reinterpret_cast<const char*>(hidden.data()), std::streamsize(hidden.size()));
    if (!file.flush()) throw std::runtime_error("cannot write " + secret);
}

void run(const std::string& secret, const Bytes& key) {
    lite::register_decryption_and_key("example_xor", exclusive_or, key);
    lite::Config config;
    config.bare_model_cryption_name = "example_xor";
    lite::Network network(config);
    network.load_model(secret);
    for (auto& name : network.get_all_input_name()) network.get_io_tensor(name)->fill_zero();
    network.forward();
    network.wait();
    for (auto& name : network.get_all_output_name()) {
        auto bytes = network.get_io_tensor(name, LITE_OUTPUT)->get_tensor_total_size_in_byte();
        std::cout << name << ": " << bytes << " bytes\n";
    }
}

}  // namespace

int main(int argc, char** argv) try {
    std::string what = argc > 1 ? argv[1] : "";
    bool encrypts = what == "encrypt" && argc == 5, runs = what == "run" && argc == 4;
    std::string key = encrypts || runs ? argv[argc - 1] : "";
    if (key.empty()) {
        std::cerr << "usage: encrypted encrypt MODEL SECRET KEY\n       encrypted run SECRET KEY\n";
        return 2;
    }
    Bytes bytes(key.begin(), key.end());
    if (encrypts)
        encrypt(argv[2], argv[3], bytes);
    else
        run(argv[2], bytes);
    return 0;
} catch (const std::exception& error) {
    std::cerr << error.what() << '\n';
    return 1;
}
