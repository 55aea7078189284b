"""Rules written down: in ``noonmark.yaml``, as TASK_RULES, or said by decorators; all of them end as the same Job.

Rule of the package: nothing is imported here, so that a decorator does not pay for YAML and schemas.
"""
