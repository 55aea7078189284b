"""The public door: what strangers may import, and that it stays light."""

from __future__ import annotations

import subprocess
import sys

import noonmark


def test_every_public_name_can_be_had_and_nothing_else_is_promised() -> None:
    for name in noonmark.__all__:
        assert getattr(noonmark, name) is not None, name
    assert sorted(noonmark.__all__) == sorted(set(noonmark.__all__))
    assert len(noonmark.__all__) <= 40


def test_importing_the_door_loads_none_of_the_heavy_libraries() -> None:
    heavy = ("pydantic", "ruamel.yaml", "apsw", "asyncio", "click")
    code = f"import sys, noonmark; print([m for m in {heavy} if m in sys.modules])"
    seen = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout.strip()
    assert seen == "[]"
