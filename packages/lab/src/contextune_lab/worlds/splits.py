"""Which worlds choices are made on, and which are reported.

Choose models, thresholds and rules on `CHOOSE_ON` and report on the others; never choose on what is reported.
Models are evaluated leave-one-world-out, and where one trained model feeds another, the second learns from
predictions of models that have not seen the world.
"""

from collections.abc import Iterable, Iterator

CHOOSE_ON = ("w01", "w02", "w05", "w06", "w08")
"""Worlds to choose models, thresholds and rules on."""
REPORT_ON = ("w03", "w04", "w07", "w09", "w10", "w12")
"""The others that there are so far."""


def is_reported(world: str) -> bool:
    """Whether figures of this world may be reported after choices were made: it is not in `CHOOSE_ON`."""
    return world not in CHOOSE_ON


def leave_one_out(worlds: Iterable[str]) -> Iterator[tuple[str, tuple[str, ...]]]:
    """Each world with all others: train on the others, measure on the one."""
    names = tuple(worlds)
    for name in names:
        yield name, tuple(other for other in names if other != name)
