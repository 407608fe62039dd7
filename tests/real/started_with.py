"""The environment in which the tests were started, before any fixture changes it."""

import os

STARTED_WITH = dict(os.environ)
"""npm's configuration, and PATH."""
