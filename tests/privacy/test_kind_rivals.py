"""The list of kinds that claim the same words is what formats do."""

from understudy.privacy.discovery_scores import find_rivals
from understudy.privacy.kind_rivals import RIVALS


def test_the_list_is_what_the_kinds_say() -> None:
    assert find_rivals() == RIVALS, "run tools/kind_rivals.py"
