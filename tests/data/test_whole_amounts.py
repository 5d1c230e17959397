"""Whole amounts keep the decimals that their format shows."""

from __future__ import annotations

from pathlib import Path

import pytest

from understudy import Independent, Schema
from understudy.data.formats import Format
from understudy.privacy.mechanisms import SeededNoise


@pytest.mark.parametrize(
    ("form", "cell"), [("1.234,50 €", "3,00 €"), ("0.00", "3.00"), ("$1,234.50", "$3.00")]
)
def test_whole_amounts_are_written_with_their_decimals(
    form: str, cell: str, tmp_path: Path
) -> None:
    document = {"kind": "real", "min": 0, "max": 9, "step": 1, "bins": 3, "format": form}
    schema = Schema.from_dict({"attributes": {"fee": document}})
    path, out = tmp_path / "fees.csv", tmp_path / "out.csv"
    path.write_text("fee\n" + f'"{cell}"\n' * 300, encoding="utf-8")
    model = Independent(epsilon=5.0).fit(path, schema, noise=SeededNoise(0))
    model.write(out, rows=50, seed=0)
    assert out.read_text(encoding="utf-8").count(cell) > 25


@pytest.mark.parametrize("notation", ["", "1,234", "$1,234", "12 kg"])
def test_two_places_are_no_whole_number_but_are_read_as_one(notation: str) -> None:
    form = Format("integer", notation)
    (whole,) = form.write([12])
    decimals = whole.replace("12", "12.00")
    assert form.fits([whole]).all()
    assert form.fits([whole.replace("12", "12.0")]).all()
    assert not form.fits([decimals]).any()
    assert form.read([decimals]) == [12.0]
