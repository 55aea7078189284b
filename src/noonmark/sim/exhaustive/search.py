"""The search: breadth first, so that the first breach that is found is reached by the shortest way.

Promise: every state within ``depth`` steps of the beginning was held against every law; from each Nth state at the edge,
as asked, and from every one in which nothing can happen any more the calm was tried.  What was visited is remembered by
its fingerprint (64 bits: with a million states the chance that two share one is under one in thirty million).

Rule of the file: states at the edge are kept whole, those behind it only as a move and where it came from; a trace is
made anew from its moves.
"""

from __future__ import annotations

import resource
import sys
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace

from noonmark.core.model import Micros
from noonmark.sim.exhaustive import laws
from noonmark.sim.exhaustive.calm import Calm
from noonmark.sim.exhaustive.canon import fingerprint
from noonmark.sim.exhaustive.moves import Move, apply, moves
from noonmark.sim.exhaustive.replay import Bench, quiet
from noonmark.sim.exhaustive.scenes import Scene
from noonmark.sim.exhaustive.state import State


@dataclass(frozen=True, slots=True, kw_only=True)
class Breach:
    """A law that was broken: which, and the shortest way there."""

    said: str
    moves: tuple[Move, ...]


@dataclass(slots=True, kw_only=True)
class Found:
    """What a search came to."""

    scene: str
    depth: int = 0
    states: int = 0
    transitions: int = 0
    by_depth: list[int] = field(default_factory=list)
    seconds: float = 0.0
    is_whole: bool = False  # nothing is left behind the edge: every state there is was visited
    breach: Breach | None = None
    calms: int = 0  # states from which the way to the end of everything was tried
    longest_calm: Micros = 0  # the store's time from the last fault, or the last moment that was to come, to that end

    @property
    def peak_mib(self) -> float:
        """The most memory this process had, in MiB."""
        peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
        return peak / (1024 * 1024) if sys.platform == "darwin" else peak / 1024


def search(scene: Scene, *, depth: int, say: Callable[[Found], None] = lambda _: None, calm_every: int = 1) -> Found:
    """Visit every state within ``depth`` steps.

    Args:
        scene: the small world.
        depth: how many steps from the beginning.
        say: called after every depth.
        calm_every: from each so-many-th state at the edge the way to the end of everything is tried; 0: from none.

    Returns:
        What was visited, and the first breach if there was one.
    """
    with quiet():
        return _Search(scene).run(depth, say, calm_every)


class _Search:
    def __init__(self, scene: Scene) -> None:
        self.scene, self.bench = scene, scene.bench()
        self.moments = scene.moments()
        self.calm = Calm(self.bench, scene)
        self.found = Found(scene=scene.name)
        self.came_from: dict[int, tuple[int, Move]] = {}

    def run(self, depth: int, say: Callable[[Found], None], calm_every: int) -> Found:
        found, began = self.found, time.perf_counter()
        first = self.scene.begin(self.bench)
        mark = fingerprint(first, self.moments)
        seen, edge = {mark}, [(mark, first)]
        found.states, found.by_depth = 1, [1]
        while edge and found.depth < depth and found.breach is None:
            edge = self._widen(edge, seen)
            found.depth += 1
            found.states = len(seen)
            found.by_depth.append(len(edge))
            found.seconds = time.perf_counter() - began
            say(found)
        found.is_whole = not edge and found.breach is None
        if calm_every and found.breach is None:
            self._calm(edge[::calm_every])
        found.seconds = time.perf_counter() - began
        return found

    def _widen(self, edge: Sequence[tuple[int, State]], seen: set[int]) -> list[tuple[int, State]]:
        """Make every move from every state at the edge; return the new edge."""
        wider = []
        for mark, state in edge:
            is_end = True
            for move in moves(self.scene, state):
                is_end = False
                step = apply(self.bench, self.scene, state, move)
                self.found.transitions += 1
                view = laws.View(self.scene, state, step.state, step.calls)
                broken = [step.error] if step.error else laws.breaches(view)
                if broken:
                    self.found.breach = Breach(said=broken[0], moves=(*self._way(mark), move))
                    return []
                there = fingerprint(step.state, self.moments)
                if there not in seen:
                    seen.add(there)
                    self.came_from[there] = (mark, move)
                    wider.append((there, step.state))
            if is_end and self._ends_badly(mark, state):
                return []
        return wider

    def _ends_badly(self, mark: int, state: State) -> bool:
        """Where nothing can happen any more, everything must have ended."""
        return self._calm([(mark, state)])

    def _calm(self, edge: Sequence[tuple[int, State]]) -> bool:
        for mark, state in edge:
            broken = self.calm.breach(state)
            self.found.calms += 1
            self.found.longest_calm = self.calm.longest
            if broken is not None:
                way, said = broken
                self.found.breach = Breach(said=said, moves=(*self._way(mark), *way))
                return True
        return False

    def _way(self, mark: int) -> list[Move]:
        way: list[Move] = []
        while mark in self.came_from:
            mark, move = self.came_from[mark]
            way.append(move)
        return way[::-1]


@dataclass(frozen=True, slots=True, kw_only=True)
class Told:
    """One move of a trace that was made anew: the states around it, and what broke."""

    move: Move
    before: State
    after: State
    calls: list[str]
    broken: list[str]


def follow(scene: Scene, way: Sequence[Move], bench: Bench | None = None) -> list[Told]:
    """Make the moves of a trace once more, up to the first that breaks a law or can no longer be made."""
    told: list[Told] = []
    with quiet():
        bench = bench or scene.bench()
        state = scene.begin(bench)
        for at, move in enumerate(way):
            allowed = moves(scene, state)
            if move not in allowed and at:
                state = _calmed(scene, state, move)
            step = apply(bench, scene, state, move)
            view = laws.View(scene, state, step.state, step.calls)
            broken = [step.error] if step.error else laws.breaches(view)
            calls = [f"{call.verb}{' again' if call.repeats else ''}" for call in step.calls]
            told.append(Told(move=move, before=state, after=step.state, calls=calls, broken=broken))
            state = step.state
            if broken:
                break
    return told


def _calmed(scene: Scene, state: State, move: Move) -> State:
    """In the calm the flag may be set once more, and jobs succeed."""
    if move[0] == "set":
        return replace(state, left={**state.left, "set": 1})
    raise ValueError(f"scene {scene.name}: {move} cannot happen here, after {state.steps} steps")
