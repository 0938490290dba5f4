"""Settings for every test."""

from hypothesis import settings

# A deadline for single examples measures the machine, and coverage slows everything down; pytest-timeout bounds each test.
settings.register_profile("remit", deadline=None)
settings.load_profile("remit")
