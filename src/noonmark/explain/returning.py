"""What the doctor says of rules that came back although another one had taken their place.

Rule of the file: as in ``explain/doctor.py``; what replaced what is reckoned in ``core/returned.py``.
"""

from __future__ import annotations

from collections.abc import Iterable

from noonmark.core.model import DAY, Micros
from noonmark.core.returned import replaced
from noonmark.ports.doctor import Finding
from noonmark.ports.store import Store

TOLD_FOR: Micros = DAY
"""How long a rule that came back is told of: whoever goes back to older code on purpose knows it by then."""


def returning(store: Store, now: Micros) -> Iterable[Finding]:
    """Name each rule in force that says what an earlier revision said, with what it replaced."""
    for name, each in sorted(replaced(store.tallies(revisions=True).revisions).items()):
        old, new = each.before, each.now
        if not each.as_in or not old.rule or new.effective_at < now - TOLD_FOR:
            continue
        yield Finding(
            code="rule_returned",
            level="warn",
            sentence=(
                f"The rule of {name} went back: revision {new.revision} by {new.by or '?'} says what revision "
                f"{each.as_in} said, and took the place of revision {old.revision} by {old.by or '?'}."
            ),
            remedy=f"Is older code still being started? What is in force: noonmark show {name}",
            detail={
                "job": name,
                "revision": new.revision,
                "by": new.by or "?",
                "as_in": each.as_in,
                "old": old.revision,
                "old_by": old.by or "?",
            },
        )
