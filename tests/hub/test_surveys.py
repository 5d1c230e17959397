"""Surveys in the hub: who may do what, what is kept of a report, what comes of it."""

from __future__ import annotations

import itertools
import json
import threading
from dataclasses import replace

import pytest
import sqlalchemy as sa
from core_hubs import add_user
from survey_stories import make_spec, simulate, start_survey

from understudy.errors import InputError
from understudy.hub import surveys, trail
from understudy.hub.errors import Conflict, NotFound, Refused
from understudy.hub.opening import Hub
from understudy.hub.questionnaires import read_questionnaire
from understudy.hub.survey_batches import MIN_BATCH, count_batches, show_batches
from understudy.hub.survey_intake import Outcome, SurveyIntake, write_batch
from understudy.hub.survey_results import (
    collect,
    estimate_items,
    foresee,
    write_estimates,
)
from understudy.hub.survey_tables import ask_for_table
from understudy.hub.survey_waves import open_next_wave
from understudy.hub.surveys import Survey
from understudy.hub.tables import survey_invitations, survey_reports
from understudy.local.blind_tokens import TokenRequest
from understudy.local.checking import ReportCheck
from understudy.local.collecting import Collector
from understudy.local.plans import CollectionPlan
from understudy.local.reports import Rejection, Report


class TestQuestionnaire:
    """What a maker types."""

    def test_lines_and_a_schema_say_the_same(self) -> None:
        typed = read_questionnaire("smoker = yes|no -- Do you smoke?\nage = 18..100\n")
        document = typed.schema.to_dict() | {"wording": {"smoker": "Do you smoke?"}}
        assert read_questionnaire(json.loads(json.dumps(document))) == typed

    @pytest.mark.parametrize(
        ("text", "said"),
        [
            ("", "no item"),
            ("smoker", "Line 1"),
            ("a = 1|2\na = 3|4", "already"),
            ("a = what you like", "neither a list"),
            ("= 1|2", "Line 1"),
        ],
    )
    def test_what_is_not_understood_is_named(self, text: str, said: str) -> None:
        with pytest.raises(InputError, match=said):
            read_questionnaire(text)


class TestMaking:
    """Drafts, opening, closing, and whose they are."""

    def test_the_same_form_twice_makes_one_survey(self, sqlite_hub: Hub) -> None:
        hub = sqlite_hub
        with hub.db.transaction() as c:
            maker = add_user(c, "maker")
            first = surveys.make(c, maker, make_spec(), "one-key-of-a-form")
            again = surveys.make(c, maker, make_spec(), "one-key-of-a-form")
            other = surveys.make(c, maker, make_spec(), "another-key-of-a-form")
            assert first == again
            assert other.id != first.id
            assert surveys.list_of(c, maker).total == 2

    def test_a_survey_is_its_makers(self, sqlite_hub: Hub) -> None:
        hub = sqlite_hub
        maker, survey = start_survey(hub)
        with hub.db.transaction() as c:
            stranger = add_user(c, "stranger")
            administrator = add_user(c, "root", is_admin=True)
            for step in (surveys.show, surveys.close_survey, surveys.open_survey):
                with pytest.raises(NotFound):
                    step(c, stranger, survey.id)
            with pytest.raises(NotFound):
                surveys.invite(c, stranger, survey.id, 1)
            assert surveys.list_of(c, stranger).total == 0
            assert surveys.show(c, administrator, survey.id).id == survey.id
            assert surveys.close_survey(c, maker, survey.id).state == "closed"
            with pytest.raises(Conflict):
                surveys.open_survey(c, maker, survey.id)

    def test_an_account_that_waits_makes_none(self, sqlite_hub: Hub) -> None:
        hub = sqlite_hub
        with hub.db.transaction() as c:
            waiting = add_user(c, "waiting", state="waiting")
            with pytest.raises(Refused):
                surveys.make(c, waiting, make_spec(), "key-of-the-form")

    @pytest.mark.parametrize(
        "changes",
        [{"title": " "}, {"epsilons": (0.0,)}, {"epsilons": (50.0,)}, {"persons": 0},
         {"epsilons": (1.0, 1.0)}, {"introduction": "x" * 6_000}],
    )  # fmt: skip
    def test_what_cannot_be_is_refused(self, sqlite_hub: Hub, changes: dict[str, object]) -> None:
        with sqlite_hub.db.transaction() as c:
            maker = add_user(c, "maker")
            with pytest.raises(InputError):
                surveys.make(c, maker, make_spec(**changes), "key-of-the-form")

    def test_steps_stand_in_the_trail_and_reports_do_not(self, sqlite_hub: Hub) -> None:
        hub = sqlite_hub
        maker, survey = start_survey(hub)
        with hub.db.transaction() as c:
            write_batch(c, [(survey.id, simulate(survey.plan(), 5))])
            surveys.close_survey(c, maker, survey.id)
        with hub.db.reading() as c:
            exported = json.dumps(trail.export(c), default=str)
            assert trail.verify(hub.db, key=hub.keys.trail)
        for action in ("make survey", "open survey", "close survey"):
            assert action in exported
        for report in simulate(survey.plan(), 5):
            assert report.number not in exported


class TestReports:
    """What is kept, and what counts."""

    def test_nothing_is_kept_beside_the_report_itself(self) -> None:
        columns = {column.name for column in survey_reports.columns}
        assert columns == {"survey", "number", "question", "level", "answer", "shown"}
        invited = {column.name for column in survey_invitations.columns}
        assert invited == {"survey", "hash", "request"}

    def test_reports_are_kept_by_their_numbers_and_not_as_they_came(self, sqlite_hub: Hub) -> None:
        _, survey = start_survey(sqlite_hub)
        reports = simulate(survey.plan(), 50)
        with sqlite_hub.db.transaction() as c:
            write_batch(c, [(survey.id, reports)])
        with sqlite_hub.db.reading() as c:
            rows = c.rows(sa.text("SELECT number FROM survey_reports"))
            assert [row["number"] for row in rows] == sorted(one.number for one in reports)
            with pytest.raises(sa.exc.SQLAlchemyError):
                c.rows(sa.text("SELECT rowid FROM survey_reports"))

    def test_a_number_counts_once(self, hub: Hub) -> None:
        _, survey = start_survey(hub)
        plan = survey.plan()
        first, other = simulate(plan, 2)
        forged = Report(
            plan=plan.id,
            question=other.question,
            level=1 - first.level,
            answer=other.answer,
            number=first.number,
        )
        with hub.db.transaction(alone=False) as c:
            once, twice, third = write_batch(
                c, [(survey.id, [first]), (survey.id, [first]), (survey.id, [forged])]
            )
        assert (once, twice) == (Outcome(received=1), Outcome(repeated=1))
        assert third == Outcome(conflicting=1)
        with hub.db.transaction(alone=False) as c:
            assert write_batch(c, [(survey.id, [first, forged, other])]) == [
                Outcome(received=1, repeated=1, conflicting=1)
            ]
            assert surveys.count_reports(c, survey.id) == 2

    def test_a_draft_and_a_closed_survey_take_nothing(self, hub: Hub) -> None:
        maker, survey = start_survey(hub)
        reports = simulate(survey.plan(), 3)
        with hub.db.transaction() as c:
            draft = surveys.make(c, maker, make_spec(), "another-key-of-a-form")
            surveys.close_survey(c, maker, survey.id)
            found = write_batch(c, [(draft.id, reports), (survey.id, reports), ("none", reports)])
            assert found == [Outcome(open=False)] * 3
            assert surveys.count_reports(c, survey.id) == 0

    def test_two_surveys_do_not_mix(self, sqlite_hub: Hub) -> None:
        hub = sqlite_hub
        maker, survey = start_survey(hub)
        with hub.db.transaction() as c:
            other = surveys.make(c, maker, make_spec(), "another-key-of-a-form")
            surveys.open_survey(c, maker, other.id)
            reports = simulate(survey.plan(), 4)
            write_batch(c, [(survey.id, reports), (other.id, reports[:1])])
            assert surveys.count_reports(c, survey.id) == 4
            assert surveys.count_reports(c, other.id) == 1

    def test_many_threads_hand_in_and_each_report_is_on_disk_once(self, hub: Hub) -> None:
        _, survey = start_survey(hub)
        intake = SurveyIntake(hub.db)
        reports = simulate(survey.plan(), 60)
        outcomes: list[Outcome] = []

        def hand_in(part: list[Report]) -> None:
            for report in part:
                outcomes.append(intake.put(survey.id, [report]).result(30))

        # Every report comes from two threads at once.
        threads = [threading.Thread(target=hand_in, args=(reports[n % 3 :: 3],)) for n in range(6)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join(60)
        assert sum(one.received for one in outcomes) == 60
        assert sum(one.repeated for one in outcomes) == 60
        with hub.db.reading() as c:
            assert surveys.count_reports(c, survey.id) == 60

    def test_a_database_that_fails_is_an_error_for_whoever_waits(
        self, sqlite_hub: Hub, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        _, survey = start_survey(sqlite_hub)
        intake = SurveyIntake(sqlite_hub.db)
        reports = simulate(survey.plan(), 2)

        def fail(*given: object) -> None:
            raise OSError("no disk")

        with monkeypatch.context() as patch:
            patch.setattr("understudy.hub.survey_intake.write_batch", fail)
            with pytest.raises(OSError, match="no disk"):
                intake.put(survey.id, reports).result(10)
        assert intake.put(survey.id, reports).result(10).received == 2


class TestChecks:
    """A line is checked as the collector would, and its reason is told."""

    def lines(self, plan: CollectionPlan) -> list[bytes]:
        good = [report.to_json() for report in simulate(plan, 40)]
        line = good[0]
        bad = [
            "",
            "junk",
            "{}",
            "[1]",
            line[:-9],
            line.replace('"v":1', '"v":2'),
            line.replace(plan.id, "0" * 16),
            line.replace('"q":', '"q":9999'),
            line.replace('"e":', '"e":9'),
            line.replace('"e":0,', "").replace('"e":1,', ""),
            line.replace('"r":"', '"r":"ffffff'),
            line.replace('"r":"', '"r":"-1'),
            line.replace('"n":"', '"n":"zz'),
            line + " ",
            "{" * 5000,
            line.replace("}", ',"name":"Ann"}'),
        ]
        return [text.encode() for text in [*good, *bad]]

    def test_what_passes_is_what_the_collector_counts(self, sqlite_hub: Hub) -> None:
        _, survey = start_survey(sqlite_hub)
        plan = survey.plan()
        check = ReportCheck(plan)
        reasons = []
        for line in self.lines(plan):
            with Collector(plan) as collector:
                collector.add_lines(line)
                counted = collector.finish().reports
            try:
                report = check.read(line)
            except Rejection as reason:
                reasons.append(str(reason))
                # A line that is right but written in another way is refused, and would count.
                assert not counted or line.endswith(b" ")
            else:
                assert counted == 1
                assert report.to_json().encode() == line
        known = {"junk", "truncated", "other version", "other plan", "no such question"}
        assert known | {"no such level", "impossible answer"} <= set(reasons)
        assert len(reasons) == 16

    def test_a_report_without_its_token_is_refused(self, sqlite_hub: Hub) -> None:
        _, survey = start_survey(sqlite_hub, invited=True)
        with sqlite_hub.db.reading() as c:
            issuer = surveys.issuer_of(c, survey)
        assert issuer is not None
        check = ReportCheck(survey.plan(), issuer)
        with pytest.raises(InputError):
            ReportCheck(survey.plan())
        report = simulate(survey.plan(), 1)[0]
        request = TokenRequest()
        token = request.finish(issuer.issue(request.text), survey.plan().token_key)
        for number, proof in ((report.number, ""), (report.number, "ab" * 16), (token[:32], "")):
            forged = Report(
                plan=report.plan,
                question=report.question,
                level=report.level,
                answer=report.answer,
                number=number,
                token=proof,
            )
            with pytest.raises(Rejection, match="no token"):
                check.read(forged.to_json().encode())
        good = Report(
            plan=report.plan,
            question=report.question,
            level=report.level,
            answer=report.answer,
            number=token[:32],
            token=token[32:],
        )
        kept = check.read(good.to_json().encode())
        assert kept.number == token[:32]
        assert kept.token == ""  # it has done its work, and is not kept


class TestInvitations:
    """One token for one invitation, and nothing that links it to a report."""

    def test_no_more_are_made_at_once_than_a_hundred_thousand(self, sqlite_hub: Hub) -> None:
        maker, survey = start_survey(sqlite_hub, invited=True)
        with sqlite_hub.db.transaction() as c:
            for persons in (-1, 0, 100_001):
                with pytest.raises(InputError, match="from 1 to 100,000"):
                    surveys.invite(c, maker, survey.id, persons)
            assert len(surveys.invite(c, maker, survey.id, 1)) == 1

    def test_an_invitation_gets_one_token(self, hub: Hub) -> None:
        maker, survey = start_survey(hub, invited=True)
        with hub.db.transaction() as c:
            codes = surveys.invite(c, maker, survey.id, 3)
            assert len(set(codes)) == 3
            request, other = TokenRequest(), TokenRequest()
            response = surveys.issue_token(c, survey.id, codes[0], request.text)
            token = request.finish(response, survey.plan().token_key)
            again = surveys.issue_token(c, survey.id, codes[0], request.text)
            assert request.finish(again, survey.plan().token_key) == token
            with pytest.raises(Conflict, match="used already"):
                surveys.issue_token(c, survey.id, codes[0], other.text)
            with pytest.raises(Refused):
                surveys.issue_token(c, survey.id, "made up", other.text)
            assert surveys.count_invitations(c, survey.id) == (3, 1)

    def test_a_damaged_request_uses_nothing_up(self, sqlite_hub: Hub) -> None:
        hub = sqlite_hub
        maker, survey = start_survey(hub, invited=True)
        with hub.db.transaction() as c:
            code = surveys.invite(c, maker, survey.id, 1)[0]
            for request in ("", "zz", "00", "ff" * 32):
                with pytest.raises(InputError):
                    surveys.issue_token(c, survey.id, code, request)
            assert surveys.count_invitations(c, survey.id) == (1, 0)

    def test_nothing_that_is_kept_links_an_invitation_to_a_report(self, sqlite_hub: Hub) -> None:
        hub = sqlite_hub
        maker, survey = start_survey(hub, invited=True)
        with hub.db.transaction() as c:
            code = surveys.invite(c, maker, survey.id, 1)[0]
            request = TokenRequest()
            response = surveys.issue_token(c, survey.id, code, request.text)
        token = request.finish(response, survey.plan().token_key)
        report = simulate(survey.plan(), 1)[0]
        kept = Report(
            plan=report.plan,
            question=report.question,
            level=report.level,
            answer=report.answer,
            number=token[:32],
        )
        with hub.db.transaction() as c:
            write_batch(c, [(survey.id, [kept])])
        hub.close()
        assert hub.db.path is not None
        content = b"".join(
            path.read_bytes() for path in hub.db.path.parent.iterdir() if path.is_file()
        )
        assert token[:32].encode() in content
        for secret in (code, request.text, response, token[32:]):
            assert secret.encode() not in content

    def test_an_open_survey_has_no_invitations(self, sqlite_hub: Hub) -> None:
        maker, survey = start_survey(sqlite_hub)
        with sqlite_hub.db.transaction() as c, pytest.raises(InputError):
            surveys.invite(c, maker, survey.id, 3)

    def test_a_copy_of_the_database_makes_no_token(self, sqlite_hub: Hub) -> None:
        _, survey = start_survey(sqlite_hub, invited=True)
        with sqlite_hub.db.reading() as c:
            issuer = surveys.issuer_of(c, survey)
        assert issuer is not None
        assert issuer.public_key == survey.plan().token_key
        seed = issuer._seed.hex()
        assert sqlite_hub.db.path is not None
        assert seed.encode() not in sqlite_hub.db.path.read_bytes()


class TestResults:
    """What a maker sees, before and after."""

    def test_the_error_is_told_before_anybody_is_asked_and_falls(self, sqlite_hub: Hub) -> None:
        _, survey = start_survey(sqlite_hub)
        plan = survey.plan()
        before = foresee(plan, survey.persons, {})
        assert before.now is None
        assert 0 < before.planned[1] < 1
        errors = []
        for persons in (100, 1_000, 10_000):
            now = foresee(plan, survey.persons, {(0, 0): persons}).now
            assert now is not None
            errors.append(now[1])
        assert errors == sorted(errors, reverse=True)
        assert [one[2] for one in before.curve] == sorted(
            (one[2] for one in before.curve), reverse=True
        )
        private = foresee(plan, survey.persons, {(0, 1): 1_000})
        assert private.worth < 500  # at the smaller epsilon a report tells less

    def test_estimates_have_error_bars_and_mixed_levels_count(self, sqlite_hub: Hub) -> None:
        maker, survey = start_survey(sqlite_hub)
        answer(sqlite_hub, survey, 3_000)
        close(sqlite_hub, maker, survey)
        with sqlite_hub.db.reading() as c:
            collected = collect(c, survey)
        assert collected.reports == 3_000
        assert min(collected.reports_by_level()) > 1_000
        items = estimate_items(collected)
        smoker = next(item for item in items if item.name == "smoker")
        share = next(one for one in smoker.shares if one.label == "yes")
        assert 0 < share.deviation < 0.1
        assert abs(share.share - 0.3) < 6 * share.deviation
        document = write_estimates(collected, items)
        assert json.loads(json.dumps(document))["reports"] == 3_000
        assert document["items"][0]["answers"][0]["standard_deviation"] > 0

    def test_without_reports_there_is_nothing_to_show(self, sqlite_hub: Hub) -> None:
        maker, survey = start_survey(sqlite_hub)
        with sqlite_hub.db.transaction() as c:
            assert estimate_items(collect(c, survey)) == ()
            surveys.close_survey(c, maker, survey.id)
            with pytest.raises(InputError, match="Fewer than 25"):
                ask_for_table(c, maker, survey.id)


class TestBatches:
    """What counts tell of one person: nothing."""

    def test_no_count_changes_by_fewer_than_a_batch(self, sqlite_hub: Hub) -> None:
        hub = sqlite_hub
        maker, survey = start_survey(hub)
        reports = simulate(survey.plan(), 180)
        seen = [0]
        for report in reports:
            with hub.db.transaction(alone=False) as c:
                write_batch(c, [(survey.id, [report])])
            counts = show_batches(hub.db, survey.id)
            assert not counts.shown or counts.waiting >= MIN_BATCH, "closing would show fewer"
            seen.append(counts.shown)
        with hub.db.transaction() as c:
            surveys.close_survey(c, maker, survey.id)
        seen.append(show_batches(hub.db, survey.id).shown)
        steps = [after - before for before, after in itertools.pairwise(seen)]
        assert all(step == 0 or step >= MIN_BATCH for step in steps)
        assert seen[-1] == 180
        assert seen[-2] >= 180 - 2 * MIN_BATCH, "what can be shown is not held back"

    def test_who_came_last_is_not_who_is_held_back(self, sqlite_hub: Hub) -> None:
        hub = sqlite_hub
        _, survey = start_survey(hub)
        reports = simulate(survey.plan(), 4 * MIN_BATCH)
        for report in reports:
            with hub.db.transaction(alone=False) as c:
                write_batch(c, [(survey.id, [report])])
            show_batches(hub.db, survey.id)
        with hub.db.reading() as c:
            waiting = sa.select(survey_reports.c.number).where(~survey_reports.c.shown)
            held = {row["number"] for row in c.rows(waiting)}
        assert held != {report.number for report in reports[-len(held) :]}

    def test_fewer_than_a_batch_is_never_shown(self, sqlite_hub: Hub) -> None:
        hub = sqlite_hub
        maker, survey = start_survey(hub)
        with hub.db.transaction() as c:
            write_batch(c, [(survey.id, simulate(survey.plan(), MIN_BATCH - 1))])
            surveys.close_survey(c, maker, survey.id)
            counts = count_batches(c, survey.id)
            assert (counts.shown, counts.waiting) == (0, MIN_BATCH - 1)
            assert collect(c, survey).reports == 0


class TestWaves:
    """What the first persons left open, asked of others."""

    def test_a_second_wave_asks_others_and_both_count(self, hub: Hub) -> None:
        maker, survey = start_survey(hub)
        answer(hub, survey, 400)
        with pytest.raises(Conflict, match="Close the survey"):
            open_next_wave(hub.db, maker, survey.id, 300)
        close(hub, maker, survey)
        second = open_next_wave(hub.db, maker, survey.id, 300)
        assert open_next_wave(hub.db, maker, survey.id, 300) == second, "two clicks are one wave"
        assert (second.state, second.persons, second.plan().wave) == ("open", 300, 2)
        assert second.plan().earlier == (survey.plan().id,)
        answer(hub, second, 200, seed=2)
        close(hub, maker, second)
        with hub.db.reading() as c:
            collected = collect(c, surveys.read_survey(c, survey.id))
            counts = count_batches(c, survey.id)
        assert collected.reports == 600
        assert not collected.rejected
        outlook = foresee(second.plan(), 300, counts.cells)
        assert (outlook.reports, outlook.earlier) == (200, 400)
        alone = foresee(second.plan(), 300, {})
        assert outlook.planned[1] < alone.planned[1], "the first wave tells something"
        assert trail.verify(hub.db, key=hub.keys.trail)

    def test_a_late_report_of_the_first_wave_counts(self, sqlite_hub: Hub) -> None:
        maker, survey = start_survey(sqlite_hub)
        answer(sqlite_hub, survey, 60)
        close(sqlite_hub, maker, survey)
        intake = SurveyIntake(sqlite_hub.db)
        first = intake.check_of(survey.id)
        second = open_next_wave(sqlite_hub.db, maker, survey.id, 50)
        late, new = simulate(survey.plan(), 1, 5)[0], simulate(second.plan(), 1, 6)[0]
        with pytest.raises(Rejection, match="other plan"):
            first.read(new.to_json().encode())
        check = intake.check_again(survey.id)
        assert intake.check_again(survey.id) is check, "what did not change is not read again"
        assert check.read(new.to_json().encode()) == new
        assert check.read(late.to_json().encode()) == late
        posing = replace(new, plan=late.plan)
        with pytest.raises(Rejection, match="no such question"):
            check.read(posing.to_json().encode())

    def test_only_its_maker_opens_one_and_not_once_a_table_was_asked_for(
        self, sqlite_hub: Hub
    ) -> None:
        hub = sqlite_hub
        maker, survey = start_survey(hub)
        with hub.db.transaction() as c:
            stranger = add_user(c, "stranger")
        close(hub, maker, survey)
        with pytest.raises(NotFound):
            open_next_wave(hub.db, stranger, survey.id, 10)
        with pytest.raises(InputError, match="No report"):
            open_next_wave(hub.db, maker, survey.id, 10)
        with pytest.raises(InputError, match="whole number"):
            open_next_wave(hub.db, maker, survey.id, 0)
        maker, survey = start_survey(hub)
        answer(hub, survey, 40)
        close(hub, maker, survey)
        with hub.db.transaction() as c:
            ask_for_table(c, maker, survey.id)
        with pytest.raises(Conflict, match="table"):
            open_next_wave(hub.db, maker, survey.id, 10)


def answer(hub: Hub, survey: Survey, persons: int, seed: int = 1) -> None:
    """Let persons answer the survey."""
    with hub.db.transaction(alone=False) as c:
        write_batch(c, [(survey.id, simulate(survey.plan(), persons, seed))])


def close(hub: Hub, maker: str, survey: Survey) -> None:
    with hub.db.transaction() as c:
        surveys.close_survey(c, maker, survey.id)
