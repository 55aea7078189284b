"""What a SQLite file finds out about itself."""

from __future__ import annotations

import errno
from pathlib import Path

import pytest

from noonmark.ports.doctor import Diagnoses, Finding
from noonmark.stores.sqlite import SqliteStore, errors, health


def levels(store: SqliteStore) -> dict[str, str]:
    return {finding.code: finding.level for finding in store.diagnose()}


def test_a_sound_file_is_well(store: SqliteStore) -> None:
    assert isinstance(store, Diagnoses)
    found = levels(store)
    assert found["sqlite_file"] == found["sqlite_sound"] == "ok"
    assert "refuse" not in found.values()


def test_looking_leaves_nothing_behind(store: SqliteStore, path: Path) -> None:
    before = sorted(each.name for each in path.parent.iterdir())
    store.diagnose()
    assert sorted(each.name for each in path.parent.iterdir()) == before


@pytest.mark.parametrize(("kind", "code"), [("nfs4", "sqlite_on_network"), ("tmpfs", "sqlite_in_memory"), ("ext4", "")])
def test_the_file_system_is_looked_at(
    store: SqliteStore, monkeypatch: pytest.MonkeyPatch, kind: str, code: str
) -> None:
    monkeypatch.setattr(health, "file_system", lambda _path: kind)
    found = levels(store)
    assert {name for name in found if name in ("sqlite_on_network", "sqlite_in_memory")} == ({code} - {""})


def test_the_nearest_and_newest_mount_holds_a_file(tmp_path: Path) -> None:
    mounts = tmp_path / "mounts"
    place = tmp_path / "a b" / "x.db"
    spaced = str(place.parent).replace(" ", "\\040")
    mounts.write_text(f"none / ext4 rw 0 0\nnone {spaced} ext3 rw 0 0\nsrv:/x {spaced} nfs rw 0 0\nshort\n")
    assert health.file_system(place, mounts) == "nfs"
    assert health.file_system(tmp_path / "a", mounts) == "ext4"
    assert health.file_system(place, tmp_path / "nothing") == ""


def test_a_disk_that_confirms_before_it_can_have_written_is_told(
    store: SqliteStore, path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(health, "fsync_seconds", lambda _folder: 1e-6)
    assert levels(store).get("fsync_time") == "ok"  # synchronous OFF promises nothing that a disk could break
    with_full = SqliteStore(path.with_name("full.db"))
    try:
        assert levels(with_full)["fsync_too_fast"] == "warn"
    finally:
        with_full.close()


def test_a_disk_that_cannot_be_measured_is_told(store: SqliteStore, monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(_folder: Path) -> float:
        raise OSError(30, "Read-only file system")

    monkeypatch.setattr(health, "fsync_seconds", refuse)
    assert levels(store)["fsync_unknown"] == "warn"


def test_little_room_and_a_large_log_are_told(store: SqliteStore, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(health, "LEAST_FREE", 1 << 62)
    monkeypatch.setattr(health, "LARGE_LOG", -1)
    monkeypatch.setattr(health, "CHECKED_UP_TO", 1)
    found = levels(store)
    assert found["sqlite_room"] == found["sqlite_log"] == "warn"
    assert found["sqlite_unchecked"] == "ok"


def test_a_full_disk_must_be_mended(store: SqliteStore, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(errors, "free_bytes", lambda _path: 8192)
    found = levels(store)
    assert found["sqlite_full"] == "refuse"
    assert "sqlite_room" not in found


def test_a_quota_that_is_used_up_is_a_full_disk(store: SqliteStore, monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(_folder: Path) -> float:
        raise OSError(errno.EDQUOT, "Disk quota exceeded")

    monkeypatch.setattr(health, "fsync_seconds", refuse)
    assert levels(store)["sqlite_full"] == "refuse"


def test_damage_is_refused() -> None:
    class Broken:
        def execute(self, _sql: str) -> Broken:
            return self

        def fetchone(self) -> tuple[str]:
            return ("*** in database main ***",)

    (finding,) = health._damage(Broken(), Path(__file__))  # type: ignore[arg-type]
    assert isinstance(finding, Finding)
    assert finding.level == "refuse"
