"""From a URL to a store: the one module that names concrete stores.

Rule of the file: a store is imported when it is asked for, so that nobody pays for one that is not used.  Whatever is
said about a URL is said without its secrets.
"""

from __future__ import annotations

import importlib
import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any
from urllib.parse import parse_qsl, unquote

from noonmark.core.urls import DEFAULT_URL, DRIVERS, driver_missing, stands_twice, with_option, without_secrets
from noonmark.ports.clock import Clock
from noonmark.ports.folder import make_own_folder
from noonmark.ports.lock import LockSource
from noonmark.ports.store import Store, StoreDriverMissing, StoreError, StoreUnusable, StoreUrlError

if TYPE_CHECKING:
    from importlib.metadata import EntryPoint, EntryPoints

_POSTGRES = ("noonmark.stores.postgres", "open_postgres", "postgres")
_REDIS = ("noonmark.stores.redis", "open_redis", "redis")
_SERVERS = {
    "postgresql": _POSTGRES,
    "postgres": _POSTGRES,
    "redis": _REDIS,
    "rediss": _REDIS,
    "redis+sentinel": _REDIS,
    "rediss+sentinel": _REDIS,
    "redis+cluster": _REDIS,
    "rediss+cluster": _REDIS,
    "valkey": _REDIS,
    "valkeys": _REDIS,
}
"""Scheme -> module, function of (url, clock=..., create=...), and the extra that installs its driver."""

ENTRY_POINTS = "noonmark.stores"
"""Where other distributions name their stores: the entry point's name is the scheme, its object a function of
(url, clock=...) that returns a ``ports.store.Store``."""

_KNOWN = ("sqlite", "memory", *_SERVERS)
_MEANT = {
    "sqlite3": "sqlite",
    "file": "sqlite",
    "mem": "memory",
    "pg": "postgresql",
    "psql": "postgresql",
    "redis-sentinel": "redis+sentinel",
    "sentinel": "redis+sentinel",
    "redis-cluster": "redis+cluster",
    "valkey+sentinel": "redis+sentinel",
    "valkey+cluster": "redis+cluster",
}
"""What other programs call it -> how it is written here."""
_CHOICES = {"synchronous": ("FULL", "NORMAL"), "driver": ("apsw", "sqlite3")}
"""SQLite's options; the first value is the usual one."""


def store_url(url: str | None = None) -> str:
    """Return the URL in force: the argument, else NOONMARK_URL, else a SQLite file in ``.noonmark/``."""
    return (url or "").strip() or os.environ.get("NOONMARK_URL", "").strip() or DEFAULT_URL


def shown(url: str) -> str:
    """Return the URL without a password, for messages."""
    return without_secrets(url)


def open_store(
    url: str | None = None, *, clock: Clock | None = None, unfinished: bool = False, create: bool = True
) -> Store:
    """Open the store at ``url``.

    Args:
        url: ``sqlite:///relative.db``, ``sqlite:////absolute.db`` (``?synchronous=NORMAL`` trades the last moments
            before a power cut for speed, ``?driver=sqlite3`` uses Python's own SQLite), ``postgresql://…``,
            ``redis://…`` and its kin, ``memory://``, or the scheme of an installed plugin; None = NOONMARK_URL, or a
            file in ``.noonmark/``.
        clock: replaces the machine's (or the server's) clocks, for tests.
        unfinished: also open a store into which a copy is under way, which is nothing to work with yet.
        create: make the store where there is none.  Whoever only looks says False, so that a mistyped name is told and
            not made; a plugin's store decides for itself.

    Raises:
        StoreUrlError: no such store, with what to write instead.
        StoreUnusable, StoreUnreachable: the store is there but does not serve.
        StoreAbsent: (``ports.doctor``, a StoreUnusable) there is none, and none was to be made.
    """
    store = _open(store_url(url), clock, create=create)
    if not unfinished:
        _refuse_half_a_copy(store)
    return store


def _open(chosen: str, clock: Clock | None, *, create: bool = True) -> Store:
    scheme, separator, rest = chosen.partition("://")
    scheme = scheme.lower()
    if not separator:
        raise StoreUrlError(
            f'"{shown(chosen)}" is no store URL; write sqlite:///{shown(chosen)} for a SQLite file of that name, or memory://'
        )
    if scheme == "sqlite":
        return _open_sqlite(rest, clock, create=create)
    if scheme == "memory":
        if rest.strip("/"):
            raise StoreUrlError(
                "a memory:// store has no name and no options: each one is its own; write memory:// or sqlite:///noonmark.db"
            )
        from noonmark.stores.memory import MemoryStore

        return MemoryStore(clock=clock)
    if scheme in _SERVERS:
        return _open_server(scheme, chosen, clock, create=create)
    return _open_plugin(scheme, chosen, clock)


def _refuse_half_a_copy(store: Store) -> None:
    """Claims and counts come after the rows they belong to: whoever works in between would do things twice."""
    read: Callable[[], Any] | None = getattr(store, "import_state", None)
    if read is None:
        return
    try:
        state = read()
        if state is not None and state.is_under_way:
            raise StoreUnusable(
                f"cannot use the store {store.url}: a copy into it is not finished. "
                "Finish it: noonmark store copy FROM TO --go"
            )
    except BaseException:
        store.close()
        raise


def lock_source(url: str | None = None) -> LockSource:
    """Return where the outside locks of jobs come from, for workers on the store at ``url``; nothing is opened yet."""
    from noonmark.locks.jobs import JobLockSource

    return JobLockSource(store_url(url))


# -- migrations -------------------------------------------------------------------------------------


def migration_sql(url: str) -> str | None:
    """Return the SQL that makes or brings up to date what the store at ``url`` needs, None where it needs none.

    Raises:
        StoreUrlError: no such store.
    """
    scheme = _scheme(url)
    if scheme == "sqlite":
        from noonmark.stores.sqlite.schema import migrations

        return "\n".join(f"-- {number:04d}\n{text.strip()}\n" for number, text in migrations())
    if _SERVERS.get(scheme) == _POSTGRES:
        with _naming_the_package(scheme):
            sql: str = _server_module(scheme).migration_sql(url)
        return sql
    return None


def migrate(url: str) -> list[str] | None:
    """Bring the store at ``url`` up to date; return the names of the migrations that were applied.

    Returns:
        None where the store does so whenever it is opened, or has no shape that could be out of date.

    Raises:
        StoreUrlError, StoreUnusable, StoreUnreachable: as ``open_store``.
    """
    scheme = _scheme(url)
    if _SERVERS.get(scheme) == _POSTGRES:
        with _naming_the_package(scheme):
            return [str(name) for name in _server_module(scheme).migrate(url)]
    open_store(url, unfinished=True).close()
    return None


def _scheme(url: str) -> str:
    scheme, separator, _ = url.partition("://")
    if not separator or (scheme.lower() not in _KNOWN and not _plugins().select(name=scheme)):
        _open(url, None).close()  # says what is wrong with it
    return scheme.lower()


# -- trials -----------------------------------------------------------------------------------------

TRIAL = "noonmark_demo_"
"""How the name of every namespace begins that a trial makes and may take away again."""
_NAMESPACE_OPTION = {_POSTGRES: "schema", _REDIS: "namespace"}


def trial_url(url: str, name: str) -> str | None:
    """Return the URL of a namespace of its own on the same server, None where the store has no several of them.

    Args:
        url: of the server, whatever namespace it names.
        name: of the new namespace, without its beginning (``TRIAL``).
    """
    option = _NAMESPACE_OPTION.get(_SERVERS.get(_scheme(url), ("", "", "")))
    return None if option is None else with_option(url, option, f"{TRIAL}{name}")


def erase_trial(url: str) -> int:
    """Take a trial's namespace away, with all that it holds, and return how many things that were; never another one.

    Raises:
        ValueError: the URL does not name a trial's namespace.
        StoreUnreachable: nobody answers there.
    """
    scheme = _scheme(url)
    option = _NAMESPACE_OPTION[_SERVERS[scheme]]
    names = [value for name, value in parse_qsl(url.partition("?")[2]) if name == option]
    if len(names) != 1 or not names[0].startswith(TRIAL):
        raise ValueError(f"{shown(url)} names no trial's namespace")
    with _naming_the_package(scheme):
        return int(importlib.import_module(f"{_SERVERS[scheme][0]}.erasing").erase(url))


# -- servers and plugins ----------------------------------------------------------------------------


def _open_server(scheme: str, url: str, clock: Clock | None, *, create: bool) -> Store:
    with _naming_the_package(scheme):
        store: Store = getattr(_server_module(scheme), _SERVERS[scheme][1])(url, clock=clock, create=create)
    return store


def _server_module(scheme: str) -> Any:
    with _naming_the_package(scheme):
        return importlib.import_module(_SERVERS[scheme][0])


@contextmanager
def _naming_the_package(scheme: str) -> Iterator[None]:
    """Say which package has to be installed, where a driver is not there."""
    try:
        yield
    except ImportError as missing:
        extra, name = _SERVERS[scheme][2], missing.name or ""
        if name.startswith("noonmark.") and name != _SERVERS[scheme][0]:
            raise  # a fault of ours, no package that somebody forgot
        # psycopg without its C library gives no name; what is to be done about it is the same
        package = name.partition(".")[0] or DRIVERS[extra]
        raise StoreDriverMissing(driver_missing(scheme, package, extra)) from missing


def _open_plugin(scheme: str, url: str, clock: Clock | None) -> Store:
    points = list(_plugins().select(name=scheme))
    if not points:
        raise StoreUrlError(_no_such(scheme))
    makers = sorted({_distribution(point) for point in points})
    if len({point.value for point in points}) > 1:
        raise StoreUrlError(f"{scheme}:// is claimed by several packages ({', '.join(makers)}); uninstall all but one")
    try:
        opener = points[0].load()
    except Exception as fault:
        raise _plugin_fault(scheme, makers[0], fault, url) from fault
    try:
        store: Store = opener(url, clock=clock)
    except StoreError:
        raise
    except Exception as fault:
        raise _plugin_fault(scheme, makers[0], fault, url) from fault
    lacking = sorted(name for name in _port() if not hasattr(store, name))
    if lacking:
        raise StoreUnusable(
            f"the store {scheme}:// of the package {makers[0]} is no store: it lacks {', '.join(lacking)}. "
            "Upgrade the package, or tell its makers: noonmark.testing.conformance tries every promise."
        )
    return store


def _no_such(scheme: str) -> str:
    plugins = sorted(_plugins().names)
    known = list(dict.fromkeys((*_KNOWN, *plugins)))
    base = scheme.partition("+")[0]
    if scheme in _MEANT:
        close = _MEANT[scheme]
    elif "+" in scheme and base in known:  # postgresql+psycopg://, as SQLAlchemy writes it
        close = base
    else:
        import difflib  # only on the way to an error

        close = next(iter(difflib.get_close_matches(scheme, known, n=1)), "")
    meant = f"did you mean {close}://? " if close else ""
    return f'there is no store "{scheme}://"; {meant}known: {", ".join(f"{name}://" for name in known)}'


def _plugin_fault(scheme: str, maker: str, fault: Exception, url: str) -> StoreUrlError:
    said = f"{type(fault).__name__}: {fault}".replace(url, shown(url))
    return StoreUrlError(
        f"the store {scheme}:// of the package {maker} cannot be used ({without_secrets(said)}); "
        "mend, upgrade or uninstall that package"
    )


def _plugins() -> EntryPoints:
    from importlib.metadata import entry_points  # a tenth of what `why` may cost, and few stores are plugins

    return entry_points(group=ENTRY_POINTS)


def _distribution(point: EntryPoint) -> str:
    return point.dist.name if point.dist is not None else point.value


def _port() -> set[str]:
    """Return the names that a store must have."""
    return {name for name in vars(Store) if not name.startswith("_")}


# -- SQLite -------------------------------------------------------------------------------------------


def sqlite_file(url: str) -> Path | None:
    """Return the file that a SQLite URL names, None for other stores; nothing is opened.

    Raises:
        StoreUrlError: it is a SQLite URL that cannot be read, with what to write instead.
    """
    scheme, _, rest = url.partition("://")
    return _sqlite_place(rest)[0] if scheme.lower() == "sqlite" else None


def _open_sqlite(rest: str, clock: Clock | None, *, create: bool) -> Store:
    path, options = _sqlite_place(rest)
    if create:
        _have_folder(path.parent)
    from noonmark.stores.sqlite import SqliteStore

    return SqliteStore(path, clock=clock, synchronous=options["synchronous"], driver=options["driver"], create=create)


def _sqlite_place(rest: str) -> tuple[Path, dict[str, str]]:
    place, _, query = rest.partition("?")
    if not place.startswith("/"):
        place = shown(f"sqlite://{place}").partition("://")[2]
        host = place.partition("/")[0]
        raise StoreUrlError(
            f'sqlite has no host "{host}"; write sqlite:///{place} (three slashes) for a relative path, '
            "four slashes for an absolute one"
        )
    try:
        name = unquote(place[1:], errors="strict")
    except UnicodeDecodeError:
        raise StoreUrlError("the path has %-signs that spell no UTF-8; write % itself as %25") from None
    if not name or name == ":memory:" or name.endswith("/"):
        raise StoreUrlError(
            "the URL names no file; write sqlite:///noonmark.db, or memory:// for a store that ends with the process"
        )
    if "\0" in name:
        raise StoreUrlError("the path has a NUL character; write sqlite:///noonmark.db")
    return Path(name), _sqlite_options(query)


def _sqlite_options(query: str) -> dict[str, str]:
    if why := stands_twice(query):
        raise StoreUrlError(why)
    options = {name: choices[0] for name, choices in _CHOICES.items()}
    for option, value in parse_qsl(query, keep_blank_values=True):
        if option not in _CHOICES:
            known = ", ".join(f"{name}={choice}" for name, choices in _CHOICES.items() for choice in choices)
            raise StoreUrlError(f'sqlite has no option "{option}"; known: {known}')
        found = next((choice for choice in _CHOICES[option] if choice.lower() == value.lower()), None)
        if found is None and option == "synchronous":
            raise StoreUrlError(
                f"synchronous={value} is not possible; use FULL (survives a power cut) "
                "or NORMAL (survives a crash of the process)"
            )
        if found is None:
            raise StoreUrlError(f"driver={value} is not possible; use apsw, or sqlite3 (Python's own)")
        options[option] = found
    return options


def _have_folder(folder: Path) -> None:
    try:
        if make_own_folder(folder):
            return
        if folder.exists():
            raise StoreUrlError(f"{folder} is no folder; choose another path")
        raise StoreUrlError(f"there is no folder {folder}; make it (mkdir -p {folder}) or choose another path")
    except OSError as error:
        raise StoreUrlError(
            f"{folder} cannot be made: {error.strerror}; choose another path with NOONMARK_URL"
        ) from None
