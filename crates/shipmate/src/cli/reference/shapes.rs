//! The page of JSON shapes: an example of each and what its fields mean.
//!
//! The examples are real values; a test holds that every field of theirs is explained and that
//! nothing is explained that is not there.

use serde_json::{Value, json};

use super::{examples, head};

struct Shape {
    title: &'static str,
    /// The commands that print it.
    printed_by: &'static str,
    example: Value,
    fields: &'static [(&'static str, &'static str)],
}

const TASK_ROW: &[(&str, &str)] = &[
    ("id", "Number of the task, in creation order."),
    ("subject", "What is to be done, in one line."),
    ("status", "`pending`, `in_progress`, `completed`, `failed` or `deleted`."),
    ("stage", "`claimed`, `submitted` or `returned`, while in progress; else absent."),
    ("owner", "`team/name@epoch` of who holds it or completed it; else absent."),
    ("available", "Pending, and no dependency or held file stands in the way."),
    ("blocked", "It waits for another task; absent when it does not."),
    ("why", "Why it cannot be taken, or not by everybody; absent when empty."),
    ("blocked_by", "Ids and `group:NAME` of what comes before; absent when empty."),
    ("alias", "Another handle, usable wherever an id is; absent when none."),
    ("group", "The group it belongs to; absent when none."),
    ("priority", "Lower is sooner; 100 unless it was given."),
    ("team", "The team it belongs to."),
];

const PLAYBOOK: &[(&str, &str)] = &[
    ("name", "The playbook."),
    ("title", "What it is, in a line."),
    ("about", "What it is for."),
    ("file", "Its file, or `built in`."),
    ("problems", "How much is wrong with it; it cannot be used unless it is 0."),
    ("selected_by", "Files of a repository that choose it."),
    ("found", "The one of them that is there; absent when none is."),
    ("env", "The variable that has to be on for a team; absent when none is asked for."),
    ("toml", "The file itself."),
    ("parts", "What it says in words: `entries` with their `lines` for each `part`."),
    ("schemas", "Its kinds of handoffs as JSON Schema documents, by name."),
];

const PHASES: &[(&str, &str)] = &[
    ("team", "The team."),
    ("playbook", "The playbook it works by."),
    (
        "phases",
        "In their order. `state`: `ahead`, `waits`, `runs`, `done`, `skipped`, `failed`, `passed` (it \
         failed and the team went on) or `back` (an earlier one began again). `round`: \
         which time it is; 0 before the first. `why`: what it waits for or why it ended so; absent \
         when empty. `optional`: it may be left out.",
    ),
];

const RUN: &[(&str, &str)] = &[
    (
        "outcome",
        "`complete`, `partial` (nothing more can be done without a person), `failed` (no task is \
         done), `stopped`, or `waits` (a person has to answer, and the team is paused).",
    ),
    ("title", "What the run is about."),
    ("team", "Its team."),
    (
        "tasks",
        "How many there are, how many are completed, and the others with what stands in the way.",
    ),
    ("commits", "The commit of each task that was merged."),
    ("report", "What the lead says about it; absent where none did."),
    ("no_plan", "Why the lead made no plan that holds; else absent."),
    (
        "waiting",
        "What waits for a person, each with the command that decides it. Absent when empty.",
    ),
    ("deviations", "What went otherwise than planned."),
    ("gates", "How often a gate ran, and how it ended."),
    (
        "phases",
        "Of a playbook: those that are over, in the order in which they ended. `end`: `done`, \
         `skipped`, `failed`, `passed` or `back`. Absent when empty.",
    ),
    ("took_ms", "How long it took."),
    ("critical_path_ms", "The longest path through the tasks, as it really took."),
    ("bound_ms", "No team of this size could have been faster."),
    ("teammates", "Who did how much."),
    (
        "spent",
        "The tokens that agents say they used, and what they cost in millionths of a dollar; \
         `tokens_unpriced` are those whose price is not known.",
    ),
    (
        "places",
        "Where things are: the `branch` with the merged work, the `base` it would go to, the folder \
         with the agents' `output`, and the `summaries` that were written.",
    ),
];

const CHECKED: &[(&str, &str)] =
    &[("file", "The file, as it was named."), ("problems", "Everything that is wrong with it.")];

const TASK: &[(&str, &str)] = &[
    ("id, subject, …", "All fields of a task of a list."),
    ("description", "Everything the teammate has to know."),
    ("active_form", "What is shown while it is worked on."),
    ("files", "Paths and globs it writes."),
    ("role", "Only teammates of this role may take it."),
    ("assignee", "Only this teammate may take it."),
    ("blocks", "Ids of the tasks that wait for it."),
    ("duration_ms", "How long it is expected to take."),
    ("path_ms", "The longest way from it to the end of the plan."),
    ("retries", "How often it came back."),
    ("retries_max", "How often it may come back before it counts as failed."),
    ("last_failure", "Why it came back last."),
    ("metadata", "Your own fields."),
    ("token", "Fencing token of the present claim."),
    ("lease_ms", "How long the present claim holds without a renewal."),
    ("commit", "The commit that was handed in."),
    ("result", "What came of it."),
    ("set_aside", "Late work of claims that had ended."),
    ("created_by", "Who created it."),
    ("created_at", "Milliseconds since 1970."),
    ("changed_at", "Milliseconds since 1970."),
];

const DIFF: &[(&str, &str)] = &[
    ("from", "The commit it is compared with; absent when there is nothing to show."),
    ("to", "The commit that holds the work, or `working tree`."),
    ("text", "A unified diff; absent when empty."),
    ("cut", "There is more than is shown (512 kB, 2,000 files)."),
    ("files", "Each with its `path`, the lines `added` and `removed`, and whether it is `binary`."),
    ("note", "What has to be known about it, or why there is none; else absent."),
];

const TEAM: &[(&str, &str)] = &[
    ("name", "The team."),
    ("parent", "The team it is a department of."),
    ("description", "What it is for."),
    ("phase", "`active`, `ending` or `deleted`."),
    ("lead", "The name of its lead."),
    ("gate", "A gate decides whether submitted work is completed."),
    ("teammates", "How many members it has."),
    ("running", "How many of them run."),
    ("tasks", "How many tasks there are of each status."),
    ("paused", "Why nobody starts or claims; absent unless it is paused."),
    (
        "pause",
        "What that pause is. `kind`: `asked` (in the words of whoever it is `by`), `approval` (you \
         let the `phase` begin), `time_over`, `halt` (a phase stops every team) or `trouble` (the \
         runtime cannot go on). `by`: `person`, `runtime` or `team/name@epoch`. `id`: its record. \
         Absent unless it is paused.",
    ),
    ("base", "The commit it began at; absent without trees."),
    ("branch", "The branch that holds its verified work; absent without trees."),
    ("breaker", "`closed`, `open` or `half_open`."),
    ("tokens_used", "Tokens of models used so far."),
    ("cost_micros", "Money used so far, in millionths of a dollar."),
    ("tokens_max", "The budget of tokens."),
    ("cost_micros_max", "The budget of money."),
];

const TEAMMATE: &[(&str, &str)] = &[
    ("name", "The teammate."),
    ("team", "Its team."),
    ("lead", "It leads the team."),
    ("epoch", "Which of its lives this is; 0 before the first."),
    (
        "state",
        "`added`, `active`, `idle`, `paused`, `stopping`, `stopped`, `disappeared` or `failed` (not \
         started again until `resume`).",
    ),
    ("why", "Why it is in that state."),
    ("role", "Tasks of this role are for it."),
    ("agent", "The program behind it."),
    ("model", "The model it uses."),
    ("mode", "`normal`, `plan`, `delegate` or `read_only`."),
    ("scope", "What it may write; empty means anywhere."),
    ("holds", "Tasks it has claimed."),
    ("submitted", "Tasks it handed in that wait for a gate."),
    ("returned", "Tasks that a gate sent back to it."),
    ("unread", "Messages in its inbox."),
    ("tasks_max", "How many tasks it may hold at once."),
    ("tokens_used", "Tokens of models used so far."),
    ("cost_micros", "Money used so far, in millionths of a dollar."),
    ("host", "The machine it runs on."),
    ("command", "The command line that is run for each of its tasks; absent when none."),
    ("supervision", "`none` (started by hand), `supervised` or `one_shot`."),
    ("session", "The agent's own name for its conversation; absent when none."),
    ("last_words", "The last line it printed; absent when none."),
    ("silent_ms", "How long it has shown no sign of progress; absent unless it is watched."),
    ("pid", "The process that watches over its agent; absent when none."),
    ("sign_at", "Its last sign of life, in milliseconds since 1970; absent unless it is watched."),
    ("context_used", "Tokens in the agent's context; absent where its program does not tell."),
    ("context_max", "How many fit; absent where its program does not tell."),
];

const AGENT: &[(&str, &str)] = &[
    ("name", "The word for it in plans and on the command line."),
    ("protocol", "How it is driven: `claude`, `codex`, `acp` or `command`."),
    ("program", "Where it was found; else absent."),
    ("version", "Which it says it is; absent when it was not asked or did not say."),
    ("state", "`ready`, `not_installed`, `too_old`, `not_logged_in` or `broken`."),
    ("why", "The fact behind the state."),
    ("remedy", "What to do about it; absent when nothing is to be done."),
    (
        "own",
        "The folders that each teammate's program has of its own behind the fence: the `variable` \
         that names one, the folder of yours it stands for (`instead_of`), and what of yours it \
         reads there, uses as its `logins` and begins with a copy of; absent when it has none.",
    ),
];

const DECISION: &[(&str, &str)] = &[
    ("state", "`open`, or with `--all` also `decided`."),
    ("id", "Of the plan, question or approval."),
    ("kind", "`plan`, `permission`, `scope`, `question` or `approval`."),
    ("team", "The team it is about."),
    ("who", "Who asks: `team/name@epoch`, or `runtime` for an approval."),
    ("task", "The task it is about; absent when none."),
    ("text", "What is asked."),
    ("options", "What may be answered; absent when free."),
    ("asked_at", "Milliseconds since 1970."),
    ("waiting", "How many tasks cannot go on before it is decided; absent once it is."),
    ("answer", "`approved`, `rejected`, or the answer; absent while it is open."),
    ("feedback", "What a rejection asks for; absent when empty."),
    ("by", "Who decided it: `person` or `team/name@epoch`; absent while it is open."),
    ("decided_at", "When, in milliseconds since 1970; absent while it is open."),
    ("record", "The record that decided it; absent while it is open."),
];

const STATUS: &[(&str, &str)] = &[
    ("root", "The team at the top of the tree."),
    ("position", "Number of the last record."),
    ("teams", "The teams of the tree."),
    ("teammates", "Everybody in them."),
    ("available", "Tasks that could be taken now, best first, at most 20."),
    ("nobody_takes", "Whether there are such tasks and nobody who is there can take one."),
    ("open_plans", "Plans that wait for a decision."),
    ("open_questions", "Questions that wait for an answer."),
    ("unread_by_person", "Messages in the person's inbox."),
    ("log", "`sqlite` or `nats`."),
    ("queue", "What the merge queue does now; absent when nothing."),
];

const RESUMED: &[(&str, &str)] = &[
    (
        "teammates",
        "What became of each: its `name`, `how` (`resumed`, `started`, `restarted`, `waits`, \
         `failed` or `lost`) and `why`.",
    ),
    ("in_flight", "Tasks in progress, as in a list."),
    ("queue", "What the merge queue does now; null when nothing."),
];

const MERGED: &[(&str, &str)] = &[
    ("branch", "The team's branch."),
    ("commit", "The merge in your branch; null when there was nothing to do."),
    ("tasks", "The completed tasks, which are the work on that branch."),
    ("branches", "With `--branches`: the branches that were made."),
    ("notes", "What else there is to know, in words."),
];

const LEFT_OVER: &[(&str, &str)] = &[
    (
        "kind",
        "`process`, `branch`, `work` (handed in), `aside` (rescued), `other` or `unfinished`.",
    ),
    ("team", "Whose it was."),
    ("name", "Which one."),
    ("why", "Why nothing needs it."),
    ("removed", "It was removed just now."),
    ("precious", "Something would be lost with it: it goes only by its name."),
];

const MESSAGE: &[(&str, &str)] = &[
    ("id", "Number of the message, which is that of its record."),
    ("from", "`person`, `runtime` or `team/name@epoch`: who sent it, said by its token."),
    ("kind", "`message`, `broadcast`, `notice`, `shutdown_request`, …; a handoff's own kind."),
    ("body", "The text."),
    ("reply_to", "The message it answers; absent when none."),
    ("sent_at", "Milliseconds since 1970."),
];

const TRACE: &[(&str, &str)] = &[
    ("message", "The message."),
    ("to", "Each recipient: `to`, its present `state` and the `steps` to it."),
];

const PLAN: &[(&str, &str)] = &[
    ("id", "Number of the plan."),
    ("who", "Whose plan it is."),
    ("task", "The task it is for."),
    ("body", "The text."),
    ("state", "`open`, `approved`, `rejected` or `withdrawn`."),
    ("feedback", "What a rejection said."),
    ("unworkable", "It was rejected because it could not be carried out; absent otherwise."),
    ("submitted_at", "Milliseconds since 1970."),
    (
        "work",
        "Of a lead's plan, what its approval brings about: `tasks` and `teammates`, `single` (why one \
         is enough), `width` (tasks at the same time at most), `critical_path` (keys) and its length.",
    ),
];

const QUESTION: &[(&str, &str)] = &[
    ("id", "Number of the question."),
    ("who", "Who asked."),
    ("kind", "`question`, `permission` or `scope`."),
    ("text", "The question."),
    ("options", "The answers to choose from; empty means any."),
    ("state", "`open`, `answered` or `withdrawn`."),
    ("answer", "The answer."),
    ("asked_at", "Milliseconds since 1970."),
];

const RECORD: &[(&str, &str)] = &[
    (
        "n",
        "Its number: 1, 2, 3, … without gaps. Also the token of a claim, or the id of a message, \
           plan, question or shutdown request that it begins.",
    ),
    ("at", "Milliseconds since 1970, for people. No rule reads it."),
    ("by", "`person`, `runtime` or `team/name@epoch`."),
    ("req", "The request it answers, so that a repeated one is recognised; may be absent."),
    ("event", "What happened: one field, named after the event."),
];

const THEN: &[(&str, &str)] =
    &[("status", "The status as of that record."), ("tasks", "The tasks as of that record.")];

const CLAIM: &[(&str, &str)] = &[
    ("token", "Belongs to this claim; pass it with what is done for the task."),
    ("task", "The task."),
];

const CHANGE: &[(&str, &str)] = &[
    ("first", "Number of the first record that says what happened."),
    ("last", "Number of the last one."),
];

const DOCTOR: &[(&str, &str)] = &[
    ("verdict", "`ok`, `warning` or `problem`."),
    ("what", "What was looked at."),
    ("fact", "What was found."),
    ("remedy", "What to do about it; absent when there is nothing to do."),
];

fn of(value: &impl serde::Serialize) -> Value {
    serde_json::to_value(value).expect("a view is JSON")
}

fn shape(
    title: &'static str,
    printed_by: &'static str,
    example: Value,
    fields: &'static [(&'static str, &'static str)],
) -> Shape {
    Shape { title, printed_by, example, fields }
}

fn shapes() -> Vec<Shape> {
    use examples as e;
    let finding = json!({
        "verdict": "problem", "what": "permissions",
        "fact": ".shipmate/state is open to others (mode 755)",
        "remedy": "chmod go-rwx .shipmate/state"
    });
    let claim = json!({ "token": 41, "task": of(&e::task()) });
    let then = json!({ "status": of(&e::status()), "tasks": [of(&e::held_row())] });
    vec![
        shape(
            "Task of a list",
            "a list: `task list`",
            of(&[e::task_row(), e::held_row()]),
            TASK_ROW,
        ),
        shape("Task", "`task show`", of(&e::task()), TASK),
        shape("What a task has changed", "`task diff`", of(&e::diff()), DIFF),
        shape("Claim", "`task claim`, `task next`", claim, CLAIM),
        shape("Team", "a list: `team list`; one: `team show`", of(&[e::team()]), TEAM),
        shape(
            "Teammate",
            "a list: `teammate list`; one: `teammate show`",
            of(&[e::teammate()]),
            TEAMMATE,
        ),
        shape(
            "Status",
            "`status`; where there are several teams, a line for each",
            of(&e::status()),
            STATUS,
        ),
        shape(
            "Message",
            "a list: `inbox`, `inbox --peek`; one a line: `inbox --follow`",
            of(&[e::message()]),
            MESSAGE,
        ),
        shape("Trace", "`message trace`", of(&e::trace()), TRACE),
        shape(
            "Plan",
            "a list: `plan list`; as `plan` on a line of its own: `run` with a goal",
            of(&[e::plan(), e::plan_of_lead()]),
            PLAN,
        ),
        shape("Question", "a list: `questions`", of(&[e::question()]), QUESTION),
        shape("Decision", "a list: `decisions`", e::decisions(), DECISION),
        shape("Record", "one a line: `log`, `log --follow`", e::record(), RECORD),
        shape("The board as it was", "`log --at N`", then, THEN),
        shape("Resumed", "`resume`", e::resumed(), RESUMED),
        shape("Merged", "`merge`", of(&e::merged()), MERGED),
        shape(
            "Left over",
            "a list in `left_over`: the last line of `shutdown --wait`",
            of(&[e::left_over()]),
            LEFT_OVER,
        ),
        shape("Agent program", "a list: `agents`", of(&[e::agent()]), AGENT),
        shape(
            "Playbook",
            "a list in `playbooks`: `playbook list`; one, with `toml`, `parts` and `schemas`: \
             `playbook show`",
            of(&e::playbook()),
            PLAYBOOK,
        ),
        shape(
            "Playbook that was checked",
            "a list: `playbook check`",
            of(&[e::checked()]),
            CHECKED,
        ),
        shape("Phases", "a list, one for each team: `phase list`", of(&[e::phases()]), PHASES),
        shape("Run", "the last line of `run`", e::run(), RUN),
        shape("Finding", "a list: `doctor`", json!([finding]), DOCTOR),
        shape(
            "Change",
            "every command that changes something and is not named below",
            json!({ "first": 41, "last": 42 }),
            CHANGE,
        ),
    ]
}

/// Small answers, one line each.
const SMALL: &[(&str, &str)] = &[
    ("a change that was not needed", r#"{"unchanged":true}"#),
    ("`task create`", r#"{"tasks":[1,2,3]}"#),
    ("`send`", r#"{"message":44,"to":["alpha/bo"]}"#),
    ("`plan submit`, `ask`, `shutdown`", r#"{"id":50}"#),
    (
        "`teammate add`, `teammate start`",
        r#"{"who":"alpha/ana@1","token_file":"…/.shipmate/state/tokens/alpha.ana"}"#,
    ),
    ("the same with `--print-token`", r#"{"who":"alpha/ana@1","token":"…"}"#),
    ("`teammate start` of one with a command", r#"{"who":"alpha/ana@2"}"#),
    ("one a line: `attach`, output", r#"{"who":"alpha/ana@1","text":"running 12 tests\n"}"#),
    (
        "one a line: `attach`, what became of it",
        r#"{"who":"alpha/ana@1","event":"stopped","detail":"clean"}"#,
    ),
    (
        "one a line: `shutdown --wait`, what became of each",
        r#"{"who":"alpha/ana@1","outcome":"clean"}"#,
    ),
    ("a list: `task graph`", r#"[{"id":3,"level":1,"blocked_by":["2"]}]"#),
    ("`config`", r#"{"lease-seconds":{"value":600,"source":"default"}}"#),
    ("a list: `config path`", r#"[{"path":"…/.shipmate/config.toml","exists":false}]"#),
    ("`coordinator status`", r#"{"running":true,"pid":4711,"version":"0.1.0","protocol":1}"#),
    ("`coordinator stop`", r#"{"stopped":4711}"#),
    (
        "`playbook list`",
        r#"{"playbooks":[],"chosen":{"name":"features","why":".harness/ is here"}}"#,
    ),
    ("`playbook use`", r#"{"playbook":"features","changed":true}"#),
    ("`playbook init`", r#"{"path":".shipmate/playbooks/ours.toml"}"#),
    ("`playbook init --harness`", r#"{"made":[".harness/features.json",".harness/init.sh"]}"#),
];

pub(super) fn page() -> String {
    let mut text = head("JSON shapes");
    text.push_str(
        "Every command takes `--json` and prints one document on one line, or one line for each \
         record or\nmessage where it follows. A list is an array; one thing is an object. Fields \
         may be added in a\nlater release; none changes its meaning. Errors: see [exit \
         codes](exit-codes.md).\n",
    );
    for Shape { title, printed_by, example, fields } in shapes() {
        let example = serde_json::to_string_pretty(&example).expect("an example is JSON");
        text.push_str(&format!("\n## {title}\n\nPrinted as {printed_by}.\n\n"));
        text.push_str("| field | meaning |\n|---|---|\n");
        for (field, meaning) in fields {
            let field =
                if field.contains('…') { (*field).to_owned() } else { format!("`{field}`") };
            text.push_str(&format!("| {field} | {meaning} |\n"));
        }
        text.push_str(&format!("\n```json\n{example}\n```\n"));
    }
    text.push_str("\n## Short answers\n\n| printed as | example |\n|---|---|\n");
    for (printed_by, example) in SMALL {
        text.push_str(&format!("| {printed_by} | `{example}` |\n"));
    }
    text
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    /// The fields of an example; of a list, those that any of its members has.
    fn fields(value: &Value) -> BTreeSet<String> {
        match value {
            Value::Array(many) => many.iter().flat_map(fields).collect(),
            Value::Object(one) => one.keys().cloned().collect(),
            other => panic!("{other} is no shape"),
        }
    }

    #[test]
    fn every_field_is_explained_and_nothing_else_is() {
        for Shape { title, example, fields: explained, .. } in shapes() {
            let mut named: BTreeSet<String> =
                explained.iter().map(|(field, _)| (*field).to_owned()).collect();
            if named.remove("id, subject, …") {
                // Left out there where they are absent, so they need not be in the example.
                let present = fields(&example);
                let rows = TASK_ROW.iter().map(|(field, _)| (*field).to_owned());
                named.extend(rows.filter(|field| present.contains(field)));
            }
            assert_eq!(fields(&example), named, "{title}");
        }
    }

    #[test]
    fn the_short_answers_are_json() {
        for (what, example) in SMALL {
            assert!(serde_json::from_str::<Value>(example).is_ok(), "{what}");
        }
    }
}
