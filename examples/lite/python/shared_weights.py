# SPDX-License-Identifier: Apache-2.0
"""Two threads that run one model at the same time, with one copy of its weights.

python shared_weights.py MODEL [RUNS]
"""

import sys
import threading

import numpy as np

from megenginelite import LiteNetwork


def main() -> None:
    runs = int(sys.argv[2]) if len(sys.argv) > 2 else 10
    source, other = LiteNetwork(), LiteNetwork()
    source.load(sys.argv[1])
    other.share_weights_with(source)
    results = {}

    def work(network: LiteNetwork, value: float) -> None:
        data = network.get_io_tensor(network.get_input_name(0))
        data.set_data_by_copy(np.full(data.layout.shapes, value, np.float32))
        for _ in range(runs):
            network.forward()
            network.wait()
        results[value] = network.get_io_tensor(network.get_output_name(0)).to_numpy().flat[0]

    threads = [threading.Thread(target=work, args=pair) for pair in ((source, 0.25), (other, 0.75))]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    print(", ".join(f"{value} gives {results[value]:g}" for value in sorted(results)))


if __name__ == "__main__":
    main()
