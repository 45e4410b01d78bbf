# SPDX-License-Identifier: Apache-2.0
"""The machine that runs the instructions of plain pickles: a stack, a memo, and containers.

The derived class ``plain_objects.Reader`` defines what a file may name, call and build.
"""

import pickle
import struct
from collections import OrderedDict

import numpy as np

from .. import _mge
from ..core.nesting import MOST_DEPTH
from .graph_records import Record

STEP_BYTES = 128  # upper bound of the memory of an object with its stack and memo entries
_STEPS_OF_VISIT = 64  # that a graph needs for a call, in the time of instructions
_SCALARS = (bool, int, float, str, bytes, type(None))
_MARK = object()


class UnsafePickleError(pickle.UnpicklingError):
    """A file is not a plain pickle, or is damaged."""


class Name:
    """Represents the global object that a file names."""

    __slots__ = ("module", "name")

    def __init__(self, module: str, name: str):
        self.module, self.name = module, name

    def __str__(self) -> str:
        return f"{self.module}.{self.name}"


def check(condition: bool, what: str) -> None:
    """Raise an UnsafePickleError with a message unless the condition holds."""
    if not condition:
        raise UnsafePickleError(what)


class Machine:
    """One run over one file."""

    def __init__(self, content: bytes | memoryview, has_old_texts: bool = False):
        self._bytes = memoryview(content)
        self._has_old_texts = has_old_texts  # texts of Python 2 are bytes
        self.position = 0
        self._steps = max(_mge.file_limit(), len(self._bytes)) // STEP_BYTES
        self._stack: list = []
        self._memo: dict = {}
        # Arrays that wait for their content, modules that wait for their state, tuples that contain
        # names. Arrays and tuples must not be used elsewhere before they are complete.
        self._unfinished: dict[int, np.ndarray] = {}
        self._without_state: dict[int, object] = {}
        self._arguments: dict[int, tuple[tuple, int]] = {}  # with their depths
        self._values: dict[int, tuple] = {}  # the same tuples, with objects for the names
        self._visited: dict[int, object] = {}  # which lets no other object have the number
        self._has_graphs = False  # it names a traced module

    def spend(self, steps: int) -> None:
        """Count work whose amount the file determines.

        Raises:
            UnsafePickleError: the file exceeds its limit.
        """
        self._steps -= steps
        check(self._steps >= 0, "it holds more objects than MGE_FILE_LIMIT allows")

    def visit(self, part, size: int) -> None:
        """Count the second and each further visit of an object as that many new ones."""
        self.spend(size * (_STEPS_OF_VISIT if id(part) in self._visited else 1))
        self._visited[id(part)] = part

    def run(self):
        while True:
            self.spend(1)
            code = self._take(1)[0]
            if code == ord("."):
                break
            step = _STEPS.get(code)
            check(
                step is not None, f"it has the instruction {bytes([code])!r}, which is not allowed"
            )
            step(self)
        check(len(self._stack) == 1, "it ends with a stack of another height")
        return self._value(self._pop())

    # Bytes and the stack.

    def _take(self, count: int) -> memoryview:
        check(0 <= count <= len(self._bytes) - self.position, "it is cut off")
        part = self._bytes[self.position : self.position + count]
        self.position += count
        return part

    def _number(self, form: str) -> int:
        return struct.unpack("<" + form, self._take(struct.calcsize("<" + form)))[0]

    def _pop(self):
        check(bool(self._stack) and self._stack[-1] is not _MARK, "its stack is empty")
        return self._stack.pop()

    def _pop_to_mark(self) -> list:
        at = len(self._stack)
        while at and self._stack[at - 1] is not _MARK:
            at -= 1
        check(at > 0, "it has no mark")
        found = self._stack[at:]
        del self._stack[at - 1 :]
        self.spend(len(found) // 8)
        return found

    def _value(self, value):
        """A value that may be an element, or the result."""
        if isinstance(value, Name):
            return self._named_value(value)
        if id(value) in self._arguments:
            check(self._has_graphs, "it holds the arguments of a call")
            if id(value) not in self._values:
                self._values[id(value)] = tuple(self._value(part) for part in value)
            return self._values[id(value)]
        check(id(value) not in self._unfinished, "it uses an array before its content is there")
        return value

    def _key(self, value):
        # Hashing nested tuples recurses, and objects of others would run code.
        if isinstance(value, Record):
            return value
        parts = value if type(value) is tuple else (value,)
        check(
            all(type(part) in _SCALARS for part in parts),
            "a key is neither plain nor a tuple of such",
        )
        # Any number of larger integers have one hash.
        check(
            all(type(part) is not int or -(1 << 63) <= part < 1 << 63 for part in parts),
            "a key is an integer of more than 64 bits",
        )
        return value

    # Instructions.

    def push(self, value) -> None:
        self._stack.append(value)

    def integer(self) -> None:
        self.push(int.from_bytes(self._take(self._number("B")), "little", signed=True))

    def text(self, form: str) -> None:
        raw = bytes(self._take(self._number(form)))
        try:
            self.push(raw.decode("utf-8", "surrogatepass"))
        except UnicodeDecodeError:
            raise UnsafePickleError("a text in it is damaged") from None

    def data(self, form: str) -> None:
        self.push(bytes(self._take(self._number(form))))

    def old_text(self, form: str) -> None:
        check(self._has_old_texts, "it has a text of Python 2")
        self.data(form)

    def tuple(self, parts: list) -> None:
        made = tuple(parts)
        inner = [
            self._arguments.get(id(part), (part, 0))[1]
            for part in parts
            if isinstance(part, Name) or id(part) in self._arguments
        ]
        if inner:
            check(max(inner) < MOST_DEPTH, "the arguments of a call are nested too deep")
            self._arguments[id(made)] = made, 1 + max(inner)
        for part in parts:
            check(id(part) not in self._unfinished, "it uses an array before its content is there")
        self.push(made)

    def short_tuple(self, count: int) -> None:
        parts = [self._pop() for _ in range(count)]
        self.tuple(parts[::-1])

    def append(self, values: list) -> None:
        target = self._top()
        check(type(target) is list, "it appends to a value that is not a list")
        target.extend(self._value(value) for value in values)

    def set_items(self, values: list) -> None:
        target = self._top()
        check(type(target) in (dict, OrderedDict), "it sets items of a value that is not a dict")
        check(len(values) % 2 == 0, "a key in it has no value")
        for key, value in zip(values[::2], values[1::2], strict=True):
            target[self._key(self._value(key))] = self._value(value)

    def add_items(self) -> None:
        values = self._pop_to_mark()
        target = self._top()
        check(type(target) is set, "it adds to a value that is not a set")
        target.update(self._key(self._value(value)) for value in values)

    def frozen_set(self) -> None:
        self.push(frozenset(self._key(self._value(value)) for value in self._pop_to_mark()))

    def _top(self):
        check(bool(self._stack), "its stack is empty")
        return self._stack[-1]

    def remember(self, key: int) -> None:
        self._memo[key] = self._top()

    def recall(self, key: int) -> None:
        check(key in self._memo, "it reads a memo entry that it has not written")
        self.push(self._memo[key])

    def name(self, module, name) -> None:
        check(type(module) is str and type(name) is str, "a name in it is not a string")
        if not self.is_allowed(module, name):
            raise UnsafePickleError(
                f"it names {module}.{name}, which is not among what may be loaded"
            )
        self.push(Name(module, name))

    def named_in_lines(self) -> None:
        words = []
        for _ in range(2):
            end = bytes(self._bytes[self.position : self.position + 1024]).find(b"\n")
            check(end >= 0, "a name in it is cut off")
            words.append(bytes(self._take(end + 1))[:-1].decode("utf-8", "replace"))
        self.name(*words)

    def named_on_stack(self) -> None:
        name = self._pop()
        self.name(self._pop(), name)

    # Rules for names, calls and constructors.

    def is_allowed(self, module: str, name: str) -> bool:
        """Whether a file may name this global object."""
        raise NotImplementedError

    def _named_value(self, name: Name):
        """The value of a name that is used as a value itself."""
        raise NotImplementedError

    def call(self) -> None:
        """Call the function on the stack, with the arguments above it."""
        raise NotImplementedError

    def new_object(self) -> None:
        """An object of the class on the stack."""
        raise NotImplementedError

    def build(self) -> None:
        """Give the object on the stack the state above it."""
        raise NotImplementedError


_STEPS = {
    pickle.PROTO[0]: lambda m: m._take(1),
    pickle.FRAME[0]: lambda m: m._take(8),
    pickle.MARK[0]: lambda m: m.push(_MARK),
    pickle.POP[0]: lambda m: m._pop(),
    pickle.POP_MARK[0]: lambda m: m._pop_to_mark(),
    pickle.NONE[0]: lambda m: m.push(None),
    pickle.NEWTRUE[0]: lambda m: m.push(True),
    pickle.NEWFALSE[0]: lambda m: m.push(False),
    pickle.BININT[0]: lambda m: m.push(m._number("i")),
    pickle.BININT1[0]: lambda m: m.push(m._number("B")),
    pickle.BININT2[0]: lambda m: m.push(m._number("H")),
    pickle.LONG1[0]: Machine.integer,
    pickle.BINFLOAT[0]: lambda m: m.push(struct.unpack(">d", m._take(8))[0]),
    pickle.SHORT_BINUNICODE[0]: lambda m: m.text("B"),
    pickle.BINUNICODE[0]: lambda m: m.text("I"),
    pickle.BINUNICODE8[0]: lambda m: m.text("Q"),
    pickle.SHORT_BINBYTES[0]: lambda m: m.data("B"),
    pickle.BINBYTES[0]: lambda m: m.data("I"),
    pickle.BINBYTES8[0]: lambda m: m.data("Q"),
    pickle.SHORT_BINSTRING[0]: lambda m: m.old_text("B"),
    pickle.BINSTRING[0]: lambda m: m.old_text("I"),
    pickle.BYTEARRAY8[0]: lambda m: m.data("Q"),
    pickle.EMPTY_LIST[0]: lambda m: m.push([]),
    pickle.APPEND[0]: lambda m: m.append([m._pop()]),
    pickle.APPENDS[0]: lambda m: m.append(m._pop_to_mark()),
    pickle.EMPTY_TUPLE[0]: lambda m: m.push(()),
    pickle.TUPLE[0]: lambda m: m.tuple(m._pop_to_mark()),
    pickle.TUPLE1[0]: lambda m: m.short_tuple(1),
    pickle.TUPLE2[0]: lambda m: m.short_tuple(2),
    pickle.TUPLE3[0]: lambda m: m.short_tuple(3),
    pickle.EMPTY_DICT[0]: lambda m: m.push({}),
    pickle.SETITEM[0]: lambda m: m.set_items([m._pop(), m._pop()][::-1]),
    pickle.SETITEMS[0]: lambda m: m.set_items(m._pop_to_mark()),
    pickle.EMPTY_SET[0]: lambda m: m.push(set()),
    pickle.ADDITEMS[0]: Machine.add_items,
    pickle.FROZENSET[0]: Machine.frozen_set,
    pickle.MEMOIZE[0]: lambda m: m.remember(len(m._memo)),
    pickle.BINPUT[0]: lambda m: m.remember(m._number("B")),
    pickle.LONG_BINPUT[0]: lambda m: m.remember(m._number("I")),
    pickle.BINGET[0]: lambda m: m.recall(m._number("B")),
    pickle.LONG_BINGET[0]: lambda m: m.recall(m._number("I")),
    pickle.GLOBAL[0]: Machine.named_in_lines,
    pickle.STACK_GLOBAL[0]: Machine.named_on_stack,
    pickle.REDUCE[0]: lambda m: m.call(),
    pickle.NEWOBJ[0]: lambda m: m.new_object(),
    pickle.BUILD[0]: lambda m: m.build(),
}
