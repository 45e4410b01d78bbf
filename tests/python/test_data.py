# SPDX-License-Identifier: Apache-2.0
"""Data sets, samplers, collating and transforms."""

from collections import namedtuple

import numpy as np
import pytest

from megengine.data import (
    Collator,
    Infinite,
    MapSampler,
    RandomSampler,
    ReplacementSampler,
    SequentialSampler,
    StreamSampler,
)
from megengine.data.dataset import ArrayDataset, ConcatDataset, StreamDataset
from megengine.data.transform import (
    CenterCrop,
    Compose,
    Normalize,
    Pad,
    RandomCrop,
    RandomHorizontalFlip,
    ToMode,
)

TEN = ArrayDataset(np.arange(10))


def test_array_dataset_returns_tuples():
    data = ArrayDataset(np.arange(3), np.arange(3) * 2)
    assert data[2] == (2, 4) and len(data) == 3
    with pytest.raises(ValueError, match="inconsistent"):
        ArrayDataset([1, 2], [1])
    with pytest.raises(ValueError):
        ArrayDataset()


def test_concat_dataset():
    assert list(ConcatDataset([ArrayDataset([]), ArrayDataset([])])) == []
    data = ConcatDataset([ArrayDataset([1, 2]), ArrayDataset([3])])
    assert [data[k][0] for k in (0, 1, 2, -1, -3)] == [1, 2, 3, 3, 1]
    for wrong, error in ((3, IndexError), (-4, ValueError)):
        with pytest.raises(error, match="out of range"):
            data[wrong]


def test_sequential_sampler():
    assert list(SequentialSampler(TEN, 4)) == [[0, 1, 2, 3], [4, 5, 6, 7], [8, 9]]
    sampler = SequentialSampler(TEN, 4, drop_last=True)
    assert len(sampler) == 2 and len(list(sampler)) == 2
    assert list(SequentialSampler(TEN, 2, indices=[5, 3])) == [[5, 3]]
    with pytest.raises(ValueError, match="indices"):
        SequentialSampler(TEN, indices=np.arange(3))


def test_sampler_shares_the_samples():
    shares = [sum(SequentialSampler(TEN, 2, world_size=3, rank=r), []) for r in range(3)]
    assert shares == [[0, 3, 6, 9], [1, 4, 7, 0], [2, 5, 8, 1]]
    with pytest.raises(ValueError, match="batch"):
        SequentialSampler(TEN, 6, world_size=2, rank=0)
    with pytest.raises(ValueError, match="rank"):
        SequentialSampler(TEN, 2, world_size=2, rank=2)


@pytest.mark.parametrize("size", [0, -1, 1.5, True])
def test_batch_size_must_be_a_positive_integer(size):
    with pytest.raises(ValueError, match="batch_size"):
        SequentialSampler(TEN, size)


def test_random_sampler_is_a_permutation_of_its_seed():
    a = list(RandomSampler(TEN, 3, seed=1))
    assert a == list(RandomSampler(TEN, 3, seed=1)) != list(RandomSampler(TEN, 3, seed=2))
    assert sorted(sum(a, [])) == list(range(10))
    assert sorted(sum(RandomSampler(TEN, 2, indices=[7, 8]), [])) == [7, 8]


def test_replacement_sampler_uses_its_weights():
    weights = [0.0] * 9 + [1.0]
    drawn = sum(ReplacementSampler(TEN, 2, num_samples=6, weights=weights, seed=0), [])
    assert drawn == [9] * 6
    with pytest.raises(ValueError, match="1 weight for 10 samples"):
        ReplacementSampler(TEN, weights=[1.0])


def test_every_process_gets_its_share_of_a_tiny_data_set():
    tiny = ArrayDataset(np.arange(2))
    shares = [list(SequentialSampler(tiny, world_size=5, rank=rank)) for rank in range(5)]
    assert shares == [[[0]], [[1]], [[0]], [[1]], [[0]]]


def test_infinite_sampler_starts_again():
    endless = Infinite(SequentialSampler(TEN, 5))
    assert [next(endless)[0] for _ in range(4)] == [0, 5, 0, 5]
    assert endless.batch_size == 5 and len(endless) == 2**63 - 1
    assert isinstance(endless, MapSampler)


def test_an_error_in_a_property_of_an_infinite_sampler_is_not_hidden():
    class Weighted(Infinite):
        @property
        def dataset(self):
            return self.sampler.weights

    with pytest.raises(AttributeError, match="'SequentialSampler' object has no .* 'weights'"):
        print(Weighted(SequentialSampler(TEN)).dataset)


def test_sampler_may_define_batches_only():
    class Pairs(MapSampler):
        def batch(self):
            return iter([[0, 1], [2, 3]])

    assert list(Pairs(TEN)) == [[0, 1], [2, 3]]
    with pytest.raises(NotImplementedError, match="MapSampler"):
        list(MapSampler(TEN))


def test_stream_sampler_counts():
    batches = iter(StreamSampler(2))
    assert [next(batches), next(batches)] == [[0, 1], [2, 3]]


def test_stream_dataset_has_neither_items_nor_length():
    class Stream(StreamDataset):
        def __init__(self):
            pass

        def __iter__(self):
            return iter(())

    with pytest.raises(AssertionError):
        Stream()[0]
    with pytest.raises(AssertionError):
        len(Stream())


def test_collator():
    Point = namedtuple("Point", "x y")
    apply = Collator().apply
    batch = apply([{"a": np.zeros(2), "b": 1}, {"a": np.ones(2), "b": 2}])
    assert batch["a"].shape == (2, 2) and batch["b"].dtype == np.int64
    assert isinstance(apply([Point(1, 2.0), Point(3, 4.0)]), Point)
    assert apply([["a", b"x"], ["b", b"y"]]) == [("a", "b"), (b"x", b"y")]
    assert apply([np.str_("a"), np.str_("b")]) == ["a", "b"]
    assert apply([np.zeros((2, 3)).T] * 2).flags.c_contiguous
    with pytest.raises(TypeError, match="set"):
        apply([{1}, {2}])
    with pytest.raises(ValueError, match="fields"):
        apply([[1], [1, 2]])


def image(height=4, width=6):
    return np.arange(height * width * 3, dtype=np.uint8).reshape(height, width, 3)


def test_normalize_and_to_mode():
    out = Compose([Normalize(mean=[1, 2, 3], std=2), ToMode("CHW")]).apply(image())
    assert out.shape == (3, 4, 6) and out.dtype == np.float32 and out.flags.c_contiguous
    assert out[0, 0, 0] == -0.5


def test_fields_follow_the_order():
    boxes = np.array([[1.0, 1.0, 2.0, 2.0]])
    transform = Pad((1, 0, 2, 0), order=("image", "boxes"))
    padded, moved, rest = transform.apply((image(), boxes, "kept"))
    assert padded.shape == (5, 8, 3) and rest == "kept"
    np.testing.assert_array_equal(moved, [[3, 2, 4, 3]])
    with pytest.raises(NotImplementedError, match="depth"):
        Normalize(order=("depth",)).apply((boxes,))


def test_pad_reads_its_sizes():
    assert Pad(1).apply(image()).shape == (6, 8, 3)
    assert Pad((2, 3)).apply(image()).shape == (6, 9, 3)
    assert Pad(1, value=(7, 8, 9)).apply(image())[0, 0].tolist() == [7, 8, 9]
    with pytest.raises(ValueError, match="size"):
        Pad((1, 2, 3))


def test_crops():
    np.testing.assert_array_equal(CenterCrop(2).apply(image()), image()[1:3, 2:4])
    assert RandomCrop(3).apply(image()).shape == (3, 3, 3)
    assert RandomCrop(8, padding_size=1).apply(image()).shape == (8, 8, 3)
    with pytest.raises(AssertionError, match="smaller"):
        CenterCrop(7).apply(image())


def gray(height=4, width=6):
    return image(height, width)[..., :1]


def test_a_crop_pads_images_of_any_number_of_channels():
    """The default border has three values."""
    assert RandomCrop(3).apply(gray()).shape == (3, 3, 1)
    padded = RandomCrop((10, 11), padding_size=2).apply(gray() + np.uint8(1))
    assert padded.shape == (10, 11, 1) and (padded != 0).sum() == 24
    first = RandomCrop(8, padding_size=(2, 2), padding_value=(7, 8, 9)).apply(gray())
    assert first.max() == 69 and first[-1, -1, 0] == 7
    assert Pad(1, value=(7, 8, 9)).apply(gray())[0, 0].tolist() == [7]
    with pytest.raises(ValueError, match="2 numbers, the image has 3 channels"):
        Pad(1, value=(7, 8)).apply(image())
    with pytest.raises(ValueError, match="2 numbers, the image has 3 channels"):
        RandomCrop(9, padding_value=(7, 8)).apply(image())


def test_a_border_of_floats_makes_an_image_of_floats():
    assert Pad(1, value=0.5).apply(image())[0, 0].tolist() == [0.5] * 3
    cropped = RandomCrop(8, padding_value=(0.5, 1.0, 2.0)).apply(image())
    assert cropped.dtype == np.float32 and cropped[-1, -1].tolist() == [0.5, 1, 2]


def test_crop_is_a_window_of_the_padded_image():
    size = (5, 4)
    order = ("image", "mask", "coords", "boxes")
    coords, boxes = np.array([[2, 1]]), np.array([[1, 1, 3, 3]])
    for border in (0, 3, (2, 1), (1, 0, 2, 4)):
        for _ in range(20):
            crop = RandomCrop(size, border, (5, 6, 7), 9, order=order)
            cut, mask, point, box = crop.apply((image(), gray()[..., 0], coords, boxes))
            y, x = crop._corner
            big = Pad(20, (5, 6, 7)).apply(image())[20 + y :, 20 + x :][: size[0], : size[1]]
            np.testing.assert_array_equal(cut, big)
            big = Pad(20, 9).apply(gray()[..., 0])[20 + y :, 20 + x :][: size[0], : size[1]]
            np.testing.assert_array_equal(mask, big)
            np.testing.assert_array_equal(point, [[2 - x, 1 - y]])
            np.testing.assert_array_equal(box, [[1 - x, 1 - y, 3 - x, 3 - y]])
    original = image(5, 4)
    RandomCrop(size).apply(original)[...] = 0
    np.testing.assert_array_equal(original, image(5, 4))


def test_fast_paths_match_plain_ones():
    mean, std = np.array([3.5, 1, 2], np.float32), np.array([2, 3, 7], np.float32)
    for dtype in ("uint8", "int32", "float32", "float64", "float16"):
        for x in (image().astype(dtype), image(9, 8).astype(dtype)[1::2, 2:7], image(0, 4)):
            out = Normalize(mean, std).apply(x)
            np.testing.assert_array_equal(out, (x - mean) / std)
            assert out.dtype == ((x - mean) / std).dtype and out.flags.c_contiguous
            np.testing.assert_array_equal(Normalize(2, std).apply(x), (x - np.float32(2)) / std)
            for y in (x, x[..., :1], x[..., 0], x[:, ::-1], x[..., ::-1]):
                flipped = RandomHorizontalFlip(1.0).apply(y)
                np.testing.assert_array_equal(flipped, y[:, ::-1])
                assert flipped.dtype == y.dtype and flipped.flags.c_contiguous
    many = np.ones((2, 3, 20), np.uint8)
    np.testing.assert_array_equal(Normalize(np.arange(20), 2).apply(many)[0, 0, 3], -1)
    with pytest.raises(ValueError):
        Normalize(mean, std).apply(gray()[..., :0])


def test_flip_moves_boxes():
    boxes = np.array([[1.0, 1.0, 2.0, 3.0]])
    flipped, moved = RandomHorizontalFlip(1.0, order=("image", "boxes")).apply((image(), boxes))
    np.testing.assert_array_equal(flipped, image()[:, ::-1])
    np.testing.assert_array_equal(moved, [[4, 1, 5, 3]])
    assert RandomHorizontalFlip(0.0).apply(boxes) is boxes


def test_compose_shuffles_groups_counted_from_one():
    transforms = [Normalize(), ToMode(), Pad(1)]
    compose = Compose(transforms, shuffle_indices=[(1, 3)])
    orders = {tuple(type(t).__name__ for t in compose._in_order()) for _ in range(50)}
    assert orders == {("Normalize", "ToMode", "Pad"), ("Pad", "ToMode", "Normalize")}
    with pytest.raises(ValueError):
        Compose(transforms, batch_compose=True, shuffle_indices=[(1, 2)])
