"""Does what listens there speak TLS, as the URL says, or does it not?

A server without TLS waits for the rest of a handshake for ever, and one with TLS hangs up on a plain word: neither says
why.  So both are tried, briefly, where the usual way fails or would take long.

Rule of the file: only a clear answer counts; whoever says nothing is left to the usual way and its errors.
"""

from __future__ import annotations

import contextlib
import socket
import ssl
import time

from noonmark.ports.store import StoreUnreachable
from noonmark.stores.redis import errors
from noonmark.stores.redis.address import Address

PATIENCE = 1.0
"""Seconds for one try; callers wait three for an answer."""
ALL_TOGETHER = 2.0
"""Seconds after which no further host is tried."""
HUNG_UP = ("closed by server", "reset by peer", "Error while reading")
"""What the driver says of a server that broke the connection off."""


def refuse_plain(address: Address) -> None:
    """Refuse a TLS URL whose server speaks without.

    Raises:
        StoreUnusable: that is so.
    """
    until = time.monotonic() + ALL_TOGETHER
    for host, port in address.hosts:
        with contextlib.suppress(OSError):
            socket.create_connection((host, port), timeout=PATIENCE).close()
            if _speaks_tls(host, port):
                return
            if _speaks_plain(host, port):
                why = f"{host}:{port} speaks without TLS"
                raise errors.unusable(address.shown(), why, "Write redis:// in the URL, or name the TLS port.")
        if time.monotonic() > until:
            return


def refuse_tls(address: Address, error: StoreUnreachable) -> None:
    """Refuse a plain URL whose server hung up because it speaks TLS.

    Raises:
        StoreUnusable: that is so.
    """
    host, port = address.hosts[0]
    if any(words in str(error) for words in HUNG_UP) and _speaks_tls(host, port):
        why = f"{host}:{port} speaks TLS only"
        raise errors.unusable(address.shown(), why, "Write rediss:// in the URL (and ssl_ca_certs=FILE).")


def _speaks_tls(host: str, port: int) -> bool:
    trusting = ssl.create_default_context()
    trusting.check_hostname, trusting.verify_mode = False, ssl.CERT_NONE  # nothing is said on this connection
    with (
        contextlib.suppress(OSError, ValueError),
        socket.create_connection((host, port), timeout=PATIENCE) as link,
        trusting.wrap_socket(link, server_hostname=host),
    ):
        return True
    return False


def _speaks_plain(host: str, port: int) -> bool:
    with contextlib.suppress(OSError), socket.create_connection((host, port), timeout=PATIENCE) as link:
        link.sendall(b"PING\r\n")
        return link.recv(1) in (b"+", b"-")
    return False
