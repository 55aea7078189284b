"""Everything a person reads is there in both languages, and a Chinese answer has no English sentence in it."""

from __future__ import annotations

import re
from pathlib import Path
from string import Formatter

import pytest
from calling import Noonmark
from desk import DIGEST, TICK, Desk

import noonmark.faces.cli as cli
from noonmark.core.errors_zh import in_chinese as complaint_in_chinese
from noonmark.core.model import HOUR, MINUTE, SECOND, Event, Guardrails, OnEvent, Window
from noonmark.core.model import Job as Rule
from noonmark.core.phrasing import STATES
from noonmark.core.reasons import REASONS
from noonmark.explain.check_words import CHECKED
from noonmark.explain.messages import MESSAGES
from noonmark.explain.outcomes import OUTCOMES
from noonmark.faces.cli.lazy import COMMANDS as COMMANDS_THERE
from noonmark.faces.cli.show_words import SHOWN
from noonmark.faces.cli.trouble_words import TROUBLES
from noonmark.faces.cli.usage_zh import in_chinese
from noonmark.faces.cli.words import WORDS

ENGLISH = re.compile(r"(?:(?<![\w\-./:{\[\"=])[A-Za-z][a-z']*[ ,;]+){2,}[A-Za-z][a-z']+")
"""Three words in a row, none of them a part of a name, a path, a key or an option."""
VOCABULARY = {
    word
    for en, zh in [*WORDS.values(), *SHOWN.values(), *MESSAGES.values(), *CHECKED.values(), *STATES.values()]
    for word, chinese in zip(en.split("|"), zh.split("|"), strict=True)
    if word != chinese and "{" not in word
} | {outcome.en for outcome in OUTCOMES.values()}
"""Our own English words, none of which may stand in a column of a Chinese answer."""
COMMANDS = re.compile(
    r"noonmark [\w\-.:= ]+|[a-z_]+\.[a-z_]+: \w+|--\w+[= ]\w+|kill -9 \d+|sqlite:///\S+|rules check \S+"
    r"|\w+/\w+|“[^”]*”|the digest quotes the corpus|Ops reads it at[^.]*|TimeoutError: after \d+ s"
)


def names(template: str) -> set[str]:
    return {name for _, name, _, _ in Formatter().parse(template) if name}


@pytest.mark.parametrize(("table", "key"), [("words", key) for key in WORDS] + [("shown", key) for key in SHOWN])
def test_both_languages_of_a_text_use_the_same_names(table: str, key: str) -> None:
    en, zh = (WORDS if table == "words" else SHOWN)[key]
    assert en
    assert zh
    assert names(en) == names(zh)
    assert en.count("|") == zh.count("|")


@pytest.mark.parametrize("key", TROUBLES)
def test_a_trouble_says_the_same_in_both_languages(key: str) -> None:
    english, chinese = TROUBLES[key]
    for en, zh in zip(english, chinese, strict=True):
        assert bool(en) == bool(zh)
        assert names(en) == names(zh)
    if key not in ("not_found", "fault"):
        assert english[1] or english[2], f"{key} says neither why nor what to do"


def test_every_text_is_used_and_every_one_used_exists() -> None:
    code = "\n".join(
        path.read_text(encoding="utf-8")
        for path in Path(cli.__path__[0]).glob("*.py")
        if not path.name.endswith("words.py")
    )
    assert [key for key in (*WORDS, *TROUBLES) if f'"{key}"' not in code] == []
    for key in re.findall(r'\bTrouble\(\s*"(\w+)"', code):
        assert key in TROUBLES
    for key in re.findall(r'\bhere\.(?:word|header)\(\s*"(\w+)"', code):
        assert key in WORDS


@pytest.fixture
def busy(desk: Desk) -> Desk:
    """A desk at which everything happened: on time, late, waiting, taken over, failed, missed, paused, by hand."""
    desk.register(
        Rule(name="mail", trigger=OnEvent(name="mail.came", delay=MINUTE), reason="Answer it.", key="mail:{event.id}"),
        Rule(
            name="week",
            trigger=TICK.trigger,
            guardrails=Guardrails(allow_weekend=False),
            window=Window(length=HOUR),
            each={"channel": ("ops", "all")},
            key="week:{scheduled_for}:{channel}",
            reason="Work days.",
        ),
    )
    desk.act("end_job", job="week")
    desk.later(5 * MINUTE)
    desk.beat("w1")
    desk.finish(desk.look(), code="succeeded")
    desk.later(5 * MINUTE)
    desk.beat("w1")
    desk.look()
    desk.later(31 * SECOND)
    desk.beat("w2")
    desk.finish(desk.take_over("w2"), worker="w2", code="succeeded")
    desk.later(5 * MINUTE)
    desk.beat("w1")
    desk.fail(desk.look(), wait=HOUR)
    desk.act("end_job", job="tick")
    desk.until("2026-11-27T18:30:00")
    desk.beat("w1")
    desk.take("w1", runnable=False)
    return desk


WALK = [
    *("jobs", "next", "history", "history --all", "backlog", "flags", "leases", "verify --since 24h", "version"),
    *("why digest", "why tick", "why r1", "why r2", "why r3", "why r4", "why tick --at 2026-11-27T12:10"),
    *("why tick --at 2026-11-27T12:07", "why tick --at 2026-11-26", "why digest --at 2027-01-01", "why mail"),
    *("show digest", "show tick", "show mail", "show week", "next digest -n 2", "next digest --from 2027-03-01"),
    *("run digest --dry-run", "run digest --for 2026-11-26", "run digest --for 2026-11-26", "run mail"),
    *("pause digest --reason 盘点", "pause digest --reason 盘点", "jobs", "show digest", "why digest", "next digest"),
    *("resume digest", "resume digest", "cancel r1", "cancel r2", "retry r2", "mark r2 done --reason 好", "retry r999"),
    *("signal corpus:2026-11-27", "signal corpus:2026-11-27 --clear", "cancel --key digest:2027-01-01 --job digest"),
    # mistakes
    *("wy", "why", "why digset", "why r999", "why --occurrence x", "why --key nothing", "why digest --at yesterday"),
    *("why --key a --at 2026-11-27", "why digest --occurrence r1 --key a", "jobs --nope", "jobs --limit x"),
    *(
        "jobs --limit 0",
        "history --state sucess",
        "history --since sometime",
        "history --limit",
        "why digest --tz Mars",
    ),
    *("why digest --now soon", "next digest --from 2027-01-02 --to 2027-01-01", "next digest -n many", "show"),
    *("verify --since 1x", "verify --since 1h --until 2h", "verify --job none", "run", "run none"),
    *("run digest --for 2026-02-30", "run digest --param channel", "run digest --again", "cancel", "cancel r1 --key a"),
    *("mark r1", "mark r1 perhaps --reason x", "mark r1 done", "retry soon", "signal x --clear --value 1"),
    *(
        "signal x --value false",
        "rules",
        "rules check",
        "rules check nothing.yaml",
        "worker nothing.py",
        "dev nothing.py",
    ),
    *("worker no_such_module:sched", "show digest --app nothing.yaml", "pause digest", "resume none", "jobs extra"),
]


@pytest.mark.usefixtures("busy")
def test_a_walk_through_all_commands_in_chinese_meets_no_english_sentence(noonmark: Noonmark) -> None:
    spoken: dict[str, list[str]] = {}
    for line in WALK:
        answer = noonmark(*line.split(), "--lang", "zh")
        assert "Traceback" not in answer.err
        assert "TypeError" not in answer.err
        text = re.sub(r"(状态|结果|可选)：[\w, ]+", "", COMMANDS.sub("", answer.out + answer.err))
        found = [match.group(0) for match in ENGLISH.finditer(text)]
        found += [cell for told in text.splitlines() for cell in re.split(r"\s{2,}", told) if cell in VOCABULARY]
        if found:
            spoken[line] = found
    assert spoken == {}


@pytest.mark.usefixtures("busy")
def test_the_walk_in_english_meets_no_chinese(noonmark: Noonmark) -> None:
    for line in WALK:
        if line.isascii():
            answer = noonmark(*line.split())
            assert re.search(r"[\u4e00-\u9fff]", (answer.out + answer.err).replace("盘点", "")) is None, line


@pytest.mark.parametrize("code", REASONS)
def test_a_remedy_names_only_commands_that_there_are(code: str) -> None:
    reason = REASONS[code]
    for remedy in (reason.remedy_en, reason.remedy_zh):
        for command in re.findall(r"noonmark ([a-z]+)", remedy):
            assert command in COMMANDS_THERE, f"{code}: there is no noonmark {command}"


def test_the_detector_of_english_sees_a_sentence_and_leaves_names_alone() -> None:
    assert ENGLISH.search("没有运行：It did not run: nobody")
    assert not ENGLISH.search(COMMANDS.sub("", "键 digest:2026-11-27:ops 由 r3 持有，noonmark why digest"))


@pytest.mark.parametrize(
    ("english", "chinese"),
    [
        ("Missing argument 'JOB'.", "缺少参数 'JOB'。"),
        ("No such option: --nope", "没有选项 --nope。"),
        ("No such option: --limt Did you mean --limit?", "没有选项 --limt。是否想写 --limit？"),
        (
            "Invalid value for '--limit': 0 is not in the range 1<=x<=10000.",
            "'--limit' 的值不可用：0 不在范围 1<=x<=10000 内。",
        ),
        (
            "Invalid value for '-n' (env var: 'NOONMARK_CONCURRENCY'): 0 is not in the range 1<=x<=10000.",
            "'-n'（环境变量 'NOONMARK_CONCURRENCY'）的值不可用：0 不在范围 1<=x<=10000 内。",
        ),
        ("Missing argument 'WHAT'. Choose from:\n\tdone,\n\tskip", "缺少参数 'WHAT'。可选：done, skip"),
        ("something new", "something new"),
    ],
)
def test_a_usage_mistake_is_told_in_chinese(english: str, chinese: str) -> None:
    assert in_chinese(english) == chinese


def test_the_language_is_known_even_where_the_line_cannot_be_read(noonmark: Noonmark) -> None:
    assert "没有选项" in noonmark("jobs", "--nope", "--lang=zh").err
    assert "没有命令" in noonmark("wy", "--lang", "zh").err


@pytest.mark.usefixtures("busy")
@pytest.mark.parametrize("line", WALK[WALK.index("wy") :])
def test_a_mistake_says_what_is_wrong_and_what_to_do(noonmark: Noonmark, line: str) -> None:
    answer = noonmark(*line.split())
    assert answer.code in (2, 3, 5), (line, answer)
    assert "Traceback" not in answer.err
    said = answer.err.splitlines()
    assert said[0].startswith(("noonmark: ", "Usage: ")), answer
    assert len(said) >= 2, f"{line!r} says what, but not what to do: {answer.err}"


def test_a_failed_run_is_told_in_chinese_with_its_error_as_it_is(desk: Desk, noonmark: Noonmark) -> None:
    desk.signal("corpus:2026-11-27")
    desk.act("end_job", job="tick")
    desk.until("2026-11-27T18:30:00")
    desk.beat()
    row = desk.look()
    desk.finish(row, Event.FAIL_MANUAL, code="failed_final", detail="{}", error="ValueError: no such reader")
    out = noonmark("why", f"r{row.id}", "--lang", "zh").out
    assert "ValueError: no such reader" in out
    assert "怎么办：" in out
    assert DIGEST.name in out


@pytest.mark.parametrize(
    ("said", "chinese"),
    [
        ("No such option '--bad'.", "没有选项 '--bad'。"),
        ("No such option: --bad", "没有选项 --bad。"),
        ("No such option '--jobs'. Did you mean '--job'?", "没有选项 '--jobs'。是否想写 '--job'？"),
        (
            "No such option '--job'. (Did you mean one of: '--json', '--now'?)",
            "没有选项 '--job'。是否想写 '--json', '--now'？",
        ),
        ("No such option: --job (Possible options: --json, --now)", "没有选项 --job。相近的有：--json, --now"),
    ],
)
def test_an_option_that_there_is_not_is_told_in_chinese_however_click_says_it(said: str, chinese: str) -> None:
    assert in_chinese(said) == chinese


def test_a_place_with_a_blank_that_is_no_store_is_told_in_chinese() -> None:
    said = '"a b" is no store URL; write sqlite:///a b for a SQLite file of that name, or memory://'
    assert complaint_in_chinese(said) == '"a b" 不是存储 URL；若是同名 SQLite 文件请写 sqlite:///a b，或写 memory://'
