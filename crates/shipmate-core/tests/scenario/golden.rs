//! The golden logs: one of each release that said something new, which every later one
//! must read.
//!
//! `golden/v1.jsonl` was written once, by playing the first of the `STORIES`, and never
//! changes: it stands for the logs that lie on people's disks. `golden/v1.summary.txt`
//! says what it folds to. When an event or a field is added, these tests ask for a new
//! file beside the old ones.

use std::collections::BTreeSet;

use serde_json::Value;
use shipmate_core::{State, apply};
use shipmate_model::event::{Profile, Record};
use shipmate_model::profile::StartRule;
use shipmate_model::setup::Setup;

use crate::every::{WIRE, all_scenarios};
use crate::play::play;

/// Each log, and what it folds to.
const LOGS: &[(&str, &str)] = &[
    (include_str!("../golden/v1.jsonl"), include_str!("../golden/v1.summary.txt")),
    (include_str!("../golden/v2.jsonl"), include_str!("../golden/v2.summary.txt")),
    (include_str!("../golden/v3.jsonl"), include_str!("../golden/v3.summary.txt")),
    (include_str!("../golden/v4.jsonl"), include_str!("../golden/v4.summary.txt")),
    (include_str!("../golden/v5.jsonl"), include_str!("../golden/v5.summary.txt")),
    (include_str!("../golden/v6.jsonl"), include_str!("../golden/v6.summary.txt")),
    (include_str!("../golden/v7.jsonl"), include_str!("../golden/v7.summary.txt")),
    (include_str!("../golden/v8.jsonl"), include_str!("../golden/v8.summary.txt")),
    (include_str!("../golden/v9.jsonl"), include_str!("../golden/v9.summary.txt")),
    (include_str!("../golden/v10.jsonl"), include_str!("../golden/v10.summary.txt")),
    (include_str!("../golden/v11.jsonl"), include_str!("../golden/v11.summary.txt")),
    (include_str!("../golden/v12.jsonl"), include_str!("../golden/v12.summary.txt")),
    (include_str!("../golden/v13.jsonl"), include_str!("../golden/v13.summary.txt")),
    (include_str!("../golden/v14.jsonl"), include_str!("../golden/v14.summary.txt")),
];

const HOW_TO_ADD: &str = "a log of this release has something that no golden log has. Write a \
    story with it (STORIES in golden.rs show how), let `write_a_golden_log` write it under the \
    next number beside the others, add it to LOGS, and leave the others as they are.";

fn records(log: &str) -> Vec<Record> {
    let read = |line: &str| serde_json::from_str(line).unwrap_or_else(|e| panic!("{e}: {line}"));
    log.lines().map(read).collect()
}

fn fold(records: &[Record]) -> State {
    let mut state = State::default();
    records.iter().for_each(|record| apply(&mut state, record));
    state
}

/// What the log came to, in words; not the layout of the state, which may change.
fn summary(state: &State) -> String {
    let mut lines = vec![format!("records {}", state.position)];
    for (name, team) in &state.teams {
        lines.push(format!("team {name} {:?} {:?}", team.phase, team.verification));
        lines.push(format!("  parent {:?} lead {:?}", team.parent, team.lead));
        lines.push(format!("  budget {:?} used {:?}", team.budget, team.usage));
        lines.push(format!("  breaker {:?} counts {:?}", team.breaker, team.counts));
        if !team.plan.is_empty() {
            lines.push(format!("  plan {:?}", team.plan));
        }
        let course = team.course.as_ref().map(|course| format!("  course {course:?}"));
        let course = course.map(|text| text.replace(", approved: None", ""));
        lines.extend(course.map(|text| text.replace(", awaits: []", "")));
        if *team.setup != Setup::default() {
            let setup = format!("{:?}", team.setup).replace(", one_shot: false", "");
            let setup = setup.replace(", playbook: None", "").replace(", branch: None", "");
            let setup = setup.replace(NOT_PREPARED, "");
            let setup = setup.replace(", agent: \"\", model: \"\", cap: None", "");
            let setup = setup.replace(", no_change: false", "").replace(", red_base: false", "");
            let setup = setup.replace(", called: \"\"", "").replace(", dispatch: false", "");
            let setup = setup.replace(", red: None", "");
            let setup = setup.replace(", pull_request: false", "");
            let paused = team.paused.as_ref().map(|pause| &pause.reason);
            lines.push(format!("  paused {paused:?} setup {setup}"));
        }
    }
    for (who, mate) in &state.teammates {
        lines.push(format!("teammate {who}@{} {:?} {:?}", mate.epoch, mate.life, mate.supervision));
        lines.push(format!("  {}", profile(&mate.profile)));
        if !mate.session.is_empty() {
            lines.push(format!("  session {} stalls {}", mate.session, mate.stalls));
        }
        let paused = mate.paused.as_ref().map(|pause| &pause.reason);
        lines.push(format!("  idle {:?} paused {paused:?} host {:?}", mate.idle, mate.host));
        lines.push(format!("  holds {:?} {:?} {:?}", mate.holds, mate.submitted, mate.returned));
        lines.push(format!("  inbox {:?} plan {:?}", mate.inbox, mate.approved_plan));
        lines.push(format!("  budget {:?} used {:?}", mate.budget, mate.usage));
    }
    for task in state.tasks().iter() {
        let (id, team) = (task.id, &task.team);
        lines.push(format!("task {id} of {team} by {} {:?}", task.created_by, task.status));
        lines.push(
            format!("  {:?}", task.spec)
                .replace(", gate: None", "")
                .replace(", no_change: false", ""),
        );
        lines.push(format!("  unblocked {} path {}", task.is_unblocked(), task.path_ms));
        lines.push(format!("  retries {} after {:?}", task.retries, task.last_failure));
        let kept: Vec<_> =
            task.set_aside.iter().map(|kept| (&kept.who, kept.to_string())).collect();
        lines.push(format!("  set aside {kept:?}"));
        if !task.granted.is_empty() {
            lines.push(format!("  granted {:?}", task.granted));
        }
        if !task.left_out.is_empty() || task.unchanged {
            lines.push(format!("  left out {:?} unchanged {}", task.left_out, task.unchanged));
        }
    }
    for (name, host) in &state.hosts {
        let home = state.home.as_ref() == Some(name);
        let spec = serde_json::to_string(&host.spec).unwrap();
        lines.push(format!("host {name} {:?} home {home} {spec}", host.state));
    }
    for (name, commit) in &state.branches {
        lines.push(format!("branch {name} {commit}"));
    }
    for (name, group) in &state.groups {
        lines.push(format!("group {name} {:?} done {}", group.members, group.is_done()));
    }
    for (id, message) in &state.messages {
        lines.push(format!("message {id} {:?} from {}", message.kind, message.from));
        lines.push(format!("  {:?} epoch {:?}", message.waiting, message.epoch));
    }
    lines.push(format!("person {:?}", state.person_inbox));
    for (id, plan) in &state.plans {
        let line = format!("plan {id} of {} {:?} {:?}", plan.who, plan.task, plan.decision);
        // What is usual goes without saying, as before there was a field for it.
        lines.push(line.replace(", unworkable: false", ""));
        let work = plan.work.as_ref().map(|work| format!("  {work:?}"));
        let work = work.map(|text| text.replace(", gate: None", ""));
        let work = work.map(|text| text.replace(", no_change: false", ""));
        let work = work.map(|text| text.replace(", one_shot: false", ""));
        let anywhere = ", place: Place { host: None, labels: {} }";
        let work = work.map(|text| text.replace(", definition: None", ""));
        lines.extend(work.map(|text| text.replace(anywhere, "")));
    }
    for (id, question) in &state.questions {
        lines.push(format!("question {id} of {} {:?}", question.who, question.answer));
    }
    for (id, shutdown) in &state.shutdowns {
        lines.push(format!("shutdown {id} of {} {:?}", shutdown.who, shutdown.end));
    }
    lines.join("\n") + "\n"
}

/// Trees that get nothing beyond what is committed, as before they could.
const NOT_PREPARED: &str = ", preparation: Preparation { copy: [], link: [], setup: [], lock_files: [], \
                            ports: 0, env: {}, teardown: [], timeout_ms: 0, from: \"\" }";

/// The first release's words, and what came later only where it says something.
fn profile(profile: &Profile) -> String {
    let Profile { seat, role, agent, model, scope, mode, tasks_max, command, start, .. } = profile;
    let Profile { hears, one_shot, place, definition, .. } = profile;
    let role = role.as_ref();
    let first = format!(
        "Profile {{ seat: {seat:?}, role: {role:?}, agent: {agent:?}, model: {model:?}, \
         scope: {scope:?}, mode: {mode:?}, tasks_max: {tasks_max:?} }}"
    );
    let hears = if *hears { " hears" } else { "" };
    let one_shot = if *one_shot { " one-shot" } else { "" };
    let one_shot = match place.is_anywhere() {
        true => one_shot.to_owned(),
        false => format!("{one_shot} place {place:?}"),
    };
    let one_shot = match definition {
        None => one_shot,
        Some(definition) => format!("{one_shot} from {definition:?}"),
    };
    if command.is_empty() && *start == StartRule::ByHand {
        return format!("{first}{hears}{one_shot}");
    }
    format!("{first} command {command:?} start {start:?}{hears}{one_shot}")
}

/// Every place in a record where something can stand, such as
/// `task.created.spec.files`, and every word an enum has there.
fn places(value: &Value, at: &str, found: &mut BTreeSet<String>) {
    match value {
        // The keys of metadata are the user's, and those of these parts of a playbook.
        Value::Object(map) if !at.ends_with("metadata") => {
            let named = [
                ".roles",
                ".values",
                ".kinds",
                ".gates",
                ".fields",
                ".object",
                ".finds",
                ".crossings",
            ];
            let named = named.iter().any(|part| at.ends_with(part));
            for (key, value) in map {
                let key = if named { "*" } else { key };
                places(value, &format!("{at}.{key}"), found);
            }
        }
        Value::Array(items) => items.iter().for_each(|item| places(item, at, found)),
        _ => {
            found.insert(at.to_owned());
        }
    }
    let word =
        value.as_str().filter(|text| text.bytes().all(|b| b.is_ascii_lowercase() || b == b'_'));
    let enums = [
        "kind",
        "cause",
        "mode",
        "seat",
        "supervision",
        "verification",
        "outcome",
        "answer",
        "start",
    ];
    if let Some(word) = word.filter(|_| enums.iter().any(|name| at.ends_with(&format!(".{name}"))))
    {
        found.insert(format!("{at} = {word}"));
    }
}

fn places_of(records: &[Record]) -> BTreeSet<String> {
    let mut found = BTreeSet::new();
    for record in records {
        places(&serde_json::to_value(record).unwrap(), "", &mut found);
    }
    found
}

#[test]
fn every_golden_log_folds_to_what_it_always_did() {
    for (log, was) in LOGS {
        let is = summary(&fold(&records(log)));
        for (line, (is, was)) in is.lines().zip(was.lines()).enumerate() {
            assert_eq!(is, was, "line {} of a summary", line + 1);
        }
        assert_eq!(is, *was);
    }
}

#[test]
fn what_a_golden_log_says_is_still_said_the_same_way() {
    for line in LOGS.iter().flat_map(|(log, _)| log.lines()) {
        let was: Value = serde_json::from_str(line).unwrap();
        let record: Record = serde_json::from_str(line).unwrap();
        assert_contains(&serde_json::to_value(record).unwrap(), &was, line);
    }
}

/// `is` may say more than `was`, and nothing else.
fn assert_contains(is: &Value, was: &Value, line: &str) {
    match (is, was) {
        (Value::Object(is), Value::Object(was)) => {
            for (key, was) in was {
                assert_contains(is.get(key).unwrap_or(&Value::Null), was, line);
            }
        }
        _ => assert_eq!(is, was, "{line}"),
    }
}

#[test]
fn every_event_is_in_a_golden_log() {
    let names = LOGS.iter().flat_map(|(log, _)| log.lines()).map(|line| {
        let value: Value = serde_json::from_str(line).unwrap();
        value["event"].as_object().unwrap().keys().next().unwrap().clone()
    });
    let names: BTreeSet<String> = names.collect();
    let missing: Vec<&str> =
        WIRE.iter().map(|(_, wire)| *wire).filter(|wire| !names.contains(*wire)).collect();
    assert!(missing.is_empty(), "{missing:?}: {HOW_TO_ADD}");
}

#[test]
fn every_field_that_a_scenario_writes_is_in_a_golden_log() {
    let golden: BTreeSet<String> =
        LOGS.iter().flat_map(|(log, _)| places_of(&records(log))).collect();
    // What agents and people write is not ours to list.
    let free =
        |place: &str| [".answer = ", ".kind.handoff"].iter().any(|part| place.contains(part));
    let mut missing: BTreeSet<String> = BTreeSet::new();
    for (name, text) in all_scenarios().filter(|(_, text)| !text.contains("repeat 10000")) {
        let written = places_of(&play(text).records);
        let new = written.difference(&golden).filter(|place| !free(place));
        missing.extend(new.map(|place| format!("{place} ({name})")));
    }
    assert!(missing.is_empty(), "{missing:#?}: {HOW_TO_ADD}");
}

#[test]
fn a_snapshot_of_a_golden_log_restores() {
    for (log, _) in LOGS {
        let state = fold(&records(log));
        let snapshot = serde_json::to_string(&state).unwrap();
        let restored: State = serde_json::from_str(&snapshot).unwrap();
        assert_eq!(restored.restore(), state);
    }
}

#[test]
#[ignore = "writes a file: only for a new golden log"]
#[expect(clippy::disallowed_methods, reason = "it writes the file that the others read")]
fn write_a_golden_log() {
    let world = play(STORIES[STORIES.len() - 1]);
    let lines = world.records.iter().map(|record| serde_json::to_string(record).unwrap() + "\n");
    let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/golden");
    std::fs::write(format!("{folder}/new.jsonl"), lines.collect::<String>()).unwrap();
    std::fs::write(format!("{folder}/new.summary.txt"), summary(world.state())).unwrap();
}

/// What each golden log was written from: everything that was new then, at least once.
const STORIES: &[&str] = &[
    // The first release: a log. Its `take by ana` was the runtime's own word then.
    r#"
    team alpha description "the root" lead lia gate
    team beta under alpha lead bea
    start lia supervised host h1
    add ana role dev agent claude model opus scope src,docs holds 3 mode normal
    start ana supervised host h1 token 0123abcd
    join bo role qa mode plan
    join cy mode delegate
    join dee one-shot mode read-only
    join beta/bob
    start beta/bea

    req cli/1 create-all "lexer alias 01/T1 group parse files src/lex.rs" \
        "parser alias 01/T2 group parse after +1 files src/parse/**" \
        "checks after +2"
    create printer description "prints it back" active "writing the printer" \
        after 1,group:parse role dev assignee ana priority 50 duration 90s retries 1 \
        meta size=s,plan=01 files src/print.rs,docs/*.md by lia
    create research
    create chores in beta
    update 5 subject "research formats" description "which exist" active "reading" \
        priority 20 duration 300s role qa files docs meta a=1
    update 5 role any after 3,group:parse
    update 5 without 3,group:parse

    claim 1 by ana for 600s
    renew 1 by ana
    submit 1 by ana commit 1111111 result "lexes"
    return 1 reason "test lex::empty failed"
    next by ana
    submit 1 by ana commit 2222222 result "lexes"
    complete 1 by runtime commit 2222222 result "merged"
    claim 2 by ana for 60s
    expire 2
    claim 2 by ana
    release 2 by ana reason "not mine"
    claim 2 by ana
    fail 2 by ana reason "no grammar"
    assign 2 to ana
    claim 2 by ana
    assign 2 to anybody by lia
    set-aside 2 "branch shipmate/ana/2" by ana
    create doomed retries 0
    claim 7 by cy
    fail 7 by cy reason "cannot"
    retry 7
    create obsolete
    create waits after 8
    delete 8
    claim 6 by beta/bob

    send "read the grammar first" to ana by lia as m1
    send "will do" to lia reply m1 by ana
    send "step 1 of 3" to lia kind dev_progress by ana
    send "stand-up" to all by lia
    send "hello" to person by ana
    take by ana
    inject by ana turn 3
    acknowledge by ana messages m1
    read by ana
    expire-mail dee
    read by person
    send "anybody?" to person by ana
    expire-mail person

    submit-plan "read, then write" about 5 by bo
    reject "write less" by lia
    submit-plan "read" by bo
    approve
    ask "which format?" options toml,json by bo
    answer json by lia
    ask "may I fetch?" kind permission by bo
    answer no
    ask "may I write docs?" kind scope by bo
    idle "waiting for the answer" by bo
    pause cy reason "costs too much"
    continue cy
    pause bo reason "budget"
    mode cy plan
    mode cy read-only
    mode cy delegate
    mode cy normal

    team-budget alpha tokens 1000000 cost 5000000
    budget ana tokens 1000 cost 2000000
    reserve tokens 100 cost 50 by ana as r1
    spend tokens 90 cost 45 about 2 by ana reservation r1
    spend tokens 5 by cy

    shutdown cy within 30s reason "enough" by lia
    answer-shutdown rejected "one more test" by cy
    shutdown cy within 30s reason "enough" by lia
    answer-shutdown in_progress "one test" by cy
    shutdown bo
    answer-shutdown error "disk full" by bo
    join eve
    send "unread" to eve by ana
    shutdown eve
    answer-shutdown clean by eve
    join fay supervised
    shutdown fay within 10s
    expire-shutdown fay
    stopped fay timed_out
    stopped dee forced
    join gus supervised
    stopped gus in_progress reason "half a test"
    start gus supervised
    stopped gus error reason "exit code 1"
    start gus supervised
    stopped gus clean
    remove gus

    join hal
    claim 2 by hal
    disappeared hal reason "no sign for 60 s"
    forgive alpha
    start hal
    disappeared hal
    join ivy
    disappeared ivy
    probe alpha
    start ivy
    probed alpha answered
    delete-team beta now
"#,
    // Teams with trees, gates, clocks and teammates that the runtime starts.
    r#"
    team alpha lead lia gate trees own base 1111111 gates "cargo test,cargo clippy" gate-time 60s \
        hooks 0f0f host here protects .shipmate,Cargo.lock stall 60s answers 20s stops 5s timeout 3600s
    team beta under alpha trees shared base 2222222
    start lia
    add ana when-needed command "agent --fast" scope src,docs
    add bo when-needed
    create lexer files src/lex.rs
    create parser files src/parse.rs
    staff
    session s-1 by ana
    next by ana
    next by bo
    wait 60s
    progress ana
    wait 0s
    submit 1 by ana commit 3333333
    ask-scope 1 files docs/lex.md reason "it changes docs/lex.md"
    answer grant by lia
    gate alpha about 1 commit 4444444 for 90s
    complete 1 by runtime commit 4444444
    submit 2 by bo commit 5555555
    gate alpha about 2 commit 6666666 red result "1 of 2 failed"
    hook alpha on-submit "exit code 2"
    return 2 reason "1 of 2 failed"
    pause-team alpha reason "the machine went down"
    disappeared bo with-host reason "its machine went down"
    continue-team alpha
    staff
"#,
    // Sessions that come by themselves, agents that can be talked to, questions taken back.
    r#"
    team alpha task-mode
    add lia session seat lead agent claude-code
    start lia
    add ana when-needed hears agent claude
    send "look at the board" to ana by lia
    create lexer
    staff
    ask "may I run make?" kind permission by ana
    withdraw by ana reason "nobody answered for 600 s"
    stopped lia
"#,
    // A lead that plans for its team, and hears of the end of its work.
    r#"
    team alpha agent native model small max 3 trees own base 1111111
    add lia seat lead mode plan when-needed hears agent native
    send "build a calculator" to lia
    staff
    submit-plan "one part" tasks "a files src/a" mates "ana" single "it is small" by lia
    reject "two parts" by person
    submit-plan "two parts, then the docs" tasks "add subject plus description both files src/add.sh \
        role dev assignee ana priority 50 duration 90s | sub files src/sub.sh | docs files docs \
        after add,sub" \
        mates "ana role dev agent claude model opus scope src mode plan hears | bo command agent.sh" by lia
    approve
    read by lia
    staff
    next by ana
    staff
    submit-plan "as told" about 1 by ana
    approve by lia
    submit 1 by ana result "it adds"
    next by bo
    submit 2 by bo
    next by bo
    submit 3 by bo
"#,
    // A playbook: phases, departments, one-shot agents.
    r#"
    team alpha lead lia trees own base 1111111 gates make playbook full
    start lia
    hold review missing docs/plan.md
    begin review
    end-phase review failed reason "no word"
    begin work
    begin build in alpha-back \
        mates "bea role head seat lead scope docs | bob role dev when-needed | cy role critic one-task" \
        tasks "lexer in alpha-back role dev own-gate red | parser in alpha-back after +1"
    staff
    start alpha-back/bea
    next by alpha-back/bob
    send "stuck" to alpha-back/bea kind escalation by alpha-back/bob
    send "read the plan" to alpha-back/bob kind escalation_resolution by alpha-back/bea
    send "still stuck" to alpha-back/bea kind escalation by alpha-back/bob
    raise
    raise
    submit 1 by alpha-back/bob
    ask-scope 1 files docs/x.md reason "it changes docs/x.md"
    end-phase build failed in alpha-back reason "the gate is red"
    begin build in alpha-back notes "with fewer people"
    end-phase build done in alpha-back reason "as planned"
    answer grant
    complete 1 by runtime commit 2222222
    revert 1 reason "it broke the build"
    begin build in alpha-front single "one piece" mates "fay role head seat lead"
    end-phase build skip in alpha-front reason "nothing to build"
    end-phase work failed reason "no report"
    end-phase work failed reason "again none"
"#,
    // Work of a phase that waits for another run, and a phase that a person let begin.
    r#"
    team alpha playbook "phase plan | phase build"
    pause-team alpha reason "approval: phase plan begins when you say so"
    continue-team alpha
    begin plan tasks "lexer" awaits base
"#,
    // Work that changes nothing, files that are left out, an agent that hangs.
    r#"
    team alpha gate trees own stall 60s
    join ana supervised
    join bo one-shot
    create research no-change
    create parser files src
    create printer files docs
    claim 1 by ana
    submit 1 by ana
    claim 2 by bo
    submit 2 by bo
    unchanged 2
    claim 3 by ana
    submit 3 by ana
    unchanged 3
    next by ana
    submit 3 by ana
    ask-scope 3 files src/x.rs
    answer "without"
    claim 2 by ana
    stalled ana 1
    stalled ana 2
    stalled ana 3
"#,
    // What a person mends: who cannot work, another agent, another gate, a base.
    r#"
    team alpha trees own base 1111111 gates make
    add ana when-needed agent clade
    create lexer
    staff
    next by ana
    disappeared ana unable reason "clade was not found"
    change-team alpha gates "make test" agent claude model opus base 2222222 hears about ana
    change-team alpha command agent.sh about ana
    continue-team alpha
    staff
    disappeared ana broken
"#,
    // What each pause is, and a supervisor that says nothing.
    r#"
    team alpha lead lia timeout 60s \
        playbook "phase plan root optional | phase work root departments | phase build fails halt | department back"
    start lia
    join ana supervised
    team-budget alpha tokens 10
    pause ana reason "wait" by lia
    continue ana
    pause ana spent reason "its budget is spent: 10 tokens" by ana
    pause-team alpha reason "approval: phase plan begins when you say so" by lia
    continue-team alpha
    ask-approval plan
    approve-phase
    end-phase plan skip by person
    pause-team alpha reason "the gate fails" by runtime
    continue-team alpha
    expire-team alpha
    continue-team alpha
    begin work
    begin build in alpha-back
    end-phase build failed in alpha-back reason red
    disappeared ana silent
"#,
    // Mail from programs outside.
    r#"
    team alpha lead lia
    join ana
    drop "the build is red" to ana end 31 by outside
    read by ana
"#,
    // Machines: hosts that join, drain, are lost and leave, and where somebody may run.
    r#"
    team alpha lead lia
    host here slots 2 labels arm programs native,claude boot b-1 place 0123 release 1
    host box slots 4 labels gpu,arm programs native boot b-2 place 4567 release 1
    add ana agent native host box labels gpu when-needed
    add bo agent claude when-needed
    create x
    create y
    staff
    drain box
    drain box undo
    lost-host box boot b-2
    wait 0s
    host box slots 4 labels gpu,arm programs native boot b-3 place 4567 release 1
    home box
    leave here now
    wait 0s
    "#,
    // Where a branch stands, a session that sits on a host, and the hooks of a home.
    r#"
    team alpha lead lia trees own base 1111111
    host here slots 2 hooks TaskCreated
    host box slots 1 lacks 3333333
    branch alpha at 2222222
    add ana
    start ana at box
    "#,
    // Late work on a machine that was silent, and a teammate that may run elsewhere.
    r#"
    team alpha lead lia trees own base 1111111
    host here slots 2
    host box slots 1
    add ana when-needed
    place ana host box labels gpu
    place ana host box
    create x
    staff
    claim 1 by ana
    lost-host box for 30s
    wait 0s
    set-aside 1 "refs/shipmate/alpha/aside/1-9" commit 4444444 on box by ana@1
    "#,
    // What trees get beyond what is committed, and a teammate that is made from a definition.
    r#"
    team alpha lead lia trees own base 1111111 copies .env,config/local.json prepares "npm ci"
    add ana agent claude from reviewer
    "#,
];
