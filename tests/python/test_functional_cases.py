# SPDX-License-Identifier: Apache-2.0
"""Replays the recorded calls of functions, forward and backward."""

import pytest
from known_differences import CASES, FUNCTIONS
from oracle import Reader, check_case, resolve

from megengine import NotAvailableError

READER = Reader("functional_cases")
ROWS = {}
for _row in READER.rows:
    if "crash" not in _row and "unstable" not in _row:
        ROWS.setdefault(_row["fn"], []).append(_row)


@pytest.mark.parametrize("name", sorted(set(ROWS) - set(FUNCTIONS)))
def test_function_answers_as_recorded(name):
    wrong = []
    for row in ROWS[name]:
        text = check_case(row, READER)
        if row["id"] in CASES:
            if text is None:
                wrong.append(f"{row['id']} is listed as different, but agrees")
        elif text:
            wrong.append(f"{row['id']}: {text}")
    assert not wrong, "\n".join(wrong)


@pytest.mark.parametrize("name", FUNCTIONS)
def test_function_that_is_not_available_says_so(name):
    with pytest.raises(NotAvailableError, match=name.rsplit(".", 1)[-1]):
        resolve(name)


def test_every_listed_case_exists():
    known = {row["id"] for rows in ROWS.values() for row in rows}
    assert set(CASES) <= known
    assert set(FUNCTIONS) <= set(ROWS)
