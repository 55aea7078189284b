"""Keys: injective, bounded, blind to everything but the closed set of names."""

from __future__ import annotations

import json
from dataclasses import replace

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from noonmark.core import keys
from noonmark.core.model import KEY_LIMIT, At, Cron, Every, Job, Manual, OnEvent

DAILY = Cron(expression="0 9 * * *", tz="Asia/Shanghai")
REPORT = Job(name="report", trigger=DAILY, reason="read at nine", key="report:{business_date}:{channel}")
ONCE = Job(name="once", trigger=At(moments=("2026-01-01T00:00",)), reason="a move", key="{params.tenant}")
ORDER = Job(name="unpaid", trigger=OnEvent(name="order.created"), reason="free the stock")
NOON = 1_748_736_000_000_000  # 2025-06-01T00:00:00Z


def key_of(job: Job, **given_values: object) -> str:
    values: dict[str, object] = {"business_date": "2025-06-01", "scheduled_for": NOON, **given_values}
    return keys.row_key(job, **values)  # type: ignore[arg-type]


# --- what it renders -------------------------------------------------------------------------------


def test_the_source_documents_key_renders_default_for_what_nothing_binds() -> None:
    assert key_of(replace(REPORT, source="task_rules")) == "report:2025-06-01:default"


def test_source_spellings_task_and_date_mean_job_and_business_date() -> None:
    assert key_of(replace(REPORT, key="{task}:{date}")) == "report:2025-06-01"


def test_elsewhere_an_unbound_name_is_refused_with_the_nearest_one() -> None:
    with pytest.raises(keys.TemplateProblem, match=r"did you mean \{channel\}\?") as caught:
        key_of(replace(REPORT, key="report:{chanel}"), subject_params={"channel": "ops"})
    assert caught.value.name == "chanel"


def test_the_default_key_is_job_subject_and_utc_instant() -> None:
    assert key_of(replace(REPORT, key=""), subject="channel=ops") == "report:channel=ops:2025-06-01T00:00:00Z"


def test_the_default_key_of_an_event_job_is_the_event_id() -> None:
    assert key_of(ORDER, event={"id": "evt:7"}) == "unpaid::evt%3A7"


def test_occurrence_is_another_word_for_scheduled_for() -> None:
    assert key_of(replace(REPORT, key="{occurrence}")) == key_of(replace(REPORT, key="{scheduled_for}"))


def test_an_instant_between_two_seconds_keeps_its_fraction() -> None:
    assert keys.instant_text(NOON + 250_000) == "2025-06-01T00:00:00.250000Z"


def test_a_bare_name_is_looked_up_in_subject_then_params_then_event() -> None:
    job = replace(ORDER, key="{x}")
    everywhere = {"subject_params": {"x": "s"}, "params": {"x": "p"}, "event": {"x": "e"}}
    assert key_of(job, **everywhere) == "s"
    assert key_of(job, **{**everywhere, "subject_params": {}}) == "p"
    assert key_of(job, event={"x": "e"}) == "e"


def test_params_of_the_job_are_known_and_those_of_the_occurrence_win() -> None:
    job = replace(REPORT, params={"channel": "all"})
    assert key_of(job) == "report:2025-06-01:all"
    assert key_of(job, params={"channel": "ops"}) == "report:2025-06-01:ops"


@pytest.mark.parametrize(
    ("template", "text"),
    [
        ("{business_date:%Y%m%d}", "20250601"),
        ("{business_date:%G-W%V}", "2025-W22"),
        ("{scheduled_for:%H:%M:%S}", "00:00:00"),
        ("{{{job}}}", "{report}"),
        ("准点:{business_date}", "准点:2025-06-01"),
    ],
)
def test_dates_take_formats_of_fixed_width_and_braces_can_be_written(template: str, text: str) -> None:
    assert key_of(replace(REPORT, key=template)) == text


# --- what it refuses -------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "template",
    [
        "{business_date.__class__}",
        "{job.__class__.__mro__}",
        "{params.__class__}",
        "{params.x.y}",
        "{event[id]}",
        "{job!r}",
        "{__import__}",
        "{0}",
        "{}",
        "{job",
        "job}",
        "{business_date:{job}}",
        "{business_date:%A}",
        "{business_date:%H}",
        "{business_date:>99999999}",
        "{job:>9}",
    ],
)
def test_anything_but_a_plain_name_is_refused(template: str) -> None:
    with pytest.raises(keys.TemplateProblem):
        keys.names_in(template)
    with pytest.raises(keys.TemplateProblem):
        keys.render(template, keys.names_of(REPORT, business_date="2025-06-01", scheduled_for=NOON), default="x")


def test_no_attribute_of_a_value_is_ever_read() -> None:
    class Trap:
        def __getattribute__(self, name: str) -> object:
            if name == "__class__":
                return object
            raise AssertionError(f"{name} was read")

    with pytest.raises(keys.TemplateProblem, match="cannot stand in a key"):
        keys.render("{x}", {"params.x": Trap()})


@pytest.mark.parametrize("value", [float("nan"), float("inf"), object(), {1: object()}, b"bytes", {"a", "b"}])
def test_a_value_that_is_no_json_is_refused(value: object) -> None:
    with pytest.raises(keys.TemplateProblem, match="cannot stand in a key"):
        keys.render("{x}", {"params.x": value})


# --- what a rule may declare -----------------------------------------------------------------------


@pytest.mark.parametrize(
    ("job", "finding"),
    [
        (replace(REPORT, key="report:{channel}", params={"channel": "x"}), "no time part"),
        (replace(REPORT, key="report:{business_date:%m-%d}"), "no time part"),
        (replace(REPORT, trigger=Every(period=1), key="report"), "no time part"),
        (replace(REPORT, trigger=At(moments=("2026-01-01T00:00", "2026-01-02T00:00")), key="x"), "no time part"),
        (replace(REPORT, trigger=Manual(), key="{subject}"), "is empty"),
        (replace(ONCE, params={"tenant": ""}), "for params.tenant is empty"),
        (replace(ONCE, key="{tenant}", params={"tenant": ""}), "for tenant is empty"),
        (replace(ONCE, key="{tenant}", each={"tenant": ("a", "")}), "for tenant is empty"),
        (
            replace(ONCE, trigger=Manual(), key="{subject.tenant}", each={"tenant": ("a", "")}),
            "for subject.tenant is empty",
        ),
        (REPORT, "nothing binds"),
        (replace(REPORT, key="{business_date}:{event.id}"), "nothing binds"),
        (replace(REPORT, key="{business_date}:{worker}"), "nothing binds"),
        (replace(REPORT, key="{business_date}", each={"channel": ("ops", "sales")}), "1 of 2"),
        (replace(REPORT, key="{business_date}", scope="each_worker"), "add {worker}"),
        (replace(REPORT, key="{business_date}:{"), "cannot be read"),
    ],
)
def test_an_unsound_template_is_refused(job: Job, finding: str) -> None:
    problems = keys.check_template(job.key, job)
    assert any(finding in problem for problem in problems), problems


@pytest.mark.parametrize(
    "job",
    [
        replace(REPORT, params={"channel": "ops"}),
        replace(REPORT, each={"channel": ("ops", "sales")}),
        replace(REPORT, key="{business_date}:{subject}", each={"channel": ("ops", "sales")}),
        replace(REPORT, key="{scheduled_for}:{worker}", scope="each_worker"),
        replace(REPORT, trigger=At(moments=("2026-01-01T00:00",)), key="once"),
        replace(ONCE, params={"tenant": "acme"}),
        replace(ONCE, params={"tenant": 0}),
        replace(ONCE, params={"tenant": None}),
        replace(ONCE, key="{subject}", each={"tenant": ("a", "")}),
        replace(ONCE, trigger=Manual(), params={"tenant": ""}),  # a call may give it
        replace(ORDER, key="{tenant}", params={"tenant": ""}),  # an event may
        replace(ORDER, key="unpaid:{order_id}"),
        replace(ORDER, trigger=Manual(), key="{params.order_id}"),
        replace(REPORT, trigger=Manual(), key="{subject}", each={"channel": ("ops", "sales")}),
        replace(REPORT, source="task_rules"),
        replace(REPORT, source="task_rules", key="no-time"),
    ],
)
def test_a_sound_template_passes(job: Job) -> None:
    assert keys.check_template(job.key, job) == []


def test_the_default_templates_pass_their_own_check() -> None:
    for job in (REPORT, ORDER, replace(REPORT, each={"c": ("a", "b")}), replace(REPORT, scope="each_worker")):
        assert keys.check_template(keys.default_template(job), job) == []


def test_lint_names_what_task_rules_may_load_with() -> None:
    job = replace(REPORT, source="task_rules", key="report:{channel}")
    found = keys.lint_template(job.key, job)
    assert len(found) == 2
    assert "channel" in found[0]
    assert "time part" in found[1]


# --- never two inputs, one key ---------------------------------------------------------------------

TEXTS = st.text(alphabet=st.one_of(st.sampled_from(list(":%-;!~aA0{}\n\x00\ud800准")), st.characters()), max_size=8)
LITERALS = st.text(alphabet=list(":%-;!~aAB03T2 准"), max_size=3)
TEMPLATES = st.lists(LITERALS, min_size=2, max_size=4)


def _template(literals: list[str]) -> str:
    fields = [f"{{v{index}}}" for index in range(len(literals) - 1)]
    return "".join(part for pair in zip(literals, [*fields, ""], strict=True) for part in pair)


@settings(max_examples=400, deadline=None)
@given(data=st.data(), literals=TEMPLATES)
def test_two_different_tuples_of_text_never_give_one_key(data: st.DataObject, literals: list[str]) -> None:
    template, count = _template(literals), len(literals) - 1
    one, two = (data.draw(st.tuples(*[TEXTS] * count)) for _ in range(2))
    keyed = [keys.render(template, {f"v{i}": v for i, v in enumerate(values)}) for values in (one, two)]
    assert (keyed[0] == keyed[1]) == (one == two)


@pytest.mark.parametrize(
    ("template", "one", "two"),
    [
        ("{v0}:{v1}", ("a:b", "c"), ("a", "b:c")),
        ("{v0}:{v1}", ("%3A", ""), (":", "")),
        ("{v0}-{v1}", ("1-2", "3"), ("1", "2-3")),
        ("{v0}{v1}", ("ab", "c"), ("a", "bc")),
        ("{v0}%{v1}", ("", "3A%X"), (":", "25X")),
        ("{v0}%;{v1}", ("a", ""), ("a%;", "")),
        ("{v0}!{v1}", ("%", "x"), ("", "%!x")),
    ],
)
def test_known_ways_to_confuse_two_inputs_fail(template: str, one: tuple[str, str], two: tuple[str, str]) -> None:
    rendered = [keys.render(template, {"v0": values[0], "v1": values[1]}) for values in (one, two)]
    assert rendered[0] != rendered[1]


@settings(max_examples=300, deadline=None)
@given(literals=TEMPLATES, text=st.text(alphabet=list(":%-;!aA3"), max_size=6))
def test_moving_text_across_a_border_always_changes_the_key(literals: list[str], text: str) -> None:
    """The hard case: the same characters, split between neighbours in every way there is."""
    template = _template(literals[:3] if len(literals) >= 3 else [*literals, ""])
    border = literals[1]
    whole = f"{text}{border}{text}"
    splits = [(whole[:cut], whole[cut:]) for cut in range(len(whole) + 1)]
    rendered = {keys.render(template, {"v0": left, "v1": right}) for left, right in splits}
    assert len(rendered) == len(set(splits))


JSON = st.recursive(
    st.one_of(st.none(), st.booleans(), st.integers(), st.floats(allow_nan=False, allow_infinity=False), TEXTS),
    lambda inner: st.one_of(st.lists(inner, max_size=3), st.dictionaries(st.text(max_size=3), inner, max_size=3)),
    max_leaves=5,
)


@settings(max_examples=300, deadline=None)
@given(one=JSON, two=JSON)
@example(one=True, two="true")
@example(one=1, two=True)
@example(one=None, two="")
@example(one=[1], two="[1]")
@example(one=1.0, two=1)
def test_values_of_every_json_kind_stay_apart_but_a_number_is_its_text(one: object, two: object) -> None:
    def known_as(value: object) -> str:
        if isinstance(value, int) and not isinstance(value, bool):
            value = str(value)
        return json.dumps(value, sort_keys=True)

    same = keys.render("{v}:x", {"v": one}) == keys.render("{v}:x", {"v": two})
    assert same == (known_as(one) == known_as(two))


DATES = st.one_of(st.dates().map(str), TEXTS)


@settings(max_examples=300, deadline=None)
@given(one=st.tuples(DATES, TEXTS), two=st.tuples(DATES, TEXTS), between=st.sampled_from(["", "-", ":", "2"]))
@example(one=("2025-06-01", "x"), two=("2025", "06-01-x"), between="-")
def test_a_readable_date_is_never_mistaken_for_another_value(
    one: tuple[str, str], two: tuple[str, str], between: str
) -> None:
    template = f"{{business_date}}{between}{{v}}"
    same = keys.render(template, {"business_date": one[0], "v": one[1]}) == keys.render(
        template, {"business_date": two[0], "v": two[1]}
    )
    assert same == (one == two)


@settings(max_examples=100, deadline=None)
@given(one=st.text(min_size=400, max_size=700), two=st.text(min_size=400, max_size=700))
def test_a_key_is_bounded_and_a_shortened_one_is_still_its_own(one: str, two: str) -> None:
    keyed = [keys.render("job:{v}", {"v": value}) for value in (one, two)]
    assert all(len(key) <= KEY_LIMIT for key in keyed)
    assert (keyed[0] == keyed[1]) == (one == two)


def test_long_values_that_differ_only_at_the_end_give_two_keys() -> None:
    head = "x" * 10_000
    one, two = (keys.render("{v}", {"v": head + tail}) for tail in "ab")
    assert one != two
    assert len(one) == len(two) == KEY_LIMIT


def test_a_key_of_exactly_the_limit_is_shortened_too_so_that_whole_and_shortened_keys_never_meet() -> None:
    assert keys.render("{v}", {"v": "x" * (KEY_LIMIT - 1)}) == "x" * (KEY_LIMIT - 1)
    assert keys.render("{v}", {"v": "x" * KEY_LIMIT}) != "x" * KEY_LIMIT


def test_a_text_that_looks_like_a_shortened_key_is_not_mistaken_for_one() -> None:
    shortened = keys.render("{v}", {"v": "x" * 10_000})
    assert keys.render("{v}", {"v": shortened}) != shortened


@given(text=TEXTS)
def test_escaped_text_comes_back_and_holds_no_separator(text: str) -> None:
    assert ":" not in keys.escaped(text)
    assert keys.unescaped(keys.escaped(text)) == text


def test_names_of_flags_are_rendered_as_they_are() -> None:
    assert keys.render("etl:{v}", {"v": "a:b%"}, escape=False) == "etl:a:b%"


@pytest.mark.parametrize(
    ("template", "problem"),
    [
        ("x:{channel}", "nothing binds"),
        ("x:{business_date.__class__}", "is not a name"),
        ("{dat}", "did you mean {date}"),
    ],
)
def test_a_name_of_a_fact_that_some_occurrence_cannot_render_is_told(template: str, problem: str) -> None:
    assert any(problem in found for found in keys.check_names(template, REPORT))


def test_a_name_of_a_fact_needs_no_time_part() -> None:
    assert [keys.check_names(template, REPORT) for template in ("etl", "etl:{business_date}", "x:{subject}")] == [
        []
    ] * 3


def test_a_truth_value_is_neither_a_word_nor_a_number() -> None:
    values = (True, False, None, "True", "true", "False", "null", 1, 0)
    rendered = [keys.render("{v}:x", {"v": value}) for value in values]
    assert rendered == [
        "%!true:x", "%!false:x", "%!null:x", "True:x", "true:x", "False:x", "null:x", "1:x", "0:x",
    ]  # fmt: skip


def test_a_part_of_the_subject_is_known_where_the_rule_has_it_and_nowhere_else() -> None:
    job = Job(
        name="weather",
        trigger=Cron(expression="0 9 * * *", tz="UTC"),
        reason="r",
        each={"city": ("berlin", "tokyo")},
    )
    assert keys.check_names("{subject.city}:{business_date}", job) == []
    (problem,) = keys.check_names("{subject.town}:{business_date}", job)
    assert "subject.town" in problem
