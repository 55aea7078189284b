"""How the server is: its version, its settings, its clock, and what a crash or a failover would cost.

Rule of the file: reads only, and no guess; what the server would not say is a finding of its own.  What opening
refuses or waits for (too old, a standby) is found here, too, for a server that changed after it was opened.
"""

from __future__ import annotations

from dataclasses import dataclass

from noonmark.core.model import SECOND, Micros
from noonmark.ports.doctor import Finding
from noonmark.ports.store import Capability
from noonmark.stores.postgres import durability as reading
from noonmark.stores.postgres import schema
from noonmark.stores.postgres.address import Address
from noonmark.stores.postgres.durability import Durability
from noonmark.stores.postgres.link import IDLE_IN_TRANSACTION_MS, PATIENCE, Session

SKEW: Micros = 2 * SECOND
MANY_DEAD = 100_000
"""Dead rows in one table from which a person should hear of it, where they are more than the living ones."""
_SERVER = (
    "SELECT current_setting('server_version_num')::integer, current_setting('server_version'), pg_is_in_recovery(),"
    " current_setting('autovacuum'), (extract(epoch FROM clock_timestamp()) * 1000000)::bigint,"
    " (SELECT mark FROM ~clock), (SELECT behind_since FROM ~clock)"
)
_TABLES = (
    "SELECT c.relname::text, coalesce(s.n_live_tup, 0), coalesce(s.n_dead_tup, 0),"
    " coalesce('autovacuum_enabled=false' = ANY(c.reloptions) OR 'autovacuum_enabled=off' = ANY(c.reloptions), false)"
    " FROM pg_class AS c JOIN pg_namespace AS n ON n.oid = c.relnamespace"
    " LEFT JOIN pg_stat_user_tables AS s ON s.relid = c.oid WHERE n.nspname = $1::text AND c.relkind = 'r'"
    " ORDER BY c.relname"
)
_OLDEST = (
    "SELECT coalesce(max(extract(epoch FROM clock_timestamp() - xact_start)), 0)::bigint FROM pg_stat_activity"
    " WHERE datname = current_database() AND pid <> pg_backend_pid() AND backend_type = 'client backend'"
)


@dataclass(frozen=True, slots=True)
class _Server:
    number: int
    name: str
    replays: bool
    autovacuum: bool
    now: Micros
    mark: Micros
    behind_since: Micros | None


def diagnose(session: Session, durability: Durability) -> list[Finding]:
    """Look at the server as it is now.

    Args:
        session: to ask through.
        durability: the settings in force for our connections.
    """
    [row], tables, [(oldest,)] = session.ask((_SERVER, ()), (_TABLES, (session.address.schema,)), (_OLDEST, ()))
    number, name, replays, autovacuum, now, mark, behind_since = row
    server = _Server(number, name, replays, autovacuum == "on", now, mark, behind_since)
    return [
        *_of_server(session, server),
        *_of_durability(durability),
        *_of_place(session),
        *_of_clock(server),
        *_of_tables(server, [(str(table), int(live), int(dead), bool(off)) for table, live, dead, off in tables]),
        *_of_transactions(int(oldest)),
    ]


def before_there_is_a_store(address: Address) -> tuple[tuple[Finding, ...], frozenset[Capability]]:
    """Look at a server in which the schema is not there yet; return findings, and what a store there would promise."""
    session = Session(address, {}, patience=PATIENCE)
    try:
        [(version,)], durability = session.run(
            lambda asked: (asked.ask(("SELECT current_setting('server_version')", ()))[0], reading.read(asked))
        )
    finally:
        session.close()
    told = Finding(
        code="postgres_version", level="ok", sentence=f"PostgreSQL {version}.", detail={"version": str(version)}
    )
    return (told, *_of_durability(durability), *_of_place(session)), durability.capabilities


def _of_server(session: Session, server: _Server) -> list[Finding]:
    detail = {"version": server.name, "schema": session.address.schema, "shape": schema.version()}
    sentence = "PostgreSQL {version}, schema {schema} (version {shape})."
    found = [Finding(code="postgres_server", level="ok", sentence=sentence.format(**detail), detail=detail)]
    if server.number < schema.OLDEST_SERVER:
        found.append(
            Finding(
                code="postgres_too_old",
                level="refuse",
                sentence=f"The server is PostgreSQL {server.name}; noonmark needs version 14 or newer.",
                remedy="Upgrade the server.",
                detail={"version": server.name},
            )
        )
    if server.replays:
        found.append(
            Finding(
                code="postgres_standby",
                level="refuse",
                sentence="The server is a standby, which only replays another one: nothing can be written.",
                remedy="Name the primary server in the URL.",
            )
        )
    return found


def _of_durability(durability: Durability) -> list[Finding]:
    found = []
    if not durability.fsync:
        found.append(
            Finding(
                code="postgres_fsync_off",
                level="warn",
                about="durability",
                sentence="fsync is off: a power cut can lose what was acknowledged, and damage the whole database.",
                remedy="ALTER SYSTEM SET fsync = on; SELECT pg_reload_conf();",
            )
        )
    if not durability.full_page_writes:
        found.append(
            Finding(
                code="postgres_full_page_writes_off",
                level="warn",
                sentence="full_page_writes is off: a power cut can leave half-written pages behind.",
                remedy="ALTER SYSTEM SET full_page_writes = on; SELECT pg_reload_conf(); (Not where the file system "
                "prevents it.)",
            )
        )
    if durability.synchronous_commit == "off":
        found.append(
            Finding(
                code="postgres_commit_not_awaited",
                level="warn",
                about="durability",
                sentence="synchronous_commit is off: a crash loses what was acknowledged in the last half second or so.",
                remedy="Set it on for the database: ALTER DATABASE NAME SET synchronous_commit = on;",
            )
        )
    if durability.replicas and not durability.standby_names.strip():
        found.append(
            Finding(
                code="postgres_failover_loss",
                level="warn",
                about="failover",
                sentence=f"There are {durability.replicas} standbys, and none is waited for: one that takes over may lack "
                "the last acknowledged writes.",
                remedy="Set synchronous_standby_names, or accept it.",
                detail={"replicas": durability.replicas},
            )
        )
    return found


def _of_place(session: Session) -> list[Finding]:
    if not session.address.pooled:
        return []
    return [
        Finding(
            code="postgres_pooler",
            level="ok",
            sentence="Connections go through a transaction-mode pooler: statements are planned anew each time, and workers "
            "ask four times a second instead of being told.",
            remedy="To be told at once, let workers connect to the server itself.",
        )
    ]


def _of_clock(server: _Server) -> list[Finding]:
    found = []
    if server.behind_since is not None or server.mark > server.now + SKEW:
        seconds = round((server.mark - server.now) / SECOND, 1)
        found.append(
            Finding(
                code="postgres_clock_behind",
                level="warn",
                sentence=f"The server's clock is {seconds} s behind what it was: nothing is fired until it has caught up, "
                "for five seconds at most.",
                remedy="Find out what set it back; let it follow a time server.",
                detail={"seconds": seconds},
            )
        )
    return found


def _of_tables(server: _Server, tables: list[tuple[str, int, int, bool]]) -> list[Finding]:
    found = []
    off = sorted(table for table, _, _, is_off in tables if is_off)
    if not server.autovacuum or off:
        which = ", ".join(off) or "*"
        found.append(
            Finding(
                code="postgres_autovacuum_off",
                level="warn",
                sentence=f"Autovacuum is off (tables: {which}): the tables grow, and taking becomes slow.",
                remedy="ALTER TABLE NAME RESET (autovacuum_enabled); or autovacuum = on in postgresql.conf.",
                detail={"tables": which},
            )
        )
    bloated = [(table, dead) for table, live, dead, _ in tables if dead > MANY_DEAD and dead > live]
    for table, dead in bloated:
        found.append(
            Finding(
                code="postgres_dead_rows",
                level="warn",
                sentence=f"The table {table} has {dead} dead rows, more than living ones: it is not cleaned up in time.",
                remedy=f"VACUUM it once ({table}), and look for a transaction that has been open for long.",
                detail={"table": table, "dead": dead},
            )
        )
    return found


def _of_transactions(oldest: int) -> list[Finding]:
    if oldest <= max(60, IDLE_IN_TRANSACTION_MS // 1000):
        return []
    return [
        Finding(
            code="postgres_long_transaction",
            level="warn",
            sentence=f"A transaction in this database has been open for {oldest} s: dead rows stay until it ends.",
            remedy="Look for it: SELECT pid, xact_start, query FROM pg_stat_activity ORDER BY xact_start;",
            detail={"seconds": oldest},
        )
    ]
