"""An API, a worker and a person at a terminal may make the same new folder at the same moment."""

from __future__ import annotations

import threading
from pathlib import Path

from researchcopilot.data import Data

OPENERS, ROUNDS = 4, 60


def test_new_data_opened_by_several_at_once_serves_all_of_them(tmp_path: Path) -> None:
    troubles: list[BaseException] = []

    def open_it(folder: Path, ready: threading.Barrier) -> None:
        ready.wait(10)
        try:
            Data(folder)
        except Exception as trouble:
            troubles.append(trouble)

    for number in range(ROUNDS):
        ready = threading.Barrier(OPENERS)
        openers = [threading.Thread(target=open_it, args=(tmp_path / str(number), ready)) for _ in range(OPENERS)]
        for opener in openers:
            opener.start()
        for opener in openers:
            opener.join(30)
    assert troubles == []
