"""What a scheduler is asked to do to flags and jobs: the acts of a person or a program, with who and why on record.

Rule of the file: one verb of the store each; a job of the store need not be declared here.
"""

from __future__ import annotations

import logging
import os
import uuid
from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

from noonmark.core import model
from noonmark.core.codec import check_payload
from noonmark.core.conditions import check_flag_name
from noonmark.core.params import text_given
from noonmark.door.asking import actor_here
from noonmark.ports.store import Store

if TYPE_CHECKING:
    from noonmark.engine.deeds import Deed

_LOG = logging.getLogger("noonmark")


class Acts(ABC):
    """A part of ``Scheduler``, which says what the store is and which jobs it declares."""

    url: str
    _state: str | os.PathLike[str] | None = None  # the folder of its workers, where one was named
    _is_forgetful = False  # once it was said that deeds are not written down here

    @property
    @abstractmethod
    def _asked(self) -> Store:
        """The store, opened."""

    @abstractmethod
    def _known(self, name: str) -> str:
        """The name, if the store has such a job; else NoSuchJobError."""

    def signal(self, name: str, value: Any = True) -> int:
        """Set a flag and wake what waits for it; setting it again to the same value changes nothing.

        Returns:
            The flag's version.

        Raises:
            TypeError, ValueError: the value cannot be stored, or nobody could find the name again.
        """
        if value is None:
            raise ValueError("a flag cannot be set to None; use clear(name)")
        return self._write_flag(name, value)

    def clear(self, name: str) -> int:
        """Clear a flag."""
        return self._write_flag(name, None)

    def _write_flag(self, name: str, value: Any) -> int:
        check_flag_name(name)
        check_payload(f"the value of the flag {name!r}", value)
        fact = model.Fact(name=f"flag:{name}", value=value, actor=actor_here())
        version = self._asked.signal(uuid.uuid4().hex, [fact])[0]
        self._remember(lambda deeds, _: [deeds.of_flag(fact)])
        return version

    def cancel(self, *, job: str | None = None, key: str, reason: str = "", actor: str = "") -> model.Acted:
        """Cancel what is open under a key.

        An unknown key is held from now on, so that a cancel may overtake its create.  A running one is asked to stop.
        """
        wish = model.Act(kind="cancel", actor=actor or actor_here(), reason=reason, key=text_given("key", key), job=job)
        return self._act(wish)

    def pause(self, job: str, *, reason: str, actor: str = "") -> model.Acted:
        """Pause a job: nothing of it starts, and its moments that pass are not run later."""
        return self._act(model.Act(kind="pause", actor=actor or actor_here(), reason=reason, job=self._known(job)))

    def resume(self, job: str, *, reason: str = "", actor: str = "") -> model.Acted:
        """Let a paused job go on from now."""
        return self._act(model.Act(kind="resume", actor=actor or actor_here(), reason=reason, job=self._known(job)))

    def end(self, job: str, *, reason: str, actor: str = "") -> model.Acted:
        """End a job: its rule is taken back as of now; what runs goes on, its history and keys stay.

        Whoever declares the job again (a worker that starts, ``declare``) puts it in force again.

        Returns:
            ``done``, ``already_done``, ``not_found``, or ``refused`` where workers kept looking at its series.
        """
        from noonmark.engine.activate import end

        act = model.Act(kind="end_job", actor=actor or actor_here(), reason=reason, job=job)
        answer = end(self._asked, job, actor=act.actor, reason=reason)
        self._remember(lambda deeds, _: [deeds.of_act(act, answer, None)])
        return answer

    def _act(self, act: model.Act) -> model.Acted:
        answer = self._asked.act(uuid.uuid4().hex, act)
        self._remember(lambda deeds, _: [deeds.of_act(act, answer, None)])
        return answer

    def _remember(self, done: Callable[[Any, Store], Sequence[Deed | None]]) -> None:
        """Write down, on this machine, what was done, so that it can be typed again if the store loses it.

        Args:
            done: returns it, made with the module ``engine.deeds``; it may read the store.
        """
        from noonmark.engine import deeds, statefolder

        root = None if self.url.startswith("memory:") else statefolder.root_of(self._state)
        store = self._asked
        why = deeds.remember(root, store, lambda: [deed for deed in done(deeds, store) if deed is not None])
        if why and not self._is_forgetful:
            self._is_forgetful = True
            _LOG.warning("what is done here is not written down on this machine (%s): see docs/rollback.md", why)
