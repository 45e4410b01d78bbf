# SPDX-License-Identifier: Apache-2.0
import sys
from pathlib import Path

# The helpers beside the tests.
sys.path.insert(0, str(Path(__file__).resolve().parent))
