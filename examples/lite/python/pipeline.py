# SPDX-License-Identifier: Apache-2.0
"""Two networks that work at the same time, tied by an asynchronous callback.

    python pipeline.py FIRST SECOND [ITEMS]

The output of the first model is the input of the second.
"""

import queue
import sys
import threading

import numpy as np

from megenginelite import LiteNetwork


def main() -> None:
    items = int(sys.argv[3]) if len(sys.argv) > 3 else 4
    first, second = LiteNetwork(), LiteNetwork()
    first.load(sys.argv[1])
    second.load(sys.argv[2])
    between: queue.Queue = queue.Queue(maxsize=2)
    result = first.get_io_tensor(first.get_output_name(0))
    # Called on the first network's thread, as soon as its outputs are there.
    first.async_with_callback(lambda: between.put(result.to_numpy()))

    def produce() -> None:
        data = first.get_io_tensor(first.get_input_name(0))
        shape = data.layout.shapes
        for item in range(items):
            data.set_data_by_copy(np.full(shape, item, np.float32))
            first.forward()
            first.wait()  # the input is the next item's from here on

    producer = threading.Thread(target=produce)
    producer.start()
    data = second.get_io_tensor(second.get_input_name(0))
    for item in range(items):
        data.set_data_by_copy(between.get())
        second.forward()
        second.wait()
        print(f"item {item}: {second.get_io_tensor(second.get_output_name(0)).to_numpy().sum():g}")
    producer.join()


if __name__ == "__main__":
    main()
