"""A forked process holds none of its parent's locks, and its parent loses none by it."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

SCRIPT = """
import os, sys
from noonmark.locks import LockLost, LockTaken, LockUnusable, lock, open_locks

def in_child(check):
    pid = os.fork()
    if pid:
        assert os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]) == 0, check.__name__
        return
    try:
        check()
    except BaseException:
        import traceback
        traceback.print_exc()
        os._exit(1)
    os._exit(0)

url = sys.argv[1]
held_lock = lock("a", at=url)
held = held_lock.acquire()
opened = open_locks(url)

def the_parents_lock_is_not_the_childs():
    assert held.lost
    assert held.remaining().total_seconds() == 0
    try:
        held.check()
    except LockLost as error:
        assert "forked" in str(error), error
    else:
        raise AssertionError("trusted in the child")
    assert held.release() is False
    assert held_lock.release() is False

def the_child_is_refused_like_a_stranger():
    try:
        lock("a", at=url).acquire()
    except LockTaken:
        return
    raise AssertionError("two hold the lock")

def the_child_takes_locks_of_its_own_through_the_same_object():
    other.acquire().check()
    assert other.release() is True

def an_opened_service_says_that_it_is_the_parents():
    try:
        opened.acquire("b", 30_000_000, "child")
    except LockUnusable as error:
        assert "forked" in str(error), error
    else:
        raise AssertionError("a connection crossed a fork")
    opened.close()

other = lock("b", at=url)
with other:
    pass
in_child(the_parents_lock_is_not_the_childs)
in_child(the_child_is_refused_like_a_stranger)
in_child(the_child_takes_locks_of_its_own_through_the_same_object)
in_child(an_opened_service_says_that_it_is_the_parents)

with lock("c", at=url) as body:
    pid = os.fork()
    if pid:
        assert os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]) == 0
if not pid:
    os._exit(0)  # the child has left the block, too, without an error

held.check()
held.renew()
assert held_lock.release() is True
opened.close()
print("ok")
"""


def test_a_forked_process_holds_nothing_and_breaks_nothing(tmp_path: Path) -> None:
    done = subprocess.run(
        [sys.executable, "-W", "error", "-c", SCRIPT, f"sqlite:///{tmp_path}/l.db"],
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    assert (done.stdout, done.stderr) == ("ok\n", "")
