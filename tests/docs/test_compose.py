"""docker-compose.yml and the Dockerfile: no Docker runs here, so they are read as Docker reads them and held together."""

from __future__ import annotations

import json
import re
import shlex
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest
from ruamel.yaml import YAML

from noonmark.core.model import SECOND
from noonmark.engine.farewell import AFTER_GRACE
from noonmark.faces.cli.lazy import COMMANDS
from noonmark.wiring import trial_url

ROOT = Path(__file__).resolve().parents[2]
STORES = ("postgres", "redis")
KNOWN = {
    "build", "image", "command", "restart", "init", "stop_grace_period", "volumes", "deploy", "profiles", "environment",
    "healthcheck", "depends_on",
}  # fmt: skip
"""Keys of a service, by the Compose specification; one that is misspelled would be refused by Docker."""
TEXTS = {"image", "restart", "stop_grace_period"}


@pytest.fixture(scope="module")
def compose() -> Any:
    return YAML(typ="safe").load((ROOT / "docker-compose.yml").read_text(encoding="utf-8"))


def filled(text: str) -> str:
    """Fill in ``${NAME:-default}`` as Compose does."""
    return re.sub(r"\$\{(\w+):-([^}]*)\}", r"\2", text)


def workers(compose: Any) -> dict[str, Any]:
    return {name: service for name, service in compose["services"].items() if name.startswith("worker-")}


def test_only_known_keys_with_values_of_their_kind_are_used(compose: Any) -> None:
    assert set(compose) == {"name", "x-worker", "services", "volumes"}
    for name, service in compose["services"].items():
        assert set(service) <= KNOWN, name
        for key, value in service.items():
            kind = str if key in TEXTS else bool if key == "init" else object
            assert isinstance(value, kind), (name, key)
        for part in service.get("command", ()):
            assert isinstance(part, str), f"{name}: {part!r} is no text; quote it"
        for value in service.get("environment", {}).values():
            assert isinstance(value, str), name
        volumes = [place.partition(":")[0] for place in service.get("volumes", ())]
        assert set(volumes) <= set(compose["volumes"]), name


def test_each_profile_brings_one_store_and_three_workers_that_wait_for_it(compose: Any) -> None:
    for store in STORES:
        ours = {name for name, service in compose["services"].items() if service["profiles"] == [store]}
        assert ours == {store, f"worker-{store}"}
        worker = compose["services"][f"worker-{store}"]
        assert worker["deploy"] == {"replicas": 3}
        assert worker["depends_on"] == {store: {"condition": "service_healthy"}}
        check = compose["services"][store]["healthcheck"]
        assert check["test"][0] in ("CMD", "CMD-SHELL")
    assert len(compose["services"]) == 2 * len(STORES)


def test_images_are_pinned_to_a_version(compose: Any) -> None:
    for service in compose["services"].values():
        assert re.fullmatch(r"[a-z/]+:(\d+|local)", service["image"])


def test_urls_lead_to_the_service_of_the_profile(compose: Any) -> None:
    for store in STORES:
        url = filled(compose["services"][f"worker-{store}"]["environment"]["NOONMARK_URL"])
        assert trial_url(url, "x") is not None, "a store that noonmark knows, on a server"
        assert re.search(rf"[/@]{store}:\d+/", url)
    settings: Mapping[str, str] = compose["services"]["postgres"]["environment"]
    name, password, database = (filled(settings[f"POSTGRES_{part}"]) for part in ("USER", "PASSWORD", "DB"))
    url = filled(compose["services"]["worker-postgres"]["environment"]["NOONMARK_URL"])
    assert url == f"postgresql://{name}:{password}@postgres:5432/{database}"


def test_workers_get_longer_to_stop_than_runs_get_to_finish(compose: Any) -> None:
    for worker in workers(compose).values():
        patience = int(worker["stop_grace_period"].removesuffix("s")) * SECOND
        assert patience > 30 * SECOND + AFTER_GRACE


def test_the_image_is_built_from_what_is_here_and_runs_the_command_line(compose: Any) -> None:
    lines = (ROOT / "Dockerfile").read_text(encoding="utf-8").replace("\\\n", "").splitlines()
    steps = [line.split(maxsplit=1) for line in lines if line and not line.startswith("#")]
    assert steps[0][0] == "FROM"
    assert {step[0] for step in steps} == {
        "FROM", "WORKDIR", "COPY", "RUN", "USER", "ENV", "VOLUME", "STOPSIGNAL", "ENTRYPOINT", "CMD",
    }  # fmt: skip
    copied = [name for kind, rest in steps if kind == "COPY" for name in shlex.split(rest)[:-1]]
    for name in copied:
        assert (ROOT / name).exists(), name
    needed = re.findall(r'"([\w./]+)": "noonmark/demo_app', (ROOT / "hatch_build.py").read_text(encoding="utf-8"))
    for name in needed:
        assert any(name == part or name.startswith(f"{part}/") for part in copied), f"the wheel carries {name}"
    entry = next(json.loads(rest) for kind, rest in steps if kind == "ENTRYPOINT")
    assert entry == ["noonmark"]
    assert [kind for kind, _ in steps].index("USER") > [kind for kind, _ in steps].index("RUN"), "not as root"
    for worker in workers(compose).values():
        assert worker["command"][0] in COMMANDS
        assert worker["volumes"][0].endswith(":/data")


def test_the_server_is_started_so_that_noonmark_neither_refuses_nor_warns_of_it(compose: Any) -> None:
    command = compose["services"]["redis"]["command"]
    assert command[0] == "valkey-server"
    options = dict(zip(command[1::2], command[2::2], strict=True))
    assert options["--appendonly"] == "yes"
    assert options["--maxmemory-policy"] == "noeviction"
