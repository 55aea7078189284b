"""What core complains about is told in Chinese, all of it."""

from __future__ import annotations

import ast
from pathlib import Path

import pytest

import noonmark.core as core
from noonmark import wiring
from noonmark.core.cron import parse_cron
from noonmark.core.durations import parse_duration
from noonmark.core.errors_zh import in_chinese
from noonmark.core.times import parse_instant, zone
from noonmark.stores import postgres, redis, sqlite
from noonmark.stores.postgres import errors as postgres_errors
from noonmark.stores.redis import errors as redis_errors

MODULES = ("durations.py", "times.py", "zones.py")


def is_chinese(text: str) -> bool:
    return any("\u4e00" <= character <= "\u9fff" for character in text)


def sample(node: ast.expr) -> str | None:
    """Return an f-string with every value replaced, None for what is no text."""
    if isinstance(node, ast.Constant) and isinstance(node.value, str):
        return node.value
    if not isinstance(node, ast.JoinedStr):
        return None
    parts = []
    for part in node.values:
        if isinstance(part, ast.Constant):
            parts.append(str(part.value))
        elif isinstance(part, ast.FormattedValue) and isinstance(part.value, ast.Name) and part.value.id == "_HOW":
            parts.append('write it like "90s", "5m", "1h30m", "2d" or "PT1H30M"')
        elif isinstance(part, ast.FormattedValue) and isinstance(part.value, ast.Name) and part.value.id == "hint":
            parts.append("write m")
        else:
            parts.append("7")
    return "".join(parts)


def complaints() -> list[str]:
    found = []
    for name in MODULES:
        tree = ast.parse((Path(core.__path__[0]) / name).read_text(encoding="utf-8"))
        for node in ast.walk(tree):
            if (
                isinstance(node, ast.Raise)
                and isinstance(node.exc, ast.Call)
                and "ValueError" in ast.dump(node.exc.func)
            ):
                text = sample(node.exc.args[0])
                if text is not None:
                    found.append(text)
    tree = ast.parse(Path(wiring.__file__ or "").read_text(encoding="utf-8"))
    for node in ast.walk(tree):
        if isinstance(node, ast.Call) and getattr(node.func, "id", "") == "StoreUrlError":
            text = sample(node.args[0])
            if text is not None and "did you mean" not in text and not text.startswith("there is no store"):
                found.append(text)
    return found


def of_the_store() -> list[str]:
    found = []
    for path in Path(sqlite.__path__[0]).glob("*.py"):
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.Call) and ast.unparse(node.func).split(".")[-1] in ("unusable", "unreachable"):
                found += [text for part in node.args[1:] if (text := sample(part)) is not None]
    return found


def of_the_servers() -> list[str]:
    reasons = [*postgres_errors._PASSING.values(), *postgres_errors._LASTING.values()]
    reasons += [*redis_errors.FOR_A_PERSON.values(), *((why, "Repeat.") for why in redis_errors.PASSING.values())]
    found = [text for pair in reasons for text in pair]
    found += [f"{why} (what the server said)" for why, _ in reasons]
    for package in (postgres, redis):
        for path in Path(package.__path__[0]).glob("*.py"):
            for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
                name = ast.unparse(node.func).split(".")[-1] if isinstance(node, ast.Call) else ""
                if name not in ("unusable", "unreachable", "_refusal", "StoreUrlError"):
                    continue
                assert isinstance(node, ast.Call)
                parts = node.args if name in ("_refusal", "StoreUrlError") else node.args[1:]
                found += [text for part in parts if (text := sample(part)) is not None]
    return sorted({text for text in found if text not in ("7", "7 (7)") and "7known" not in text})


@pytest.mark.parametrize("text", of_the_servers())
def test_every_reason_and_remedy_of_a_server_has_its_chinese(text: str) -> None:
    assert is_chinese(in_chinese(text)), text


def test_a_servers_whole_complaint_is_told_in_chinese_with_its_url_untouched() -> None:
    away = redis_errors.unreachable("redis://h:6379/0", "the server is loading its data")
    assert in_chinese(str(away)) == "存储 redis://h:6379/0 没有响应：服务器正在加载数据"
    refused = postgres_errors.unusable(
        "postgresql://u:***@h:5432/d", 'there is no such database (database "d" does not exist)',
        "Create it (createdb NAME), or name another in the URL.",
    )  # fmt: skip
    assert in_chinese(str(refused)) == (
        '无法使用存储 postgresql://u:***@h:5432/d：没有这个数据库（database "d" does not exist）。'
        "请创建它（createdb 名称），或在 URL 中写另一个。"
    )


@pytest.mark.parametrize("text", of_the_store())
def test_every_reason_and_remedy_of_a_store_has_its_chinese(text: str) -> None:
    assert is_chinese(in_chinese(text)), text


@pytest.mark.parametrize("text", complaints())
def test_every_complaint_that_is_raised_has_its_chinese(text: str) -> None:
    assert is_chinese(in_chinese(text)), text


@pytest.mark.parametrize(
    "wrong", ["", "5", "-5m", "5x", "5 M", "P1Y", "PTX", "1m1h", "soon", "0.0000001s", "99999w", "5minutes"]
)
def test_a_duration_that_cannot_be_read_is_told_in_chinese(wrong: str) -> None:
    with pytest.raises(ValueError) as refused:  # noqa: PT011 - the text is what is tested
        parse_duration(wrong)
    assert is_chinese(in_chinese(str(refused.value)))


@pytest.mark.parametrize(
    "wrong",
    [
        "* * * *", "61 * * * *", "0 9 31 2 *", "0 9 30 2 *", "@fortnightly", "@every 5m", "0 9 * * fri-mon",
        "*/70 * * * *", "? 9 * * *", "CRON_TZ=UTC 0 9 * * *", "a b c d e", "0 9 * * * 2027 *", "0 9 15W * *",
    ],
)  # fmt: skip
def test_a_cron_expression_that_cannot_be_read_is_told_in_chinese(wrong: str) -> None:
    with pytest.raises(ValueError) as refused:  # noqa: PT011 - the text is what is tested
        parse_cron(wrong, "UTC")
    assert is_chinese(in_chinese(str(refused.value))), str(refused.value)


def test_times_zones_and_stores_are_told_in_chinese_with_the_names_untouched() -> None:
    with pytest.raises(ValueError, match="no ISO time") as refused:
        parse_instant("yesterday", "UTC")
    assert in_chinese(str(refused.value)) == '"yesterday" 不是 ISO 时间；请写成 2026-12-01T09:00:00'
    with pytest.raises(ValueError, match="Asia/Shanghai") as refused:
        zone("Asia/Shanghia")
    assert in_chinese(str(refused.value)) == '"Asia/Shanghia" 不是时区；是否想写 Asia/Shanghai？'
    store = "cannot use the store x.db: the file is not a SQLite database. Name another file, or move this one away."
    assert in_chinese(store) == "无法使用存储 x.db：该文件不是 SQLite 数据库。换一个文件名，或把它移走。"


def test_what_is_not_known_comes_back_as_it_is() -> None:
    assert in_chinese("KeyError: 'x'") == "KeyError: 'x'"
