"""Let the asserts of the shipped suite explain themselves as those of a test file do."""

import pytest

pytest.register_assert_rewrite(
    "noonmark.testing.archives",
    "noonmark.testing.conformance",
    "noonmark.testing.contention",
    "noonmark.testing.suite",
    "noonmark.testing.twins",
)
