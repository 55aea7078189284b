"""``python -m noonmark.sim.mutants``: what it does stands in ``command.py``; it can be stopped while that is loaded.

Rule of the file: everything heavy is imported inside.
"""

from __future__ import annotations

import sys

from noonmark.sim.loading import loading

if __name__ == "__main__":
    with loading():
        from noonmark.sim.mutants.command import main
    sys.exit(main())
