# SPDX-License-Identifier: Apache-2.0
"""Builds the site: stages the pages, runs mkdocs and checks every link of the result."""

import sys
from pathlib import Path

from mkdocs.__main__ import cli

from docs_site.check_site import broken_links
from docs_site.stage import Stage

ROOT = Path(__file__).resolve().parents[2]
PAGES = ROOT / "build/docs-pages"
SITE = ROOT / "build/site"


def main() -> None:
    Stage(ROOT, PAGES).run()
    cli(["build", "--strict", "-f", str(ROOT / "mkdocs.yml")], standalone_mode=False)
    if faults := broken_links(SITE):
        sys.exit("\n".join(faults))


if __name__ == "__main__":
    main()
