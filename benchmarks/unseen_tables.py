"""The first command on twelve made-up tables, in the shapes that newcomers bring.

    python benchmarks/unseen_tables.py [--tables library hospital ...] [--half finding | checking]
    [--runs 2] [--keep FOLDER]

The tables come from seeds, so everybody has the same ones; nothing in Understudy is fitted to the
five for checking, which nobody looks at while changing it. Each is given to ``understudy synthesize
FILE --epsilon 1 --delta 1e-9``, with real noise and no schema. What comes out is compared with what
went in, and a second table from the same source is measured beside it: what chance alone does.

Printed per table: the mean total variation distance of all pairs of columns; how well boosted trees
tell real rows from synthetic ones by exact values (area under the curve: 0.5 is by chance); the
share of numbers and times on the grid of the real ones (quarters of an hour, multiples of 100);
the share of cells that are written as real ones are (places after the point); the share of rows
with a code that no real row has; how many of the codes that at least one row in 200 holds are gone;
and the share of rows above the value that 3 % of the real ones exceed, as a multiple of that.
"""

from __future__ import annotations

import argparse
import csv
import os
import re
import statistics
import tempfile
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from sklearn.ensemble import HistGradientBoostingClassifier
from sklearn.metrics import roc_auc_score
from sklearn.model_selection import cross_val_predict

import understudy
from first_command import Bench, Cells, read_cells, two_way_error

Columns = dict[str, Sequence[str]]
Random = np.random.Generator

FEW_VALUES = 30
RARE = 1 / 200
TAIL = 0.03


@dataclass(frozen=True, kw_only=True)
class Source:
    """A kind of table that can be made."""

    rows: int
    make: Callable[[Random, int], Columns]
    moments: Mapping[str, str] = field(default_factory=dict)
    """Columns of dates and times, and how they are written."""
    grids: Mapping[str, float] = field(default_factory=dict)
    """Columns on a grid, and its step: minutes for times."""
    tails: Sequence[str] = ()
    """Columns with a long tail."""
    keys: Sequence[str] = ()
    """Columns that tell rows apart."""

    def write(self, path: Path, seed: int) -> None:
        """Write a table of this kind."""
        columns = self.make(np.random.default_rng(seed), self.rows)
        with path.open("w", newline="", encoding="utf-8") as file:
            writer = csv.writer(file)
            writer.writerow(columns)
            writer.writerows(zip(*columns.values(), strict=True))


# ---- pieces


def pick(rng: Random, rows: int, **shares: float) -> list[str]:
    """Words with shares; an underscore stands for a space."""
    weights = np.array(list(shares.values()))
    words = np.array([word.replace("_", " ") for word in shares])
    return [str(word) for word in rng.choice(words, rows, p=weights / weights.sum())]


def days(first: str, offsets: NDArray[np.float64], notation: str) -> list[str]:
    """Days after a first one, written some way."""
    stamps = pd.Timestamp(first) + pd.to_timedelta(np.floor(offsets), unit="D")
    return [str(word) for word in pd.DatetimeIndex(stamps).strftime(notation)]


def clock(minutes: NDArray[np.int64]) -> list[str]:
    """Minutes of the day as times."""
    return [f"{minute // 60:02d}:{minute % 60:02d}" for minute in minutes.tolist()]


def decimals(numbers: NDArray[Any], places: int) -> list[str]:
    """Numbers with some places after the point."""
    return [f"{number:.{places}f}" for number in numbers.tolist()]


def whole(numbers: NDArray[Any]) -> list[str]:
    """Numbers without places after the point."""
    return [str(int(number)) for number in numbers.tolist()]


def without(rng: Random, cells: Sequence[str], share: float, mark: str = "") -> list[str]:
    """The cells with a share of them missing."""
    gone = rng.random(len(cells)) < share
    return [mark if lost else cell for cell, lost in zip(cells, gone, strict=True)]


def numbered(rows: int) -> list[str]:
    """A key for each row."""
    return [str(10_000 + place) for place in range(rows)]


# ---- five tables for finding faults


def make_library(rng: Random, rows: int) -> Columns:
    """Members of a library."""
    member = pick(rng, rows, adult=0.6, child=0.25, student=0.13, staff=0.02)
    child = np.array([word == "child" for word in member])
    quarter = np.clip(rng.normal(60, 10, rows) - 4 * child, 36, 79).astype(np.int64)
    visits = 15 * np.clip(rng.normal(58, 9, rows), 36, 79).astype(np.int64)
    loans = np.floor(rng.gamma(0.9, 6.5, rows))
    fine = np.where(rng.random(rows) < 0.6, 0, 0.25 * rng.geometric(0.09, rows))
    last = pd.Timestamp("2023-01-01") + pd.to_timedelta(np.floor(720 * rng.beta(3, 1, rows)), "D")
    stamps = pd.DatetimeIndex(last + pd.to_timedelta(visits, "m")).strftime("%Y-%m-%d %H:%M")
    branches = {"Central": 0.4, "North": 0.2, "Harbour": 0.18, "Old_Town": 0.12, "East": 0.07}
    return {
        "member_id": numbered(rows),
        "joined": days("2009-01-01", 5400 * rng.beta(2, 1, rows), "%d.%m.%Y"),
        "branch": pick(rng, rows, **branches, Hospital=0.03),
        "member_type": member,
        "visit_time": clock(15 * quarter),
        "loans": whole(loans),
        "fine": decimals(fine, 2),
        "newsletter": pick(rng, rows, yes=0.3, no=0.7),
        "last_visit": without(rng, [str(stamp) for stamp in stamps], 0.2),
    }


def make_hospital(rng: Random, rows: int) -> Columns:
    """Stays in a hospital."""
    age = np.clip(np.where(rng.random(rows) < 0.1, 0, rng.normal(58, 20, rows)), 0, 104)
    stay = np.minimum(rng.geometric(0.18, rows), 120)
    start = 1700 * rng.random(rows)
    sex = pick(rng, rows, F=0.53, M=0.47)
    weight = np.clip(rng.normal(76, 15, rows) * np.minimum(1, 0.1 + age / 16), 2.1, 160)
    temperature = np.clip(rng.normal(36.8, 0.5, rows) + rng.exponential(0.25, rows), 34.5, 41.5)
    cost = 900 + 780 * stay * rng.lognormal(0, 0.5, rows)
    triage = np.clip(np.round(rng.normal(3.2, 1, rows) - age / 150), 1, 5)
    wards = {"Surgery": 0.26, "Medicine": 0.3, "Cardiology": 0.14, "Obstetrics": 0.11}
    wards |= {"Paediatrics": 0.09, "Neurology": 0.06, "Oncology": 0.034, "Burns": 0.006}
    return {
        "stay_id": numbered(rows),
        "admitted": days("2019-03-01", start, "%Y-%m-%d"),
        "discharged": without(rng, days("2019-03-01", start + stay, "%Y-%m-%d"), 0.01),
        "ward": pick(rng, rows, **wards),
        "age": whole(age),
        "sex": sex,
        "weight_kg": without(rng, decimals(weight, 1), 0.06),
        "temperature": decimals(temperature, 1),
        "triage": whole(triage),
        "cost": decimals(cost, 2),
        "readmitted": without(rng, days("2019-04-01", start + stay + 30, "%Y-%m-%d"), 0.8),
        "insured": pick(rng, rows, yes=0.93, no=0.07),
    }


def make_claims(rng: Random, rows: int) -> Columns:
    """Insurance of cars."""
    claims = np.minimum(rng.poisson(0.36, rows), 4)
    amount = np.where(claims > 0, np.exp(rng.normal(6.9, 1.15, rows)) * claims, 0)
    age = np.clip(18 + rng.gamma(3.2, 9, rows), 18, 97)
    level = np.where(rng.random(rows) < 0.55, 50, np.clip(50 + rng.exponential(22, rows), 51, 228))
    since = np.floor(3650 * rng.random(rows))
    stamps = pd.Series(pd.Timestamp("2012-01-01") + pd.to_timedelta(since, "D"))
    first = stamps.dt.to_period("M").dt.start_time
    stamps = stamps.where(rng.random(rows) > 0.6, first)
    regions = {f"R{place:02d}": 0.85**place for place in range(1, 23)}
    return {
        "policy_no": numbered(rows),
        "since": [str(word) for word in stamps.dt.strftime("%m/%d/%Y")],
        "region": pick(rng, rows, **regions),
        "power": pick(rng, rows, D=0.2, E=0.2, F=0.2, G=0.15, H=0.1, J=0.08, K=0.05, L=0.02),
        "car_age": whole(np.minimum(rng.gamma(1.7, 4.2, rows), 60)),
        "driver_age": whole(age),
        "level": whole(level),
        "claims": whole(claims),
        "amount": decimals(amount, 2),
        "density": whole(np.exp(rng.normal(6, 1.8, rows)) + 1),
        "garage": pick(rng, rows, street=0.5, garage=0.3, drive=0.2),
    }


def make_survey(rng: Random, rows: int) -> Columns:
    """A survey with codes for refusals."""
    mood = rng.normal(0, 1, rows)
    items = {}
    for place in range(1, 9):
        score = np.clip(np.round(3 + 0.8 * mood + rng.normal(0.1 * place, 0.8, rows)), 1, 5)
        items[f"q{place}"] = without(rng, whole(score), 0.03 + 0.005 * place, "99")
    income = 100 * np.round(np.exp(rng.normal(7.9, 0.5, rows)) / 100)
    weights = rng.choice([0.42, 0.75, 0.9, 1.0, 1.15, 1.6, 2.35], rows)
    return {
        "respondent": numbered(rows),
        "interview": days("2021-02-01", 90 * rng.random(rows), "%d %b %Y"),
        "age": whole(np.clip(rng.normal(47, 17, rows), 18, 94)),
        "gender": pick(rng, rows, **{"1": 0.48, "2": 0.5, "3": 0.01, "9": 0.01}),
        **items,
        "household": whole(np.minimum(rng.geometric(0.4, rows), 9)),
        "income": without(rng, whole(income), 0.15, "99999"),
        "weight": [str(weight) for weight in weights.tolist()],
        "satisfied": whole(np.clip(np.round(6.5 + 1.8 * mood), 0, 10)),
        "hours": [str(hours) for hours in (0.5 * rng.binomial(16, 0.3, rows)).tolist()],
    }


def make_orders(rng: Random, rows: int) -> Columns:
    """Orders of a shop that is closed at weekends, written as in Germany."""
    day = np.floor(1000 * rng.random(rows))
    monday = pd.Timestamp("2020-01-06")
    ordered = monday + pd.to_timedelta(7 * (day // 5) + day % 5, "D")
    shipped = ordered + pd.to_timedelta(rng.integers(1, 9, rows), "D")
    quantity = rng.geometric(0.35, rows)
    amount = quantity * np.round(np.exp(rng.normal(3.4, 0.8, rows)), 2)
    written = [f"{number:,.2f}".translate(str.maketrans(",.", ".,")) for number in amount.tolist()]
    products = {f"P-{100 + 7 * place}": 1 / place for place in range(1, 26)}
    channels = {"web": 0.6, "phone": 0.2, "shop": 0.19, "fair": 0.01}
    return {
        "order_no": numbered(rows),
        "ordered": [str(word) for word in pd.DatetimeIndex(ordered).strftime("%d.%m.%Y")],
        "shipped": [str(word) for word in pd.DatetimeIndex(shipped).strftime("%d.%m.%Y")],
        "product": pick(rng, rows, **products),
        "quantity": whole(quantity),
        "amount": written,
        "discount": pick(rng, rows, **{"0": 0.6, "5": 0.2, "10": 0.12, "15": 0.06, "20": 0.02}),
        "channel": pick(rng, rows, **channels),
        "rating": without(rng, whole(rng.binomial(4, 0.8, rows) + 1), 0.4),
    }


# ---- five tables for checking


def make_payroll(rng: Random, rows: int) -> Columns:
    """Employees of a company."""
    grade = np.minimum(rng.geometric(0.25, rows), 9)
    salary = 50 * np.round((19_000 + 5_500 * grade) * rng.lognormal(0, 0.12, rows) / 50)
    rounded = rng.random(rows) < 0.4
    salary = np.where(rounded, 1000 * np.round(salary / 1000), salary)
    hired = pd.Series(
        pd.Timestamp("1995-01-01") + pd.to_timedelta(10_000 * rng.beta(2, 1, rows), "D")
    )
    hired = hired.where(rng.random(rows) > 0.8, hired.dt.to_period("M").dt.start_time)
    departments = {f"Dept_{letter}": 0.8**place for place, letter in enumerate("ABCDEFGHIJKL")}
    return {
        "staff_no": numbered(rows),
        "hired": [str(word) for word in hired.dt.strftime("%d/%m/%Y")],
        "department": pick(rng, rows, **departments),
        "grade": [f"G{number}" for number in grade.tolist()],
        "salary": whole(salary),
        "hours": pick(rng, rows, **{"37.5": 0.6, "40": 0.2, "20": 0.12, "30": 0.08}),
        "bonus": without(rng, decimals(salary * rng.gamma(2, 0.02, rows), 2), 0.55),
        "overtime": decimals(np.where(rng.random(rows) < 0.5, 0, rng.geometric(0.08, rows) / 4), 2),
        "pension": pick(rng, rows, **{"3.0": 0.5, "5.0": 0.35, "8.0": 0.15}),
        "starts": clock(30 * rng.binomial(8, 0.5, rows) + 360),
        "union": pick(rng, rows, Y=0.35, N=0.65),
    }


def make_school(rng: Random, rows: int) -> Columns:
    """Pupils and their marks."""
    able = rng.normal(0, 1, rows)
    marks = np.array(["1.0", "1.3", "1.7", "2.0", "2.3", "2.7", "3.0", "3.3", "3.7", "4.0", "5.0"])
    places = np.clip(np.round(4.5 - 2 * able + rng.normal(0, 1, rows)), 0, 10).astype(np.int64)
    classes = {f"{year}{letter}": 1.0 for year in range(5, 11) for letter in "abcd"}
    score = whole(np.clip(np.round(58 + 16 * able + rng.normal(0, 8, rows)), 0, 100))
    return {
        "pupil_id": numbered(rows),
        "class": pick(rng, rows, **classes),
        "born": days("2007-08-01", 2190 * rng.random(rows), "%Y-%m-%d"),
        "sex": pick(rng, rows, m=0.51, f=0.49),
        "mark": [str(mark) for mark in marks[places]],
        "points": whole(np.clip(np.round(9 + 2.6 * able + rng.normal(0, 1.2, rows)), 0, 15)),
        "score": without(rng, score, 0.05, "999"),
        "absences": whole(rng.negative_binomial(0.8, 0.1, rows).astype(float)),
        "bus": pick(rng, rows, yes=0.4, no=0.6),
        "language": pick(rng, rows, French=0.5, Latin=0.25, Spanish=0.22, Russian=0.03),
    }


def make_sensors(rng: Random, rows: int) -> Columns:
    """A log of weather stations."""
    step = rng.integers(0, 52_000, rows)
    stamps = pd.Timestamp("2023-01-01") + pd.to_timedelta(10 * step, "m")
    season = -np.cos(2 * np.pi * step / 52_560)
    temperature = 9 + 9 * season + rng.normal(0, 4, rows)
    rain = np.where(rng.random(rows) < 0.8, 0, 0.2 * rng.geometric(0.12, rows))
    return {
        "timestamp": [str(word) for word in pd.DatetimeIndex(stamps).strftime("%Y-%m-%d %H:%M:%S")],
        "site": pick(rng, rows, **{f"WS{place}": 1.0 for place in range(1, 9)}),
        "temperature": decimals(temperature, 1),
        "humidity": whole(np.clip(rng.normal(74, 14, rows) - 8 * season, 12, 100)),
        "pressure": decimals(rng.normal(1013, 8, rows), 1),
        "battery": decimals(np.clip(rng.normal(3.6, 0.15, rows), 2.9, 4.2), 2),
        "rain": decimals(rain, 1),
        "wind": without(rng, decimals(rng.gamma(2, 2.1, rows), 1), 0.02),
        "status": pick(rng, rows, OK=0.981, WARN=0.015, FAIL=0.004),
    }


def make_invoices(rng: Random, rows: int) -> Columns:
    """Invoices, of which tax and sum follow from the rest."""
    rate = rng.choice([0, 7, 19], rows, p=[0.1, 0.25, 0.65])
    net = np.round(np.exp(rng.normal(5.2, 1.1, rows)), 2)
    tax = np.round(net * rate / 100, 2)
    day = np.floor(1400 * rng.random(rows))
    paid = days("2020-01-01", day + rng.gamma(2, 12, rows), "%Y-%m-%d")
    return {
        "invoice_no": numbered(rows),
        "issued": days("2020-01-01", day, "%Y-%m-%d"),
        "customer": pick(rng, rows, business=0.6, private=0.35, public=0.05),
        "net": decimals(net, 2),
        "vat_rate": whole(rate.astype(float)),
        "vat": decimals(tax, 2),
        "gross": decimals(net + tax, 2),
        "paid": without(rng, paid, 0.25),
        "reminder_fee": pick(rng, rows, **{"0.00": 0.8, "5.00": 0.15, "10.00": 0.05}),
        "currency": pick(rng, rows, EUR=0.9, USD=0.07, CHF=0.03),
    }


def make_home_equity(rng: Random, rows: int) -> Columns:
    """Loans on houses, with cells that are missing together."""
    value = np.exp(rng.normal(11.4, 0.5, rows))
    owed = value * rng.beta(5, 2.2, rows)
    sloppy = rng.random(rows) < 0.06
    share = np.where(sloppy, 0.6, 0.04)

    def gaps(cells: Sequence[str]) -> list[str]:
        gone = rng.random(rows) < share
        return ["" if lost else cell for cell, lost in zip(cells, gone, strict=True)]

    jobs = pick(rng, rows, Other=0.4, ProfExe=0.22, Office=0.16, Mgr=0.13, Self=0.05, Sales=0.04)
    years = np.where(rng.random(rows) < 0.85, np.floor(rng.gamma(1.3, 7, rows)), rng.random(rows))
    return {
        "bad": whole((rng.random(rows) < 0.2).astype(float)),
        "loan": whole(100 * np.round(np.exp(rng.normal(9.7, 0.55, rows)) / 100)),
        "mortdue": gaps(whole(owed)),
        "value": gaps(whole(value)),
        "reason": gaps(pick(rng, rows, DebtCon=0.68, HomeImp=0.32)),
        "job": gaps(jobs),
        "yoj": gaps([f"{year:.1f}".removesuffix(".0") for year in years.tolist()]),
        "derog": gaps(whole(np.minimum(rng.poisson(0.25, rows) * rng.geometric(0.7, rows), 10))),
        "delinq": gaps(whole(np.minimum(rng.poisson(0.4, rows), 15))),
        "clage": gaps(decimals(rng.gamma(4.4, 41, rows), 2)),
        "clno": gaps(whole(np.clip(rng.normal(21, 10, rows), 0, 71))),
        "debtinc": gaps(decimals(rng.normal(34, 8, rows), 4)),
    }


def make_subscriptions(rng: Random, rows: int) -> Columns:
    """Four prices that follow from the plan, a discount that is a half, rare marks, addresses."""
    plan = rng.choice(4, rows, p=[0.42, 0.3, 0.18, 0.1])
    late = rng.random(rows) < 0.35
    discounts = rng.choice(["0", "5", "10", "12.5", "20"], rows, p=[0.6, 0.15, 0.12, 0.08, 0.05])
    family, team = rng.integers(2, 7, rows), rng.choice([5, 10, 25], rows, p=[0.6, 0.3, 0.1])
    seats = np.choose(plan, [np.ones(rows, int), np.ones(rows, int), family, team])
    return {
        "customer_id": numbered(rows),
        "email": [f"user{place}@mail.de" for place in rng.permutation(rows)],
        "plan": [("basic", "plus", "family", "pro")[place] for place in plan],
        "monthly_price": [("19.9", "34.5", "49", "59.9")[place] for place in plan],
        "seats": whole(seats),
        "start_date": days("2021-01-04", rng.beta(2, 1.2, rows) * 1400, "%d.%m.%Y"),
        "usage_gb": decimals(rng.gamma(1.3, 40, rows) * (1 + plan), 1),
        "late_fee": decimals(np.where(late, np.round(rng.exponential(24, rows)) / 2, 0), 2),
        "discount": [str(word) for word in discounts],
        "satisfaction": without(rng, whole(rng.integers(0, 11, rows)), 0.03, "n/a"),
        "country": pick(
            rng, rows, DE=0.44, FR=0.2, NL=0.12, AT=0.09, CH=0.06, BE=0.04, PL=0.03, LU=0.02
        ),
        "churned": pick(rng, rows, no=0.8, yes=0.2),
    }


def make_meters(rng: Random, rows: int) -> Columns:
    """Rates of four decimals that follow from the tariff, postcodes, a sentinel, money signs."""
    tariff = rng.choice(5, rows, p=[0.5, 0.2, 0.15, 0.1, 0.05])
    rates = np.array([0.2875, 0.3120, 0.2640, 0.3999, 0.1890])[tariff]
    used = np.round(np.exp(rng.normal(5.4, 0.6, rows)), 1)
    places = ["10115", "20095", "28195", "30159", "40213", "50667", "60311", "70173", "80331"]
    share = np.array([22, 14, 5, 6, 8, 11, 10, 9, 15]) / 100
    quarters = np.floor(rng.random(rows) * 365 * 96) * 15
    read = pd.Timestamp("2023-01-01") + pd.to_timedelta(quarters, unit="m")
    solar = np.where(rng.random(rows) < 0.18, rng.gamma(3, 40, rows), 0)
    errors = np.where(rng.random(rows) < 0.015, -999, rng.poisson(1.2, rows))
    return {
        "iban": [f"DE{place:020d}" for place in rng.permutation(rows)],
        "postcode": [str(word) for word in rng.choice(places, rows, p=share)],
        "tariff": [("T1", "T2", "NIGHT", "GREEN", "SOCIAL")[place] for place in tariff],
        "rate": decimals(rates, 4),
        "kwh": without(rng, decimals(used, 1), 0.03, "n/a"),
        "solar_kwh": decimals(solar, 1),
        "bill": [f"€{bill:,.2f}" for bill in used * rates + 9.95],
        "read_at": [str(word) for word in read.strftime("%Y-%m-%d %H:%M")],
        "voltage": [str(word) for word in rng.choice([110, 230, 400], rows, p=[0.02, 0.88, 0.1])],
        "errors": whole(errors),
        "owner": pick(rng, rows, tenant=0.5, owner=0.42, municipal=0.06, church=0.02),
    }


FINDING: dict[str, Source] = {
    "subscriptions": Source(
        rows=8_000,
        make=make_subscriptions,
        moments={"start_date": "%d.%m.%Y"},
        grids={"usage_gb": 0.1, "late_fee": 0.5},
        tails=("usage_gb", "late_fee"),
        keys=("customer_id", "email"),
    ),
    "meters": Source(
        rows=40_000,
        make=make_meters,
        moments={"read_at": "%Y-%m-%d %H:%M"},
        grids={"read_at": 15, "kwh": 0.1, "solar_kwh": 0.1},
        tails=("kwh", "solar_kwh"),
        keys=("iban",),
    ),
    "library": Source(
        rows=12_000,
        make=make_library,
        moments={"joined": "%d.%m.%Y", "visit_time": "%H:%M", "last_visit": "%Y-%m-%d %H:%M"},
        grids={"visit_time": 15, "last_visit": 15, "fine": 0.25},
        tails=("loans", "fine"),
        keys=("member_id",),
    ),
    "hospital": Source(
        rows=8_000,
        make=make_hospital,
        moments=dict.fromkeys(("admitted", "discharged", "readmitted"), "%Y-%m-%d"),
        grids={"weight_kg": 0.1, "temperature": 0.1, "cost": 0.01},
        tails=("cost", "temperature"),
        keys=("stay_id",),
    ),
    "claims": Source(
        rows=20_000,
        make=make_claims,
        moments={"since": "%m/%d/%Y"},
        grids={"amount": 0.01},
        tails=("amount", "density", "level", "car_age"),
        keys=("policy_no",),
    ),
    "survey": Source(
        rows=3_000,
        make=make_survey,
        moments={"interview": "%d %b %Y"},
        grids={"income": 100, "hours": 0.5},
        tails=("household",),
        keys=("respondent",),
    ),
    "orders": Source(
        rows=15_000,
        make=make_orders,
        moments={"ordered": "%d.%m.%Y", "shipped": "%d.%m.%Y"},
        tails=("quantity", "amount"),
        keys=("order_no",),
    ),
}
CHECKING: dict[str, Source] = {
    "payroll": Source(
        rows=9_000,
        make=make_payroll,
        moments={"hired": "%d/%m/%Y", "starts": "%H:%M"},
        grids={"salary": 50, "overtime": 0.25, "starts": 30, "bonus": 0.01},
        tails=("overtime", "bonus", "salary"),
        keys=("staff_no",),
    ),
    "school": Source(
        rows=5_000,
        make=make_school,
        moments={"born": "%Y-%m-%d"},
        tails=("absences",),
        keys=("pupil_id",),
    ),
    "sensors": Source(
        rows=50_000,
        make=make_sensors,
        moments={"timestamp": "%Y-%m-%d %H:%M:%S"},
        grids={"timestamp": 10, "temperature": 0.1, "rain": 0.2, "battery": 0.01},
        tails=("rain", "wind"),
    ),
    "invoices": Source(
        rows=10_000,
        make=make_invoices,
        moments={"issued": "%Y-%m-%d", "paid": "%Y-%m-%d"},
        grids={"net": 0.01, "vat": 0.01, "gross": 0.01},
        tails=("net", "vat", "gross"),
        keys=("invoice_no",),
    ),
    "home_equity": Source(
        rows=5_960,
        make=make_home_equity,
        grids={"loan": 100},
        tails=("loan", "value", "clage", "derog"),
    ),
}
HALVES = {"finding": FINDING, "checking": CHECKING}
SOURCES = FINDING | CHECKING


# ---- measuring


def plain(cells: pd.DataFrame, source: Source) -> pd.DataFrame:
    """The table without keys, with points in time as numbers of days or minutes, and decimal commas
    as points.
    """
    found = {}
    for name in cells.columns:
        if name in source.keys:
            continue
        column = cells[name]
        if name in source.moments:
            column = moments(column, source.moments[name])
        elif column.str.contains(",").mean() > 0.5:
            column = column.str.replace(".", "", regex=False).str.replace(",", ".", regex=False)
        found[name] = column
    return pd.DataFrame(found)


def moments(cells: pd.Series, notation: str) -> pd.Series:
    """Dates as days, times and datetimes as minutes; what is no date stays what it is."""
    read = pd.to_datetime(cells, format=notation, errors="coerce")
    unit, start = pd.Timedelta(days=1), pd.Timestamp("1900-01-01")
    if "%H" in notation:
        unit = pd.Timedelta(minutes=1)
    numbers = ((read - start) / unit).map("{:g}".format if "%H" not in notation else repr)
    return cells.where(read.isna(), numbers.astype(str))


def told_apart(real: pd.DataFrame, made: pd.DataFrame, source: Source) -> float:
    """The area under the curve of boosted trees that see exact values, the weekday and the day of
    the month of dates, and the minute of times.
    """
    features = {}
    for name in real.columns:
        both = pd.concat([real[name], made[name]], ignore_index=True)
        if not Cells(real[name]).numeric:
            features[name] = pd.Series(pd.factorize(both)[0], dtype=float)
            continue
        features[name] = pd.to_numeric(both, errors="coerce")
        notation = source.moments.get(name, "")
        if "%d" in notation:
            unit = pd.Timedelta(days=1)
            if "%H" in notation:
                unit = pd.Timedelta(minutes=1)
            stamp = pd.Timestamp("1900-01-01") + features[name] * unit
            features[f"{name} weekday"] = stamp.dt.day_of_week.astype(float)
            features[f"{name} day"] = stamp.dt.day.astype(float)
        if "%H" in notation:
            features[f"{name} minute"] = features[name] % 60
    origin = np.repeat([0, 1], [len(real), len(made)])
    rows = pd.DataFrame(features)
    order = np.random.default_rng(1).permutation(len(rows))[:40_000]
    model = HistGradientBoostingClassifier(random_state=1, max_iter=60)
    scores = cross_val_predict(model, rows.iloc[order], origin[order], cv=3, method="predict_proba")
    return float(roc_auc_score(origin[order], scores[:, 1]))


def on_grid(made: pd.DataFrame, source: Source) -> dict[str, float]:
    """The share of the numbers of each column that lie on its grid."""
    found = {}
    for name, step in source.grids.items():
        numbers = pd.to_numeric(made[name], errors="coerce").dropna().to_numpy() / step
        found[name] = (
            float((np.abs(numbers - np.rint(numbers)) < 1e-6).mean()) if len(numbers) else 0.0
        )
    return found


def written_alike(real: pd.DataFrame, made: pd.DataFrame) -> dict[str, float]:
    """The share of the cells of each column whose shape some real cell has: a digit stands for a
    run of digits before a point, and for one digit after it.
    """
    found = {}
    for name in real.columns:
        shapes = set(real[name].map(_shape))
        found[name] = float(made[name].map(_shape).isin(shapes).mean())
    return found


def _shape(cell: str) -> str:
    before, mark, after = cell.partition("," if "," in cell else ".")
    if re.search(r"[^0-9.,-]", cell):
        return re.sub(r"[A-Za-z]+", "a", re.sub(r"[0-9]+", "0", cell))
    return re.sub(r"[0-9]+", "0", before) + mark + "0" * len(after)


def codes_of(real: pd.DataFrame) -> list[str]:
    """Columns of few values."""
    return [name for name in real.columns if 1 < real[name].nunique() <= FEW_VALUES]


def unseen_rows(real: pd.DataFrame, made: pd.DataFrame) -> float:
    """The share of rows with a code that no real row has."""
    strange = np.zeros(len(made), dtype=bool)
    for name in codes_of(real):
        strange |= Cells(real[name]).unseen(made[name])
    return float(strange.mean())


def lost_codes(real: pd.DataFrame, made: pd.DataFrame) -> tuple[list[str], int]:
    """The codes of at least one real row in 200 that no synthetic row has, and how many there
    are.
    """
    lost, total = [], 0
    for name in codes_of(real):
        cells = Cells(real[name])
        one, two = (pd.Series(cells.classes(rows[name]).astype(str)) for rows in (real, made))
        shares = one.value_counts(normalize=True)
        frequent = shares.index[shares >= RARE]
        total += len(frequent)
        lost += [f"{name}={value}" for value in frequent if value not in set(two)]
    return lost, total


def tails(real: pd.DataFrame, made: pd.DataFrame, source: Source) -> dict[str, float]:
    """The share of rows above the value that 3 % of the real ones exceed, against theirs."""
    found = {}
    for name in source.tails:
        one, two = (
            np.nan_to_num(pd.to_numeric(rows[name], errors="coerce").to_numpy(dtype=float))
            for rows in (real, made)
        )
        above = np.quantile(one, 1 - TAIL)
        found[name] = float((two > above).mean() / max((one > above).mean(), 1e-9))
    return found


def show(figures: Mapping[str, float]) -> str:
    """Figures by name."""
    return ", ".join(f"{name} {figure:.2f}" for name, figure in figures.items())


def mean_by_name(several: Sequence[Mapping[str, float]]) -> dict[str, float]:
    """The means of figures with the same names."""
    return {name: statistics.mean(one[name] for one in several) for name in several[0]}


def measure(name: str, source: Source, bench: Bench, keep: Path | None) -> None:
    """Print the figures of one table."""
    table = (keep or bench.folder) / f"{name}.csv"
    other = bench.folder / "second.csv"
    source.write(table, seed=1)
    source.write(other, seed=2)
    written, second_written = read_cells(table), read_cells(other)
    real, second = plain(written, source), plain(second_written, source)
    started = time.process_time()
    several = []
    for place, cells in enumerate(bench.runs(table)):
        if keep is not None:
            cells.to_csv(keep / f"{name}.made{place}.csv", index=False)
        several.append((cells, plain(cells, source)))
    print(
        f"\n{name}: {len(real):,} x {len(written.columns)}, runs {len(several)} of {bench.repeats}"
    )
    if not several:
        return
    errors = [two_way_error(real, made) for _, made in several]
    areas = [told_apart(real, made, source) for _, made in several]
    chance = two_way_error(real, second), told_apart(real, second, source)
    print(f"  2-way error {statistics.mean(errors):.3f} (chance {chance[0]:.3f})")
    print(f"  told apart  {statistics.mean(areas):.3f} (chance {chance[1]:.3f})")
    lost = [lost_codes(real, made) for _, made in several]
    unseen = statistics.mean(unseen_rows(real, made) for _, made in several)
    count = statistics.mean(len(codes) for codes, _ in lost)
    print(
        f"  rows with an unseen code {unseen:.4f}; codes gone {count:.1f} of {lost[0][1]}", end=""
    )
    print(f" ({', '.join(sorted({code for codes, _ in lost for code in codes}))})")
    if source.grids:
        print(
            f"  on the grid: {show(mean_by_name([on_grid(made, source) for _, made in several]))}"
        )
    alike = mean_by_name([written_alike(written, cells) for cells, _ in several])
    print(f"  not written alike: {show({n: s for n, s in alike.items() if s < 0.995}) or 'none'}")
    if source.tails:
        print(f"  tails: {show(mean_by_name([tails(real, made, source) for _, made in several]))}")
    print(f"  ({time.process_time() - started:.0f} CPU s of measuring)", flush=True)


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--tables", nargs="+", choices=tuple(SOURCES), help="some of them")
    parser.add_argument("--half", choices=tuple(HALVES), help="those for finding or for checking")
    parser.add_argument("--runs", type=int, default=2, help="runs that figures are means of")
    parser.add_argument("--keep", type=Path, help="a folder for the tables and what came out")
    arguments = parser.parse_args()
    load = os.getloadavg()[0]
    print(f"Understudy {understudy.__version__}; {os.cpu_count()} cores, load {load:.1f}")
    sources = HALVES.get(arguments.half, SOURCES)
    chosen = arguments.tables or list(sources)
    if arguments.keep is not None:
        arguments.keep.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory() as folder:
        bench = Bench(Path(folder), Path(folder), arguments.runs)
        for name in chosen:
            measure(name, SOURCES[name], bench, arguments.keep)


if __name__ == "__main__":
    main()
