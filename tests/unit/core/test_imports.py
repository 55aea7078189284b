"""The core is light and pure: what it loads says so."""

from __future__ import annotations

import subprocess
import sys

FORBIDDEN = "pydantic asyncio logging random socket subprocess sqlite3 apsw click ruamel concurrent multiprocessing"
MODULES = "codec conditions decide escalate keys lapsed lifecycle model reasons retry templates"


def test_nothing_heavy_and_nothing_that_acts_is_loaded_with_the_core() -> None:
    code = f"""
import sys
before = set(sys.modules)
import {", ".join(f"noonmark.core.{name}" for name in MODULES.split())}
print(*sorted({{name.partition(".")[0] for name in set(sys.modules) - before}}))
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True, timeout=60)
    assert set(done.stdout.split()) & set(FORBIDDEN.split()) == set()
    assert "noonmark" in done.stdout
