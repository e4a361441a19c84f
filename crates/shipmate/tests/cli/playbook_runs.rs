//! What a person reads where a run by a playbook is refused, waits or stops.

use crate::transcript::Workspace;

/// Waits for a file that never comes; what comes after can be left out or cannot.
const STEPS: &str = r#"name = "steps"
[roles.lead]
lead = true
[[phases]]
name = "first"
roles = ["lead"]
optional = true
entry = ["never.txt"]
[[phases.tasks]]
id = "a"
lead = true
subject = "a"
[[phases]]
name = "second"
entry = ["never.txt"]
[[phases.tasks]]
id = "b"
lead = true
subject = "b"
[[phases]]
name = "third"
optional = true
[[phases.tasks]]
id = "c"
lead = true
subject = "c"
"#;

fn with(name: &str, text: &str) -> Workspace {
    let workspace = Workspace::with_repository();
    workspace.write(&format!(".shipmate/playbooks/{name}.toml"), text);
    workspace
}

fn steps() -> Workspace {
    with("steps", STEPS)
}

#[test]
fn teams_that_are_there_are_in_no_run_s_way() {
    let workspace = steps();
    let run = "shipmate run --detach --dirty --agent true --playbook steps";
    for team in ["one", "two", "three"] {
        workspace.succeed(&format!("{run} --team {team} 'say hello'"));
    }
    workspace.succeed(&format!("{run} 'say goodbye'"));
    workspace.check(
        r#"
        $ shipmate team list
        TEAM         [..]
        one          [..]
        say-goodbye  [..]
        three        [..]
        two          [..]
        "#,
    );
    let status = workspace.succeed("shipmate status");
    for team in ["one", "two", "three", "say-goodbye"] {
        assert!(status.contains(&format!("\n{:<15}  {team}: first waits", "phase")), "{status}");
    }
    assert_eq!(workspace.succeed("shipmate status --json").lines().count(), 4);
    assert_eq!(workspace.succeed("shipmate status --json --team two").lines().count(), 1);
}

#[test]
fn a_lead_that_could_not_plan_is_refused_before_anything_is_started() {
    let workspace = Workspace::with_repository();
    workspace.check(
        r#"
        $ shipmate run --playbook board "make a note" --agent true
        refused: phase plan is planned by the lead: lead cannot lead: its agent cannot be talked to
          name a program for it, such as --lead native (`shipmate agents` lists them)
        => 1

        $ shipmate run --playbook delegate "make a note" --agent true
        note: [..]
        refused: phase team is planned by the lead: lead cannot lead: its agent cannot be talked to
          name a program for it, such as --lead native (`shipmate agents` lists them)
        => 1

        $ shipmate run --playbook board "make a note" --agent true --lead native
        refused: phase plan is planned by the lead: [..]
          [..]
        => 1

        $ shipmate team list
        no teams yet; `shipmate team create NAME` makes one
        "#,
    );
    // Plans that are there need nobody to make them.
    let plan = r#"{"p":"01","n":"1","t":"T"}
{"id":"T1","tp":"auto","a":"write a","f":["a.txt"],"v":"","done":""}
"#;
    workspace.write("plans/1.plan.jsonl", plan);
    workspace.git("add plans");
    workspace.git("commit --quiet --message plans");
    workspace.succeed("shipmate run --detach --playbook board plans --agent true");
}

#[test]
fn a_playbook_for_a_folder_is_given_no_file() {
    let workspace = Workspace::with_repository();
    workspace.write("plans/a.plan.jsonl", "{\"p\":\"01\",\"n\":\"1\",\"t\":\"T\"}\n");
    workspace.check(
        r#"
        $ shipmate run --dirty --playbook board plans/a.plan.jsonl --agent true
        refused: board works on a folder, and plans/a.plan.jsonl is a file
          give the folder, in which it takes *.plan.jsonl; `--playbook none` runs a plan file as it is
        => 1

        $ shipmate team list
        no teams yet; `shipmate team create NAME` makes one
        "#,
    );
}

#[test]
fn a_phase_that_cannot_be_left_out_is_refused_with_what_can_be() {
    let workspace = steps();
    workspace.succeed(
        "shipmate run --detach --dirty --agent true --playbook steps --team alpha 'say hello'",
    );
    workspace.until("never.txt is not there");
    workspace.succeed("shipmate pause --reason 'lunch'");
    workspace.check(
        r#"
        $ shipmate phase list
        alpha (steps)
          first   waits     never.txt is not there; the team is paused: lunch
          second  ahead
          third   ahead

        $ shipmate phase skip nope
        refused: alpha has no phase nope
          its phases are first, second, third; what can be left out: first, third
        => 1

        $ shipmate phase skip second
        refused: phase second of alpha is not optional, and cannot be left out
          what can be left out: first, third
        => 1

        $ shipmate phase skip third
        refused: phase third of alpha is not next: first is
          leave it out when it is the next; `shipmate run --skip third` leaves it out from the start
        => 1

        $ shipmate phase skip first
        phase first is left out
        the team is paused: `shipmate --team alpha continue` lets it go on

        $ shipmate phase skip first
        refused: phase first of alpha is over
          what can be left out: third
        => 1

        $ shipmate phase list
        alpha (steps)
          first   skipped   left out by the person
          second  waits     the team is paused: lunch
          third   ahead
        "#,
    );
}

#[test]
fn what_is_told_in_several_lines_is_shown_in_several_lines() {
    let workspace = with("bad", "name = \"bad\"\n\n[[phases]]\nname = \"a\"\nrole = [\"dev\"]\n");
    workspace.check(
        r#"
        $ shipmate run --playbook bad --agent true "say hello"
        refused: the playbook bad cannot be used
          .shipmate/playbooks/bad.toml:5: a phase has no key "role"
            did you mean roles?
          mend it; `shipmate playbook check` looks at it again
        => 1
        "#,
    );
}

#[test]
fn what_can_be_said_to_playbook_use_is_in_its_usage() {
    let workspace = Workspace::new();
    let output = workspace.run("shipmate playbook use", b"");
    let told = String::from_utf8(output.stderr).unwrap();
    assert!(told.contains("Usage: shipmate playbook use [OPTIONS] <NAME|--none>"), "{told}");
}

#[test]
fn what_a_team_has_left_is_one_line() {
    let workspace = steps();
    workspace.succeed("shipmate team create gone --trees own");
    workspace.succeed("shipmate --team gone teammate add ana --command 'echo 1 > 1.txt'");
    workspace.succeed("shipmate --team gone task create one");
    workspace.until("task.completed 1");
    workspace.succeed("shipmate team delete gone");
    // No team made these: they are the person's.
    workspace.git("branch shipmate/mine");
    workspace.git("update-ref refs/shipmate/mine/work/1 HEAD");
    workspace.check(
        r#"
        $ shipmate run --detach --dirty --agent true --playbook steps --team alpha "say hello"
        note: left over of gone: work that is in no branch of yours (1), and the team is gone; \
        `shipmate doctor` names it
        team alpha is at work: [..]
        when somebody shows a plan: `shipmate --team alpha plan list`
        "#,
    );
}
