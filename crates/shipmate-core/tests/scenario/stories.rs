//! The stories that the golden logs were written from, in their order.

/// What each golden log was written from: everything that was new then, at least once.
pub(crate) const STORIES: &[&str] = &[
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
    // Accounts: windows, a refusal, and the end of it.
    r#"
    team alpha lead lia caps 800,950,20,plain,stays
    join ana supervised
    account ana claude-1
    session s-1 model claude-opus-5 by ana
    spend tokens 5 estimated 3 by ana
    windows 500 resets 60s by ana
    windows 100 window week by ana
    limit until 60s reason "5-hour limit" by ana
    go-on claude-1
    limit by ana
    "#,
    // What one leaves for the next: a handoff, one that could not be read, and notes.
    r#"
    team alpha
    join ana
    create x
    create y
    claim 1 by ana
    note "the tests need UTC" by ana
    note "x is slow" on 1
    submit 1 by ana handoff "the parser"
    claim 2 by ana
    submit 2 by ana handoff "!the handoff is a list and no object"
    "#,
    // Something else stands behind a teammate while its account has no room.
    r#"
    team alpha
    add ana when-needed agent claude fallback codex
    add bo when-needed agent claude fallback codex
    create x
    create y
    start ana supervised
    account ana claude-1
    account bo claude-2
    limit until 60s by ana
    limit until 90s account claude-2
    wait 0s
    wait 90s
    wait 0s
    team-budget alpha window 200
    "#,
    // A limit of pace, a login that is paid for by the month, and a handoff in plain text.
    r#"
    team alpha lead lia caps 800,950,20,plain,stays
    join ana supervised
    account ana claude-1 subscription
    windows 900 window requests resets 60s pace by ana
    join bo
    create x
    claim 1 by bo
    submit 1 by bo handoff "~the parser is done"
    note "the tests need UTC" by bo
    note "the parser is slow" on 1
    remove-note 13 by bo
    remove-note 14
    note "the tests need TZ=UTC" by bo
    "#,
];
