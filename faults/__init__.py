"""``make faults``: real workers on real stores under real faults, judged by what the jobs themselves left behind.

Rule of the package: the judge (``checker``, ``effects``) knows nothing of noonmark; what it is told of the store are
decisions, and it computes by plain arithmetic what should have happened.
"""
