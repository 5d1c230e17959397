"""The tool that puts faults into the code: what it changes, how it names it, what it makes of the
outcome.
"""

from __future__ import annotations

import ast
import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

TOOLS = Path(__file__).resolve().parents[2] / "tools"
sys.path.insert(0, str(TOOLS))
pytestmark = [
    pytest.mark.thorough,
    pytest.mark.skipif(not TOOLS.is_dir(), reason="the tools are not here"),
]
likely_tests = pytest.importorskip("likely_tests")
mutants = pytest.importorskip("mutants")
mutations = pytest.importorskip("mutations")

SOURCE = '''\
"""A module with < and + in its docstring."""
from typing import TYPE_CHECKING
if TYPE_CHECKING:
    LATER = 1 + 1
LIMIT: int = 3
class Purse:
    def __init__(self, left: int = 0) -> None:
        self.left = left
    def pay(self, price: int, *, twice: bool = False) -> int:
        """Pay."""
        if price > self.left and not twice:
            raise ValueError(
                f"at most {self.left + 1}" + " and 2 < 3"
            )
        self.left -= min(price, LIMIT)
        note(price, self.left)
        check(price, twice)
        return (
            self.left
            * 2
        )
    def __repr__(self) -> str:
        return str(self.left + 1)
'''
CHANGES = {
    ("LIMIT", "constant", "3", "4"),
    ("Purse.__init__", "constant", "0", "1"),
    ("Purse.pay", "constant", "False", "True"),
    ("Purse.pay", "comparison", "price > self.left", "price >= self.left"),
    ("Purse.pay", "boolean", "price > self.left and (not twice)", "price > self.left or not twice"),
    ("Purse.pay", "boolean", "not twice", "twice"),
    ("Purse.pay", "remove", "raise ValueError(...)", "pass"),
    ("Purse.pay", "arithmetic", "self.left -= min(price, LIMIT)", "self.left += min(price, LIMIT)"),
    ("Purse.pay", "opposite", "min(price, LIMIT)", "max(price, LIMIT)"),
    ("Purse.pay", "remove", "note(price, self.left)", "pass"),
    ("Purse.pay", "remove", "check(price, twice)", "pass"),
    ("Purse.pay", "swap", "check(price, twice)", "check(twice, price)"),
    ("Purse.pay", "return", "return self.left * 2", "return None"),
    ("Purse.pay", "arithmetic", "self.left * 2", "self.left / 2"),
    ("Purse.pay", "constant", "2", "3"),
}


def find(source: str) -> list[mutations.Mutant]:
    found: list[mutations.Mutant] = mutations.find_mutants("purse.py", source.encode())
    return found


def test_each_kind_of_change_is_found_and_no_wording_is_touched() -> None:
    found = [(m.function, m.operator, m.original, m.mutated) for m in find(SOURCE)]
    assert sorted(found) == sorted(CHANGES)


def test_a_mutant_changes_one_place_and_keeps_the_lines() -> None:
    for mutant in find(SOURCE):
        changed = mutant.apply(SOURCE.encode()).decode()
        assert ast.dump(ast.parse(changed)) != ast.dump(ast.parse(SOURCE))
        assert changed.count("\n") == SOURCE.count("\n")
        start, end = mutant.place
        assert changed.startswith(SOURCE[:start])
        assert changed.endswith(SOURCE[end:])


def test_texts_beyond_ascii_do_not_shift_a_change() -> None:
    (mutant,) = find("def f(a, b):\n    words['äöü', a < b]\n")
    assert mutant.apply("def f(a, b):\n    words['äöü', a < b]\n".encode()).decode() == (
        "def f(a, b):\n    words['äöü', (a <= b)]\n"
    )


def test_a_name_outlives_edits_elsewhere() -> None:
    edited = "# one more line\n\n" + SOURCE.replace("A module with", "Another")
    edited = edited.replace("at most", "no more than")
    assert [m.identity for m in find(edited)] == [m.identity for m in find(SOURCE)]
    assert len({m.identity for m in find(SOURCE)}) == len(find(SOURCE))


def test_equal_changes_in_one_function_have_names_of_their_own() -> None:
    first, second = find("def f(a, b):\n    g[a < b]\n    g[a < b]\n")
    assert (first.ordinal, second.ordinal) == (0, 1)
    assert first.identity != second.identity


def test_a_sample_is_drawn_by_its_seed_and_survives_edits() -> None:
    found = find(SOURCE)
    drawn = [m.identity for m in mutants.draw_sample(found, 5, 1)]
    assert drawn == [m.identity for m in mutants.draw_sample(found[::-1], 5, 1)]
    assert drawn != [m.identity for m in mutants.draw_sample(found, 5, 2)]
    fewer = [m for m in found if m.identity != drawn[0]]
    assert [m.identity for m in mutants.draw_sample(fewer, 5, 1)][:4] == drawn[1:]


def test_every_folder_has_its_share_of_a_sample() -> None:
    source = SOURCE.encode()
    found = [m for f in ("a/x.py", "a/y.py", "b/z.py") for m in mutations.find_mutants(f, source)]
    drawn = mutants.draw_sample(found, 9, 1)
    assert sorted(m.file[0] for m in drawn) == ["a"] * 6 + ["b"] * 3


def test_the_files_of_this_project_are_there_and_their_mutants_parse() -> None:
    project = mutants.Project.load(TOOLS / "mutants.toml")
    found = project.find_mutants()
    assert {m.file for m in found} == set(project.files)
    for file, functions in project.only.items():
        assert set(functions) == {project.find_name(m) for m in found if m.file == file}
    for mutant in mutants.draw_sample(found, 100, 0):
        ast.parse(mutant.apply(project.read(mutant.file)))


def test_unrecorded_mutants_are_judged_by_the_files_that_import_their_module() -> None:
    project = mutants.Project.load(TOOLS / "mutants.toml")
    of_budget = next(m for m in project.find_mutants() if m.file.endswith("privacy/budget.py"))
    files = mutants.choose_files(of_budget, project.root, project.find_test_files())
    assert files[0] == "tests/privacy/test_budget.py"
    assert len(files) == len(set(files))
    assert set(files) >= {file for file in project.find_test_files() if "tests/privacy/" in file}


def test_what_a_module_is_for_counts_as_much_as_what_stands_beside_a_change() -> None:
    """What is private in a module has no name in tests: they reach it by what is public."""
    project = mutants.Project.load(TOOLS / "mutants.toml")
    file = "understudy/release/questions.py"
    private = next(
        mutant
        for mutant in mutants.find_mutants(file, project.read(file))
        if mutant.function == "_entry"
    )
    names = likely_tests.find_names(private, project.root)
    assert names["open_curator"] == names["_entry"] == likely_tests.NEAR
    assert "_read_schema" not in likely_tests.find_public(project.read(file))


def test_every_explained_mutant_has_a_reason() -> None:
    project = mutants.Project.load(TOOLS / "mutants.toml")
    for entry in (*project.equivalent, *project.survivors):
        assert entry["file"] in project.files
        assert set(entry) <= {
            "file",
            "function",
            "operator",
            "original",
            "mutated",
            "ordinal",
            "reason",
        }
        assert len(entry["reason"]) > 10


# ---- a small project, from its files to its page

PURSE = """\
LIMIT = 10

def pay(left, price):
    if price > left:
        raise ValueError("too much")
    return min(left - price, LIMIT)

def unwatched(left):
    return left + 1
"""
PURSE_TESTS = """\
import pytest
from purse.pay import pay

def test_pays():
    assert pay(5, 3) == 2

def test_refuses():
    with pytest.raises(ValueError):
        pay(5, 6)

def test_something_else():
    assert True
"""


@pytest.fixture
def project(tmp_path: Path) -> Path:
    for name, text in {
        "src/purse/__init__.py": "",
        "src/purse/pay.py": PURSE,
        "tests/test_pay.py": PURSE_TESTS,
        "tools/mutants.toml": (
            'tests = ["tests"]\n[privacy]\n"purse/pay.py" = "the purse"\n[quality]\n'
        ),
        "docs/mutants.md": "# Mutants\n\nWords.\n",
        "pyproject.toml": "[tool.pytest.ini_options]\n",
    }.items():
        (tmp_path / name).parent.mkdir(exist_ok=True, parents=True)
        (tmp_path / name).write_text(text)
    return tmp_path


def run(project: Path, *arguments: str) -> str:
    pytest.importorskip("coverage")
    command = [sys.executable, str(TOOLS / "mutants.py"), "--processes", "1", *arguments]
    command += ["--project", str(project / "tools/mutants.toml")]
    environment = {key: value for key, value in os.environ.items() if key != "PYTEST_ADDOPTS"}
    environment["PYTEST_DISABLE_PLUGIN_AUTOLOAD"] = "1"  # the small project needs none
    done = subprocess.run(
        command, capture_output=True, text=True, env=environment, timeout=600, check=False
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


def results(project: Path) -> dict[str, dict[str, str]]:
    lines = (project / ".mutants/results.jsonl").read_text().splitlines()
    assert len({json.loads(line)["mutant"] for line in lines}) == len(lines)
    return {json.loads(line)["mutant"]: json.loads(line) for line in lines}


def test_a_project_from_its_files_to_its_page(project: Path) -> None:
    before = (project / "src/purse/pay.py").read_bytes()
    assert "to decide" in run(project)
    found = results(project)
    outcomes = {name.removeprefix("purse/pay.py "): each["outcome"] for name, each in found.items()}
    assert outcomes == {
        "LIMIT constant: 10 -> 11 #0": "survived",
        "pay comparison: price > left -> price >= left #0": "survived",
        "pay remove: raise ValueError(...) -> pass #0": "caught",
        "pay return: return min(left - price, LIMIT) -> return None #0": "caught",
        "pay opposite: min(left - price, LIMIT) -> max(left - price, LIMIT) #0": "caught",
        "pay arithmetic: left - price -> left + price #0": "caught",
        "unwatched arithmetic: left + 1 -> left - 1 #0": "survived",
        "unwatched constant: 1 -> 2 #0": "survived",
    }
    removed = found["purse/pay.py pay remove: raise ValueError(...) -> pass #0"]
    assert removed["by"] == "tests/test_pay.py::test_refuses"
    assert found["purse/pay.py unwatched constant: 1 -> 2 #0"]["how"] == "no test"
    assert (project / "src/purse/pay.py").read_bytes() == before
    page = (project / "docs/mutants.md").read_text()
    assert page.startswith("# Mutants\n\nWords.\n")
    assert "4 of 8 decided mutants caught (50.0 %)" in page
    assert "| privacy | 4 | 8 | 50.0 % | 0 |\n| quality | 0 | 0 | - | 0 |" in page
    assert "`price > left` to `price >= left`: not explained yet" in page

    # A run that was stopped goes on: what is decided stays so, the line cut off is decided again.
    path = project / ".mutants/results.jsonl"
    kept = path.read_text().splitlines(keepends=True)
    path.write_text("".join(kept[:-2]) + kept[-2][:20])
    assert " 2 to decide" in run(project)
    assert " 0 to decide" in run(project)

    # An equivalent mutant leaves the score; an explained survivor stays in it, with its reason.
    explained = [
        ("equivalent", "unwatched", "constant", "nobody asks"),
        ("equivalent", "unwatched", "arithmetic", "nobody asks"),
        ("survivor", "LIMIT", "constant", "a matter of taste"),
    ]
    (project / "tools/explained_mutants.toml").write_text(
        "".join(
            f'[[{kind}]]\nfile = "purse/pay.py"\nfunction = "{function}"\n'
            f'operator = "{operator}"\nreason = "{reason}"\n'
            for kind, function, operator, reason in explained
        )
    )
    run(project)
    page = (project / "docs/mutants.md").read_text()
    assert "4 of 6 decided mutants caught (66.7 %)" in page
    assert "`LIMIT`: `10` to `11`: a matter of taste" in page

    # A new test catches a survivor, once survivors are run again.
    with (project / "tests/test_pay.py").open("a") as tests:
        tests.write("\ndef test_pays_all():\n    assert pay(5, 5) == 0\n")
    assert " 0 to decide" in run(project)
    assert " 2 to decide" in run(project, "--survivors")
    assert "5 of 6 decided mutants caught" in (project / "docs/mutants.md").read_text()

    # A change of the function makes its mutants undecided.
    (project / "src/purse/pay.py").write_text(PURSE.replace("too much", "far too much"))
    assert " 5 to decide" in run(project)


LIVE = """\
import sys
sys.path[:0] = {paths!r}
from pathlib import Path
from live_mutants import judge_live
from mutations import find_mutants
source = Path("src/purse/pay.py").read_bytes()
jobs = [(m, source, ["tests/test_pay.py"]) for m in find_mutants("purse/pay.py", source)]
def write(result):
    print(result["outcome"], result["by"], result["mutant"])
for mutant in judge_live(jobs, write, enough=10.0, limit=5.0):
    print("left", mutant.identity)
"""


def test_mutants_are_put_into_functions_that_are_loaded(project: Path) -> None:
    """Those of constants are left; a test that fails by itself catches nothing: what it has caught
    is decided by the others.
    """
    with (project / "tests/test_pay.py").open("a") as tests:
        tests.write("\nfrom purse.pay import unwatched\n")
        for name in ("wrong", "wrong_as_well"):
            tests.write(f"\ndef test_{name}():\n    assert unwatched(1) == 3\n")
    script = LIVE.format(paths=[str(TOOLS), str(project / "src")])
    done = subprocess.run(
        [sys.executable, "-c", script], cwd=project, capture_output=True, text=True, check=False
    )
    told = [line for line in done.stdout.splitlines() if "purse/pay.py " in line]
    outcomes = {line.partition("purse/pay.py ")[2]: line.split(" purse/")[0] for line in told}
    tests = "tests/test_pay.py::"
    assert outcomes == {
        "LIMIT constant: 10 -> 11 #0": "left",
        "pay comparison: price > left -> price >= left #0": "survived ",
        "pay remove: raise ValueError(...) -> pass #0": f"caught {tests}test_refuses",
        "pay return: return min(left - price, LIMIT) -> return None #0": f"caught {tests}test_pays",
        "pay opposite: min(left - price, LIMIT) -> max(left - price, LIMIT) #0": (
            f"caught {tests}test_pays"
        ),
        "pay arithmetic: left - price -> left + price #0": f"caught {tests}test_pays",
        "unwatched arithmetic: left + 1 -> left - 1 #0": "survived ",
        "unwatched constant: 1 -> 2 #0": "survived ",
    }, done.stdout + done.stderr


def test_a_test_file_that_cannot_be_read_is_no_judge(project: Path) -> None:
    (project / "tests/test_pay.py").write_text("import nothing_of_the_kind\n")
    script = LIVE.format(paths=[str(TOOLS), str(project / "src")])
    done = subprocess.run(
        [sys.executable, "-c", script], cwd=project, capture_output=True, text=True, check=False
    )
    assert done.returncode
    assert "tests could not judge" in done.stderr
    assert "survived" not in done.stdout


def test_unrecorded_mutants_of_constants_are_really_put_in(project: Path) -> None:
    """Functions are judged where they are loaded; what is computed at import in a copy, which must
    be read.
    """
    with (project / "tests/test_pay.py").open("a") as tests:
        tests.write("\ndef test_no_more_than_the_limit():\n    assert pay(50, 3) == 10\n")
    run(project, "--unrecorded")
    found = {name: result["outcome"] for name, result in results(project).items()}
    assert found["purse/pay.py LIMIT constant: 10 -> 11 #0"] == "caught"
    assert found["purse/pay.py pay arithmetic: left - price -> left + price #0"] == "caught"
    assert found["purse/pay.py unwatched constant: 1 -> 2 #0"] == "survived"


def test_a_test_that_fails_by_itself_catches_no_constant(project: Path) -> None:
    with (project / "tests/test_pay.py").open("a") as tests:
        for name in ("wrong", "wrong_as_well"):
            tests.write(f"\ndef test_{name}():\n    assert pay(50, 3) == 9\n")
    said = run(project, "--unrecorded")
    for name in ("wrong", "wrong_as_well"):
        assert f"fails by itself: tests/test_pay.py::test_{name}\n" in said
    found = mutants.load_results(project / ".mutants/results.jsonl")
    (limit,) = [each for (name, _), each in found.items() if " LIMIT constant" in name]
    assert (limit["outcome"], limit["how"]) == ("survived", "3 tests")


def test_a_mutant_that_never_ends_is_caught(project: Path) -> None:
    loop = "def pay(left, price):\n    while left < price:\n        left += 1\n    return left\n"
    (project / "src/purse/pay.py").write_text(loop)
    tests = "from purse.pay import pay\n\ndef test_pays():\n    assert pay(1, 3) == 3\n"
    (project / "tests/test_pay.py").write_text(tests)
    run(project, "--least-limit", "0.5")
    found = results(project)
    endless = found["purse/pay.py pay arithmetic: left += 1 -> left -= 1 #0"]
    assert (endless["outcome"], endless["how"]) == ("caught", "ended")
