"""What starts the worker of ``noonmark dev`` anew, and what does not."""

from __future__ import annotations

from pathlib import Path

from noonmark.faces.cli.dev_changes import EARLY, LIVES, PAUSE, QUIET, Changes

APP, OWN, OTHER = Path("jobs.py"), Path("schema.yaml"), Path("rules.yaml")


class Folder:
    """Files and a clock; each method is what somebody does."""

    def __init__(self) -> None:
        self.now = 0.0
        self.stamps = dict.fromkeys((APP, OWN, OTHER), 0)
        self.changes = Changes()

    def start(self, *writes: Path, after: float = 0.3) -> bool:
        """Start a worker that writes these files; say whether that starts it anew."""
        self.changes.begin(self.stamps, self.now)
        return self.write(*writes, after=after)

    def write(self, *paths: Path, after: float) -> bool:
        self.touch(*paths, after=after)
        return self.changes.count(self.stamps, self.now)

    def touch(self, *paths: Path, after: float) -> None:
        self.now += after
        for path in paths:
            self.stamps[path] = self.stamps.get(path, 0) + 1

    def learn(self) -> None:
        """Show that the worker writes OWN."""
        while self.start(OWN):
            pass


def test_a_worker_that_writes_a_watched_file_at_its_start_is_started_anew_twice_and_then_not_again() -> None:
    folder = Folder()
    assert [folder.start(OWN) for _ in range(4)] == [True, True, False, False]
    assert folder.changes.own == {OWN}


def test_before_it_counts_as_the_workers_own_somebody_looks_on_while_no_worker_lives() -> None:
    folder, pauses = Folder(), []
    while folder.start(OWN):
        pauses.append(folder.changes.pause)
    assert pauses == [0.0, PAUSE]


def test_who_goes_on_saving_while_no_worker_lives_is_a_person_and_always_counts() -> None:
    folder = Folder()
    for _ in range(10):
        assert folder.start(APP, after=1.0)
        if folder.changes.pause:
            folder.touch(APP, after=1.0)
            assert not folder.changes.is_quiet(folder.stamps)
    assert not folder.changes.own


def test_saves_with_time_between_them_always_count() -> None:
    folder = Folder()
    assert all(folder.start(APP, after=EARLY + 1) for _ in range(10))


def test_another_file_than_its_own_starts_it_anew_at_any_time() -> None:
    folder = Folder()
    folder.learn()
    folder.write(after=EARLY)
    assert folder.write(OTHER, after=1.0)
    assert not folder.start(OWN)
    assert folder.write(APP, after=0.5)


def test_a_file_of_its_own_starts_it_anew_once_it_has_been_still() -> None:
    folder = Folder()
    folder.learn()
    assert not folder.write(OWN, after=EARLY)
    assert not folder.write(OWN, after=QUIET - 1)
    assert folder.write(OWN, after=QUIET + 1)


def test_a_worker_that_writes_every_two_seconds_is_not_started_anew_for_ever() -> None:
    folder = Folder()
    folder.learn()
    assert not any(folder.write(OWN, after=2.0) for _ in range(100))


def test_a_worker_that_makes_a_file_of_another_name_each_time_is_not_started_anew_for_ever() -> None:
    folder = Folder()
    anew = [folder.start(Path(f"run-{number}.yaml")) for number in range(6)]
    assert anew == [True] * (LIVES - 1) + [False] * 4
    assert folder.write(APP, after=0.5), "a file that was there before is a person's"


def test_after_the_workers_end_the_next_save_counts_at_once() -> None:
    folder = Folder()
    folder.learn()
    assert not folder.changes.count_after_end(folder.stamps, folder.now)
    folder.touch(APP, after=0.1)
    assert folder.changes.count_after_end(folder.stamps, folder.now)


def test_after_the_workers_end_a_file_of_its_own_counts_a_while_after_the_start_and_is_not_forgotten() -> None:
    folder = Folder()
    folder.learn()
    folder.touch(OWN, after=1.0)
    assert not folder.changes.count_after_end(folder.stamps, folder.now)
    folder.touch(after=QUIET)
    assert folder.changes.count_after_end(folder.stamps, folder.now)


def test_saves_after_ends_are_no_sign_of_a_worker_that_writes() -> None:
    folder = Folder()
    for _ in range(10):
        assert not folder.start()
        folder.touch(APP, after=0.5)
        assert folder.changes.count_after_end(folder.stamps, folder.now)
