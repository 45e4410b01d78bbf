# SPDX-License-Identifier: Apache-2.0
import check_english
import pytest


@pytest.fixture
def faults(tree):
    def check(name, text):
        return [
            f"{line}: {fault}" for line, fault in check_english.check(tree({name: text}) / name)
        ]

    return check


def test_plain_sentences_pass(faults):
    assert faults("a.h", "// Returns the rank.\nint rank(int x);  // of a matrix it is 2?\n") == []


@pytest.mark.parametrize("word", ["Of", "What", "Who", "Where"])
def test_opener_of_a_comment_is_named(faults, word):
    assert faults("a.cpp", f"int x;\n// {word} it is.\n") == [
        f'2: begins with "{word}": {word} it is.'
    ]


def test_opener_of_a_trailing_comment_is_named_in_lower_case(faults):
    assert faults("a.h", "int a;  // in bytes\nint b;  // of all files\n") == [
        '2: begins with "of": of all files'
    ]


def test_opener_in_the_middle_of_a_sentence_passes(faults):
    assert faults("a.h", "// The caller decides\n// what happens next.\n") == []


def test_sentence_of_several_lines_has_the_line_that_it_begins_in(faults):
    assert faults("a.h", "// One thing. What is\n// more.\n") == [
        '1: begins with "What": What is more.'
    ]


def test_text_of_a_program_is_not_prose(faults):
    assert faults("a.cpp", 'auto a = "// What";\nauto b = R"(\n// What)";\nauto c = \'"\';\n') == []
    assert faults("a.py", 'A = "# What"\n') == []


def test_dialect_word_is_named(faults):
    assert faults("a.py", '"""Text.\n\nIt tells the size.\n"""\n') == [
        '3: says "tells" (better: report, print, distinguish): It tells the size.'
    ]


@pytest.mark.parametrize("name", ["a.h", "a.py"])
def test_dialect_word_in_an_identifier_is_named(faults, name):
    assert faults(name, "one = 1\nx = is_told + Askers\ny = is_told + roomy\n") == [
        '2: name has "told" (better: report, print, contain, declare): is_told',
        '2: name has "Askers" (better: request, query, enqueue): Askers',
    ]


def test_names_in_texts_and_other_languages_pass(faults):
    assert faults("a.cpp", 'auto a = "is_told";\n') == []
    assert faults("a.py", 'A = "is_told"\n') == []
    assert faults("a.sh", "is_told=1\n") == []


def test_sentence_without_a_subject_is_not_a_test_name(faults):
    assert faults("a.cpp", "TEST(Files, WhatIsMissingRaises) {}\nint WholeNumbersAreFound;\n") == [
        "1: name is a sentence without a subject: WhatIsMissingRaises"
    ]
    assert faults("a.py", "def test_who_waits():\n    pass\n") == [
        "1: name is a sentence without a subject: test_who_waits"
    ]


def test_examples_of_docstrings_pass(faults):
    assert faults("a.py", 'def f():\n    """Text.\n\n    >>> told()\n    """\n') == []


def test_long_sentence_is_named(faults):
    assert faults("a.sh", f"# {'word ' * 40}end.\n")[0].startswith("1: has 41 words")
    assert faults("a.sh", f"# {'word ' * 39}end.\n") == []


def test_page_is_read_by_paragraphs(faults):
    page = "# Who\n\nText with `what it told`.\n\n```\nWhat\n```\n\n| What | a |\n| b | c |\n"
    assert faults("a.md", page) == ['1: begins with "Who": Who', '9: begins with "What": What']


def test_hidden_and_built_files_are_skipped(tree):
    root = tree({"a.md": "", "build/b.md": "", ".cache/c.md": ""})
    assert [path.name for path in check_english.files_of(root)] == ["a.md"]
