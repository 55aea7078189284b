"""URLs of stores and locks as text: shown without what must stay secret, with one option changed, their kind of lock.

Promise: a URL that is changed keeps everything else that was written in it, letter by letter.  Rule of the file: whatever
could be a password is hidden, even where that hides more than it must.
"""

from __future__ import annotations

import re
from urllib.parse import parse_qsl

from noonmark.core.patterns import pattern

DEFAULT_URL = "sqlite:///.noonmark/noonmark.db"
"""Where a store is, and locks beside it, when neither an argument nor the environment says so: a folder beside the work."""
LOCK_KINDS = ("redis", "redlock", "postgres", "sqlite", "etcd", "zookeeper", "memory")
"""What may keep the lock of a job."""
_LOCK_SCHEMES = {
    "rediss": "redis",
    "valkey": "redis",
    "valkeys": "redis",
    "postgresql": "postgres",
    "etcds": "etcd",
    "zookeepers": "zookeeper",
}
_SECRET_OPTION = pattern(
    r"(?<![\w%.-])((?:[\w.%-]*(?:pass|pwd|secret|token|credential)[\w.%-]{0,64}?)\s*(?:[=＝]|%3d)\s*)('[^']*'|[^&\s]+)",
    re.IGNORECASE,
)
"""``password=x`` and its kin, in a query string or in libpq's key=value form."""
_SECRET_QUOTED = pattern(
    r"(?<![\w%.-])((?:[\w.%-]*(?:pass|pwd|secret|token|credential)[\w.%-]{0,64}?)\s*(?:[=:＝：]|%3[ad])\s*)"
    r"(?!…).+?(?= is not possible| means nothing| cannot be read|\"|$)",
    re.IGNORECASE | re.DOTALL,
)
"""The same inside a sentence that quotes one value of a URL: separators that mean nothing there do not part it."""
CUT_PASSWORD = (
    "this URL cannot be read; special characters in a user name or a password have to be percent-encoded:"
    " %2F for /, %3F for ?, %23 for #, %40 for @"
)
"""What is said of such a URL that is no good, instead of quoting from it."""
_PLACE = pattern(r"(?:\[[^\]:]*:[^\]]*\]|[^:]*)(?::[0-9]{0,5})?")
_LOOSE_CREDENTIALS = pattern(r"(?<![^\s/:@])[^\s/:@]+:[^\s@]{1,1024}@")
"""``user:password@`` in what is no URL."""


def without_secrets(url: str) -> str:
    """Return the URL with user and password, and every option that names a secret, replaced by ``***``."""
    head, separator, rest = url.partition("://")
    # a path that begins at once has no authority, so no credentials: an @ in it is part of a name
    if separator and "@" in rest and not rest.startswith("/"):
        rest = f"***@{rest.rpartition('@')[2]}"
    if separator and not rest.startswith("/"):
        place = re.split("[/?#]", rest, maxsplit=1)[0]
        rest = place_shown(place) + rest[len(place) :]
    elif not separator:
        head = _LOOSE_CREDENTIALS.sub("***@", head)
    return without_secret_options(f"{head}{separator}{rest}")


def place_shown(hosts: str) -> str:
    """Return ``host:port,host:port`` with what can be no port replaced: of ``user:password`` somebody forgot the @host."""
    return ",".join(map(_one_shown, hosts.split(",")))


def _one_shown(place: str) -> str:
    who, at, host = place.rpartition("@")
    return place if _PLACE.fullmatch(host) else f"{who}{at}{host.partition(':')[0]}:***"


def without_secret_options(text: str) -> str:
    """Return a text, such as what a driver says of a URL, with every option that names a secret replaced by ``***``."""
    return _SECRET_OPTION.sub(r"\1***", text)


def without_quoted_secrets(said: str) -> str:
    """Return what is said of a URL that is refused with every ``password=x`` in what it quotes replaced by ``***``."""
    return _SECRET_QUOTED.sub(r"\1***", said)


def may_cut_a_password(url: str) -> bool:
    """True where an @ comes behind the /, ? or # that ends the place: what stands around it may be half a password."""
    place, *rest = re.split("[/?#]", url.partition("://")[2], maxsplit=1)
    return bool(place) and "@" in "".join(rest)


def lock_kind(scheme: str) -> str:
    """Return which kind of lock a URL's scheme means, "" for one that no kind knows."""
    base = scheme.lower().partition("+")[0]
    kind = _LOCK_SCHEMES.get(base, base)
    return kind if kind in LOCK_KINDS else ""


def with_option(url: str, name: str, value: str) -> str:
    """Return the URL with this option in its query, in the place of one that was there."""
    head, _, query = url.partition("?")
    kept = [part for part in query.split("&") if part and part.partition("=")[0] != name]
    return f"{head}?{'&'.join([*kept, f'{name}={value}'])}"


LONGEST_URL = 4096
"""Longest URL of a server, in characters."""


def unfit(url: str) -> str:
    """Return why a text cannot be a server's URL, whatever it names, "" where nothing stands in the way; quotes nothing."""
    if len(url) > LONGEST_URL:
        return f"it has {len(url)} characters, more than {LONGEST_URL}"
    if not url.isprintable():
        return "it has signs that cannot be shown; percent-encode them, or leave them out"
    return ""


def stands_twice(query: str) -> str:
    """Return why the options behind a URL's ``?`` say no one thing, "" where each is written once."""
    seen: set[str] = set()
    for name, _ in parse_qsl(query, keep_blank_values=True):
        if name in seen:
            return f'the option "{name}" stands twice in the URL, and only one of the two could count; write it once'
        seen.add(name)
    return ""


def count(text: str, most: int) -> int | None:
    """Return a whole number from 0 to ``most`` written in plain digits, None for anything else."""
    if not text.isascii() or not text.isdigit() or len(text) > len(str(most)):
        return None
    return int(text) if int(text) <= most else None


DRIVERS = {"postgres": "psycopg", "redis": "redis", "etcd": "aetcd", "zookeeper": "kazoo"}
"""Extra of noonmark -> the package that it installs, by which a server of that kind is spoken to."""


def driver_missing(scheme: str, package: str, extra: str) -> str:
    """Return the one sentence for a URL whose server cannot be spoken to, because a package is not installed here."""
    return f"{scheme}:// needs the package {package}; install it with: pip install 'noonmark[{extra}]'"
