"""docs/architecture.md draws the floors that the import contract has, and names every store, lock and port there is."""

from __future__ import annotations

import re
import tomllib
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
PAGE = (ROOT / "docs/architecture.md").read_text(encoding="utf-8")
SRC = ROOT / "src/noonmark"


def drawn(floor: str) -> str:
    """Return what stands in the picture's box of that floor."""
    found = re.search(rf'\["<b>{floor}</b><br/>(.*?)"\]', PAGE)
    assert found, f"the picture has no {floor}"
    return found[1]


def test_the_picture_has_the_floors_of_the_contract_in_their_order() -> None:
    contracts = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["tool"]["importlinter"][
        "contracts"
    ]
    layers = next(contract["layers"] for contract in contracts if contract["type"] == "layers")
    arrows = next(line for line in PAGE.splitlines() if line.strip().startswith("faces -->"))
    assert [set(step.split(" & ")) for step in arrows.strip().split(" --> ")] == [
        set(step.split(" | ")) for step in layers
    ]


def test_every_store_and_every_port_is_drawn() -> None:
    stores = {path.parent.name for path in SRC.glob("stores/*/__init__.py")}
    assert {name for name in stores if name not in drawn("stores")} == set()
    ports = {path.stem for path in SRC.glob("ports/*.py")} - {"__init__"}
    assert {name for name in ports if name not in drawn("ports")} == set()


def test_every_kind_of_lock_is_drawn() -> None:
    from noonmark.locks.opening import _KINDS

    kinds = {module.rpartition(".")[2].removesuffix("_kinds") for module, _, _ in _KINDS.values()}
    assert {kind for kind in kinds if kind not in drawn("locks")} == set()
