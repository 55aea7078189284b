"""From a URL to an address: which server, which schema, and how to behave there.

Rule of the file: our own options are taken out of the query, whatever is left is libpq's to understand; a wrong option is
refused here, before anything is dialled.
"""

from __future__ import annotations

import difflib
import hashlib
import os
from collections.abc import Iterable
from dataclasses import dataclass
from urllib.parse import parse_qsl, quote, urlencode

import psycopg
from psycopg.conninfo import conninfo_to_dict, make_conninfo
from psycopg.pq import Conninfo

from noonmark.core.urls import (
    CUT_PASSWORD,
    count,
    may_cut_a_password,
    stands_twice,
    unfit,
    without_secret_options,
    without_secrets,
)
from noonmark.ports.store import StoreUrlError

DEFAULT_SCHEMA = "noonmark"
LONGEST_NAME = 63
"""Bytes of a PostgreSQL name; a longer one would be cut in silence."""
DEFAULT_POOL, LARGEST_POOL = 4, 64
MIGRATE_VARIABLE = "NOONMARK_MIGRATE"
_SECRETS = frozenset({"password", "sslpassword", "passfile", "oauth_client_secret"})
_OWN = ("schema", "pooler", "migrate", "pool_size")
_DEFAULTS = {
    "application_name": "noonmark",
    "connect_timeout": "5",
    # A server that vanished without a word is noticed within eleven seconds, not after the system's two hours.
    "keepalives_idle": "5",
    "keepalives_interval": "2",
    "keepalives_count": "3",
    "tcp_user_timeout": "10000",
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Address:
    """Where the store is and how it is reached."""

    shown: str  # the URL without secrets
    conninfo: str
    schema: str
    pooled: bool  # a transaction-mode pooler stands between: nothing may outlive a transaction
    migrates: bool  # opening brings the schema up to date
    pool_size: int  # connections for verbs of many threads, beside those for leases and for listening

    @property
    def channel(self) -> str:
        """Name under which listeners of this schema are called."""
        name = f"noonmark:{self.schema}"
        return name if len(name.encode()) <= LONGEST_NAME else name.encode()[-LONGEST_NAME:].decode(errors="ignore")

    @property
    def gate(self) -> int:
        """Number of the advisory lock that the verbs of this schema share."""
        return int.from_bytes(hashlib.sha256(f"noonmark gate {self.schema}".encode()).digest()[:8], "big", signed=True)

    @property
    def prefix(self) -> str:
        """What stands before the name of each of our tables."""
        return quoted_schema(self.schema) + "."


def quoted_schema(name: str) -> str:
    """Return the schema's name as it stands in a statement.

    Raises:
        StoreUrlError: PostgreSQL could not have a schema of this name.
    """
    if not name or "\0" in name or len(name.encode()) > LONGEST_NAME:
        raise StoreUrlError(f"schema={name!r} is no possible name: one to {LONGEST_NAME} bytes, no NUL character")
    if name.lower().startswith("pg_") or name.lower() == "information_schema":
        raise StoreUrlError(f"schema={name} belongs to PostgreSQL itself; choose another, such as noonmark")
    return '"' + name.replace('"', '""') + '"'


def parse(url: str) -> Address:
    """Return the address that a URL names.

    Args:
        url: ``postgresql://user:password@host:port/database`` with our options ``schema`` (default ``noonmark``),
            ``pooler=transaction`` (behind a transaction-mode pooler), ``migrate=no`` (opening never alters the schema) and
            ``pool_size`` (1 to 64, default 4); every other option is libpq's.

    Raises:
        StoreUrlError: what is wrong, and what to write instead.
    """
    if why := unfit(url):
        raise StoreUrlError(f"the URL cannot be read: {why}")
    head, _, query = url.partition("?")
    given = parse_qsl(query, keep_blank_values=True)
    own = {name: value for name, value in given if name in _OWN}
    rest = [(name, value) for name, value in given if name not in _OWN]
    _refuse_unknown(url, [name for name, _ in rest])
    if why := stands_twice(query):
        raise StoreUrlError(CUT_PASSWORD if may_cut_a_password(url) else why)
    place = head.partition("://")[2]
    plain = f"postgresql://{place}" + (f"?{urlencode(rest, quote_via=quote)}" if rest else "")
    try:
        known = conninfo_to_dict(plain)
    except UnicodeDecodeError:
        raise StoreUrlError("the URL has %-signs that spell no UTF-8; write % itself as %25") from None
    except psycopg.ProgrammingError as problem:
        if may_cut_a_password(url):
            raise StoreUrlError(CUT_PASSWORD) from None
        said = str(problem).strip()
        raise StoreUrlError(
            f"this is no PostgreSQL URL: {_without(said, place, given)}; write"
            " postgresql://user:password@host:5432/database, with special characters in a password percent-encoded"
        ) from None
    settings = _DEFAULTS | {name: str(value) for name, value in known.items() if value is not None}
    if "," in settings.get("host", "") and "target_session_attrs" not in settings:
        settings["target_session_attrs"] = "read-write"  # of several servers only the primary can serve
    schema = own.get("schema", DEFAULT_SCHEMA)
    quoted_schema(schema)
    return Address(
        shown=without_secrets(url),
        conninfo=make_conninfo(**settings),
        schema=schema,
        pooled=_one_of(own, "pooler", {"none": False, "session": False, "transaction": True}, "none"),
        migrates=_one_of(own, "migrate", {"yes": True, "no": False}, os.environ.get(MIGRATE_VARIABLE) or "yes"),
        pool_size=_count(own),
    )


def _one_of(own: dict[str, str], name: str, meanings: dict[str, bool], default: str) -> bool:
    said = own.get(name, default).lower()
    if said not in meanings:
        raise StoreUrlError(
            f"{name}={said} is not possible; write {' or '.join(f'{name}={word}' for word in meanings)}"
        )
    return meanings[said]


def _count(own: dict[str, str]) -> int:
    said = own.get("pool_size", str(DEFAULT_POOL))
    size = count(said, LARGEST_POOL)
    if not size:
        raise StoreUrlError(f"pool_size={said} is not possible; write a number from 1 to {LARGEST_POOL}")
    return size


def _refuse_unknown(url: str, names: Iterable[str]) -> None:
    known = [*_OWN, *(option.keyword.decode() for option in Conninfo.get_defaults() if option.dispchar != b"D")]
    for name in names:
        if name not in known and name != "ssl":  # libpq takes ssl=true for sslmode=require
            if may_cut_a_password(url):  # then the name may be half of it
                raise StoreUrlError(CUT_PASSWORD)
            close = difflib.get_close_matches(name, known, n=1)
            meant = f"did you mean {close[0]}? " if close else ""
            raise StoreUrlError(f'postgresql has no option "{name}"; {meant}known: {", ".join(known)}')


def _without(said: str, place: str, given: list[tuple[str, str]]) -> str:
    """Take what may be a password out of libpq's sentence."""
    credentials = place.rpartition("@")[0]
    secrets = {credentials, credentials.partition(":")[2], *(value for name, value in given if name in _SECRETS)}
    for secret in sorted(secrets - {""}, key=len, reverse=True):
        said = said.replace(secret, "***")
    return without_secret_options(said)
