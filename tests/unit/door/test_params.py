"""A call that lacks a param, or gives one that the job does not take, is refused in words before anything is stored."""

from __future__ import annotations

from typing import Any

import pytest

from noonmark import MissingParamError, Scheduler, UnknownParamError, manual, on_event, ready

REASON = "Free the stock."


@pytest.fixture
def closing(sched: Scheduler) -> Any:
    @sched.job(on_event("order.created", delay="30m"), key="unpaid:{order_id}:{till}", reason=REASON)
    def close_unpaid(order_id: int = 0, till: str = "", note: str = "") -> None: ...

    return close_unpaid


def test_every_way_of_asking_names_all_params_that_the_key_lacks(sched: Scheduler, closing: Any) -> None:
    asked = (lambda: closing.later("1m")(), lambda: closing.run_now(reason="x"), lambda: sched.emit("order.created"))
    for ask in asked:
        with pytest.raises(MissingParamError) as refused:
            ask()
        error = refused.value
        assert (error.job, error.names, error.what) == ("close_unpaid", ("order_id", "till"), "key")
        assert error.template == "unpaid:{order_id}:{till}"
        assert str(error).startswith(
            'close_unpaid needs order_id, till: its key "unpaid:{order_id}:{till}" is made of it'
        )
    assert sched.occurrences() == []


def test_an_event_says_how_the_field_is_given(sched: Scheduler, closing: Any) -> None:  # noqa: ARG001
    with pytest.raises(MissingParamError, match=r"emit order\.created with till=…$"):
        sched.emit("order.created", order_id=4)


def test_a_key_of_its_own_needs_none_of_the_templates_params(closing: Any) -> None:
    assert closing.later("1m", key="mine")().key == "mine"


@pytest.mark.parametrize(
    ("words", "what"),
    [
        ({"depends_on": [ready("paid:{order_id}")]}, "flag"),
        ({"lock": "stock:{order_id}"}, "lock"),
    ],
)
def test_flags_and_locks_are_templates_too(sched: Scheduler, words: dict[str, Any], what: str) -> None:
    @sched.job(manual(), key="k", reason=REASON, **words)
    def close_unpaid(**params: Any) -> None: ...

    with pytest.raises(MissingParamError) as refused:
        close_unpaid.later("1m")()
    assert (refused.value.what, refused.value.names) == (what, ("order_id",))
    assert close_unpaid.later("1m")(order_id=1).key == "k"


def test_what_the_function_needs_is_asked_for_by_every_call(sched: Scheduler) -> None:
    @sched.job(manual(), params={"till": "a"}, reason=REASON)
    def close_unpaid(order_id: int, till: str) -> None: ...

    for ask in (lambda: close_unpaid.run_now(reason="x"), lambda: close_unpaid.later("1m")()):  # type: ignore[call-arg]
        with pytest.raises(MissingParamError, match="its function has no default for it; pass order_id=…") as refused:
            ask()
        assert (refused.value.what, refused.value.names) == ("function", ("order_id",))


def test_an_unknown_param_names_the_nearest_or_all_that_there_are(closing: Any) -> None:
    with pytest.raises(UnknownParamError, match=r"does not take oder_id; did you mean order_id\?") as refused:
        closing.run_now(reason="x", oder_id=1)
    assert (refused.value.near, refused.value.known) == ("order_id", ("note", "order_id", "till"))
    with pytest.raises(UnknownParamError, match="does not take zz; it takes note, order_id, till"):
        closing.later("1m")(zz=1)


def test_a_function_with_kwargs_takes_any(sched: Scheduler) -> None:
    @sched.job(manual(), reason=REASON)
    def anything(**params: Any) -> None: ...

    assert anything.later("1m")(zz=1).duplicate is False


def test_a_key_made_of_params_is_rendered_from_an_events_fields(sched: Scheduler) -> None:
    @sched.job(on_event("order.created"), key="unpaid:{params.order_id}", reason=REASON)
    def close_unpaid(order_id: int) -> None: ...

    assert sched.emit("order.created", order_id=7).enqueued[0].key == "unpaid:7"
    assert close_unpaid.later("1m")(order_id=8).key == "unpaid:8"


def test_what_the_function_of_a_waiting_job_needs_is_asked_for_by_emit(sched: Scheduler) -> None:
    @sched.job(on_event("order.created"), key="unpaid:{order_id}", params={"till": "a"}, reason=REASON)
    def close_unpaid(order_id: int, till: str, customer: str, note: str = "") -> None: ...

    with pytest.raises(MissingParamError, match=r"emit order\.created with customer=…$") as refused:
        sched.emit("order.created", order_id=4)
    assert (refused.value.what, refused.value.names, refused.value.job) == ("function", ("customer",), "close_unpaid")
    assert sched.occurrences() == []
    emitted = sched.emit("order.created", order_id=4, customer="ann", more="than it takes")
    assert emitted.enqueued[0].key == "unpaid:4"


def test_an_event_that_one_of_its_jobs_cannot_run_with_is_given_to_none(sched: Scheduler) -> None:
    @sched.job(on_event("order.created"), reason=REASON)
    def first(**fields: Any) -> None: ...

    @sched.job(on_event("order.created"), reason=REASON)
    def second(order_id: int) -> None: ...

    with pytest.raises(MissingParamError, match="second needs order_id"):
        sched.emit("order.created")
    assert sched.occurrences() == []


def test_a_call_of_a_job_that_waits_for_an_event_is_told_to_pass_what_is_missing(sched: Scheduler) -> None:
    @sched.job(on_event("order.created"), reason=REASON)
    def close_unpaid(order_id: int) -> None: ...

    with pytest.raises(MissingParamError, match=r"pass order_id=…$"):
        close_unpaid.run_now(reason="x")
