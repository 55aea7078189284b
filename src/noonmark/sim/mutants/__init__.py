"""Bugs planted on purpose, to prove that the checkers can fail.

``python -m noonmark.sim.mutants`` plants one after the other, lets seeds live until a checker finds it, and prints which
one did.  A mutant that nobody finds is a hole in the proof.
"""
