"""The same moves on the memory kind and on each other kind, in lock-step: every answer agrees, and fences tell one story."""

from __future__ import annotations

import random
from collections.abc import Callable
from typing import Any

import pytest
from lock_places import PLACES, SESSION_BOUND, Place

from noonmark.locks.memory import MemoryLocks
from noonmark.ports.lock import Grant
from noonmark.testing.locking import LockHarness
from noonmark.testing.locking.harness import TTL

NAMES, TOKENS = ("a", "b"), ("x", "y", "z")
WALKS, MOVES = 8, 60


def shape(answer: Any) -> Any:
    """Return what must be equal: whether there was a grant, or the boolean."""
    return "granted" if isinstance(answer, Grant) else answer


class Story:
    """What the fences of one service tell: who got which, and that each new one is greater."""

    def __init__(self) -> None:
        self.last: dict[str, int] = {}
        self.held: dict[tuple[str, str], int] = {}

    def take_in(self, verb: str, name: str, token: str, answer: Any, *, anew: bool) -> None:
        if not isinstance(answer, Grant):
            return
        if anew:
            assert answer.fence > self.last.get(name, 0), (verb, name, token)
            self.last[name] = answer.fence
            self.held[name, token] = answer.fence
        else:
            assert answer.fence == self.held[name, token], (verb, name, token)


@pytest.mark.parametrize("kind", [kind for kind in PLACES if kind != "memory"])
def test_every_kind_answers_as_the_model_does(kind: str, make_place: Callable[[str], Place]) -> None:
    model = MemoryLocks()
    with (
        LockHarness(open_=lambda: model, expire=model.expire) as expected,
        make_place(kind).harness() as tried,
    ):
        both = (expected, tried)
        for walk in range(WALKS):
            dice = random.Random(f"{kind}-{walk}")
            stories, holder, done = (Story(), Story()), dict.fromkeys(NAMES, ""), []
            for _ in range(MOVES):
                verb = dice.choices(("acquire", "renew", "release", "expire"), (5, 4, 3, 2))[0]
                name, token = f"{walk}-{dice.choice(NAMES)}", dice.choice(TOKENS)
                elsewhere = kind not in SESSION_BOUND and dice.random() < 0.5
                done.append((verb, name, token, elsewhere))
                if verb == "expire":
                    for harness in both:
                        harness.expire(name)
                    holder[name] = ""
                    continue
                answers = []
                for harness in both:
                    locks = harness.other if elsewhere and harness is tried else harness.locks
                    arguments = (token,) if verb == "release" else (TTL, token)
                    answers.append(getattr(locks, verb)(harness.name(name), *arguments))
                assert shape(answers[0]) == shape(answers[1]), [move for move in done if move[1] == name][-8:]
                anew = verb == "acquire" and holder.get(name) != token
                for story, answer in zip(stories, answers, strict=True):
                    story.take_in(verb, name, token, answer, anew=anew)
                if verb == "acquire" and answers[0] is not None:
                    holder[name] = token
                elif verb == "release" and answers[0]:
                    holder[name] = ""
