//! The board: tasks created, taken, handed in, and what stands in the way.

use crate::transcript::Workspace;

#[test]
fn a_task_is_created_claimed_and_handed_in() {
    Workspace::with_team(&["ana", "bo"]).check(
        r#"
        $ shipmate task create "Write the parser" --files src/parser.rs \
          --description "As in the book." --meta ticket=P-7
        created task 1: Write the parser

        $ shipmate task create "Test the parser" --blocked-by 1 --priority 10 --duration 5m
        created task 2: Test the parser

        $ shipmate --as ana task claim 1
        claimed task 1: Write the parser
          token 8
          lease [..]
          files src/parser.rs
          As in the book.

        $ shipmate --as bo task claim 1
        refused: task 1 is claimed by alpha/ana@1
        ...
        => 5

        $ shipmate --as bo task next
        refused: no task is available for alpha/bo now; 1 pending task [..]
        ...
        => 4

        $ shipmate --as bo task submit 1
        error: alpha/bo@1 holds no claim on task 1
          `shipmate task show 1` says who does; claim it first, or pass the token of the claim with --token N
        => 5

        $ shipmate --as ana task claim 1
        claimed task 1: Write the parser
          token 8
          lease [..]
          files src/parser.rs
          As in the book.

        $ shipmate --as ana task renew 1 --token 8
        renewed the lease on task 1

        $ shipmate --as ana task submit 1 --token 7 --result late
        refused: the claim 7 on task 1 has ended; it is claimed by alpha/ana@1 now
        ...
        => 5

        $ shipmate --as ana task submit 1 --commit 1f3a9c2 --result "all tests pass"
        submitted task 1

        $ shipmate --as bo task next --lease 90s
        claimed task 2: Test the parser
          token [..]
          lease [..]

        $ shipmate task show 1
        task 1: Write the parser
          status       completed
          owner        alpha/ana@1
          blocks       2
          files        src/parser.rs
          priority     100
          path         [..]
          retries      0 of 3
          commit       1f3a9c2
          result       all tests pass
          metadata     ticket=P-7
          created      [..] UTC by person
          changed      [..] UTC
          description  As in the book.
        "#,
    );
}

#[test]
fn a_task_is_handed_in_and_the_next_taken_in_one_step() {
    Workspace::with_team(&["ana"]).check(
        r#"
        $ shipmate task create "One"
        created task 1: One

        $ shipmate task create "Two" --blocked-by 1
        created task 2: Two

        $ shipmate --as ana task next
        claimed task 1: One
          token 6
          lease [..]

        $ shipmate --as ana task submit 1 --next
        submitted task 1
        claimed task 2: Two
          token [..]
          lease [..]

        $ shipmate --as ana task submit 2 --next
        submitted task 2; no task is available now

        $ shipmate --as ana task submit 2 --next --token 6
        refused: the claim 6 on task 2 has ended[..]
        ...
        => 5
        "#,
    );
}

#[test]
fn a_list_says_why_a_task_cannot_be_taken() {
    let workspace = Workspace::with_team(&["ana", "bo"]);
    workspace.check(
        r#"
        $ shipmate task create "Write the lexer" --files src/lexer.rs
        created task 1: Write the lexer

        $ shipmate task create "Rename everything" --files src --alias rename
        created task 2: Rename everything

        $ shipmate task create "Release" --blocked-by 1,rename
        created task 3: Release

        $ shipmate task create "Test" --role tester
        created task 4: Test

        $ shipmate task create "Review" --assignee bo --group checks
        created task 5: Review

        $ shipmate --as ana task claim 1
        claimed task 1: Write the lexer
          token [..]
          lease [..]
          files src/lexer.rs

        $ shipmate task list
        ID  STATUS       OWNER  GROUP   ALIAS   SUBJECT            NOTE
         1  in_progress  ana@1                  Write the lexer
         2  pending                     rename  Rename everything  files held by ana (task 1)
         3  pending                             Release            blocked by 1, 2
         4  pending                             Test               available; role tester
         5  pending             checks          Review             available; assigned to bo

        $ shipmate --as bo task claim rename
        refused: task 2 needs files held by alpha/ana@1 for task 1
        ...
        => 1

        $ shipmate --as bo task claim 3
        refused: task 3 is blocked by 1, 2
        ...
        => 1

        $ shipmate --as bo task claim 4
        refused: task 4 is for role tester, and alpha/bo has none
        ...
        => 1

        $ shipmate --as ana task claim 5
        refused: alpha/ana holds 1 of 1 tasks it may hold: 1
        ...
        => 1

        $ shipmate --as bo task list --available
        ID  STATUS   GROUP   SUBJECT  NOTE
         5  pending  checks  Review   available; assigned to bo

        $ shipmate task list --status in_progress,failed
        ID  STATUS       OWNER  SUBJECT
         1  in_progress  ana@1  Write the lexer

        $ shipmate task list --group checks --search VIEW --owner ana
        no tasks

        $ shipmate task list --after 3 --limit 1
        ID  STATUS   SUBJECT  NOTE
         4  pending  Test     available; role tester
        "#,
    );
}

#[test]
fn a_task_can_fail_be_retried_released_assigned_updated_and_deleted() {
    Workspace::with_team(&["ana", "bo"]).check(
        r#"
        $ shipmate task create "Flaky" --retries 1
        created task 1: Flaky

        $ shipmate --as ana task next --json
        {"task":{[..]"id":1,[..]},"token":7}

        $ shipmate --as ana task fail 1 "the disk was full"
        the attempt at task 1 has failed

        $ shipmate --as ana task next
        claimed task 1: Flaky
          token [..]
          lease [..]

        $ shipmate --as ana task fail 1 "again"
        the attempt at task 1 has failed

        $ shipmate task list
        ID  STATUS  SUBJECT  NOTE
         1  failed  Flaky    failed: again

        $ shipmate task retry 1
        task 1 may be tried again

        $ shipmate task retry 1
        refused: task 1 has not failed, it is pending
        ...
        => 1

        $ shipmate --as ana task next
        claimed task 1: Flaky
          token [..]
          lease [..]

        $ shipmate --as ana task release 1 --reason "bo knows it"
        task 1 may be taken again

        $ shipmate task assign 1 bo
        task 1 is for bo

        $ shipmate --as ana task claim 1
        refused: task 1 is assigned to bo
        ...
        => 1

        $ shipmate task assign 1 --nobody
        task 1 is for anybody

        $ shipmate task update 1 --subject "Steady" --files src/a.rs --meta k=v --role tester
        updated task 1

        $ shipmate --as bo task claim 1
        refused: task 1 is for role tester, and alpha/bo has none
        ...
        => 1

        $ shipmate task update 1 --role "" --files ""
        updated task 1

        $ shipmate --as bo task claim 1
        claimed task 1: Steady
          token [..]
          lease [..]

        $ shipmate task complete 1 --result "by hand"
        completed task 1

        $ shipmate task create "Not needed"
        created task 2: Not needed

        $ shipmate task delete 2
        deleted task 2

        $ shipmate task list --status deleted,completed
        ID  STATUS     OWNER  SUBJECT
         1  completed  bo@1   Steady
         2  deleted           Not needed
        "#,
    );
}

#[test]
fn late_work_is_refused_and_can_be_set_aside() {
    Workspace::with_team(&["ana", "bo"]).check(
        r#"
        $ shipmate task create "Write the parser"
        created task 1: Write the parser

        $ shipmate --as ana task claim 1
        claimed task 1: Write the parser
          token 7
          lease [..]

        $ shipmate task release 1 --reason "ana is stuck"
        task 1 may be taken again

        $ shipmate --as bo task claim 1
        claimed task 1: Write the parser
          token [..]
          lease [..]

        $ shipmate --as ana task submit 1 --token 7
        refused: the claim 7 on task 1 has ended; it is claimed by alpha/bo@1 now
        ...
        => 5

        $ shipmate --as ana task set-aside 1 --token 7 "branch ana/parser"
        the work on task 1 is set aside

        $ shipmate task show 1
        ...
          set aside    alpha/ana@1: branch ana/parser
        ...
        "#,
    );
}

#[test]
fn a_dependency_on_itself_in_a_circle_or_on_nothing_is_refused() {
    Workspace::with_team(&[]).check(
        r#"
        $ shipmate task create "One"
        created task 1: One

        $ shipmate task create "Two" --blocked-by 1
        created task 2: Two

        $ shipmate task update 1 --block 1
        refused: task 1 cannot depend on itself
        ...
        => 1

        $ shipmate task update 1 --block 2
        refused: that dependency would close a circle: 1 → 2 → 1
        ...
        => 1

        $ shipmate task create "Three" --blocked-by 9
        refused: there is no task 9
        ...
        => 3

        $ shipmate task create "Three" --blocked-by nobody
        refused: there is no task with the alias nobody
        ...
        => 3

        $ shipmate task create "Three" --blocked-by group:nobody
        refused: there is no group nobody
        ...
        => 3

        $ shipmate task show 7
        refused: there is no task 7
        ...
        => 3

        $ shipmate task update 2 --unblock 2
        refused: task 2 does not depend on task 2
        ...
        => 1

        $ shipmate task create "Outside" --files ../secrets
        refused: [..]
        ...
        => 1

        $ shipmate task create "One" --alias a
        created task 3: One

        $ shipmate task create "One" --alias a
        refused: the alias a belongs to task 3
        ...
        => 1

        $ shipmate task claim 1
        refused: person may not claim tasks
        ...
        => 1

        $ shipmate task submit 1
        error: a person holds no claims
          act as the holder with --as NAME, or pass the claim's own token with --token N
        => 2

        $ shipmate task list
        ID  STATUS   ALIAS  SUBJECT  NOTE
         1  pending         One      available
         2  pending         Two      blocked by 1
         3  pending  a      One      available
        "#,
    );
}

#[test]
fn a_plan_of_tasks_is_read_from_a_file_or_standard_input() {
    let workspace = Workspace::with_team(&[]);
    workspace.write(
        "plan.jsonl",
        "{\"subject\":\"A\",\"alias\":\"a\"}\n\n{\"subject\":\"B\",\"blocked_by\":[\"a\"]}\n",
    );
    workspace.write("bad.jsonl", "{\"subject\":\"A\"}\n{\"subject\":1}\n");
    workspace.write("odd.jsonl", "{\"subject\":\"A\",\"blocks\":[1]}\n");
    workspace.check_with(
        r#"
        $ shipmate task create --from plan.jsonl
        created 2 tasks, 1 to 2

        $ shipmate task create --from -
        created task 3: Piped

        $ shipmate task create --from bad.jsonl
        error: bad.jsonl:2:12: invalid type: integer `1`, expected a string
          write one JSON object a line; nothing was created
        => 2

        $ shipmate task create --from odd.jsonl
        error: odd.jsonl:1: a task has no field "blocks"
          the fields are [..]; nothing was created
        => 2

        $ shipmate task create --from nowhere.jsonl --json
        {"failed":{"code":"Usage","message":"nowhere.jsonl cannot be read: [..]",\
          "remedy":"name an existing text file"}}
        => 2

        $ shipmate task list
        ID  STATUS   ALIAS  SUBJECT  NOTE
         1  pending  a      A        available
         2  pending         B        blocked by 1
         3  pending         Piped    available
        "#,
        b"{\"subject\":\"Piped\"}\n",
    );
}

#[test]
fn the_dependencies_are_drawn() {
    Workspace::with_team(&["ana"]).check(
        r#"
        $ shipmate task create "Design" --alias d
        created task 1: Design

        $ shipmate task create "Build" --blocked-by d --group work
        created task 2: Build

        $ shipmate task create "Write" --blocked-by d --group work
        created task 3: Write

        $ shipmate task create "Ship" --blocked-by group:work,1
        created task 4: Ship

        $ shipmate --as ana task next
        claimed task 1: Design
          token [..]
          lease [..]

        $ shipmate task graph
        ▶ 1 Design  ana@1
        ├─ · 2 Build
        │  └─ · 4 Ship  ← [..]group:work[..]
        └─ · 3 Write

        ✓ completed  ▶ in progress  ○ available  · blocked  ✗ failed

        $ shipmate task graph --levels
        level 1, 1 task
          ▶ 1 Design  ana@1
        level 2, 2 tasks
          · 2 Build  ← 1
          · 3 Write  ← 1
        level 3, 1 task
          · 4 Ship  ← [..]group:work[..]

        ✓ completed  ▶ in progress  ○ available  · blocked  ✗ failed

        $ shipmate task graph --dot
        digraph tasks {
          rankdir=LR;
          node [shape=box, style="rounded,filled", fillcolor=white];
          1 [label="1 Design", fillcolor=khaki];
          2 [label="2 Build", fillcolor=gray92];
          3 [label="3 Write", fillcolor=gray92];
          4 [label="4 Ship", fillcolor=gray92];
          "group:work" [shape=ellipse, label="group work"];
          1 -> 2;
          1 -> 3;
          1 -> 4;
          "group:work" -> 4;
          2 -> "group:work" [style=dashed];
          3 -> "group:work" [style=dashed];
        }

        $ shipmate task graph --json
        [{"id":1,"level":0,"blocked_by":[]},{"id":2,"level":1,"blocked_by":["1"]},[..]]
        "#,
    );
}

#[test]
fn a_waiting_teammate_is_woken_by_the_task_it_waits_for() {
    let workspace = Workspace::with_team(&["ana"]);
    let mut waiting = workspace.command("shipmate --as ana task next --wait");
    let waiting = waiting.stdout(std::process::Stdio::piped()).spawn().unwrap();
    workspace.succeed("shipmate task create \"At last\"");
    let woken = waiting.wait_with_output().unwrap();
    assert!(woken.status.success());
    let text = String::from_utf8(woken.stdout).unwrap();
    assert!(text.starts_with("claimed task 1: At last\n"), "{text}");
}
