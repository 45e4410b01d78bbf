# SPDX-License-Identifier: Apache-2.0
"""The catalogue of kernels: what it takes from headers, and which it misses."""

import make_kernel_page


def test_the_first_comment_of_each_header_is_its_row(tmp_path):
    folder = tmp_path / "libmge/kernel/cpu"
    folder.mkdir(parents=True)
    head = "// SPDX-License-Identifier: Apache-2.0\n#pragma once\n"
    (folder / "rows.h").write_text(head + "// Sums a|b\n// of rows.\n//\n// More.\n")
    (folder / "bare.h").write_text(head + "int f();\n")
    text, missing = make_kernel_page.page(tmp_path)
    assert "| `rows.h` | Sums a\\|b of rows. |" in text
    assert missing == ["libmge/kernel/cpu/bare.h"]


def test_each_kernel_header_describes_its_content():
    text, missing = make_kernel_page.page(make_kernel_page.ROOT)
    assert missing == []
    assert "`winograd.h`" in text
