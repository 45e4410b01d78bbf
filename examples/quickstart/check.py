# SPDX-License-Identifier: Apache-2.0
"""Compare what load_and_run computed for the held-out digits with what Python predicted.

Reads, in the output folder of train.py, labels.npy and predictions.npy, and from two runs of
load_and_run with fast-run first.npz, second.npz and second.json (of --dump-outputs and --json).
Fails when a probability or a predicted class differs, or when the second run had to measure an
algorithm again.
"""

import argparse
import json
import sys
from collections import Counter
from pathlib import Path

import numpy as np

LARGEST_DIFFERENCE = 1e-4
SHOWN_IMAGES = 5


def compare_outputs(run, outputs, predictions):
    """Largest difference from Python's probabilities; raises ValueError when too large."""
    if "probability" not in outputs:
        raise ValueError(f"{run}: no output 'probability' among {sorted(outputs)}")
    probabilities = outputs["probability"]
    if probabilities.shape != predictions.shape:
        raise ValueError(f"{run}: shape {probabilities.shape}, expected {predictions.shape}")
    difference = float(np.abs(probabilities - predictions).max())
    if not difference <= LARGEST_DIFFERENCE:
        raise ValueError(
            f"{run}: probabilities differ by {difference:.2e}, allowed is {LARGEST_DIFFERENCE:.0e}"
        )
    other = (probabilities.argmax(axis=1) != predictions.argmax(axis=1)).sum()
    if other:
        raise ValueError(f"{run}: {other} of {len(predictions)} images fall in another class")
    return difference


def check_sources(report):
    """How many algorithms the report names; raises ValueError unless each came from the cache."""
    sources = Counter(entry["source"] for entry in report["algorithms"])
    if not sources:
        raise ValueError("second run: the report names no algorithm")
    if set(sources) != {"cache"}:
        raise ValueError(f"second run: algorithms came from {dict(sources)}, expected only 'cache'")
    return sources["cache"]


def show(labels, probabilities):
    print("   image  digit  predicted  probability")
    for i in range(min(SHOWN_IMAGES, len(labels))):
        guess = probabilities[i].argmax()
        print(f"   {i:5}  {labels[i]:5}  {guess:9}  {probabilities[i, guess]:11.4f}")


def main():
    parser = argparse.ArgumentParser(description=str(__doc__).splitlines()[0])
    parser.add_argument("folder", type=Path, nargs="?", default=Path("build/quickstart"))
    folder = parser.parse_args().folder
    labels = np.load(folder / "labels.npy")
    predictions = np.load(folder / "predictions.npy")
    try:
        for run in ("first", "second"):
            with np.load(folder / f"{run}.npz") as outputs:
                difference = compare_outputs(f"{run} run", outputs, predictions)
                probabilities = outputs["probability"]
        steps = check_sources(json.loads((folder / "second.json").read_text()))
    except (ValueError, KeyError) as error:
        sys.exit(f"check: {error}")
    show(labels, probabilities)
    right = (probabilities.argmax(axis=1) == labels).mean()
    print(f"   load_and_run agrees with Python on {len(labels)} images (to {difference:.1e});")
    print(f"   {right:.2%} are right; the second run took all {steps} algorithms from the cache.")


if __name__ == "__main__":
    main()
