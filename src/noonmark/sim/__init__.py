"""The simulator: the engine's own code in worlds where everything that can go wrong does, decided by a seed.

``world`` holds replicas, clocks and the store; ``plan`` draws what happens from a seed; ``checkers`` stand outside and
watch.  ``python -m noonmark.sim --help`` runs it.
"""
