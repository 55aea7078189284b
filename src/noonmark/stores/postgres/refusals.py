"""Why a connection was refused, where libpq has nothing but a sentence for it.

A refusal on the way to a session carries no SQLSTATE, and the server says it in its own language.  So what is looked at
is what no language changes: whether libpq missed a password, the name of the file pg_hba.conf, the two spaces that libpq
puts in front of the server's words, and the user or database that those words quote.

Rule of the file: whatever is not certain to need a person counts as passing, so that a worker waits.
"""

from __future__ import annotations

import re

import psycopg

CAUSES = {
    "credentials": (
        "it refuses the credentials",
        "Check user and password in the URL, and pg_hba.conf on the server.",
    ),
    "database": ("there is no such database", "Create it (createdb NAME), or name another in the URL."),
    "rights": (
        "the user lacks a right",
        "Grant it, or let the schema's owner run noonmark store migrate, and write migrate=no into this URL.",
    ),
    "hba": (
        "its pg_hba.conf lets nobody in like this",
        "Add a line for this user, database, address and encryption there and reload it, or change the URL (sslmode).",
    ),
    "no_tls": ("it speaks no TLS, which the URL requires", "Turn ssl on there, or leave sslmode out of the URL."),
    "certificate": (
        "the certificates do not fit",
        "Check sslrootcert, sslcert and sslkey in the URL, and the host's name.",
    ),
    "no_postgres": ("what listens there is no PostgreSQL server", "Correct host and port in the URL."),
    "option": ("an option of the URL has a value that is not possible", "Correct it in the URL."),
}
"""What a person has to mend: why, and what to do."""

_SAID_BY_THE_SERVER = re.compile(r":  (.+)")
_PASSING = re.compile(
    r"too many (connections|clients)|connection slots|starting up|shutting down|recovery mode|not yet accepting|due to"
    r" timeout"
)
_IN_ENGLISH = (
    (re.compile(r"permission denied for database"), "rights"),
    (re.compile(r'database ".*" (does not exist|is not currently)|no such database'), "database"),
    (re.compile(r"client certificate|certificate authentication"), "certificate"),
    (re.compile(r"authentication failed|no such user|not permitted to log in"), "credentials"),
)
_BY_LIBPQ = (
    (re.compile(r"server does not support SSL"), "no_tls"),
    (
        re.compile(
            r"invalid response to SSL negotiation|expected authentication request|unexpected message from server"
            r"|wrong version number|SSL error: (?!certificate|tlsv1 alert unknown ca)[\w ]*(protocol|record)"
        ),
        "no_postgres",
    ),
    (re.compile(r"certificate|private key file|unknown ca"), "certificate"),
    (re.compile(r"(invalid|weak|unrecognized|bad) [\w ]*(value|number|sslmode)"), "option"),
    (re.compile(r"authentication|channel binding|SCRAM|fe_sendauth"), "credentials"),
)


def cause(error: psycopg.Error) -> str:
    """Return what a person has to mend, a key of ``CAUSES``; "" where it may pass by itself."""
    said = str(error)
    wire = getattr(error, "pgconn", None)
    if getattr(wire, "needs_password", False):
        return "credentials"
    sentences = _SAID_BY_THE_SERVER.findall(said)
    if not sentences:
        return next((found for words, found in _BY_LIBPQ if words.search(said)), "")
    quoted = [(_name(wire, "user"), "credentials"), (_name(wire, "db"), "database")]
    for sentence in sentences:
        if _PASSING.search(sentence):
            return ""
        if "pg_hba.conf" in sentence:
            return "hba"
        for words, found in _IN_ENGLISH:
            if words.search(sentence):
                return found
        for name, found in quoted:
            if name and re.search(rf"[^\w\s]\s?{re.escape(name)}\s?[^\w\s]", sentence):
                return found
    return ""


def _name(wire: object, part: str) -> str:
    return (getattr(wire, part, b"") or b"").decode(errors="replace")
