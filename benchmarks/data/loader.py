# SPDX-License-Identifier: Apache-2.0
"""Images per second through a DataLoader, beside PyTorch's: the median of epochs.

Each epoch starts its workers, as training does. The transform (pad and crop, flip, normalise,
channels first) is each engine's own; PyTorch has none without torchvision, so there it is the same
in NumPy.

    loader.py [mge|torch] [--images 2048] [--epochs 3]
"""

import argparse
import statistics
import time

import numpy as np

SIZE, BATCH, PADDING = 64, 64, 4
MEAN, STD = (120.0, 115.0, 100.0), (60.0, 58.0, 57.0)
WORKERS = (0, 1, 2)


def images_and_labels(count):
    random = np.random.default_rng(0)
    images = random.integers(0, 256, (count, SIZE, SIZE, 3), dtype=np.uint8)
    return images, random.integers(0, 10, count).astype(np.int32)


def mge_loader(images, labels, transforms, workers):
    from megengine.data import DataLoader, RandomSampler
    from megengine.data import transform as T
    from megengine.data.dataset import ArrayDataset

    steps = [
        T.Pad(PADDING),
        T.RandomCrop(SIZE),
        T.RandomHorizontalFlip(),
        T.Normalize(MEAN, STD),
        T.ToMode("CHW"),
    ]
    dataset = ArrayDataset(images, labels)
    sampler = RandomSampler(dataset, batch_size=BATCH, drop_last=True)
    transform = T.Compose(steps, order=("image", "image_category")) if transforms else None
    return DataLoader(dataset, sampler, transform=transform, num_workers=workers)


def transformed(image, random):
    padded = np.pad(image, ((PADDING, PADDING), (PADDING, PADDING), (0, 0)))
    top, left = random.integers(0, 2 * PADDING + 1, 2)
    image = padded[top : top + SIZE, left : left + SIZE]
    if random.random() < 0.5:
        image = image[:, ::-1]
    image = (image.astype(np.float32) - np.float32(MEAN)) / np.float32(STD)
    return np.ascontiguousarray(image.transpose(2, 0, 1))


def torch_loader(images, labels, transforms, workers):
    from torch.utils.data import DataLoader, Dataset

    random = np.random.default_rng()

    class Images(Dataset):
        def __len__(self):
            return len(images)

        def __getitem__(self, index):
            image = images[index]
            return transformed(image, random) if transforms else image, labels[index]

    return DataLoader(Images(), BATCH, shuffle=True, drop_last=True, num_workers=workers)


def images_per_second(loader, epochs):
    rates = []
    for _ in range(epochs):
        begin, batches = time.perf_counter(), 0
        for _ in loader:
            batches += 1
        rates.append(batches * BATCH / (time.perf_counter() - begin))
    return statistics.median(rates)


def main():
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("engine", nargs="?", choices=("mge", "torch"), default="mge")
    parser.add_argument("--images", type=int, default=2048)
    parser.add_argument("--epochs", type=int, default=3)
    options = parser.parse_args()
    make = mge_loader if options.engine == "mge" else torch_loader
    arrays = images_and_labels(options.images)
    for transforms in (False, True):
        for workers in WORKERS:
            rate = images_per_second(make(*arrays, transforms, workers), options.epochs)
            what = "transform" if transforms else "as they are"
            print(f"| {options.engine} | {what} | {workers} | {rate:,.0f} |", flush=True)


if __name__ == "__main__":
    main()
