"""Studies are scripts: their folder is put where Python looks for modules, as it is when one is
run.
"""

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "studies"))
