"""Write src/understudy/privacy/kind_rivals.py: which public kinds claim the words of which others.

    python tools/kind_rivals.py

To find out takes a tenth of a second, which every release without a schema would spend; a test
fails where the list is not what the kinds say.
"""

from __future__ import annotations

from pathlib import Path

from understudy.privacy.discovery_scores import find_rivals

TARGET = Path(__file__).parents[1] / "src/understudy/privacy/kind_rivals.py"
HEAD = '''"""Which kinds claim the typical words of others, by their places among the kinds of
discovery. Written by tools/kind_rivals.py; a test compares it with what formats do.
"""

RIVALS: dict[int, tuple[int, ...]] = {
'''


def main() -> None:
    """Find out, and write."""
    lines = [f"    {place}: {others},\n" for place, others in find_rivals().items()]
    TARGET.write_text(HEAD + "".join(lines) + "}\n", encoding="utf-8")


if __name__ == "__main__":
    main()
