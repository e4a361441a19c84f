//! Every refusal of a plan in TOML: the file, and below it all that is told about it.

use super::{Format, check_refusals};

#[test]
fn every_mistake_is_told_with_its_line_and_its_remedy() {
    check_refusals("plan.toml", Format::Toml, CASES);
}

const CASES: &str = r#"

----
plan.toml: the file is empty
  add tasks: [[tasks]] with id = "…" and subject = "…" below it
1 problem; nothing was started
====
# nothing
----
plan.toml: the file is empty
  add tasks: [[tasks]] with id = "…" and subject = "…" below it
1 problem; nothing was started
====
title = "x"
----
plan.toml: the plan has no tasks
  add tasks: [[tasks]] with id = "…" and subject = "…" below it
1 problem; nothing was started
====
title = "x"
tasks = 3
----
plan.toml:2: tasks must be a list of tables
  write [[tasks]] above each of them
1 problem; nothing was started
====
title = "x"
tasks = [1]
----
plan.toml:2: tasks must be a list of tables
  write [[tasks]] above each of them
1 problem; nothing was started
====
title =
[[tasks]
id = "a"
----
plan.toml:1:8: not TOML: string values must be quoted, expected literal string
  mend the line; text is written in quotation marks, lists in brackets
plan.toml:2:9: not TOML: unclosed array table, expected `]`
  mend the line; text is written in quotation marks, lists in brackets
2 problems; nothing was started
====
title = "x"
title = "y"
----
plan.toml:2:1: not TOML: duplicate key
  mend the line; text is written in quotation marks, lists in brackets
1 problem; nothing was started
====
titel = "x"
[[tasks]]
id = "a"
subject = "do"
----
plan.toml:1: a plan has no key "titel"
  did you mean title?
1 problem; nothing was started
====
title = "x"
team = "a b"
gate = "cargo test"
objective = 3
[[tasks]]
id = "a"
subject = "do"
----
plan.toml:2: team "a b" is not a name
  use letters, digits, '_' and '-', beginning with a letter or digit, at most 64
plan.toml:3: gate is text, and must be a list
  gate is a list: write gate = ["cargo test"]
plan.toml:4: objective is a number, and must be text
  write objective = "3"
3 problems; nothing was started
====
title = "x"
team = "all"
gate = [""]
[[tasks]]
id = "a"
subject = "do"
----
plan.toml:2: team "all" is a reserved word
  choose another name
plan.toml:3: gate has an empty command
  take it out
2 problems; nothing was started
====
title = "x"
agents = 1
[[tasks]]
id = "a"
subject = "do"
----
plan.toml:2: agents must be a table of agents
  write [agents.default] with command = "…" below it
1 problem; nothing was started
====
title = "x"
[[tasks]]
id = "a"
subject = "do"
[agents]
default = "x"
[agents."b c"]
command = ""
[agents.c]
cmd = "x"
----
plan.toml:6: an agent must be a table
  write [agents.default] with command = "…" below it
plan.toml:7: the agent "b c" is not a name
  use letters, digits, '_' and '-', beginning with a letter or digit, at most 64
plan.toml:8: command is empty
  fill it in
plan.toml:10: an agent has no key "cmd"
  did you mean command?
4 problems; nothing was started
====
title = "x"
[[teammates]]
role = "r"
[[teammates]]
name = "ana"
scope = "src"
agent = "x"
[[teammates]]
name = "ana"
scope = ["../x"]
leader = true
mode = "fast"
host = "a box"
labels = ["gpu", "big one"]
[[tasks]]
id = "a"
subject = "do"
----
plan.toml:2: a teammate has no name
  add name = "…"
plan.toml:4: teammate ana has the unknown agent "x"
  add [agents.x], or use an agent program such as native or claude; the plan names none
plan.toml:6: scope is text, and must be a list
  scope is a list: write scope = ["src"]
plan.toml:8: teammate ana is there already: line 4
  give each teammate a name of its own
plan.toml:10: scope: "../x" climbs with '..'
  name a file inside the repository
plan.toml:11: a teammate has no key "leader"
  its keys are name, role, scope, agent, model, mode, lead, host, labels, from, fallback
plan.toml:12: "fast" is no mode
  use one of normal, plan, delegate, read_only
plan.toml:13: host "a box" is not a name
  use letters, digits, '_' and '-', beginning with a letter or digit, at most 64
plan.toml:14: labels: "big one" is not a name
  use letters, digits, '_' and '-', beginning with a letter or digit, at most 64
9 problems; nothing was started
====
title = "x"
[[teammates]]
name = "ana"
role = "dev"
[[tasks]]
id = "a"
subject = "do"
role = "tester"
assignee = "bo"
----
plan.toml:5: task a is for "bo", who is no teammate
  the teammates are ana (dev)
plan.toml:5: task a is for the role "tester", which nobody has
  the teammates are ana (dev)
2 problems; nothing was started
====
title = "x"
[[tasks]]

[[tasks]]
id = "12"
subject = ""
[[tasks]]
id = "group:x"
subject = "s"
[[tasks]]
id = "a..b"
subject = 7
----
plan.toml:2: a task has no id
  add id = "…"
plan.toml:2: a task has no subject
  add subject = "…"
plan.toml:5: "12" cannot be the id of a task
  use letters, digits and any of _ - . / : #, at most 128, no plain number
plan.toml:6: subject is empty
  fill it in
plan.toml:8: "group:x" would be read as a group
  use letters, digits and any of _ - . / : #, at most 128, no plain number
plan.toml:11: "a..b" cannot be the id of a task
  use letters, digits and any of _ - . / : #, at most 128, no plain number
plan.toml:12: subject is a number, and must be text
  write subject = "7"
7 problems; nothing was started
====
title = "x"
[[tasks]]
id = "a"
subject = "do"
files = "db/"
needs = "b"
----
plan.toml:5: files is text, and must be a list
  files is a list: write files = ["db/"]
plan.toml:6: needs is text, and must be a list
  needs is a list: write needs = ["b"]
2 problems; nothing was started
====
title = "x"
[[tasks]]
id = "a"
subject = "do"
files = ["/db", "~/x", "a\\b", ""]
----
plan.toml:5: files: "/db" is absolute
  write it relative to the repository
plan.toml:5: files: "~/x" is in a home folder
  write it relative to the repository
plan.toml:5: files: "a\\b" has a backslash
  write "a/b"
plan.toml:5: files: a path is empty
  take it out; "." is the whole repository
4 problems; nothing was started
====
title = "x"
[[tasks]]
id = "a"
subject = "do"
priority = "high"
minutes = 0
retries = -1
----
plan.toml:5: priority is text, and must be a whole number
  write priority = 1
plan.toml:6: minutes is 0, its range is 1 to 43200
  write a whole number from 1 to 43200
plan.toml:7: retries is -1, its range is 0 to 1000
  write a whole number from 0 to 1000
3 problems; nothing was started
====
title = "x"
[[tasks]]
id = "a"
subject = "do"
minutes = 1.5
seconds = 2
----
plan.toml:5: minutes is 1.5, its range is 1 to 43200
  write a whole number from 1 to 43200
plan.toml:6: minutes and seconds are both there
  keep one of them
2 problems; nothing was started
====
title = "x"
[[tasks]]
id = "a"
subject = "do"
priority = 99999999999999999999
minutes = nan
----
plan.toml:5: priority is 1e+20, its range is -2147483648 to 2147483647
  write a whole number from -2147483648 to 2147483647
plan.toml:6: minutes is text, and must be a whole number
  write minutes = 1
2 problems; nothing was started
====
title = "x"
[[tasks]]
id = "a"
subject = "do"
metadata = 3
----
plan.toml:5: metadata must be a table
  write metadata = { key = "value" }
1 problem; nothing was started
====
title = "x"
[[tasks]]
id = "a"
subject = "do"
metadata = { a = [1], b = 2 }
----
plan.toml:5: metadata "a" must be text
  write lists and tables as text
1 problem; nothing was started
====
title = "x"
[[tasks]]
id = "a"
subject = "do"
group = "a/b"
needs = ["group:x"]
----
plan.toml:2: task a waits for group:x, which has no member
  add it, or take the dependency out
plan.toml:5: group "a/b" is not a name
  use letters, digits, '_' and '-', beginning with a letter or digit, at most 64
2 problems; nothing was started
====
title = "x"
[[tasks]]
id = "a"
subject = "do"
group = "x"
needs = ["group:x"]
----
plan.toml:2: task a waits for group:x, to which it belongs
  take it out, or let the task leave the group
1 problem; nothing was started
====
title = "x"
[[tasks]]
id = "a"
subject = "do"
group = "docs"
[[tasks]]
id = "b"
subject = "do"
needs = ["group:dosc", "docs"]
----
plan.toml:6: task b waits for group:dosc, which has no member
  did you mean group:docs?
plan.toml:6: task b waits for docs, which is not in the plan
  did you mean group:docs?
2 problems; nothing was started
====
title = "x"
[[tasks]]
id = "schema"
subject = "do"
[[tasks]]
id = "schema"
subject = "do"
[[tasks]]
id = "b"
subject = "do"
needs = ["shema", "b"]
----
plan.toml:5: task schema is there already: line 2
  give each task an id of its own
plan.toml:8: task b waits for shema, which is not in the plan
  did you mean schema?
plan.toml:8: task b waits for itself
  take it out
3 problems; nothing was started
====
title = "x"
[[tasks]]
id = "a"
subject = "do"
needs = ["b"]
[[tasks]]
id = "b"
subject = "do"
needs = ["group:g"]
[[tasks]]
id = "c"
subject = "do"
group = "g"
needs = ["a"]
----
plan.toml:2: a circle: a (line 2) -> b (line 6) -> group:g -> c (line 10) -> a
  each waits for the next; take one of these dependencies out
1 problem; nothing was started
====
title = "x"
[[tasks]]
id = "a"
subject = "do"
blocked_by = ["b"]
titel = "x"
----
plan.toml:5: a task has no key "blocked_by"
  did you mean needs?
plan.toml:6: a task has no key "titel"
  did you mean subject?
2 problems; nothing was started
"#;
