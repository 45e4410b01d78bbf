# SPDX-License-Identifier: Apache-2.0
"""A model under a cipher of the application's own. XOR hides nothing: it is a placeholder.

    python encrypted.py MODEL SECRET KEY

Writes the model encrypted to SECRET, then loads and runs that file.
"""

import sys
from pathlib import Path

import numpy as np

from megenginelite import LiteConfig, LiteGlobal, LiteNetwork, decryption_func


def exclusive_or(content: np.ndarray, key: np.ndarray) -> np.ndarray:
    return content ^ np.resize(key, content.size)


@decryption_func
def decrypt(in_arr, key_arr, out_arr):
    if not out_arr:  # asked for the size
        return in_arr.size
    plain = exclusive_or(np.array(in_arr), np.array(key_arr))
    for i, value in enumerate(plain.tolist()):
        out_arr[i] = value
    return plain.size


def main() -> None:
    model, secret, key = sys.argv[1], Path(sys.argv[2]), list(sys.argv[3].encode())
    plain = np.frombuffer(Path(model).read_bytes(), np.uint8)
    secret.write_bytes(exclusive_or(plain, np.array(key, np.uint8)).tobytes())
    LiteGlobal.register_decryption_and_key("example_xor", decrypt, key)
    config = LiteConfig()
    config.bare_model_cryption_name = "example_xor"
    network = LiteNetwork(config)
    network.load(secret)
    for name in network.get_all_input_name():
        network.get_io_tensor(name).fill_zero()
    network.forward()
    network.wait()
    for name in network.get_all_output_name():
        print(f"{name}: {network.get_io_tensor(name).nbytes} bytes")


if __name__ == "__main__":
    main()
