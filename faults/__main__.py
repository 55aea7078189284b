"""``python -m faults``: what it does stands in ``command.py``; it can be stopped while that is loaded.

Rule of the file: everything heavy is imported inside.
"""

from __future__ import annotations

from noonmark.sim.loading import loading

if __name__ == "__main__":
    with loading():
        from faults.command import end, main
    end(main())
