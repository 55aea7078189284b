"""Texts of strangers are values in every store: never a part of a statement, a script, a pattern or a key's name."""

from __future__ import annotations

import ast
import re
from pathlib import Path

import pytest

import noonmark
from noonmark.core.model import SECOND, Act, Fact, Query
from noonmark.ports.store import Store, StoreUnusable
from noonmark.stores.postgres.address import quoted_schema
from noonmark.stores.redis import address as redis_address
from noonmark.testing.builders import make_activation, make_caller_row, make_worker

ROOT = Path(noonmark.__file__).parent
EVIL = (
    "'; DROP TABLE occurrence; --",
    '"; DELETE FROM job; --',
    "x' OR '1'='1",
    "$$; SELECT pg_sleep(10); $$",
    "%s %(name)s {} ? :1 $1",
    "\\'; \\x00",
    '"] redis.call("FLUSHALL") --[["',
    "]] redis.call('FLUSHALL') [[",
    "*?[a-z]^",
    "a}:{b",
    "a\r\nFLUSHALL\r\n",
    "LIKE_%",
    "../../../etc/passwd",
)


@pytest.mark.parametrize("evil", EVIL)
def test_every_text_comes_back_as_it_was_and_nothing_else_happens(store: Store, evil: str) -> None:
    store.activate("j", [make_activation(evil, effective_at=0, event=evil)], actor=evil, at=SECOND)
    store.activate("k", [make_activation("bystander", effective_at=0)], actor="t", at=SECOND)
    fields = {"job": evil, "subject": evil, "key": f"k{evil}", "actor": evil, "note": evil, "params": '{"x": 1}'}
    (added,) = store.add("a", [make_caller_row(evil, at=SECOND, **fields)], at=SECOND)
    store.add("b", [make_caller_row("bystander", at=SECOND)], at=SECOND)
    store.signal("s", [Fact(name=f"flag:{evil}", value=evil, actor=evil)], at=SECOND)
    store.heartbeat(make_worker(f"w{evil}", name=evil, host=evil, jobs=(evil,)), 60 * SECOND, at=SECOND)
    for query in (Query(ids=(added.id,)), Query(job=evil), Query(key=f"k{evil}"), Query(subject=evil, job=evil)):
        (row,) = store.occurrences(query)
        assert (row.id, row.job, row.subject, row.actor, row.note) == (added.id, evil, evil, evil, evil)
    assert [job.name for job in store.jobs(event=evil)] == [evil]
    assert len(store.jobs()) == 2
    assert len(store.occurrences(Query())) == 2
    assert store.facts([f"flag:{evil}"])[f"flag:{evil}"].value == evil
    assert [worker.host for worker in store.workers()] == [evil]
    assert store.act("c", Act(kind="cancel", actor=evil, reason=evil, key=f"k{evil}"), at=SECOND).outcome == "done"
    assert store.act("p", Act(kind="pause", actor=evil, reason=evil, job=evil), at=SECOND).outcome == "done"
    assert [job.pause_reason for job in store.jobs([evil])] == [evil]


@pytest.mark.parametrize("name", ["", "a\0b", "pg_catalog", "information_schema", "x" * 64])
def test_a_schema_that_cannot_be_is_refused(name: str) -> None:
    with pytest.raises(StoreUnusable):
        quoted_schema(name)


def test_a_schema_with_quotes_is_one_name() -> None:
    assert quoted_schema('a"; DROP TABLE x; --') == '"a""; DROP TABLE x; --"'


@pytest.mark.parametrize("name", ["a}:{b", "*", "a b", "", "x" * 65, "a\r\nFLUSHALL"])
def test_a_namespace_is_a_plain_word(name: str) -> None:
    from urllib.parse import quote

    with pytest.raises(StoreUnusable):
        redis_address.parse(f"redis://127.0.0.1:6379/0?namespace={quote(name)}")


def test_a_script_of_redis_is_a_file_and_loads_no_text() -> None:
    scripts = list((ROOT / "stores" / "redis").rglob("*.lua"))
    assert len(scripts) > 5
    for path in scripts:
        text = path.read_text(encoding="utf-8")
        assert not re.search(r"loadstring|dofile|loadfile|setfenv|(?<![\w.])load\(\s*[\"'\[]", text), path.name


def test_a_script_is_put_together_of_files_and_our_own_constants_before_any_value_is_known() -> None:
    tree = ast.parse((ROOT / "stores" / "redis" / "scripts.py").read_text(encoding="utf-8"))
    functions = {node.name: node for node in ast.walk(tree) if isinstance(node, ast.FunctionDef)}
    parameters = {name: [argument.arg for argument in node.args.args] for name, node in functions.items()}
    assert parameters["script"] == ["name"], "a script is asked for by its name and nothing else"
    asked = [
        node.args[0]
        for path in (ROOT / "stores" / "redis").glob("*.py")
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8")))
        if isinstance(node, ast.Call) and ast.unparse(node.func) == "script"
    ]
    assert asked
    assert all(isinstance(name, (ast.Constant, ast.Name)) for name in asked)
