//! Scope: what a teammate may write is looked at when it claims and when it hands in.

scenarios! {
    a_task_outside_a_teammates_scope_is_not_its: "
        join ana scope src,docs
        join bo
        create x files src/a
        create y files lib
        create z files src/b,lib/b
        create w
        create v files .
        claim 2 by ana                 => refused: task 2 needs files outside the scope of alpha/ana
        claim 3 by ana                 => refused: task 3 needs files outside the scope of alpha/ana
        claim 5 by ana                 => refused: task 5 needs files outside the scope of alpha/ana
        expect available for ana: 1, 4
        claim 1 by ana                 => task.claimed
        submit 1 by ana
        claim 4 by ana                 => task.claimed
        claim 2 by bo                  => task.claimed
    ",
    a_scope_holds_all_that_a_tasks_pattern_may_stand_for: "
        join ana scope src/?,lib/*/b.rs,docs/*.md,**/x.rs
        create a files src/*
        create b files lib/**/b.rs
        create c files docs/**
        create d files src/a/b.rs,lib/q/b.rs
        create e files docs/a*.md
        create f files app/**/x.rs,src/?/*
        expect available for ana: 4, 5, 6
        claim 1 by ana                 => refused: task 1 needs files outside the scope of alpha/ana
        claim 2 by ana                 => refused: task 2 needs files outside the scope of alpha/ana
        claim 3 by ana                 => refused: task 3 needs files outside the scope of alpha/ana
    ",
    a_better_task_outside_the_scope_is_passed_over: "
        join ana scope src
        create x files lib priority 1
        create y files src/a priority 5
        create z files src/b priority 3
        next by ana
        expect 3 in_progress by ana
        submit 3 by ana
        next by ana
        expect 2 in_progress by ana
        submit 2 by ana
        next by ana \
            => refused: no task is available for alpha/ana now; 1 pending task is blocked, \
            held up or meant for others
    ",
    work_beyond_its_files_waits_for_the_leads_word: "
        team alpha lead lia gate
        start lia
        join ana
        create x files src
        claim 1 by ana
        ask-scope 1 files docs         => refused: task 1 is not submitted
        submit 1 by ana
        expect effects: verify 1
        ask-scope 1 files docs/a.md,docs/b.md reason \"it changes docs\" \
            => question.asked, message.sent, message.sent
        expect effects: nothing
        expect inbox lia: question #: task 1 (x) of alpha/ana@1 waits: it changes docs; \
            options: grant, refuse, without
        expect inbox ana: task 1 (x) of alpha/ana@1 waits: it changes docs
        ask-scope 1 files docs         => unchanged
        answer maybe by lia            => refused: \"maybe\" is not one of the options: grant, refuse, without
        answer grant by lia \
            => question.answered, message.sent, task.scope_granted
        expect granted 1: docs/a.md, docs/b.md
        expect inbox ana: task 1 (x) of alpha/ana@1 waits: it changes docs | answer to question #: grant
        expect effects: verify 1
        complete 1 by runtime          => task.completed
    ",
    a_refusal_sends_the_work_back: "
        team alpha gate
        join ana
        create x files src
        claim 1 by ana
        submit 1 by ana
        ask-scope 1 files docs reason \"it changes docs\"
        answer refuse \
            => question.answered, message.sent, task.scope_left_out, task.returned, message.sent
        expect 1 in_progress by ana returned
        expect failure 1: refused: task 1 (x) of alpha/ana@1 waits: it changes docs; leave those \
            files as they are: what you hand in is merged without them
        expect granted 1: nothing
        expect left out 1: docs
        expect effects: nothing
        claim 1 by ana
        submit 1 by ana
        expect effects: verify 1
        ask-scope 1 files docs         => question.asked, message.sent, message.sent
        expect effects: nothing
    ",
    work_can_be_merged_without_the_files_that_are_not_its_own: "
        team alpha gate
        join ana
        create x files src
        claim 1 by ana
        submit 1 by ana
        ask-scope 1 files docs/a.md
        answer \"without\" \
            => question.answered, message.sent, task.scope_left_out
        expect 1 in_progress by ana submitted
        expect effects: verify 1
        expect left out 1: docs/a.md
        ask-scope 1 files docs/b.md
        answer refuse
        expect left out 1: docs/a.md, docs/b.md
        release 1 by ana
        claim 1 by ana
        fail 1 by ana
        expect left out 1: docs/a.md, docs/b.md
        delete 1
    ",
    files_that_become_its_own_are_merged_again: "
        team alpha gate
        join ana
        create x files src
        claim 1 by ana
        submit 1 by ana
        ask-scope 1 files docs/a.md
        answer refuse
        expect left out 1: docs/a.md
        release 1 by ana
        update 1 files src,docs
        expect left out 1: nothing
    ",
    a_task_that_is_tried_again_may_ask_again: "
        team alpha gate
        join ana
        create x files src retries 0
        claim 1 by ana
        submit 1 by ana
        ask-scope 1 files docs
        answer refuse                  => question.answered, message.sent, task.scope_left_out, \
            task.failed, message.sent
        retry 1
        expect left out 1: nothing
    ",
    a_question_about_work_outlives_whoever_handed_it_in: "
        team alpha gate
        join ana
        join bo
        create x files src
        create y files lib
        claim 1 by ana
        submit 1 by ana
        ask-scope 1 files docs as q1
        claim 2 by bo
        submit 2 by bo
        ask-scope 2 files docs as q2
        disappeared ana
        disappeared bo with-host
        expect effects: nothing
        answer grant on q1             => question.answered, task.scope_granted
        expect effects: verify 1
        answer refuse on q2            => question.answered, task.scope_left_out, task.released
        expect 2 pending
    ",
    an_answer_that_comes_too_late_changes_nothing: "
        team alpha gate
        join ana
        join bo
        create x files src
        claim 1 by ana
        submit 1 by ana
        ask-scope 1 files docs as q1
        release 1 reason \"start over\" => task.released, message.sent, question.withdrawn
        expect effects: nothing
        answer grant on q1             => refused: question # was answered already
        expect granted 1: nothing
        claim 1 by bo                  => task.claimed
        submit 1 by bo
        expect effects: verify 1
    ",
    a_new_claim_withdraws_the_question_of_the_old_one: "
        team alpha gate
        join ana
        join bo
        create x files src
        claim 1 by ana
        submit 1 by ana
        ask-scope 1 files docs as q1
        release 1 reason \"start over\"
        claim 1 by bo
        submit 1 by bo
        expect effects: verify 1
        answer grant on q1             => refused: question # was answered already
        expect granted 1: nothing
        ask-scope 1 files docs         => question.asked, message.sent, message.sent
    ",
    a_deleted_task_takes_its_question_with_it: "
        team alpha gate
        join ana
        create x files src
        claim 1 by ana
        submit 1 by ana
        ask-scope 1 files docs as q1
        release 1
        delete 1
        answer grant on q1             => refused: question # was answered already
    ",
    a_task_that_a_person_completes_takes_its_question_with_it: "
        team alpha gate
        join ana
        create x files src
        claim 1 by ana
        submit 1 by ana
        ask-scope 1 files docs as q1
        complete 1                     => task.completed, question.withdrawn
        answer refuse on q1            => refused: question # was answered already
        expect 1 completed by ana
    ",
    nobody_grants_its_own_work_in_this_life_or_the_next: "
        team alpha lead lia gate
        start lia
        join ana
        create x files src
        claim 1 by lia
        submit 1 by lia
        ask-scope 1 files docs
        expect inbox person: question #: task 1 (x) of alpha/lia@1 waits: it needs them; \
            options: grant, refuse, without
        answer grant by lia            => refused: alpha/lia@1 may not answer its own question
        answer grant by ana \
            => refused: alpha/ana@1 may not answer questions; the lead of team alpha or a person may
        disappeared lia
        start lia
        answer grant by lia            => refused: alpha/lia@2 may not answer its own question
        answer grant                   => question.answered, task.scope_granted
    ",
    what_was_granted_is_held_while_the_task_is_in_progress: "
        team alpha gate
        join ana
        join bo
        create x files src
        create y files docs/a.md
        claim 1 by ana
        submit 1 by ana
        ask-scope 1 files docs
        answer grant
        create z files src/b
        claim 3 by bo \
            => refused: task 3 needs files held by alpha/ana@1 for task 1
        claim 2 by bo \
            => refused: task 2 needs files held by alpha/ana@1 for task 1
        expect available for bo: nothing
        complete 1 by runtime
        claim 2 by bo                  => task.claimed
    ",
    what_was_granted_does_not_take_the_task_out_of_anybodys_scope: "
        team alpha gate
        join ana scope src
        create x files src
        claim 1 by ana
        submit 1 by ana
        ask-scope 1 files docs
        answer grant
        return 1 reason \"red\"
        release 1
        expect granted 1: docs
        expect available for ana: 1
        next by ana                    => task.claimed
    ",
    only_the_runtime_asks_for_scope: "
        team alpha gate
        join ana
        create x files src
        claim 1 by ana
        submit 1 by ana as s1
        ask-scope 1 files docs by ana  => refused: alpha/ana@1 may not ask for scope
        ask-scope 1 files many:17 \
            => refused: the request is # bytes and the limit is 16384
        ask-scope 1 files docs reason long:40000 \
            => refused: the request is # bytes and the limit is 32768
        ask-scope 1 files docs token s1 \
            => refused: the claim # on task 1 has ended; it is claimed by alpha/ana@1 now
        ask-scope 9 files docs         => refused: there is no task 9
    ",
}
