# SPDX-License-Identifier: Apache-2.0
"""Train a small convolutional network on handwritten digits and dump it for inference.

The data are the 1,797 images of 8 x 8 pixels that come with scikit-learn; a fifth is held out.
Writes to the output folder: digits.mge (the network, with a test case inside), images.npy and
labels.npy (the held-out images), predictions.npy (the probabilities that Python computes for them).
"""

import argparse
import sys
from pathlib import Path

import numpy as np
from sklearn.datasets import load_digits
from sklearn.model_selection import train_test_split
from tqdm import tqdm

import megengine as mge
import megengine.functional as F
import megengine.module as M
from megengine.autodiff import GradManager
from megengine.data import DataLoader, RandomSampler
from megengine.data.dataset import ArrayDataset
from megengine.jit import trace
from megengine.optimizer import SGD

BRIGHTEST_PIXEL = 16
LEARNING_RATE = 0.02
TEST_CASE_IMAGES = 8


class DigitNet(M.Module):
    """Two convolutions and a linear layer: (n, 1, 8, 8) pixels in 0..1 to (n, 10) scores."""

    def __init__(self):
        super().__init__()
        self.conv1 = M.Conv2d(1, 16, 3, padding=1)
        self.norm1 = M.BatchNorm2d(16)
        self.conv2 = M.Conv2d(16, 32, 3, padding=1)
        self.norm2 = M.BatchNorm2d(32)
        self.pool = M.MaxPool2d(2)
        self.dropout = M.Dropout(0.2)
        self.classifier = M.Linear(32 * 4 * 4, 10)

    def forward(self, image):
        x = F.relu(self.norm1(self.conv1(image)))
        x = self.pool(F.relu(self.norm2(self.conv2(x))))
        return self.classifier(self.dropout(F.flatten(x, 1)))


def load_data():
    """Training images and labels, then held-out ones; the split is the same each time."""
    images, labels = load_digits(return_X_y=True)
    images = (images / BRIGHTEST_PIXEL).astype(np.float32).reshape(-1, 1, 8, 8)
    train_images, held_out_images, train_labels, held_out_labels = train_test_split(
        images, labels.astype(np.int32), test_size=0.2, stratify=labels, random_state=0
    )
    return train_images, train_labels, held_out_images, held_out_labels


def train(net, images, labels, epochs, batch_size):
    """Fit `net` to the images with momentum SGD; the learning rate falls linearly to a tenth."""
    dataset = ArrayDataset(images, labels)
    loader = DataLoader(dataset, RandomSampler(dataset, batch_size, drop_last=True, seed=0))
    optimizer = SGD(net.parameters(), lr=LEARNING_RATE, momentum=0.9, weight_decay=1e-4)
    tape = GradManager().attach(net.parameters())
    net.train()
    progress = tqdm(range(epochs), desc="training", unit="epoch", file=sys.stdout)
    for epoch in progress:
        for group in optimizer.param_groups:
            group["lr"] = LEARNING_RATE * (1 - 0.9 * epoch / epochs)
        losses = []
        for batch_images, batch_labels in loader:
            with tape:
                loss = F.nn.cross_entropy(net(mge.Tensor(batch_images)), mge.Tensor(batch_labels))
                tape.backward(loss)
            optimizer.step().clear_grad()
            losses.append(loss.item())
        progress.set_postfix(loss=f"{np.mean(losses):.4f}")


def dump(net, images, folder):
    """Write digits.mge with one test case inside; returns the probabilities for all `images`."""

    @trace(symbolic=True, capture_as_const=True)
    def predict(image):
        return F.softmax(net(image), axis=1)

    net.eval()
    probabilities = predict(mge.Tensor(images)).numpy()
    test_case = folder / "test_case.npy"
    np.save(test_case, images[:TEST_CASE_IMAGES])
    predict.dump(
        str(folder / "digits.mge"),
        arg_names=["image"],
        output_names=["probability"],
        input_data=[f"image:{test_case}"],
    )
    return probabilities


def main():
    parser = argparse.ArgumentParser(description=str(__doc__).splitlines()[0])
    parser.add_argument("--out", type=Path, default=Path("build/quickstart"), help="output folder")
    parser.add_argument("--epochs", type=int, default=10)
    parser.add_argument("--batch-size", type=int, default=32)
    parser.add_argument(
        "--min-accuracy", type=float, default=0.97, help="fail below this share of right answers"
    )
    args = parser.parse_args()

    mge.random.seed(0)
    train_images, train_labels, held_out_images, held_out_labels = load_data()
    net = DigitNet()
    train(net, train_images, train_labels, args.epochs, args.batch_size)

    args.out.mkdir(parents=True, exist_ok=True)
    probabilities = dump(net, held_out_images, args.out)
    np.save(args.out / "images.npy", held_out_images)
    np.save(args.out / "labels.npy", held_out_labels)
    np.save(args.out / "predictions.npy", probabilities)
    accuracy = float((probabilities.argmax(axis=1) == held_out_labels).mean())
    print(f"accuracy on {len(held_out_labels)} held-out images: {accuracy:.2%}")
    print(f"wrote {args.out / 'digits.mge'}")
    if accuracy < args.min_accuracy:
        sys.exit(f"accuracy {accuracy:.2%} is below the required {args.min_accuracy:.2%}")


if __name__ == "__main__":
    main()
