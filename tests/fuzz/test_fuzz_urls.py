"""Anything at all as the URL of a store or a lock: an address or a refusal, and no word of a password in what is shown."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from bounds import bounded, fuzzing, read_or_refused
from hypothesis import example, given
from hypothesis import strategies as st

from noonmark.core.urls import may_cut_a_password, with_option, without_secrets
from noonmark.locks import etcd_link, postgres_link, redis_link, redlock, sqlite, zookeeper_link
from noonmark.locks.errors import LockUrlError
from noonmark.ports.clock import SystemClock
from noonmark.ports.store import StoreUrlError
from noonmark.stores.postgres import address as postgres_address
from noonmark.stores.redis import address as redis_address

SECRET = "hunter2"
READERS: dict[str, tuple[str, Callable[[str], Any]]] = {
    "redis": ("redis", redis_address.parse),
    "sentinel": ("redis+sentinel", redis_address.parse),
    "cluster": ("rediss+cluster", redis_address.parse),
    "postgres": ("postgresql", postgres_address.parse),
    "etcd": ("etcd", etcd_link.read_url),
    "zookeeper": ("zookeeper", zookeeper_link.read_url),
    "redis locks": ("redis", redis_link.connect),
    "redlock": ("redlock", lambda url: redlock._read(url, SystemClock())),
    "postgres locks": ("postgresql", postgres_link._read),
    "sqlite locks": ("sqlite", sqlite.path_of),
}
"""Kind of server -> scheme, and what reads its URL."""
PIECES = (
    *(
        "h",
        "a,b,c",
        "h:1",
        ":",
        "@",
        "/",
        "//",
        "?",
        "#",
        "&",
        "=",
        "[",
        "]",
        "[::1]",
        "[::1",
        "%",
        "%zz",
        "%00",
        "%2F",
        " ",
    ),
    *(
        "\n",
        "\x00",
        "\ud800",
        "é",
        "²",
        "٣",
        "99999",
        "-1",
        "9" * 5_000,
        "0",
        "timeout=",
        "timeout=nan",
        "session=",
        "tls=1",
    ),
    *(
        "schema=",
        "pool_size=",
        "durability=failover",
        "replicas=",
        "namespace=",
        "ssl_cert_reqs=",
        "user",
        "*",
        "\\",
        ";",
        ",",
        "%3B",
        "%20",
        "%3D",
        "%26",
        "password=",
        "＝",
    ),
)
rests = st.lists(st.sampled_from(PIECES), max_size=8).map("".join)
logins = st.sampled_from(("", f"u:{SECRET}@", f":{SECRET}@", "u@"))
options = st.sampled_from(
    (
        "",
        f";password={SECRET}",
        f"%20password%3D{SECRET}",
        f"password:%20{SECRET}",
        f"?password={SECRET}",
        f"?ssl_password={SECRET}&timeout=x",
        f"?sentinel_password={SECRET}",
    )
)


@pytest.mark.parametrize("kind", READERS)
@fuzzing(40)
@given(rest=rests, login=logins, option=options)
@example(rest="[", login="", option="")
@example(rest="[::1", login=f"u:{SECRET}@", option="")
@example(rest="a,b,c/" + "9" * 5_000, login="", option="")
@example(rest="a,b,c/²", login="", option="")
@example(rest="h:٣", login="", option="")
@example(rest="h:99999999", login="", option="")
@example(rest="h:" + "9" * 5_000, login="", option="")
@example(rest="h/" + "9" * 5_000, login="", option="")
@example(rest="h?timeout=" + "9" * 400, login="", option="")
@example(rest="h/\ud800?namespace=\ud800", login="", option="")
@example(rest="\u2100/x", login="", option="")
@example(rest="%99999", login="", option="")
@example(rest="h?timeout=5", login="", option=f";password={SECRET}")
@example(rest="a,b,c?timeout=5", login="", option=f"%20password%3D1%20{SECRET}")
@example(rest="h", login="", option=f"?tls=password＝{SECRET}")
@example(rest="a,b,c?session=5", login="", option=f",token:{SECRET}")
@example(rest="a,b,c/x;password=", login="", option=SECRET)
def test_any_url_is_an_address_or_refused_without_its_password(kind: str, rest: str, login: str, option: str) -> None:
    scheme, read = READERS[kind]
    url = f"{scheme}://{login}{rest}{option}"
    _, said = read_or_refused(100_000, lambda: read(url), (StoreUrlError, LockUrlError))
    assert SECRET not in said


@pytest.mark.parametrize("kind", sorted(READERS.keys() - {"sqlite locks"}))
@pytest.mark.parametrize("rest", ["", "/0", ",b,c", ",b,c/x", "[", "?timeout=5"])
def test_a_login_without_its_at_and_host_is_never_quoted(kind: str, rest: str) -> None:
    scheme, read = READERS[kind]
    url = f"{scheme}://u:{SECRET}{rest}"
    _, said = read_or_refused(100_000, lambda: read(url), (StoreUrlError, LockUrlError))
    assert SECRET not in said
    assert SECRET not in without_secrets(url)


@fuzzing(150)
@given(
    st.one_of(st.text(max_size=40), st.builds("{}://{}{}".format, st.sampled_from(("redis", "a b", "")), logins, rests))
)
def test_any_text_can_be_shown_without_secrets_and_given_an_option(url: str) -> None:
    shown = bounded(20_000, lambda: without_secrets(url))
    if f":{SECRET}@" in url:
        assert f":{SECRET}@" not in shown
    bounded(20_000, lambda: may_cut_a_password(url))
    assert bounded(20_000, lambda: with_option(url, "a", "1")).endswith("a=1")
