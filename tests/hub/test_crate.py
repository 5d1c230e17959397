"""The Five Safes RO-Crate of a data set's use."""

from __future__ import annotations

import json
import zipfile
from pathlib import Path
from typing import Any

import pytest
from core_hubs import add_dataset, add_user, finish_job, request_synthesis

from understudy.errors import InputError
from understudy.hub import jobs, requests, trail
from understudy.hub.crate import METADATA, PROFILE, TRAIL, write_crate
from understudy.hub.errors import Refused
from understudy.hub.opening import Hub
from understudy.hub.roles import RuleSpec


@pytest.fixture
def used(sqlite_hub: Hub) -> tuple[Hub, dict[str, str]]:
    """A data set with a release, a refusal, and a request that waits; and another's data set."""
    hub = sqlite_hub
    with hub.db.transaction() as c:
        owner, other = add_user(c, "owner"), add_user(c, "other")
        user = add_user(c, "user", display_name="Ann", attributes={"institution": "Ü"})
        rules = [RuleSpec(operation="synthesise")]
        dataset = add_dataset(c, owner, rules, [user], purpose="Health", conditions="Teaching")
        add_dataset(c, other, name="A secret of the other's")
        yes, no, _ = (request_synthesis(c, user, dataset.id) for _ in range(3))
        requests.decide(c, owner, yes.id, True)
        requests.decide(c, owner, no.id, False, "not now")
        job = jobs.claim(c, "w")
        assert job is not None
    release = finish_job(hub, job, "w")
    names = {"owner": owner, "user": user, "dataset": dataset.id, "release": release.id}
    return hub, names


def read_crate(path: Path) -> tuple[dict[str, Any], dict[str, Any]]:
    with zipfile.ZipFile(path) as archive:
        files = {name: json.loads(archive.read(name)) for name in archive.namelist()}
    graph = files.pop(METADATA)["@graph"]
    entities = {entity["@id"]: entity for entity in graph}
    assert len(entities) == len(graph)
    return entities, files


def references(value: Any) -> set[str]:
    if isinstance(value, dict):
        found = {value["@id"]} if set(value) == {"@id"} else set()
        return found.union(*map(references, value.values()))
    if isinstance(value, list):
        return set().union(*map(references, value))
    return set()


def test_the_crate_describes_people_project_setting_data_and_outputs(
    used: tuple[Hub, dict[str, str]], tmp_path: Path
) -> None:
    hub, names = used
    write_crate(hub, names["owner"], names["dataset"], tmp_path / "use.zip")
    entities, files = read_crate(tmp_path / "use.zip")
    root = entities["./"]
    assert root["conformsTo"] == {"@id": PROFILE}
    assert entities["#project"]["description"] == "Health"
    assert entities["#data"]["conditionsOfAccess"] == "Teaching"
    assert entities[f"#person-{names['user']}"]["affiliation"] == "Ü"
    runs = [entity for entity in entities.values() if entity["@type"] == "CreateAction"]
    states = sorted(run["actionStatus"].rsplit("/", 1)[1] for run in runs)
    assert states == ["CompletedActionStatus", "FailedActionStatus", "PotentialActionStatus"]
    signed = [entity for entity in entities.values() if entity["@type"] == "AssessAction"]
    assert {action["agent"]["@id"] for action in signed} == {f"#person-{names['owner']}"}
    assert f"#release-{names['release']}" in entities
    known = set(entities) | {"https://w3id.org/ro/crate/1.2", "shp:SignOff"}
    assert references(list(entities.values())) <= known
    assert {part["@id"] for part in root["hasPart"]} == set(files)


def test_the_enclosed_trail_verifies_with_the_enclosed_heads(
    used: tuple[Hub, dict[str, str]], tmp_path: Path
) -> None:
    hub, names = used
    write_crate(hub, names["owner"], names["dataset"], tmp_path / "use.zip")
    _, files = read_crate(tmp_path / "use.zip")
    head = trail.read_head_document(files[f"releases/{names['release']}/use.json"]["trail"])
    assert trail.verify(files[TRAIL], None, [head])
    assert "A secret of the other's" not in json.dumps(files)


def test_only_the_owner_gets_a_crate(used: tuple[Hub, dict[str, str]], tmp_path: Path) -> None:
    hub, names = used
    with pytest.raises(Refused):
        write_crate(hub, names["user"], names["dataset"], tmp_path / "use.zip")
    assert list(tmp_path.glob("*.zip")) == []
    (tmp_path / "use.zip").write_text("kept")
    with pytest.raises(InputError, match="already"):
        write_crate(hub, names["owner"], names["dataset"], tmp_path / "use.zip")
