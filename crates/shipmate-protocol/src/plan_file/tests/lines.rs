//! Every refusal of a plan in lines of JSON: the file, and below it all that is told about it.

use super::{Format, check_refusals};

#[test]
fn every_mistake_is_told_with_its_line_and_its_remedy() {
    check_refusals("plan.jsonl", Format::Lines, CASES);
}

const CASES: &str = r#"

----
plan.jsonl: the file is empty
  begin with the header {"p":"01","n":"01","t":"…"}, then one task a line
1 problem; nothing was started
====

// nothing
----
plan.jsonl: the file is empty
  begin with the header {"p":"01","n":"01","t":"…"}, then one task a line
1 problem; nothing was started
====
{"p":"03","n":"01","t":"Search"}
----
plan.jsonl:1: plan 03-01 has no tasks
  write one task a line below its header
1 problem; nothing was started
====
{"id":"T1","a":"do","f":[]}
----
plan.jsonl:1: this is a task, and the first line of a plan is its header
  begin with the header {"p":"01","n":"01","t":"…"}, then one task a line
1 problem; nothing was started
====
{"subject":"a"}
----
plan.jsonl:1: this is a task, and the first line of a plan is its header
  a list of tasks without header is created by `shipmate task create --from`
1 problem; nothing was started
====
{"p":"03","n":"01","t":"Search"}
{"p":"03","n":"01","t":"Search"}
{"id":"T1","a":"do","f":[]}
----
plan.jsonl:2: a second header, in the file of plan 03-01
  put each plan into a file of its own
1 problem; nothing was started
====
{"p":"03","n":"01","t":"Search"}
{"id":"T1","a":
{"id":"T2","a":"do","f":[]}
----
plan.jsonl:2:15: not a JSON object: EOF while parsing a value
  write one JSON object a line
1 problem; nothing was started
====
{"p":"03","n":"01","t":"Search"}
[1]
{"id":"T2","a":"do","f":[]}
----
plan.jsonl:2:1: not a JSON object: invalid type: sequence, expected a JSON object
  write one JSON object a line
1 problem; nothing was started
====
{"p":"03","n":"01","t":"Search"}
{"id":"T1","a":"x","f":[]} x
----
plan.jsonl:2:28: not a JSON object: trailing characters
  write one JSON object a line
1 problem; nothing was started
====
{"p":3,"n":"01","t":"x"}
{"id":"T1","a":"do","f":[]}
----
plan.jsonl:1: "p" (phase) is a number, and must be text
  write "p":"3"
1 problem; nothing was started
====
{"p":"03","t":" "}
{"id":"T1","a":"do","f":[]}
----
plan.jsonl:1: a header has no "n" (plan number)
  add "n":"…"
1 problem; nothing was started
====
{"p":"../x","n":"01","t":"x"}
{"id":"T1","a":"do","f":[]}
----
plan.jsonl:1: the plan's id "../x-01" is not a name
  use letters, digits, '_' and '-', beginning with a letter or digit, at most 64
1 problem; nothing was started
====
{"p":"03","n":"01","t":"x","d":"03-00"}
{"id":"T1","a":"do","f":[]}
----
plan.jsonl:1: "d" (depends_on) is text, and must be a list
  depends_on is a list: write "d":["03-00"]
1 problem; nothing was started
====
{"p":"03","n":"01","t":"x","d":["03-00"]}
{"id":"T1","a":"do","f":[]}
----
plan.jsonl:1: plan 03-01 depends on plan 03-00, which was not given
  give its file too, or take it out of "d"; given: 03-01
1 problem; nothing was started
====
{"p":"03","n":"01","t":"x","d":["03-01"]}
{"id":"T1","a":"do","f":[]}
----
plan.jsonl:1: plan 03-01 depends on itself
  take it out of "d"
1 problem; nothing was started
====
{"p":"03","n":"01","t":"x","w":"1","mh":7,"obj":1,"eff":2,"sk":"x","fm":["/a"],"auto":1,"xd":0}
{"id":"T1","a":"do","f":[]}
----
plan.jsonl:1: "eff" (effort_override) is a number, and must be text
  write "eff":"2"
plan.jsonl:1: "sk" (skills_used) is text, and must be a list
  skills_used is a list: write "sk":["x"]
plan.jsonl:1: "mh" (must_haves) must be an object or a list
  write "mh":{"tr":[],"ar":[],"kl":[]}
plan.jsonl:1: "obj" (objective) is a number, and must be text
  write "obj":"1"
plan.jsonl:1: "w" (wave) is text, and must be a whole number
  write "w":1
plan.jsonl:1: "fm" (files_modified): "/a" is absolute
  write it relative to the repository
plan.jsonl:1: "auto" (autonomous) is a number, and must be true or false
  write "auto":true
plan.jsonl:1: "xd" (cross_phase_deps) must be a list of objects
  write "xd":[{"p":"01","n":"02","a":"path","r":"reason"}]
8 problems; nothing was started
====
{"p":"03","n":"01","t":"x","xd":[{"p":"01","n":"02","a":"../x"},{"p":"01"},7]}
{"id":"T1","a":"do","f":[]}
----
plan.jsonl:1: "a" (artifact path): "../x" climbs with '..'
  name a file inside the repository
plan.jsonl:1: an entry of "xd" has no "n" (plan number)
  add "n":"…"
plan.jsonl:1: an entry of "xd" has no "a" (artifact path)
  add "a":"…"
plan.jsonl:1: "xd" (cross_phase_deps) must be a list of objects
  write "xd":[{"p":"01","n":"02","a":"path","r":"reason"}]
4 problems; nothing was started
====
{"p":"03","n":"01","t":"x","titel":"y"}
{"id":"T1","a":"do","f":[]}
----
plan.jsonl:1: a header has no key "titel"
  did you mean "t" (title)?
1 problem; nothing was started
====
{"p":"03","n":"01","t":"Search"}
{}
----
plan.jsonl:2: a task has no "id" (task id)
  add "id":"…"
plan.jsonl:2: a task has no "a" (action)
  add "a":"…"
plan.jsonl:2: a task has no "f" (files)
  add "f":["…"], or [] if it writes none
3 problems; nothing was started
====
{"p":"03","n":"01","t":"Search"}
{"id":"T1","a":"  ","f":null}
----
plan.jsonl:2: "a" (action) is empty
  fill it in
plan.jsonl:2: a task has no "f" (files)
  add "f":["…"], or [] if it writes none
2 problems; nothing was started
====
{"p":"03","n":"01","t":"Search"}
{"id":"T 1","a":"x","f":[]}
----
plan.jsonl:2: the id "T 1" is not a name
  use letters, digits, '_' and '-', beginning with a letter or digit, at most 64
1 problem; nothing was started
====
{"p":"03","n":"01","t":"Search"}
{"id":1,"a":"x","f":[]}
----
plan.jsonl:2: "id" (task id) is a number, and must be text
  write "id":"1"
1 problem; nothing was started
====
{"p":"03","n":"01","t":"Search"}
{"id":"T1","id":"T2","a":"x","f":[]}
----
plan.jsonl:2: "id" (task id) is there twice
  keep one of them
1 problem; nothing was started
====
{"p":"03","n":"01","t":"Search"}
{"id":"T1","a":"do","f":"src/a.rs"}
----
plan.jsonl:2: "f" (files) is text, and must be a list
  files is a list: write "f":["src/a.rs"]
1 problem; nothing was started
====
{"p":"03","n":"01","t":"Search"}
{"id":"T1","a":"do","f":["a",1]}
----
plan.jsonl:2: "f" (files) has a number at place 2, and must be a list of texts
  write "f":["…", "…"]
1 problem; nothing was started
====
{"p":"03","n":"01","t":"Search"}
{"id":"T1","a":"do","f":7}
----
plan.jsonl:2: "f" (files) is a number, and must be a list of texts
  write "f":["…"]
1 problem; nothing was started
====
{"p":"03","n":"01","t":"Search"}
{"id":"T1","a":"do","f":["../a","/etc/x","~/a","","src\\a.rs","a/../b","a\u0000b"]}
----
plan.jsonl:2: "f" (files): "../a" climbs with '..'
  name a file inside the repository
plan.jsonl:2: "f" (files): "/etc/x" is absolute
  write it relative to the repository
plan.jsonl:2: "f" (files): "~/a" is in a home folder
  write it relative to the repository
plan.jsonl:2: "f" (files): a path is empty
  take it out; "." is the whole repository
plan.jsonl:2: "f" (files): "src\\a.rs" has a backslash
  write "src/a.rs"
plan.jsonl:2: "f" (files): "a/../b" climbs with '..'
  name a file inside the repository
plan.jsonl:2: "f" (files): "a\0b" has a control character
  take it out
7 problems; nothing was started
====
{"p":"03","n":"01","t":"Search"}
{"id":"T1","a":"x","files":["a"]}
----
plan.jsonl:2: a task has no key "files"
  did you mean "f" (files)?
1 problem; nothing was started
====
{"p":"03","n":"01","t":"Search"}
{"id":"T1","a":"do","f":[],"tdd":["T2"]}
----
plan.jsonl:2: a task has no key "tdd"
  did you mean "td" (task_depends)?
1 problem; nothing was started
====
{"p":"03","n":"01","t":"Search"}
{"id":"T1","a":"do","f":[],"depends_on":[]}
----
plan.jsonl:2: a task has no key "depends_on"
  did you mean "td" (task_depends)?
1 problem; nothing was started
====
{"p":"03","n":"01","t":"Search"}
{"id":"T1","a":"do","f":[],"zzzzzz":1}
----
plan.jsonl:2: a task has no key "zzzzzz"
  its keys are id, tp, a, f, v, done, spec, ts, td
1 problem; nothing was started
====
{"p":"03","n":"01","t":"Search"}
{"id":"T1","a":"do","f":[]}
{"id":"T2","a":"do","f":[]}
{"id":"T1","a":"do","f":[]}
----
plan.jsonl:4: task 03-01/T1 is there already: line 2
  give each task an id of its own
1 problem; nothing was started
====
{"p":"03","n":"01","t":"Search"}
{"id":"T1","a":"do","f":[],"td":["T1"]}
----
plan.jsonl:2: task 03-01/T1 waits for itself
  take it out
1 problem; nothing was started
====
{"p":"03","n":"01","t":"Search"}
{"id":"T1","a":"do","f":[]}
{"id":"T2","a":"do","f":[],"td":["T9"]}
----
plan.jsonl:3: task 03-01/T2 waits for 03-01/T9, which is not in the plan
  add it, or take the dependency out
1 problem; nothing was started
====
{"p":"03","n":"01","t":"Search"}
{"id":"T1","a":"do","f":[],"td":"T1"}
----
plan.jsonl:2: "td" (task_depends) is text, and must be a list
  task_depends is a list: write "td":["T1"]
1 problem; nothing was started
====
{"p":"03","n":"01","t":"Search"}
{"id":"T10","a":"do","f":[]}
{"id":"T2","a":"do","f":[],"td":["t10"]}
----
plan.jsonl:3: task 03-01/T2 waits for 03-01/t10, which is not in the plan
  did you mean 03-01/T10?
1 problem; nothing was started
====
{"p":"03","n":"01","t":"Search"}
{"id":"T1","a":"do","f":[],"td":["T3"]}
{"id":"T2","a":"do","f":[],"td":["T1"]}
{"id":"T3","a":"do","f":[],"td":["T2"]}
{"id":"T4","a":"do","f":[],"td":["T1"]}
{"id":"T5","a":"do","f":[],"td":["T6"]}
{"id":"T6","a":"do","f":[],"td":["T5"]}
----
plan.jsonl:2: a circle: 03-01/T1 (line 2) -> 03-01/T3 (line 4) -> 03-01/T2 (line 3) -> 03-01/T1
  each waits for the next; take one of these dependencies out
plan.jsonl:6: a circle: 03-01/T5 (line 6) -> 03-01/T6 (line 7) -> 03-01/T5
  each waits for the next; take one of these dependencies out
2 problems; nothing was started
====
{"p":"03","n":"01","t":"Search"}
{"id":"T1","a":"do","f":[],"tp":"chekpoint:human"}
----
plan.jsonl:2: "tp" (type) is "chekpoint:human"
  write "auto", or "checkpoint:" and its kind
1 problem; nothing was started
====
{"p":"03","n":"01","t":"Search"}
{"id":"T1","a":"do","f":[],"v":["x"],"done":true}
----
plan.jsonl:2: "v" (verify) is a list, and must be text
  write "v":"…"
plan.jsonl:2: "done" (done criteria) is true, and must be text
  write "done":"…"
2 problems; nothing was started
"#;
