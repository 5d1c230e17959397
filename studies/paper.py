"""The PrivBayes paper (Zhang et al., TODS 2017), section 6, done again: figures 4 to 19 and what
its text claims.

    python studies/paper.py --data ../shared/data [--repeats 3] [--quick] [--only scores marginals]

``--data`` holds nltcs.csv, acs.csv, adult.csv, br2000.csv and the taxonomies. The quick version
runs on small made-up tables and needs no data.
"""

from __future__ import annotations

import sys

from paper_parts import classification, encodings, marginals, parameters, scores, sources
from study import Study

STUDY = Study(
    "paper",
    "The PrivBayes paper, done again",
    [
        scores.PART,
        encodings.PART,
        parameters.PART,
        sources.PART,
        marginals.PART,
        classification.PART,
    ],
    notes=[
        "Networks are limited to degrees at which there are at most 250,000 attribute-parent "
        "pairs: 4 on ACS, 2 on "
        "the bits of Adult, 3 on those of BR2000; NLTCS never gets there.",
        "The paper takes the mean of 100 runs; differences of a few per cent may be chance here.",
        "One split of each table into training and test rows serves all runs. Columns of NLTCS, "
        "ACS and BR2000 have no "
        "names: which one a task predicts is a guess, see studies/paper_parts/tables.py.",
    ],
)


if __name__ == "__main__":
    sys.exit(STUDY.main())
