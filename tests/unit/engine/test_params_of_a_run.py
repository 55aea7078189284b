"""What a run does to the params it was given is its own affair: the next try and the next run are given them anew."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from noonmark.core.model import HOUR, MINUTE, Every, Retry
from noonmark.testing.builders import make_job
from noonmark.testing.world import World


def test_params_that_a_run_changes_are_whole_again_for_its_next_try_and_for_the_next_run(
    make_world: Callable[..., World],
) -> None:
    world = make_world(replicas=1)
    seen: list[tuple[list[int], dict[str, Any]]] = []

    def work(items: list[int], options: dict[str, Any]) -> None:
        seen.append((list(items), {"deep": list(options["deep"])}))
        items.append(2)
        options["deep"].clear()
        if len(seen) == 1:
            raise OSError("once")

    params = {"items": [1], "options": {"deep": ["a", "b"]}}
    job = make_job("job", trigger=Every(period=HOUR), params=params, retry=Retry(max=1))
    world.job(job, work)
    world.advance(2 * HOUR + MINUTE)
    assert len(seen) == 3
    assert seen == [([1], {"deep": ["a", "b"]})] * 3
    assert params == {"items": [1], "options": {"deep": ["a", "b"]}}
