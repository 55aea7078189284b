"""One message, one language: every sentence, remedy and complaint that a person can meet is there in both, and unmixed."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from pathlib import Path
from string import Formatter

import pytest
from calling import Noonmark
from desk import Desk

import noonmark
from noonmark.core.errors_zh import in_chinese
from noonmark.core.phrasing import STATES
from noonmark.core.reasons import REASONS, sentence
from noonmark.explain.check_words import CHECKED
from noonmark.explain.messages import MESSAGES
from noonmark.explain.outcomes import OUTCOMES
from noonmark.faces.cli.demo_words import WORDS as DEMO
from noonmark.faces.cli.doctor_words import IN_CHINESE, refused, told
from noonmark.faces.cli.show_words import SHOWN
from noonmark.faces.cli.trouble_words import TROUBLES
from noonmark.faces.cli.words import WORDS
from noonmark.locks.errors import no_answer
from noonmark.ports.doctor import Finding, StoreRefused
from noonmark.rules.messages import MESSAGES as RULES

PACKAGE = Path(noonmark.__path__[0])
ENGLISH = re.compile(r"(?:(?<![\w\-./:{\[\"=])[A-Za-z][a-z']*[ ,;]+){2,}[A-Za-z][a-z']+")
CHINESE = re.compile(r"[\u3400-\u9fff，。；：“”（）、]")
TYPED = re.compile(
    r"noonmark [\w\-.:=/ \[\]|{}]+|pip install \S+|(?:ALTER|SELECT|VACUUM|REINDEX|CONFIG|PRAGMA)\b[^；。）]*"
    r"|sqlite3 '[^']*'|kill -9|`[^`]*`|\{[^}]*\}|mkdir -p|from \{start\}\nto"
)
"""What is typed as it stands, in any language."""
COMPLAINTS = {
    "StoreUrlError", "StoreUnusable", "StoreError", "StoreUnreachable", "StoreDriverMissing", "LockUrlError", "LockError",
    "LockUnusable", "unusable", "unreachable", "ValueError", "TemplateProblem", "CronError",
}  # fmt: skip
HOW = 'write it like "90s", "5m", "1h30m", "2d" or "PT1H30M"'
TOLD = ("core", "locks", "stores", "rules", "wiring.py")
"""Where they are raised that the command line tells."""
NOT_FOR_PEOPLE = re.compile(
    r"^(a minute or more|an instant is a number|job 7 is not triggered|no such act|occurrence 7 of|an occurrence needs"
    r"|7 is no place in this archive|7 is not settled|7 of occurrence 7|the stored rule|a stored rule|7: (the|a) (stored|7)"
    r"|7: 7 is not JSON$)"
)
"""A wrong call of our own code: no command makes one, and an engine logs it."""


def texts() -> Iterator[tuple[str, str, str]]:
    """Every text that is written in both languages: where it stands, English, Chinese."""
    for name, table in (
        ("words", WORDS),
        ("shown", SHOWN),
        ("stories", MESSAGES),
        ("checks", CHECKED),
        ("states", STATES),
    ):
        for key, (en, zh) in table.items():
            yield f"{name}.{key}", en, zh
    for key, (english, chinese) in TROUBLES.items():
        yield f"troubles.{key}", "\n".join(english), "\n".join(chinese)
    for code, reason in REASONS.items():
        yield f"reasons.{code}", f"{reason.en}\n{reason.remedy_en}", f"{reason.zh}\n{reason.remedy_zh}"
    for key, outcome in OUTCOMES.items():
        yield f"outcomes.{key}", outcome.en, outcome.zh
    for key in DEMO["en"]:
        yield f"demo.{key}", DEMO["en"][key], DEMO["zh"][key]
    for code, message in RULES.items():
        en, zh = (
            "\n".join(getattr(message, f"{part}_{lang}") for part in ("what", "why", "remedy")) for lang in ("en", "zh")
        )
        yield f"rules.{code}", en, zh


TEXTS = {where: (en, zh) for where, en, zh in texts()}


@pytest.mark.parametrize("where", TEXTS)
def test_a_text_is_there_in_both_languages_and_each_is_one(where: str) -> None:
    en, zh = TEXTS[where]
    assert CHINESE.search(en) is None
    assert ENGLISH.search(TYPED.sub("", zh)) is None, zh
    for here, there in zip(en.split("\n"), zh.split("\n"), strict=where.startswith(("troubles", "rules", "reasons"))):
        if here.strip() or "{error}" not in en:  # what to do may stand in the complaint that is quoted
            assert bool(here.strip()) == bool(there.strip()), "said in one language only"


def sample(node: ast.expr) -> str | None:
    """A text as it is written, with every value in it replaced."""
    if isinstance(node, ast.Constant) and isinstance(node.value, str):
        return node.value
    if isinstance(node, ast.JoinedStr):
        return "".join(str(part.value) if isinstance(part, ast.Constant) else "7" for part in node.values)
    return None


def calls(*names: str) -> Iterator[tuple[Path, ast.Call]]:
    for path in sorted(PACKAGE.rglob("*.py")):
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.Call) and ast.unparse(node.func).rpartition(".")[2] in names:
                yield path, node


def complaints() -> dict[str, str]:
    """Everything that core, rules, stores and locks complain about."""
    found = {}
    for path, node in calls(*COMPLAINTS):
        place = path.relative_to(PACKAGE)
        texts = [text for argument in node.args if (text := sample(argument)) is not None and " " in text]
        texts = [] if place.parts[0] not in TOLD or place.name == "caller.py" else texts
        for text in texts:  # a hint that is filled in is told on its own
            if place.name == "durations.py":
                text = re.sub(r"; 7$", f"; {HOW}", text)
            text = (
                text.replace("7known: 7", "known: 7")
                .replace("binds7", "binds; known here: 7")
                .replace(" field7,", " fields,")
            )
            if not NOT_FOR_PEOPLE.match(text) and re.search(r"[a-z]{2,}", text):
                found[text] = f"{place}:{node.lineno}"
    return found


def test_whatever_is_complained_about_is_told_in_chinese_and_in_nothing_else() -> None:
    found, mixed = complaints(), {}
    assert len(found) > 200, "the search works"
    for text, place in found.items():
        chinese = in_chinese(text)
        if ENGLISH.search(TYPED.sub("", chinese)):
            mixed[place] = f"{text} -> {chinese}"
    assert mixed == {}


def findings() -> Iterator[tuple[str, str, str, dict[str, object] | None]]:
    """Every finding: its code, sentence, remedy, and the names of its detail where they are written with it."""
    for _path, node in calls("Finding"):
        words = {word.arg: word.value for word in node.keywords}
        code, detail = words["code"], words.get("detail")
        if isinstance(code, ast.Constant):
            names = None
            if detail is None or isinstance(detail, ast.Dict):
                keys = detail.keys if isinstance(detail, ast.Dict) else []
                names = {ast.literal_eval(key): "7" for key in keys if key is not None}
            remedy = words.get("remedy")
            yield code.value, sample(words["sentence"]) or "", (sample(remedy) or "") if remedy else "", names  # type: ignore[misc]


def test_every_finding_is_told_in_chinese_by_its_own_names() -> None:
    found = list(findings())
    assert len(found) > 50, "the search works"
    for code, english, _remedy, names in found:
        if code in ("store_refused", "store_absent"):
            continue  # they say what the store said
        wanted = {name for part in IN_CHINESE[code] for _, name, _, _ in Formatter().parse(part) if name}
        chinese, chinese_remedy = told(
            code, english, "", dict.fromkeys(wanted, "7") if names is None else dict(names), "zh"
        )
        assert ENGLISH.search(TYPED.sub("", chinese + chinese_remedy)) is None, f"{code}: {chinese} {chinese_remedy}"
        assert CHINESE.search(chinese) or not re.search(r"[a-z]{3,} [a-z]{3,}", english), code


def test_a_store_that_is_refused_says_why_in_one_language(noonmark: Noonmark, monkeypatch: pytest.MonkeyPatch) -> None:
    detail = {"policy": "allkeys-lru"}
    found = Finding(
        code="eviction_on", level="refuse", sentence="It drops keys when full.", remedy="Do not.", detail=detail
    )
    error = StoreRefused("redis://h", (found, found))

    def refuses(*_: object, **__: object) -> None:
        raise error

    monkeypatch.setattr("noonmark.wiring.open_store", refuses)
    chinese = noonmark("jobs", "--lang", "zh").err
    assert "allkeys-lru" in chinese
    assert ENGLISH.search(TYPED.sub("", chinese)) is None, chinese
    assert noonmark("jobs").err.startswith("noonmark: cannot use the store redis://h: It drops keys when full. Do not.")
    assert refused(error, "en") == str(error)
    examined = noonmark("doctor", "--lang", "zh").out
    assert "allkeys-lru" in examined
    assert ENGLISH.search(TYPED.sub("", examined.split("✖")[1].splitlines()[0])) is None, examined


def test_what_a_lock_said_is_told_in_chinese_in_the_reason_too() -> None:
    error = str(no_answer("etcd://h", "Connection refused"))
    chinese = sentence("lock_away", {"lock": "x", "error": error}, lang="zh")
    assert "没有应答：Connection refused。" in chinese
    assert ENGLISH.search(chinese.replace("Connection refused", "")) is None
    assert error.rstrip(".") in sentence("lock_away", {"lock": "x", "error": error})
    assert "ValueError: no such reader" in sentence("failed_final", {"error": "ValueError: no such reader"}, lang="zh")


RULES_FILE = """
version: 1
jobs:
  a:
    schedule: {cron: "0 9 31 2 *", tz: Asia/Shangai}
    command: ["x"]
    dedupe_key: "a"
    reason: x
  b:
    schedule: {cron: "0 9 * * *", tz: Asia/Shanghai}
    command: ["x"]
    dedupe_key: "b:{business_date}:{zz}"
    each: {channel: [a, a]}
    reason: x
  c:
    schedule: {every: 5m}
    command: ["x"]
    dedupe_key: "c:{scheduled_for}"
    each: {channel: [a, b]}
    depends_on: ["x_{foo}"]
    reason: x
    lock: {name: "x{", at: "etcd:/x", ttl: 1ms}
    retry: {backoff: "1s-2s"}
    timeout: 5
"""


@pytest.mark.usefixtures("desk")
def test_a_file_with_every_kind_of_fault_is_refused_in_one_language(
    noonmark: Noonmark, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "noonmark.yaml").write_text(RULES_FILE, encoding="utf-8")
    said = noonmark("rules", "check", "noonmark.yaml", "--lang", "zh").err
    assert said.count("\n") > 8
    for line in said.splitlines():
        names = re.sub(r"：business_date, .*|每次 .*", "", line)
        assert ENGLISH.search(TYPED.sub("", names)) is None, line


@pytest.mark.parametrize("name", ["noonmark_demo_", "public"])
def test_the_demos_mistakes_are_told_in_one_language(desk: Desk, noonmark: Noonmark, name: str) -> None:  # noqa: ARG001
    for line in (("--erase", name), ("--erase", name, "--url", "redis://h"), ("--url", "redi://h"), ("--seconds", "1")):
        answer = noonmark("demo", *line, "--lang", "zh")
        assert answer.code == 2
        assert ENGLISH.search(TYPED.sub("", answer.err)) is None, answer.err
