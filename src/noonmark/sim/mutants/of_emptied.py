"""Bugs of a worker whose store came back empty, or of the store that it tells: silence, and jobs that are gone.

Rule of the file: in each world here another store comes to lie where the first one lay.
"""

from __future__ import annotations

from typing import Any

from noonmark.engine.adopting import Adopter
from noonmark.engine.former import Former
from noonmark.engine.loop import Engine
from noonmark.sim import faults as f
from noonmark.sim.mutants.plant import Anything, Mutant, Needs, Planter
from noonmark.stores.memory import proving

_EMPTIED = Needs(faults=(f.Emptied,))


def _tell_nobody(planter: Planter) -> None:
    def make(look: Anything) -> Anything:
        def silent(them: Former, *args: Any) -> None:
            look(them, *args)
            them.before = ""

        return silent

    planter.around(Former, "look", make)


def _declare_nothing(planter: Planter) -> None:
    async def begin_anew(them: Any) -> None:
        them._roster.disown()
        them.chain.came_to_another()
        them._reckon(await them._gate.call(them.duty.beat))

    async def adopt(them: Any, version: int) -> None:
        await them._load(version)
        await them._watchdog.check_own()

    planter.put(Engine, "_begin_anew", begin_anew)
    planter.put(Adopter, "adopt", adopt)  # who reads the rules finds them gone, too


def _raise_no_alert(planter: Planter) -> None:
    def make(say: Anything) -> Anything:
        def quiet(tables: Any, judged: Any, *args: Any) -> None:
            said = tables.alerts.copy()
            say(tables, judged, *args)
            tables.alerts = said

        return quiet

    planter.around(proving, "_say_former", make)


EMPTIED_MUTANTS = (
    Mutant(name="an empty store hears of none before", plant=_tell_nobody, needs=_EMPTIED),
    Mutant(
        name="nothing is declared in a store that came back empty",
        plant=_declare_nothing,
        seen_in="every scheduler that declares its jobs at its start",
        needs=_EMPTIED,
    ),
    Mutant(name="another store raises no alert", plant=_raise_no_alert, needs=_EMPTIED),
)
