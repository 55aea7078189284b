"""``python -m researchcopilot``."""

from __future__ import annotations

from researchcopilot.cli import main

main()
