"""What users name: URLs that hold a secret or too much, and files that an engine does not read as
we do.
"""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import pytest
from engine_people import SCHEMA

from running import run
from understudy import Independent, InputError
from understudy.data.files import holds_password, show_name
from understudy.engines.urls import place_of
from understudy.release.targets import check_target

SECRET = "s3cret"


@pytest.mark.parametrize(
    "url",
    [
        "postgresql://ann:s3cret@h/db?table=t",
        "POSTGRESQL://ann:s3cret@h/db?table=t",
        "Postgres://ann%3As3cret@h/db?table=t",
        " postgresql://ann:s3cret@h/db?table=t",
        "postgresql+psycopg://ann:s3cret@h/db?table=t",
        "mysql://ann:s3cret@h/db?table=t",
        "s3cret mysql://h",
        "postgresql://ann:s3cret/h/db?table=t",
        "postgresql://ann:s3cret@h:notaport/db?table=t",
        "postgresql://ann:s3cret@[h/db?table=t",
        "postgresql://ann:1/s3cret@h/db?table=t",
        "postgresql://ann:1?s3cret@h/db?table=t",
        "postgresql://ann:1#s3cret@h/db?table=t",
        "postgresql://ann:1@s3cret@h/db?table=t",
        "postgresql://h/db?table=t&password=s3cret",
        "postgresql://h/db?table=t&PASSWORD=s3cret",
        "postgresql://h/db?table=t&sslpassword=s3cret",
        "postgresql://h/db?table=t&passwort=s3cret",
        "postgresql://h/db?table=t&conninfo=password%3Ds3cret",
        "postgresql://h/db?table=t&pass word is s3cret=x",
        "spark://ann:s3cret@h:7077?table=t",
        "spark://h:s3cret?table=t",
        "spark://h:7077/s3cret?table=t",
        "spark://h:7077?table=t&token=s3cret",
        "postgresql://h/db?table=t&s3cret",
    ],
)
def test_what_may_be_a_secret_is_refused_and_not_repeated(url: str) -> None:
    for use in (check_target, lambda url: Independent(epsilon=1.0).fit(url, SCHEMA)):
        with pytest.raises(InputError) as refused:
            use(url)
        assert SECRET not in str(refused.value)


URLS = [
    "mysql://ann:s3cret@h/db?table=t",
    "mysql:/ann:s3cret@h/db?table=t",
    "mysql://h/db?table=t&password=s3cret",
    "mysql://h/db?table=t&password=s3cret.csv",
    "mysql:/s3cret*@h/db",
    "ann:s3cret@h/db.csv",
]


@pytest.mark.parametrize("url", URLS)
@pytest.mark.parametrize(
    "command",
    [
        "synthesize URL",
        "synthesize URL --engine memory",
        "synthesize t.csv --to URL",
        "synthesize t.csv -o URL",
        "synthesize t.csv --schema URL",
        "synthesize t.csv --model URL",
        "synthesize t.csv --report URL",
        "synthesize t.csv --ledger URL",
        "schema URL",
        "schema t.csv -o URL",
        "sample URL",
        "query URL count",
        "show URL",
        "plan --schema URL --rows 9",
        "evaluate URL t.csv",
        "evaluate t.csv URL",
        "attack URL t.csv",
        "attack t.csv URL",
        "membership URL --schema t.json",
        "ledger show URL",
        "ledger create URL --epsilon 1",
    ],
)
def test_nor_is_it_repeated_by_any_command(
    command: str, url: str, tmp_path: Path, monkeypatch: Any
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "t.csv").write_text("age\n1\n2\n")
    ran = run(*(url if word == "URL" else word for word in command.split()))
    assert ran.status == 2
    assert SECRET not in ran.err + ran.out


@pytest.mark.parametrize(
    "command", ["URL", "sample a b URL", "synthesize t.csv --rows URL", "show --URL"]
)
@pytest.mark.parametrize(
    "secret",
    [
        URLS[0],
        "mysql://ann%3As3cret@h/db",
        "postgresql://h/db?sslPassword=s3cret",
        "host=h password = s3cret",
        "--conninfo=passwd%3Ds3cret",
        "ann:s3cret@h/db",
        "ann%3as3cret@h:5432",
        "//ann:s3cret@h/db",
        "postgres:ann:s3cret@h/db",
        "--to=ann:s3cret@h/db",
    ],
)
def test_nor_where_no_url_is_expected(secret: str, command: str) -> None:
    ran = run(*(word.replace("URL", secret) for word in command.split()))
    assert ran.status == 2
    assert ran.err == (
        "understudy: A password does not belong on the command line, where others can read it; set "
        "PGPASSWORD or use a "
        "password file.\n"
    )
    assert SECRET not in show_name(secret)
    assert SECRET not in show_name(Path(secret).parent)


@pytest.mark.parametrize(
    "word",
    [
        "postgresql://a%40b@h:5433/db?table=t&sslmode=require",
        "contact=mail:ann@h/db",
        "when=2020-01-31 10:00..2020-02-01 10:00",
        "C:/people/ann@home/t.csv",
        "runs/12:30@node/t.csv",
        "127.0.0.1:8443",
        "visit:day@home",
        "password.csv",
        "password_known=yes",
    ],
)
def test_what_only_looks_a_little_like_a_password_is_let_through(word: str) -> None:
    assert not holds_password(word)


@pytest.mark.parametrize(
    "option", ["autocommit", "row_factory", "conninfo", "options", "host", "application_name"]
)
def test_options_that_are_not_for_a_url_are_refused(option: str) -> None:
    """What is handed to psycopg must not be taken for an argument of its own."""
    with pytest.raises(
        InputError,
        match="postgresql://h/db has an option that is not for a URL; known there are table",
    ):
        place_of(f"postgresql://h/db?table=t&sslmode=require&{option}=value")


@pytest.mark.parametrize(
    ("url", "shown", "parameters"),
    [
        ("postgresql://h/db?table=t", "postgresql://h/db", {"host": "h", "dbname": "db"}),
        (
            "POSTGRES://a%40b@h:5433/d%2Fb?table=s.t&sslmode=verify-full&service=x",
            "postgresql://a@b@h:5433/d/b",
            {
                "host": "h",
                "port": "5433",
                "user": "a@b",
                "dbname": "d/b",
                "sslmode": "verify-full",
                "service": "x",
            },
        ),
        ("postgresql://[::1]:1/?table=t", "postgresql://[::1]:1", {"host": "::1", "port": "1"}),
        (
            "postgresql://%2Frun%2FPG/db?table=t",
            "postgresql://%2Frun%2FPG/db",
            {"host": "/run/PG", "dbname": "db"},
        ),
        ("postgresql:///db?table=t", "postgresql:///db", {"dbname": "db"}),
        (
            "postgresql://a:1,b/db?table=t",
            "postgresql://a:1,b/db",
            {"host": "a,b", "port": "1,", "dbname": "db"},
        ),
    ],
)
def test_a_url_is_taken_apart(url: str, shown: str, parameters: dict[str, str]) -> None:
    place = place_of(url)
    assert str(place) == shown
    assert place.parameters() == parameters
    assert place.table in ("t", "s.t")


def test_a_cluster_may_have_several_masters() -> None:
    place = place_of("spark://a:7077,b:7077?table=clinic.patients")
    assert (str(place), place.table) == ("spark://a:7077,b:7077", "clinic.patients")


@pytest.mark.parametrize(
    ("name", "sentence"),
    [
        (
            "t.csv",
            "t.csv is CSV, which Spark reads otherwise than we do; store it as Parquet, or use the "
            "engine duckdb",
        ),
        ("t.tsv", "is CSV"),
        ("t.csv.gz", "is CSV"),
        ("[t].parquet", "Spark takes the name of .* for a pattern"),
    ],
)
def test_files_that_spark_would_read_otherwise(
    name: str, sentence: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """One cell with line breaks would be many rows: that is refused before Spark is started."""
    monkeypatch.setitem(sys.modules, "pyspark", None)
    (tmp_path / name).write_text('age,notes\n1,"a\n2,b\n3,c"\n')
    with pytest.raises(InputError, match=sentence):
        Independent(epsilon=1.0).fit(str(tmp_path / name), SCHEMA, engine="spark")
