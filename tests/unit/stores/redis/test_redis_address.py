"""URLs: what may stand in one, what it means, and that no secret is shown."""

from __future__ import annotations

import pytest

from noonmark.ports.store import StoreUrlError
from noonmark.stores.redis.address import parse


def test_a_plain_url_has_the_usual_values() -> None:
    address = parse("redis://localhost")
    assert (address.kind, address.hosts, address.db, address.namespace) == (
        "single",
        (("localhost", 6379),),
        0,
        "noonmark",
    )
    assert address.prefix == "noonmark:{noonmark}:"
    assert (address.username, address.password, address.tls) == (None, None, {})


def test_login_port_database_and_namespace_are_read() -> None:
    address = parse("redis://ada:p%40ss@db.example:7000/3?namespace=prod&timeout=2")
    assert (address.username, address.password, address.db) == ("ada", "p@ss", 3)
    assert (address.hosts, address.namespace, address.timeout) == ((("db.example", 7000),), "prod", 2.0)


def test_a_password_alone_belongs_to_the_default_user() -> None:
    address = parse("valkey://:secret@h")
    assert (address.username, address.password) == (None, "secret")


@pytest.mark.parametrize(
    "url",
    [
        "redis://ada:geheim@h:1/2?namespace=n",
        "redis+sentinel://ada:geheim@h:1,i:2/main/1?sentinel_password=geheim",
        "rediss://:geheim@h?ssl_password=geheim",
    ],
)
def test_what_is_shown_has_no_secret(url: str) -> None:
    assert "geheim" not in parse(url).shown()


def test_what_is_shown_says_where_it_is() -> None:
    assert parse("redis://ada:x@h:1/2?namespace=n").shown() == "redis://***@h:1/2?namespace=n"
    assert parse("redis://[::1]:7000/0").shown() == "redis://[::1]:7000/"
    assert parse("redis+sentinel://h,i:2/main").shown() == "redis+sentinel://h:26379,i:2/main"


def test_sentinels_and_their_service_are_read() -> None:
    address = parse("redis+sentinel://a:1,b/mymaster/2?sentinel_username=u&sentinel_password=p")
    assert (address.kind, address.hosts) == ("sentinel", (("a", 1), ("b", 26379)))
    assert (address.service, address.db, address.sentinel) == ("mymaster", 2, {"username": "u", "password": "p"})


def test_a_cluster_names_some_of_its_nodes() -> None:
    address = parse("redis+cluster://h1:7000,h2:7001/")
    assert (address.kind, address.hosts) == ("cluster", (("h1", 7000), ("h2", 7001)))


def test_tls_options_belong_to_tls_urls() -> None:
    address = parse(f"rediss://h?ssl_ca_certs={__file__}&ssl_check_hostname=false")
    assert address.tls == {"ssl": True, "ssl_ca_certs": __file__, "ssl_check_hostname": False}
    assert parse("valkeys://h").tls == {"ssl": True}
    with pytest.raises(StoreUrlError, match="no option"):
        parse("redis://h?ssl_ca_certs=/ca.pem")


@pytest.mark.parametrize(
    ("url", "says"),
    [
        ("redis://", "names no host"),
        ("redis://h:x/0", "no host:port"),
        ("redis://h:99999/0", "no host:port"),
        ("redis://h/zero", "no database number"),
        ("redis://h,i/0", "takes one host"),
        ("redis+sentinel://h:1/", "names no service"),
        ("redis+cluster://h/3", "one database only"),
        ("redis://h?namespace={x}", "namespace"),
        ("redis://h?namspace=x", "did you mean namespace"),
        ("redis://h?timeout=soon", "timeout=soon"),
        ("redis://h?durability=always", "durability=always"),
        ("rediss://h?ssl_cert_reqs=maybe", "required or optional or none"),
        ("rediss://h?ssl_check_hostname=maybe", "ssl_check_hostname=yes"),
        ("rediss://h?ssl_ca_certs=/nothing.crt", "a file that is there"),
        ("redis://h?replicas=2", "write both or neither"),
        ("redis://h?durability=failover&replicas=0", "replicas=0"),
    ],
)
def test_a_wrong_url_is_refused_with_what_to_write(url: str, says: str) -> None:
    with pytest.raises(StoreUrlError, match=says):
        parse(url)


@pytest.mark.parametrize("url", ["redis://ada:gehe/im@h:1/0", "redis://ada:12/geheim@h/0", "redis://ada:gehe?im@h:1/0"])
def test_half_a_password_is_not_shown_where_a_special_character_cuts_it(url: str) -> None:
    with pytest.raises(StoreUrlError, match="percent-encoded") as refused:
        parse(url)
    assert "gehe" not in str(refused.value)
