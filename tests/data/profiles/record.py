# SPDX-License-Identifier: Apache-2.0
"""Writes analysed.json: what MegEngine 1.13's profile_analyze prints for the profiles here.

Run it with a Python that has MegEngine 1.13 and tabulate.
"""

import contextlib
import io
import itertools
import json
import warnings
from pathlib import Path

from megengine.tools.profile_analyze import main

FOLDER = Path(__file__).resolve().parent
ARGUMENTS = [
    "",
    "--top 0 --show-host",
    "--top 0 --aggregate sum --aggregate-by type",
    "--top 0 --aggregate sum",
    "--top 0 --aggregate mean --aggregate-by type --type Elemwise",
    "--top 0 --aggregate mean",
    "--order-by +time --top 5",
    "--order-by bandwidth --top 6",
    "--order-by memory --top 4",
    "--order-by computation --top 4 --type MatrixMul --type Convolution --type Elemwise",
    "--order-by flops --top 4 --type MatrixMul --type Convolution --type Elemwise",
    "--print-only host --top 4",
    "--print-only device --top 2",
    "--print-only summary",
    "--type Elemwise --type MatrixMul --top 3",
    "--opr-name .*relu.* --top 2",
    "--opr-name (conv|matrix_mul|FUSE).* --top 6",
    "--min-time 1e-5 --top 8",
    "--max-time 3e-6 --min-time 1e-6 --top 0 --show-host",
    "--top-end-key kern --top 4",
    "--type Convolution --input-dtype Float32",
    "--type NoSuch",
    "--dump-only-opr --top 0",
    "--dump-only-opr --top 0 --aggregate max --aggregate-by type --type MatrixMul",
]


def printed(profile, arguments):
    """The output of the tool, or None if it fails."""
    text = io.StringIO()
    with contextlib.redirect_stdout(text), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            main([str(FOLDER / profile), *arguments.split()])
        except Exception:
            return None
    return text.getvalue()


if __name__ == "__main__":
    profiles = sorted(p.name for p in FOLDER.glob("*.profile.json"))
    rows = [
        {"profile": profile, "arguments": arguments, "text": text}
        for profile, arguments in itertools.product(profiles, ARGUMENTS)
        if (text := printed(profile, arguments)) is not None
    ]
    path = FOLDER / "analysed.json"
    path.write_text(json.dumps(rows, ensure_ascii=False, indent=1) + "\n")
    print(f"{len(rows)} of {len(profiles) * len(ARGUMENTS)} cases")
