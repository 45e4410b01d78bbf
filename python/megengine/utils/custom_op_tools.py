# SPDX-License-Identifier: Apache-2.0
"""Builds and loads libraries with operators of your own: see ``docs/own-operators.md``.

library = build_and_load("mine", ["snake.cpp", "snake.cpu.cpp"])
y = megengine.core.ops.custom.snake(x, alpha=2)
"""

import hashlib
import os
import shlex
import subprocess
import tempfile
import time
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import NamedTuple

from .. import _mge
from ..core.ops.custom import OperatorLibrary, load, unload

__all__ = [
    "FileBaton",
    "OperatorLibrary",
    "Versioner",
    "build",
    "build_and_load",
    "hash_build_args",
    "hash_source_files",
    "load",
    "unload",
    "update_hash",
    "version_check",
]

_CFLAGS = ("-std=c++20", "-O3", "-fPIC", "-fvisibility=hidden", "-fvisibility-inlines-hidden")
_LDFLAGS = ("-shared", "-Wl,--no-undefined")


def update_hash(seed: int, value: object) -> int:
    """A hash of a hash and a value, the same in every process.

    Args:
        seed: the hash so far.
        value: whatever has a text.

    Returns:
        64 bits.
    Example:
        >>> update_hash(0, "a") == update_hash(0, "a") != update_hash(0, "b")
        True
    """
    text = f"{seed}:{value}".encode(errors="surrogateescape")
    return int.from_bytes(hashlib.blake2b(text, digest_size=8).digest(), "little")


def hash_source_files(hash_value: int, source_files: Iterable[str | os.PathLike]) -> int:
    """A hash of the content of files.

    Args:
        hash_value: the hash so far.
        source_files: their paths.
    Example:
        >>> _ = Path("op.cpp").write_text("int x;")
        >>> hash_source_files(0, ["op.cpp"]) == hash_source_files(0, ["op.cpp"])
        True
    """
    for path in source_files:
        content = hashlib.blake2b(Path(path).read_bytes()).hexdigest()
        hash_value = update_hash(hash_value, content)
    return hash_value


def hash_build_args(hash_value: int, build_args: Iterable[Iterable[str] | None]) -> int:
    """A hash of groups of flags.

    Args:
        hash_value: the hash so far.
        build_args: the groups, each a list of texts.
    Example:
        >>> hash_build_args(0, [["-O2"], None]) == hash_build_args(0, [["-O3"], None])
        False
    """
    for group in build_args:
        for argument in group or ():
            hash_value = update_hash(hash_value, argument)
        hash_value = update_hash(hash_value, "end of the group")
    return hash_value


class _Entry(NamedTuple):
    version: int
    hash: int


class Versioner:
    """Counts changes of a library's sources in this process.

    Example:
        >>> Versioner().get_version("nothing_built") is None
        True
    """

    def __init__(self) -> None:
        self.entries: dict[str, _Entry] = {}

    def get_version(self, name: str) -> int | None:
        """The number of changes so far; None for an unknown name.

        Args:
            name: of the library.
        """
        entry = self.entries.get(name)
        return entry and entry.version

    def bump_version_if_changed(
        self,
        name: str,
        sources: Sequence[str | os.PathLike],
        build_args: Iterable[Iterable[str] | None],
        build_dir: str | os.PathLike | None,
        with_cuda: bool | None,
        with_cudnn: bool | None,
        abi_tag: int | None,
    ) -> int:
        """Count one more when something differs from the last call for this name.

        Args:
            name: of the library.
            sources: paths of its sources.
            build_args: groups of flags.
            build_dir: where it is built.
            with_cuda, with_cudnn, abi_tag: as of ``build``.

        Returns:
            the number of changes.
        Example:
            >>> versioner = Versioner()
            >>> with open("twice.cpp", "w") as file:
            ...     _ = file.write("// version 1")
            >>> arguments = ("twice", ["twice.cpp"], [["-O2"]], ".", False, False, 0)
            >>> versioner.bump_version_if_changed(*arguments)
            0
            >>> with open("twice.cpp", "w") as file:
            ...     _ = file.write("// version 2")
            >>> versioner.bump_version_if_changed(*arguments)
            1
        """
        hash_value = hash_build_args(hash_source_files(0, sources), build_args)
        for value in (build_dir, with_cuda, with_cudnn, abi_tag):
            hash_value = update_hash(hash_value, value)
        known = self.entries.get(name)
        if known is None or known.hash != hash_value:
            self.entries[name] = _Entry(known.version + 1 if known else 0, hash_value)
        return self.entries[name].version


_versioner = Versioner()


def version_check(
    name: str,
    sources: Sequence[str | os.PathLike],
    build_args: Iterable[Iterable[str] | None],
    build_dir: str | os.PathLike | None,
    with_cuda: bool | None,
    with_cudnn: bool | None,
    abi_tag: int | None,
) -> tuple[int, bool]:
    """The version of a library's sources, and whether it is new.

    Args:
        name, sources, build_args, build_dir, with_cuda, with_cudnn, abi_tag: as of
            ``Versioner.bump_version_if_changed``.
    Example:
        >>> _ = Path("op.cpp").write_text("int x;")
        >>> version_check("example", ["op.cpp"], [], None, None, None, None)
        (0, True)
        >>> version_check("example", ["op.cpp"], [], None, None, None, None)
        (0, False)
    """
    before = _versioner.get_version(name)
    version = _versioner.bump_version_if_changed(
        name, sources, build_args, build_dir, with_cuda, with_cudnn, abi_tag
    )
    return version, version != before


class FileBaton:
    """A lock between processes: the process that creates the file has it until the file is removed.

    Args:
        lock_file_path: of the file.
        wait_seconds: between two looks while waiting.
    Example:
        >>> baton = FileBaton("lock")
        >>> baton.try_acquire(), FileBaton("lock").try_acquire()
        (True, False)
        >>> baton.release()
        >>> baton.wait()  # returns at once: the lock is free
    """

    def __init__(self, lock_file_path: str | os.PathLike, wait_seconds: float = 0.1):
        self.lock_file_path = lock_file_path
        self.wait_seconds = wait_seconds
        self.fd: int | None = None

    def try_acquire(self) -> bool:
        """Take the lock if it is free; returns whether it was."""
        try:
            self.fd = os.open(self.lock_file_path, os.O_CREAT | os.O_EXCL)
        except FileExistsError:
            return False
        return True

    def wait(self) -> None:
        """Wait until the lock is free."""
        while os.path.exists(self.lock_file_path):
            time.sleep(self.wait_seconds)

    def release(self) -> None:
        """Release the lock."""
        if self.fd is not None:
            os.close(self.fd)
            self.fd = None
        os.remove(self.lock_file_path)


def _include_folder() -> Path:
    folder = Path(_mge.__file__).parent / "include"
    if not (folder / "libmge/own_operators.h").exists():
        raise RuntimeError(
            f"[custom_op_tools] the headers of mge are missing: there is no {folder}"
        )
    return folder


def _check_device(sources: Sequence[str | os.PathLike], with_cuda: bool | None) -> None:
    cuda = [os.fspath(s) for s in sources if os.fspath(s).endswith((".cu", ".cuh"))]
    if with_cuda or (with_cuda is None and cuda):
        what = f"'{cuda[0]}' is for CUDA" if cuda else "with_cuda=True"
        raise RuntimeError(
            f"[custom_op_tools] {what}: libraries of own operators have kernels for "
            "the CPU alone; with_cuda=False leaves files for CUDA out"
        )


def _checked_sources(name: str, sources, with_cuda: bool | None) -> list:
    """The sources that are compiled, for a library that may have this name."""
    if isinstance(sources, str | os.PathLike):
        sources = [sources]
    if not name or not all(c.isalnum() or c in "_-" for c in name):
        raise ValueError(f"[custom_op_tools] {name!r} cannot be the name of a library")
    if not sources:
        raise ValueError("[custom_op_tools] there are no sources")
    _check_device(sources, with_cuda)
    return [s for s in sources if not os.fspath(s).endswith((".cu", ".cuh"))]


def _compile(command: list[str], verbose: bool) -> None:
    if verbose:
        print(shlex.join(command), flush=True)
    try:
        done = subprocess.run(
            command, capture_output=True, text=True, errors="replace", check=False
        )
    except FileNotFoundError as error:
        raise RuntimeError(
            f"[custom_op_tools] there is no compiler '{command[0]}'; the variable CXX names another"
        ) from error
    if verbose:
        print(done.stdout + done.stderr, end="", flush=True)
    if done.returncode:
        raise RuntimeError(
            f"[custom_op_tools] the compiler ended with {done.returncode}: "
            f"{shlex.join(command)}\n{done.stdout}{done.stderr}"
        )


def build(
    name: str,
    sources: str | os.PathLike | Sequence[str | os.PathLike],
    extra_cflags: Sequence[str] | None = None,
    extra_cuda_cflags: Sequence[str] | None = None,
    extra_ldflags: Sequence[str] | None = None,
    extra_include_paths: Sequence[str | os.PathLike] | None = None,
    with_cuda: bool | None = None,
    build_dir: str | os.PathLike | None = None,
    verbose: bool = False,
    abi_tag: int | None = None,
) -> str:
    """Compile a library of operators with the compiler of $CXX, or c++.

    The file's name depends on sources, flags and the version of mge: unchanged sources are not
    built again, and changed ones get another name, so that a running process can load the library.

    Args:
        name: name of the file, from letters, digits, "_" and "-".
        sources: paths of the sources.
        extra_cflags: further flags of the compiler.
        extra_cuda_cflags: no effect.
        extra_ldflags: further flags of the linker.
        extra_include_paths: further folders with headers.
        with_cuda: True is an error, as is a CUDA source with None.
        build_dir: folder of the file; default: the user's cache.
        verbose: print the command and messages.
        abi_tag: 0 or 1 for ``_GLIBCXX_USE_CXX11_ABI``; None: the compiler's own.
    Returns:
        The path of the library.
    Raises:
        RuntimeError: the compiler failed (the error contains its messages), or is missing.
    Example:
        >>> build("example", "operators.cpp")  # doctest: +SKIP
        '/home/someone/.cache/example.so'
    """
    sources = _checked_sources(name, sources, with_cuda)
    include = _include_folder()
    cflags = [*_CFLAGS, *(extra_cflags or ())]
    if abi_tag is not None:
        cflags.append(f"-D_GLIBCXX_USE_CXX11_ABI={int(abi_tag)}")
    cflags += [f"-I{folder}" for folder in (include, *map(os.fspath, extra_include_paths or ()))]
    ldflags = [*_LDFLAGS, *(extra_ldflags or ())]
    compiler = shlex.split(os.environ.get("CXX", "c++"))

    what = [compiler, cflags, ldflags, map(os.fspath, sources), [_mge.__version__]]
    digest = hash_build_args(hash_source_files(_headers_hash(include), sources), what)
    folder = Path(build_dir) if build_dir else _default_folder() / name
    folder.mkdir(parents=True, exist_ok=True)
    path = folder.resolve() / f"{name}_{digest:016x}.so"
    if path.exists():
        return str(path)
    with tempfile.TemporaryDirectory(dir=folder, prefix=f"{name}.") as scratch:
        made = Path(scratch) / path.name
        inputs = [os.path.abspath(s) for s in sources]
        library = os.path.realpath(_mge.library_path())
        _compile([*compiler, *cflags, *inputs, library, *ldflags, "-o", str(made)], verbose)
        os.replace(made, path)
    return str(path)


def build_and_load(
    name: str,
    sources: str | os.PathLike | Sequence[str | os.PathLike],
    extra_cflags: Sequence[str] | None = None,
    extra_cuda_cflags: Sequence[str] | None = None,
    extra_ldflags: Sequence[str] | None = None,
    extra_include_paths: Sequence[str | os.PathLike] | None = None,
    with_cuda: bool | None = None,
    build_dir: str | os.PathLike | None = None,
    verbose: bool = False,
    abi_tag: int | None = None,
) -> str:
    """``build``, then ``load``: the operators are functions of ``megengine.core.ops.custom``.

    Args:
        name, sources, extra_cflags, extra_cuda_cflags, extra_ldflags: as in ``build``.
        extra_include_paths, with_cuda, build_dir, verbose, abi_tag: as in ``build``.

    Returns:
        the path of the library.
    Example:
        >>> build_and_load("example", "operators.cpp")  # doctest: +SKIP
        '/home/someone/.cache/example.so'
    """
    flags = (extra_cflags, extra_cuda_cflags, extra_ldflags, extra_include_paths, with_cuda)
    path = build(name, sources, *flags, build_dir, verbose, abi_tag)
    load(path)
    return path


def _headers_hash(include: Path) -> int:
    """Hash of mge's headers: sources that include them change with them."""
    return hash_source_files(0, sorted(include.rglob("*.h")))


def _default_folder() -> Path:
    """Files in this folder are executed, so it must not be writable by others; the library has
    such a folder."""
    cache = _mge.cache_folder()
    if cache is None:
        raise RuntimeError("[custom_op_tools] there is no folder for caches; give a build_dir")
    return Path(cache) / "mge" / "custom_ops"
