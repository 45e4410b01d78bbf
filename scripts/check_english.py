#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Check that comments, docstrings, Markdown and names of given folders are plain English.

Three kinds of sentences are faults: those that begin with a bare "Of", "What" or "Who" without
being a question, those that use a word for which the field has a better one, and those of more than
40 words. A comment must not begin with "Where" either. An identifier of C++ or Python must not
contain such a word, and a sentence that names a test must not begin with "Of", "What" or "Who".
Prints each fault as file:line.
"""

import argparse
import ast
import io
import re
import sys
import tokenize
from pathlib import Path

LONGEST = 40
OPENERS = ("Of", "What", "Who", "Whoever", "Whose", "Whom")
FIELD_WORDS = {
    r"\b(?:told|tells?)\b": "report, print, distinguish",
    r"\bstands?\b(?!-| for\b)": "is defined, is listed, is stored",
    r"\b(?:lies|lie)\b": "is stored, is located",
    r"\bgone\b": "removed, freed, closed",
    r"\b(?<!there )(?:is|are|was|were|be|stays?) none\b": "returns null, is ignored, is not a ...",
    r"\bwho (?:calls|asks|reads|looks|has|wants|gives|takes|uses|says)\b": "the caller, the user",
    r"\bfor whom\b": "the caller, the owner",
    r"\b[Nn]obody\b": "name it: no caller, no thread",
    r"\bthat which\b": "name it",
    r"\bwhatever (?:it|is|was)\b": "any, regardless of",
}
# Words that no identifier contains, by underscores or capitals.
NAME_WORDS = {
    "ask, asks, asked, asking, asker, askers": "request, query, enqueue",
    "told, tells, teller, says, said": "report, print, contain, declare",
    "nobody, somebody, anybody, whoever, whom, whose": "the thread, the caller, the owner",
    "lie, lies, stands": "is stored, is listed, is defined",
    "room, rooms, door, doors": "space, capacity, package, entry point",
    "crew, errand": "workers, task",
    "dear, anew, borne": "costly, again, used",
}
BETTER_NAMES = {word: name for words, name in NAME_WORDS.items() for word in words.split(", ")}
NAME_PART = re.compile(r"[A-Z]?[a-z]+|[A-Z]+(?![a-z])")
SENTENCE_NAME = re.compile(
    r"test_(?:of|what|whatever|who|whoever|whose)_"
    r"|(?:Of|What|Whatever|Who|Whoever|Whose)(?:[A-Z][a-z]*){3}"
)
WORD_RULES = [(re.compile(pattern), better) for pattern, better in FIELD_WORDS.items()]
CPP_SUFFIXES = {".h", ".cpp", ".cu", ".cuh", ".inc", ".in"}
HASH_SUFFIXES = {".cmake", ".sh", ".yml", ".yaml", ".toml"}
CPP_TOKEN = re.compile(
    r'R"(?P<mark>\w*)\(.*?\)(?P=mark)"'
    r'|"(?:\\.|[^"\\\n])*"'
    r"|(?<![0-9A-Fa-f])'(?:\\.|[^'\\\n])+'"
    r"|(?P<comment>//[^\n]*|/\*.*?\*/)"
    r"|(?P<name>[A-Za-z_]\w*)",
    re.DOTALL,
)
HASH_COMMENT = re.compile(r"(?:^|\s)#+(?:\s+(.*)|$)")
CODE_SPAN = re.compile(r"`+[^`]*`+")
LINK = re.compile(r"!?\[([^\]]*)\](?:\([^)]*\)|\[[^\]]*\])")
TABLE_ROW = re.compile(r"^\||\S   +\S")
NEW_BLOCK = re.compile(r"^\s*(?:#+|>|[-*+]|\d+\.)\s+")


def joined(comments):
    """Joins comments (line, text before, text) into blocks: lines of comment alone continue one."""
    block, next_to = [], None
    for line, before, text in comments:
        is_prose = text and not text.startswith("SPDX-")
        is_first = before.strip() or not is_prose or TABLE_ROW.search(text)
        if block and ((line, len(before)) != next_to or is_first):
            yield block
            block = []
        if is_prose:
            block.append((line, text))
        next_to = (line + 1, len(before))
    if block:
        yield block


def cpp_blocks(text):
    comments, line, seen = [], 1, 0
    for token in CPP_TOKEN.finditer(text):
        if not token["comment"]:
            continue
        line += text.count("\n", seen, token.start())
        seen = token.start()
        before = text[text.rfind("\n", 0, seen) + 1 : seen]
        for offset, row in enumerate(token["comment"].splitlines()):
            comments.append((line + offset, before, row.strip().strip("/*<").strip()))
            before = " " * len(before)
    return joined(comments)


def python_blocks(text):
    comments = [
        (token.start[0], token.line[: token.start[1]], token.string.lstrip("#!").strip())
        for token in tokenize.generate_tokens(io.StringIO(text).readline)
        if token.type == tokenize.COMMENT
    ]
    yield from joined(comments)
    documented = ast.Module | ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, documented) and ast.get_docstring(node, clean=False):
            first = node.body[0].lineno
            rows = ast.get_docstring(node, clean=False).splitlines()
            yield from docstring_blocks(enumerate(rows, first))


def docstring_blocks(rows):
    """Paragraphs of a docstring without its examples."""
    block = []
    for line, row in rows:
        row = row.strip()
        if row and not row.startswith((">>>", "...")):
            block.append((line, row))
            continue
        yield block
        block = []
    yield block


def hash_blocks(text):
    rows = enumerate(text.splitlines(), 1)
    found = ((line, row, HASH_COMMENT.search(row)) for line, row in rows)
    return joined([(n, row[: m.start()], (m[1] or "").strip()) for n, row, m in found if m])


def markdown_blocks(text):
    block, is_code = [], False
    for line, row in enumerate(text.splitlines(), 1):
        if row.lstrip().startswith(("```", "~~~")):
            is_code = not is_code
        if is_code or not row.strip() or row.lstrip().startswith(("|", "```", "~~~", "<")):
            yield block
            block = []
            if not is_code and row.lstrip().startswith("|"):
                yield from ([(line, cell)] for cell in CODE_SPAN.sub("x", row).split("|"))
            continue
        if NEW_BLOCK.match(row):
            yield block
            block = []
        block.append((line, NEW_BLOCK.sub("", row)))
    yield block


def blocks_of(path, text):
    """The paragraphs of prose in a file: lists of (line, text)."""
    if path.suffix in CPP_SUFFIXES:
        return cpp_blocks(text)
    if path.suffix == ".py":
        return python_blocks(text)
    if path.suffix == ".md":
        return markdown_blocks(text)
    is_script = path.suffix in HASH_SUFFIXES or path.name == "CMakeLists.txt"
    if is_script or text.startswith(("#!/usr/bin/env bash", "#!/bin/sh", "#!/bin/bash")):
        return hash_blocks(text)
    return []


def plain(text):
    """Text with code spans as one word each and links as what they show."""
    return LINK.sub(r"\1", CODE_SPAN.sub("x", text))


def sentences(block):
    """Yields (line, text) of each sentence, where a colon or semicolon ends one, too."""
    words = [(line, word) for line, text in block for word in plain(text).split()]
    ends = [number for number, (_, word) in enumerate(words) if re.search(r"[.!?:;]['\")]*$", word)]
    first = 0
    for last in [*ends, len(words) - 1]:
        if last >= first:
            yield words[first][0], " ".join(word for _, word in words[first : last + 1])
        first = last + 1


def faults_of(sentence, is_first, is_page):
    """Yields what is wrong with a sentence."""
    opener = re.match(r"[\"'(]*(\w+)", sentence)
    word = opener[1] if opener else ""
    if is_first and not is_page:
        word = word.capitalize()
    if not sentence.endswith("?"):
        if word in OPENERS or (word == "Where" and is_first and not is_page):
            yield f'begins with "{opener[1]}"'
    for rule, better in WORD_RULES:
        if found := rule.search(sentence):
            yield f'says "{found[0]}" (better: {better})'
    if len(sentence.split()) > LONGEST:
        yield f"has {len(sentence.split())} words"


def cpp_names(text):
    for token in CPP_TOKEN.finditer(text):
        if token["name"]:
            yield token["name"], token.start()


def python_names(text):
    starts = [0, *(found.end() for found in re.finditer("\n", text))]
    for token in tokenize.generate_tokens(io.StringIO(text).readline):
        if token.type == tokenize.NAME:
            yield token.string, starts[token.start[0] - 1]


def names_of(path, text):
    """The identifiers in a file, once each: (name, a position in its first line)."""
    if path.suffix in CPP_SUFFIXES:
        names = cpp_names(text)
    else:
        names = python_names(text) if path.suffix == ".py" else []
    first = {}
    for name, position in names:
        first.setdefault(name, position)
    return first.items()


def faults_of_name(name):
    """Yields what is wrong with an identifier."""
    for part in NAME_PART.findall(name):
        if better := BETTER_NAMES.get(part.lower()):
            yield f'name has "{part}" (better: {better})'
    if SENTENCE_NAME.match(name):
        yield "name is a sentence without a subject"


def check(path):
    """Yields the faults of a file, each as (line, text)."""
    text = path.read_text(errors="replace")
    for name, position in names_of(path, text):
        for fault in faults_of_name(name):
            yield text.count("\n", 0, position) + 1, f"{fault}: {name}"
    for block in blocks_of(path, text):
        for number, (line, sentence) in enumerate(sentences(block)):
            for fault in faults_of(sentence, number == 0, path.suffix == ".md"):
                yield line, f"{fault}: {sentence[:100]}"


def files_of(place):
    """The files of a folder but for hidden and built ones; a file itself."""
    if place.is_file():
        yield place
    for path in sorted(place.rglob("*")):
        inside = path.relative_to(place).parts
        if path.is_file() and not any(part.startswith(".") or part == "build" for part in inside):
            yield path


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("places", type=Path, nargs="+", metavar="FOLDER_OR_FILE")
    faults = [
        f"{path}:{line}: {fault}"
        for place in parser.parse_args().places
        for path in files_of(place)
        for line, fault in check(path)
    ]
    print("\n".join(faults), end="\n" if faults else "")
    return 1 if faults else 0


if __name__ == "__main__":
    sys.exit(main())
