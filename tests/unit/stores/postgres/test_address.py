"""What a PostgreSQL URL may say, and that it never says a password back."""

from __future__ import annotations

import pytest

from noonmark.ports.store import StoreUrlError
from noonmark.stores.postgres.address import parse


def test_what_is_left_out_has_its_default() -> None:
    address = parse("postgresql://ada@db.example/jobs")
    assert (address.schema, address.pooled, address.migrates, address.pool_size) == ("noonmark", False, True, 4)
    assert "host=db.example" in address.conninfo
    assert "dbname=jobs" in address.conninfo


def test_our_options_are_ours_and_the_others_are_libpqs() -> None:
    address = parse("postgres://db/jobs?schema=Mine&pooler=transaction&migrate=no&pool_size=9&sslmode=require")
    assert (address.schema, address.pooled, address.migrates, address.pool_size) == ("Mine", True, False, 9)
    assert "sslmode=require" in address.conninfo
    assert "schema" not in address.conninfo
    assert address.prefix == '"Mine".'


def test_an_environment_variable_says_that_opening_never_migrates(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("NOONMARK_MIGRATE", "no")
    assert not parse("postgresql://db/jobs").migrates
    assert parse("postgresql://db/jobs?migrate=yes").migrates


@pytest.mark.parametrize(
    "url",
    [
        "postgresql://ada:s3cret@db/jobs",
        "postgresql://ada:s3%63ret@db/jobs?sslpassword=s3cret",
        "postgresql://db/jobs?user=ada&password=s3cret",
    ],
)
def test_a_password_is_never_shown(url: str) -> None:
    address = parse(url)
    assert "s3cret" not in address.shown
    assert "s3%63ret" not in address.shown
    assert "***" in address.shown


def test_several_servers_mean_the_one_that_takes_writes() -> None:
    assert "target_session_attrs=read-write" in parse("postgresql://a,b/jobs").conninfo
    assert "target_session_attrs=any" in parse("postgresql://a,b/jobs?target_session_attrs=any").conninfo


@pytest.mark.parametrize(
    ("query", "said"),
    [
        ("schema=", "no possible name"),
        ("schema=" + "x" * 64, "no possible name"),
        ("schema=pg_mine", "belongs to PostgreSQL"),
        ("pooler=maybe", "pooler=transaction"),
        ("migrate=perhaps", "migrate=no"),
        ("pool_size=0", "from 1 to 64"),
        ("pool_size=many", "from 1 to 64"),
        ("shema=mine", 'no option "shema"; did you mean schema.*known: schema, pooler, migrate, pool_size'),
        ("ssl_mode=require", "did you mean sslmode"),
    ],
)
def test_what_cannot_be_is_refused_with_what_to_write(query: str, said: str) -> None:
    with pytest.raises(StoreUrlError, match=said):
        parse(f"postgresql://ada:s3cret@db/jobs?{query}")


def test_a_broken_url_is_refused_without_its_password() -> None:
    with pytest.raises(StoreUrlError, match="percent-encoded") as refused:
        parse("postgresql://ada:s3cret%zz@db/jobs")
    assert "s3cret" not in str(refused.value)


def test_a_schema_with_quotes_is_quoted() -> None:
    assert parse("postgresql://db/jobs?schema=we%22ird").prefix == '"we""ird".'
