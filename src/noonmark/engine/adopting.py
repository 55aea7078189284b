"""What this worker declares, put in force in whatever store lies there; and the rules in force, read when they change.

Promise: after a beginning, after a store that went back in time and after another one, our rules are in force there,
unless somebody changed them after us and the store still has that; no series of them is without its frontier; rules are
never read without the rollbacks of their store.

Rule of the file: belongs to the engine's loop; what a rule means is nobody's matter here.
"""

from __future__ import annotations

import logging
from collections.abc import Awaitable, Callable

from noonmark.core.model import Job
from noonmark.engine.activate import declarations_lost, put_in_force
from noonmark.engine.chain import ChainedStore
from noonmark.engine.frontiers import Watchdog
from noonmark.engine.gate import Gate
from noonmark.engine.points import Point, reach
from noonmark.engine.registry import Registry
from noonmark.engine.rules import Rules
from noonmark.ports.store import Store

_LOG = logging.getLogger("noonmark.engine")


class Adopter:
    """Keeps one worker's rules and those of the store the same.

    Args:
        store: as the loop uses it.
        chain: the same, for what it remembers.
        version: asks the store for the version of its rules.
    """

    def __init__(
        self,
        store: Store,
        gate: Gate,
        chain: ChainedStore,
        rules: Rules,
        registry: Registry,
        watchdog: Watchdog,
        *,
        worker: str,
        version: Callable[[], Awaitable[int]],
    ) -> None:
        self._store = store
        self._gate = gate
        self._chain = chain
        self._rules = rules
        self._registry = registry
        self._watchdog = watchdog
        self._worker = worker
        self._version = version
        self._in_force: dict[str, dict[str, int]] = {}  # by store: under which revision each of our rules came in force

    async def declare(self) -> None:
        """Put our rules in force, and see that every series has its frontier.

        In a store where we did so before only what it has lost of that since: what somebody put in force after us, and
        what a person ended, is the newer word wherever the store still has it.
        """
        self._chain.came_back_older()
        ours = self._in_force.get(self._chain.store)
        jobs = list(self._registry.jobs())
        if ours is not None:
            jobs = await self._gate.call(declarations_lost, self._store, jobs, ours)
        await self._put_in_force(jobs, ours or {})
        reach(Point.RULES_IN_FORCE)
        # Read before the rules it can only be too old; then they are read again.
        await self._load(await self._version())
        await self._watchdog.check_all()

    async def _put_in_force(self, jobs: list[Job], before: dict[str, int]) -> None:
        declared = await self._gate.call(put_in_force, self._store, jobs, actor=self._worker) if jobs else []
        self._rules.trust(row for row, is_ours in declared if is_ours)
        for row, is_ours in declared:
            if is_ours and row.name in before:
                _LOG.warning(
                    "the rule of %s is in force as this worker declares it, as revision %d: the store had lost revision %d,"
                    " by which it was; what is in force now: noonmark show %s",
                    row.name, row.revision, before[row.name], row.name,
                )  # fmt: skip
        ours = before | {row.name: row.revision for row, _ in declared}
        self._in_force[self._chain.store] = ours

    async def adopt(self, version: int) -> None:
        """Read the rules, which somebody changed."""
        await self._load(version)
        reach(Point.RULE_CHANGED)
        if any(self._rules.row(job.name) is None for job in self._registry.jobs()):
            await self.declare()  # nobody takes a row away but who empties the store
            return
        await self._watchdog.check_own()

    async def _load(self, version: int) -> None:
        self._rules.lost_until = await self._gate.call(self._chain.recall)
        self._rules.load(await self._gate.call(self._store.jobs), version)
