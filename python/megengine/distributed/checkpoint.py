# SPDX-License-Identifier: Apache-2.0
"""Checkpoints that several processes write together and that any number of processes reads.

A checkpoint is a folder ``step-N``. The tensors of the model are in files of safetensors with an
index in the layout of Hugging Face, ``model.safetensors.index.json``, which ``megengine.load`` and
other programs read; those of the optimizer are in the same layout beside it. The folder gets its
name when it is complete, so a process that is killed while it saves leaves the earlier checkpoint.
All processes need access to the folder.
"""

import contextlib
import hashlib
import json
import os
import re
import shutil
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any

import numpy as np

from .. import random
from ..files import safetensors_files
from ..optimizer import Optimizer
from ..tensor import Tensor
from .functional import all_gather
from .group import WORLD, Group, _as_group, get_rank, get_world_size, is_distributed
from .sharded_optimizer import ShardedOptimizer

__all__ = ["latest_step", "load", "save"]

_STATE = "state.json"
_NAME = re.compile(r"(?:\.)?step-(\d+)(?:\.old)?")


def _folder_of(folder: Path, step: int) -> Path:
    return folder / f"step-{step:08d}"


def _complete(folder: Path) -> dict[int, Path]:
    """The complete checkpoints by step."""
    found: dict[int, Path] = {}
    with contextlib.suppress(FileNotFoundError):
        for path in sorted(folder.iterdir(), reverse=True):  # "step-…" before ".step-….old"
            match = _NAME.fullmatch(path.name)
            if match and (path / _STATE).is_file():
                found.setdefault(int(match[1]), path)
    return found


def latest_step(folder: str | os.PathLike) -> int | None:
    """The step of the newest complete checkpoint, or None.

    Args:
        folder: the folder given to ``save``.
    Example:
        >>> import megengine.distributed.checkpoint as checkpoint
        >>> checkpoint.latest_step("no such folder") is None
        True
    """
    return max(_complete(Path(folder)), default=None)


def _group_place(group: Group) -> tuple[int, int]:
    """Rank and number of processes."""
    return (group.rank, group.size) if is_distributed() else (get_rank(), get_world_size())


class _Writers:
    """The processes that write a checkpoint."""

    def __init__(self, group: Group) -> None:
        self.group = group
        self.rank, self.count = _group_place(group)

    def agree(self, problem: str, own: Exception | None = None) -> None:
        """Wait for the others; all raise if one has a problem: an error of this process that is not
        about files, or an OSError."""
        if self.count == 1:
            problems = [problem]
        else:
            row = np.frombuffer(problem.encode()[:500].ljust(500), np.uint8)[None]
            rows = all_gather(Tensor(row), self.group).numpy()
            problems = [bytes(row).decode(errors="replace").strip() for row in rows]
        if own is not None and not isinstance(own, OSError):
            raise own
        for rank, text in enumerate(problems):
            if text:
                raise OSError(
                    f"[save] process {rank} cannot write its part of a checkpoint: {text}"
                )

    def differing(self, tensors: dict[str, Any]) -> list[str]:
        """The names of the tensors that are not the same in all processes."""
        if self.count == 1 or not tensors:
            return []
        digests = [hashlib.blake2b(_bytes_of(v), digest_size=8).digest() for v in tensors.values()]
        mine = np.frombuffer(b"".join(digests), np.uint8).reshape(1, len(tensors), 8)
        all_rows = all_gather(Tensor(mine), self.group).numpy()
        is_same = (all_rows == all_rows[:1]).all((0, 2))
        return [name for name, same in zip(tensors, is_same, strict=True) if not same]

    def together(self, work: Callable[[], None]) -> None:
        """Run a function, then wait for the others; all raise if it fails in one of them."""
        try:
            work()
        except Exception as error:
            self.agree(f"{error} ({type(error).__name__})", own=error)
        else:
            self.agree("")

    def first(self, work: Callable[[], None]) -> None:
        """Run a function in the first process, and let the others wait."""
        self.together(work if self.rank == 0 else lambda: None)


def save(
    folder: str | os.PathLike,
    step: int,
    model=None,
    optimizer: Optimizer | None = None,
    extra: Mapping[str, Any] | None = None,
    *,
    group: Group | None = WORLD,
    keep: int = 2,
) -> Path:
    """Write a checkpoint. All processes of the group call it with the same arguments.

    Each process writes about 1/n of the tensors: of the model, which all have, by name; of a
    ``ShardedOptimizer`` the state that it has. A tensor that differs between processes, such as the
    running mean of a ``BatchNorm2d``, is that of the first process in the model's files; each
    process also writes its own. So it does with the state of ``megengine.random``.

    Args:
        folder: where checkpoints are; it is made if needed.
        step: number of the step, at least 0; an older checkpoint of that step is replaced.
        model: a Module, or a dict of Tensors and arrays by name; of any shape, in a dtype that
            safetensors has.
        optimizer: an ``Optimizer``.
        extra: what JSON can hold, such as the epoch.
        group: the processes; None: all.
        keep: number of checkpoints to keep; others of earlier steps are deleted. 0 keeps all.
    Returns:
        The folder of the checkpoint.
    Raises:
        OSError: in all processes, if one cannot write its part.
        TypeError: a tensor or a value of ``extra`` has no form in the file; an OSError in processes
            that do not write that tensor.
        ValueError: ``step`` is negative.
    Example:
        >>> import megengine.distributed.checkpoint as checkpoint
        >>> net = M.Linear(2, 1)
        >>> sgd = SGD(net.parameters(), lr=0.1, momentum=0.9)
        >>> checkpoint.save("run", 10, net, sgd, {"epoch": 1}).name
        'step-00000010'
        >>> checkpoint.load("run", net, sgd)
        {'step': 10, 'epoch': 1}
    """
    if step < 0:
        raise ValueError(f"[save] step must be at least 0, got {step}")
    writers = _Writers(_as_group(group))
    folder = Path(folder)
    part, final = folder / f".step-{step:08d}.part", _folder_of(folder, step)
    tensors = {"model": _model_tensors(model), "optimizer": _optimizer_tensors(optimizer)}
    shares, own = _divide(tensors, isinstance(optimizer, ShardedOptimizer), writers)
    text = _description(step, writers.count, optimizer, extra)
    writers.first(lambda: _begin(folder, part))
    writers.together(lambda: _write_part(part, writers, shares, own))
    writers.first(lambda: _finish(part, final, tensors, text))
    if keep and writers.rank == 0:
        for _, old in sorted(_complete(folder).items())[:-keep]:
            if old != final:  # it is not the newest one if training went back
                shutil.rmtree(old, ignore_errors=True)
    return final


def _description(step: int, processes: int, optimizer, extra: Mapping[str, Any] | None) -> str:
    described = {
        "step": step,
        "processes": processes,
        "groups": None if optimizer is None else _options(optimizer),
        "extra": dict(extra or {}),
    }
    return json.dumps(described, default=_plain)


def _divide(
    tensors: dict[str, dict[str, Any]], is_sharded: bool, writers: "_Writers"
) -> tuple[dict[str, dict[str, Any]], dict[str, Any]]:
    """Return this process's share of the tensors, by kind, and those that only it has."""
    shares, own = {}, {}
    for kind, found in tensors.items():
        if is_sharded and kind == "optimizer":
            shares[kind] = found
            continue
        differing = writers.differing(found)
        shares[kind] = _share(found, differing, writers.rank, writers.count)
        own.update({f"{kind} {name}": found[name] for name in differing})
    return shares, own


def _begin(folder: Path, part: Path) -> None:
    """Make the folder of a part, and remove parts that were never finished."""
    folder.mkdir(parents=True, exist_ok=True)
    for left in folder.glob(".step-*.part"):
        shutil.rmtree(left)
    part.mkdir()


def _write_part(part: Path, writers: _Writers, shares: Mapping, own: dict[str, Any]) -> None:
    """Write the files of this process."""
    for kind, mine in shares.items():
        if mine:
            _write_tensors(part / _shard_name(kind, writers.rank, writers.count), mine)
    if own:
        _write_tensors(part / _own_name(writers.rank), own)
    state = json.dumps(random.get_rng_state(), default=_plain)
    _write(part / f"random-{writers.rank + 1:05d}.json", state.encode())


def _finish(part: Path, final: Path, kinds: Iterable[str], text: str) -> None:
    """Write what describes all files, and give the folder its name."""
    for kind in kinds:
        _write_index(part, kind)
    _write(part / _STATE, text.encode())
    _sync_folder(part)
    _rename(part, final)
    _sync_folder(final.parent)


def _model_tensors(model) -> dict[str, Any]:
    if model is None:
        return {}
    return dict(model if isinstance(model, Mapping) else model.state_dict(keep_var=True))


def _options(optimizer: Optimizer) -> list[dict]:
    return Optimizer.state_dict(optimizer, keep_var=True)["param_groups"]


def _optimizer_tensors(optimizer: Optimizer | None) -> dict[str, Any]:
    """Whole states by ``state.<parameter>.<name>``, parts by ``….<name>@<first element>``."""
    if optimizer is None:
        return {}
    if not isinstance(optimizer, ShardedOptimizer):
        return {
            f"state.{number}.{name}": value
            for number, states in optimizer.state_dict(keep_var=True)["state"].items()
            for name, value in states.items()
        }
    found = {}
    for part in optimizer.state_parts():
        name = f"state.{part.parameter}.{part.name}"
        if part.value.shape == part.shape:
            found[name] = part.value
        else:
            found[f"{name}@{part.begin}"] = part.value.reshape(-1)
    return found


def _plain(value):
    """Convert a value that is not Python's own for JSON."""
    if isinstance(value, Tensor):
        value = value.numpy()
    if isinstance(value, (np.ndarray, np.generic)):
        return value.tolist()
    raise TypeError(f"[save] a checkpoint cannot hold {value!r} outside its tensors")


def _share(tensors: dict[str, Any], differing: list[str], rank: int, count: int) -> dict[str, Any]:
    """The tensors that one of several processes writes, all about equal bytes; those that differ
    are of the first process."""
    sizes, mine = [0] * count, {}
    for name in sorted(tensors, key=lambda name: (-_bytes(tensors[name]), name)):
        least = 0 if name in differing else sizes.index(min(sizes))
        sizes[least] += max(1, _bytes(tensors[name]))
        if least == rank:
            mine[name] = tensors[name]
    return mine


def _bytes(value) -> int:
    return int(np.prod(value.shape)) * np.dtype(value.dtype).itemsize


def _bytes_of(value) -> np.ndarray:
    array = np.ascontiguousarray(value.numpy() if isinstance(value, Tensor) else value)
    return array.reshape(-1).view(np.uint8)


def _own_name(rank: int) -> str:
    return f"own-{rank + 1:05d}.safetensors"


def _shard_name(kind: str, rank: int, count: int) -> str:
    return f"{kind}-{rank + 1:05d}-of-{count:05d}.safetensors"


def _write_tensors(path: Path, tensors: dict[str, Any]) -> None:
    with open(path, "wb") as stream:
        safetensors_files.write(tensors, stream)
        _sync(stream)


def _write(path: Path, content: bytes) -> None:
    with open(path, "wb") as stream:
        stream.write(content)
        _sync(stream)


def _sync(stream) -> None:
    stream.flush()
    os.fsync(stream.fileno())


def _sync_folder(folder: Path) -> None:
    descriptor = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def _rename(part: Path, final: Path) -> None:
    if not final.exists():
        return os.rename(part, final)
    # Until the new one has its name, the old one counts under this name.
    old = final.with_name(f".{final.name}.old")
    shutil.rmtree(old, ignore_errors=True)
    os.rename(final, old)
    os.rename(part, final)
    shutil.rmtree(old, ignore_errors=True)


def _write_index(part: Path, kind: str) -> None:
    homes: dict[str, str] = {}
    for path in sorted(part.glob(f"{kind}-*.safetensors")):
        for name in safetensors_files.open_file(path):
            homes.setdefault(name, path.name)
    if not homes:
        return
    total = sum(path.stat().st_size for path in part.glob(f"{kind}-*.safetensors"))
    index = {"metadata": {"total_size": total}, "weight_map": dict(sorted(homes.items()))}
    _write(part / f"{kind}.safetensors.index.json", json.dumps(index, indent=1).encode())


def load(
    folder: str | os.PathLike,
    model=None,
    optimizer: Optimizer | None = None,
    *,
    step: int | None = None,
    group: Group | None = WORLD,
) -> dict[str, Any] | None:
    """Read the newest checkpoint, which any number of processes may have written.

    With the number of processes that wrote it, training goes on as if it had not been interrupted,
    bit for bit: the state of ``megengine.random`` is restored, too.

    Args:
        folder: the folder given to ``save``.
        model: a Module, whose parameters and buffers are set, or a dict, which is filled with
            Tensors; None: it is not read.
        optimizer: an ``Optimizer`` or ``ShardedOptimizer`` of the same parameters; None: its state
            is not read.
        step: of the checkpoint; None: the newest one.
        group: the processes; None: all.
    Returns:
        ``extra`` of ``save``, with ``"step"``; None if there is no checkpoint.
    Raises:
        FileNotFoundError: there is no checkpoint of the given step.
        KeyError: the checkpoint lacks a tensor of the model, or a state of the optimizer.
        ValueError: a file is damaged, or the optimizer has other groups.
    Example:
        >>> import megengine.distributed.checkpoint as checkpoint
        >>> checkpoint.load("empty", M.Linear(2, 1)) is None
        True
    """
    complete = _complete(Path(folder))
    if step is None:
        if not complete:
            return None
        step = max(complete)
    if step not in complete:
        raise FileNotFoundError(f"[load] there is no checkpoint of step {step} in '{folder}'")
    home = complete[step]
    described = json.loads((home / _STATE).read_text())
    rank, count = _group_place(_as_group(group))
    own: Mapping = {}
    if count == described["processes"] and (home / _own_name(rank)).exists():
        own = safetensors_files.open_file(home / _own_name(rank))
    if model is not None:
        _load_model(home, model, own)
    if optimizer is not None:
        _load_optimizer(home, optimizer, described["groups"], own)
    if count == described["processes"]:
        state = json.loads((home / f"random-{rank + 1:05d}.json").read_text())
        random.set_rng_state(state)
    return {"step": described["step"], **described["extra"]}


def _load_model(home: Path, model, own: Mapping) -> None:
    shared = safetensors_files.Shards(home / "model.safetensors.index.json")
    keys = {name: f"model {name}" for name in shared}
    found = ((name, own[key] if key in own else shared[name]) for name, key in keys.items())
    if isinstance(model, dict):
        model.update(found)
    else:
        model.load_state_dict({name: value.numpy() for name, value in found})


def _load_optimizer(
    home: Path, optimizer: Optimizer, groups: list[dict] | None, own: Mapping
) -> None:
    if groups is None:
        raise KeyError(f"[load] the checkpoint '{home}' has no optimizer")
    stored = _StoredState(home)
    # Checks and sets the options.
    optimizer._load_groups(groups)
    if isinstance(optimizer, ShardedOptimizer):
        optimizer.load_state_parts(stored.read)
        return
    params = optimizer._get_params()
    state: dict[int, dict[str, np.ndarray]] = defaultdict(dict)
    for number, name in stored.parts:
        shape = params[number].shape
        key = f"optimizer state.{number}.{name}"
        is_own = key in own
        state[number][name] = own[key].numpy() if is_own else stored.read_whole(number, name, shape)
    optimizer.load_state_dict({"param_groups": groups, "state": state})


class _StoredState:
    """The states of an optimizer in a checkpoint, which may be in parts."""

    def __init__(self, home: Path) -> None:
        index = home / "optimizer.safetensors.index.json"
        self._tensors: Mapping = safetensors_files.Shards(index) if index.exists() else {}
        self.parts: dict[tuple[int, str], list[tuple[int, str]]] = defaultdict(list)
        for key in self._tensors:
            _, number, rest = key.split(".", 2)
            name, _, begin = rest.partition("@")
            self.parts[int(number), name].append((int(begin or 0), key))
        self._home = home

    def read(self, number: int, name: str, begin: int, end: int | None) -> np.ndarray:
        """Elements of a state; all of them if there is no end."""
        if (number, name) not in self.parts:
            raise KeyError(f"[load] '{self._home}' has no state {name!r} of parameter {number}")
        pieces = list(self._pieces(number, name, begin, end))
        return pieces[0] if len(pieces) == 1 else np.concatenate(pieces)

    def _pieces(self, number: int, name: str, begin: int, end: int | None) -> Iterator[np.ndarray]:
        parts = sorted(self.parts[number, name])
        for place, (first, key) in enumerate(parts):
            following = parts[place + 1][0] if place + 1 < len(parts) else None
            is_before = following is not None and following <= begin
            if is_before or (end is not None and first >= end):
                continue
            values = self._tensors[key].numpy().reshape(-1)
            last = None if end is None else end - first
            yield values[max(begin - first, 0) : last]

    def read_whole(self, number: int, name: str, shape: tuple[int, ...]) -> np.ndarray:
        """A state in its shape; one in parts has the shape of its parameter."""
        parts = self.parts[number, name]
        if len(parts) == 1 and "@" not in parts[0][1]:
            return self._tensors[parts[0][1]].numpy()
        return self.read(number, name, 0, None).reshape(shape)
