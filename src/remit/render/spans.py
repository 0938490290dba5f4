"""Times and lengths of time in the words of a line: `2026-11-30T12:00:00Z`, `3m 20s`, `0.21s`, `+0.031s`. Decides wording only."""

from datetime import UTC, datetime, timedelta

__all__ = ["offset", "span", "timestamp", "took"]

_EXACT_BELOW = 10

_UNITS = ((86_400, "d"), (3_600, "h"), (60, "m"), (1, "s"))


def span(length: timedelta) -> str:
    """The two largest units of a length; `0s` for none, and for one that a clock set back made negative."""
    left = max(0, int(length.total_seconds()))
    first = next((index for index, (seconds, _) in enumerate(_UNITS) if left >= seconds), len(_UNITS) - 1)
    words: list[str] = []
    for seconds, unit in _UNITS[first : first + 2]:
        number, left = divmod(left, seconds)
        if number or not words:
            words.append(f"{number}{unit}")
    return " ".join(words)


def offset(length: timedelta) -> str:
    """A signed length in seconds, to the millisecond: `+0.031s`, `-12.500s`."""
    return f"{length.total_seconds():+.3f}s"


def timestamp(moment: datetime) -> str:
    """A time as ISO 8601 in UTC, to the second: `2026-11-30T12:00:00Z`."""
    return moment.astimezone(UTC).strftime("%Y-%m-%dT%H:%M:%SZ")


def took(length: timedelta) -> str:
    """How long something took: hundredths of a second below ten seconds, else as `span`."""
    seconds = length.total_seconds()
    return f"{max(0.0, seconds):.2f}s" if seconds < _EXACT_BELOW else span(length)
