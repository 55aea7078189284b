"""Build hook: puts the reference application and the documentation into the wheel, under ``noonmark/demo_app`` (ADR 0009).

Not into an editable install: a checkout uses them where they are.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

from hatchling.builders.hooks.plugin.interface import BuildHookInterface

CARRIED = {
    "apps/researchcopilot/src/researchcopilot": "noonmark/demo_app/researchcopilot",
    "docs": "noonmark/demo_app/corpus/docs",
    "README.md": "noonmark/demo_app/corpus/README.md",
    "README.zh.md": "noonmark/demo_app/corpus/README.zh.md",
}


class DemoAppHook(BuildHookInterface[Any]):
    """Adds the files of ``CARRIED`` to an ordinary wheel."""

    PLUGIN_NAME = "custom"

    def initialize(self, version: str, build_data: dict[str, Any]) -> None:
        """Say which files travel along; ``version`` is ``standard`` or ``editable``."""
        if version != "editable":
            build_data["force_include"].update(
                {str(Path(self.root) / source): target for source, target in CARRIED.items()}
            )
