"""Words on public lists, told from some of them."""

from __future__ import annotations

import pytest

from understudy.data.public_words import LISTS, find_others, is_listed


@pytest.mark.parametrize(
    ("seen", "another"),
    [
        (["United-States", "Mexico"], "El-Salvador"),
        (["united_states", "mexico", "?"], "el_salvador"),
        (["UNITED STATES"], "EL SALVADOR"),
        (["DE", "FR", "NL"], "PL"),
        (["deu", "fra"], "pol"),
        (["New York", "Texas"], "West Virginia"),
    ],
)
def test_the_others_of_a_list_are_written_as_those_seen(seen: list[str], another: str) -> None:
    found = find_others(seen)
    assert another in found
    assert not set(seen) & set(found)
    assert all(map(is_listed, found))


@pytest.mark.parametrize("seen", [[], ["?"], ["Private", "Never-worked"], ["Peru", "a", "b"]])
def test_words_of_no_list_have_no_others(seen: list[str]) -> None:
    assert find_others(seen) == []


def test_lists_hold_each_word_once() -> None:
    for listed in LISTS:
        assert len(set(listed)) == len(listed) > 50
