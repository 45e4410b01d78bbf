# SPDX-License-Identifier: Apache-2.0
"""Replays the recorded calls of functions, forward and backward."""

import pytest
from known_differences import CASES
from oracle import Reader, check_case

READER = Reader("functional_cases")
ROWS = {}
for _row in READER.rows:
    if "crash" not in _row and "unstable" not in _row:
        ROWS.setdefault(_row["fn"], []).append(_row)


@pytest.mark.parametrize("name", sorted(ROWS))
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


def test_every_listed_case_exists():
    known = {row["id"] for rows in ROWS.values() for row in rows}
    assert set(CASES) <= known
