"""The part of the owner's report on attacks: what somebody could try, what came of it, and what
epsilon promises.
"""

from __future__ import annotations

import math

from understudy.attacks import Attack, Attacks
from understudy.reports.charts import Dot, dots, key
from understudy.reports.page import Section, cards, escape_html


def attacks(found: Attacks) -> Section:
    """Each attack: its verdict, what it found, what epsilon promises, and a picture where something
    was tested.
    """
    lead = (
        "What somebody could try with the synthetic table to learn about a person in the real one. "
        "An attack counts only as far as it works better on people in the table (blue) than on "
        "people who are not (grey): the rest is what the table tells about everybody. The dark "
        "line is the most that epsilon allows. That no attack succeeds is no proof; the guarantee "
        "is epsilon."
    )
    legend = key(
        ("synthetic", "reached"),
        ("plain", "on people who are not in the table"),
        ("ink", "epsilon allows"),
    )
    judged = [attack for attack in found if attack.p_value is not None]
    notes = "".join(f'<p class="small">{escape_html(note)}</p>' for note in found.notes)
    content = (legend if judged else "") + cards(map(_attack, found), "large") + notes
    return Section("attacks", "What an attacker could try", lead, content)


_GRADES = {
    "nothing seen": "good",
    "within the promise": "fair",
    "look at this": "poor",
    "not judged": "",
}


def _attack(attack: Attack) -> str:
    badge = f'<b class="verdict {_GRADES[attack.verdict]}">{escape_html(attack.verdict)}</b>'
    promised = f'<p class="small"><b>What epsilon promises.</b> {escape_html(attack.promised)}</p>'
    caption = f"<figcaption><b>{escape_html(attack.name)}</b>{badge}</figcaption>"
    return (
        f"<figure>{caption}{_picture(attack)}<p>{escape_html(attack.found)}</p>{promised}</figure>"
    )


def _picture(attack: Attack) -> str:
    if attack.p_value is None or attack.measured is None:
        return ""
    marks = [
        Dot(role, name, value)
        for role, name, value in (
            ("plain", "on people who are not in the table", attack.beside),
            ("ink", "epsilon allows", attack.allowed),
            ("synthetic", "reached", attack.measured),
        )
        if value is not None and math.isfinite(value)
    ]
    return dots(
        [(attack.unit, marks, f"{attack.measured:.3g}")],
        "{:.2g}".format,
        low=0.0,
        high=1.0,
        long_names=True,
    )
