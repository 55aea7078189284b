"""Every interleaving of a small world: a breadth-first search over the real store and the real engine.

What it promises: within the stated depth and the stated numbers of faults, *every* order of the steps of two replicas
was tried, and every state was held against the laws of ``laws.py``.  It proves nothing about larger worlds; the random
simulation looks there.

How: the store is the memory store, the model that all stores are compared with.  A replica is no model: between two
calls of the store runs the engine's own code, brought to where it stood by giving it the answers it had
(``replay.py``).  So every call of the store is a step boundary, and what is searched cannot drift from what ships.

Rule of the package: a state is a value that nobody changes; time, dice and names come from it alone.
"""

from __future__ import annotations
