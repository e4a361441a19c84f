//! What a pause is and who asks: a field of its record, never the words of its reason.

use serde_json::{Value, json};
use shipmate_core::{State, apply};
use shipmate_model::event::Record;

use crate::play::play;

scenarios! {
    words_of_a_lead_are_not_the_question_of_the_runtime: "
        team alpha lead lia playbook \"phase build | phase deploy\"
        start lia
        begin build
        end-phase build done
        pause-team alpha reason \"approval: phase deploy begins: it only prints the weather\" by lia
        expect pause alpha: asked by alpha/lia@1
        add ana
        start ana supervised \
            => refused: team alpha is paused: alpha/lia says: approval: phase deploy begins: it only \
            prints the weather
        // While it holds nothing is asked, and the person's yes is to the lead's words alone.
        ask-approval deploy                 => unchanged
        continue-team alpha                 => team.continued
        expect approved alpha: nothing
        ask-approval deploy                 => team.paused
        expect pause alpha: approval by runtime
        continue-team alpha
        expect approved alpha: deploy
    ",
    a_yes_is_to_the_question_that_was_shown: "
        team alpha lead lia playbook \"phase plan optional | phase build\"
        start lia
        ask-approval plan as first
        approve-phase by lia on first \
            => refused: alpha/lia@1 may not let a phase begin that a person is asked about
        approve-phase on first                    => team.continued
        expect approved alpha: plan
        approve-phase on first \
            => refused: team alpha does not wait for the answer to approval #
        end-phase plan skip by person
        ask-approval build
        // What was pressed for the question before is no answer to this one.
        approve-phase on first \
            => refused: team alpha does not wait for the answer to approval #
        expect approved alpha: plan
        approve-phase
        expect approved alpha: build
        // Nor does a pause in somebody's words take a yes.
        pause-team alpha reason \"lunch\"
        approve-phase \
            => refused: team alpha does not wait for the answer to approval #
        expect paused alpha: lunch
    ",
    only_the_runtime_asks_about_the_phase_that_a_team_waits_for: "
        team alpha lead lia playbook \"phase plan | phase build\"
        start lia
        ask-approval plan by lia \
            => refused: alpha/lia@1 may not ask a person to let a phase begin
        ask-approval plan by person \
            => refused: person may not ask a person to let a phase begin
        ask-approval build \
            => refused: alpha is not in phase build, or not as was thought
        ask-approval plan                   => team.paused
        continue-team alpha
        begin plan
        ask-approval plan \
            => refused: alpha is not in phase plan, or not as was thought
    ",
    each_pause_says_what_it_is: "
        team alpha timeout 60s
        pause-team alpha reason \"lunch\"
        expect pause alpha: asked by person
        continue-team alpha
        pause-team alpha reason \"the gate fails at 1111111 already\" by runtime
        expect pause alpha: trouble by runtime
        continue-team alpha
        expire-team alpha
        expect pause alpha: time_over by runtime
    ",
    a_phase_that_stops_everything_is_the_pause_of_every_team: "
        team alpha playbook \"phase work root departments | phase build fails halt \
            | department back\"
        begin work
        begin build in alpha-back
        end-phase build failed in alpha-back reason \"red\"
        expect pause alpha: halt by runtime
        expect pause alpha-back: halt by runtime
    ",
    nobody_says_for_another_that_its_budget_is_spent: "
        team alpha lead lia
        start lia
        join ana
        join bo
        // Without a ceiling there is nothing to be spent.
        pause bo spent reason \"its budget is spent: 10 tokens\" by bo
        expect pause of bo: asked by alpha/bo@1
        team-budget alpha tokens 10
        pause ana spent reason \"its budget is spent: 10 tokens\" by lia
        expect pause of ana: asked by alpha/lia@1
        team-budget alpha tokens 1000       => team.budget_set
        pause ana spent reason \"its budget is spent: 10 tokens\" by ana
        expect pause of ana: budget by alpha/ana@1
        team-budget alpha tokens 2000       => team.budget_set, teammate.continued, message.sent
    ",
    a_supervisor_that_says_nothing_is_told_from_words_like_that: "
        team alpha playbook \"phase plan\"
        join ana
        join bo
        disappeared ana reason \"its supervisor did not answer in time\" broken
        disappeared bo silent reason \"no answer\"
        expect deviations alpha: [HEALTH] Agent alpha/ana disappeared: its supervisor did not \
            answer in time; [HEALTH] Agent alpha/bo disappeared after 60s timeout.; \
            [FALLBACK] teammates disappeared one after the other: switching from teammate to task for \
            alpha
    ",
}

/// Records as a release wrote them that had no causes.
fn without_causes(scenario: &str, by: &str) -> State {
    let mut state = State::default();
    for record in play(scenario).records {
        let mut record = serde_json::to_value(record).unwrap();
        let event = record["event"].as_object_mut().unwrap();
        let paused: Vec<&mut Value> = event
            .iter_mut()
            .filter(|(name, _)| name.ends_with(".paused"))
            .map(|(_, v)| v)
            .collect();
        let is_pause = !paused.is_empty();
        for fields in paused {
            fields.as_object_mut().unwrap().remove("cause").unwrap();
        }
        if is_pause {
            record["by"] = json!(by);
        }
        let record: Record = serde_json::from_value(record).unwrap();
        apply(&mut state, &record);
    }
    state
}

#[test]
fn an_old_question_of_the_runtime_counts_and_the_same_words_of_a_lead_do_not() {
    let asked = "team alpha lead lia playbook \"phase plan\"\nstart lia\nask-approval plan";
    let answered = format!("{asked}\ncontinue-team alpha");
    for (by, kind, approved) in
        [("runtime", "approval", Some("plan")), ("alpha/lia@1", "asked", None)]
    {
        let team = |scenario: &str| {
            let mut state = without_causes(scenario, by);
            state.teams.remove(&"alpha".parse().unwrap()).unwrap()
        };
        assert_eq!(team(asked).paused.unwrap().kind().word(), kind, "{by}");
        let course = team(&answered).course.unwrap();
        assert_eq!(course.approved.map(|phase| phase.to_string()).as_deref(), approved, "{by}");
    }
}

#[test]
fn an_old_pause_for_want_of_a_budget_still_ends_with_the_next_one() {
    let spent = "join ana\nteam-budget alpha tokens 10\n\
                 pause ana spent reason \"its budget is spent: 10 tokens\" by ana";
    let kind = |by: &str| {
        let state = without_causes(spent, by);
        state.teammates[&"alpha/ana".parse().unwrap()].paused.as_ref().unwrap().kind()
    };
    assert_eq!(kind("alpha/ana@1"), shipmate_model::status::PauseKind::Budget);
    assert_eq!(kind("person"), shipmate_model::status::PauseKind::Asked);
}
