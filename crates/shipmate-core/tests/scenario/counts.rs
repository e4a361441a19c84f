//! What the runtime counts for a playbook: the same failure, contested files, the order of tasks
//! and of those who stop.

scenarios! {
    the_same_failure_three_times_is_the_leads: "
        team alpha lead lia gate playbook \"phase build | same-failure 3\"
        start lia
        join ana
        create lexer retries 9
        claim 1 by ana
        submit 1 by ana
        return 1 reason \"test lex::empty failed at lex.rs:10 in 0.1s\"
        next by ana
        submit 1 by ana
        return 1 reason \"test lex::empty failed at lex.rs:12 in 0.3s\" => task.returned, message.sent
        expect inbox ana: task 1 (lexer) came back: test lex::empty failed at lex.rs:10 in 0.1s \
            | task 1 (lexer) came back with the same failure, 2 of 3 times: \
            test lex::empty failed at lex.rs:12 in 0.3s
        next by ana
        submit 1 by ana
        return 1 reason \"test lex::empty failed at lex.rs:12 in 2s\" \
            => task.failed, message.sent, message.sent
        expect counts alpha: 1 failed
        expect inbox lia: task 1 (lexer) came back to alpha/ana 3 times in a row with the same failure; \
            do not mark it completed. Retry it with other instructions, give it to another or do it \
            yourself. The failure:; test lex::empty failed at lex.rs:12 in 2s
        retry 1
        claim 1 by ana
        submit 1 by ana
        return 1 reason \"test lex::empty failed at lex.rs:12 in 2s\" => task.returned, message.sent
    ",
    another_failure_begins_the_count_again: "
        team alpha gate playbook \"phase build | same-failure 2\"
        join ana
        create lexer retries 9
        claim 1 by ana
        submit 1 by ana
        return 1 reason \"a failed\"
        next by ana
        submit 1 by ana
        return 1 reason \"b failed\"           => task.returned, message.sent
        next by ana
        submit 1 by ana
        return 1 reason \"a failed\"           => task.returned, message.sent
        next by ana
        submit 1 by ana
        return 1 reason \"a failed\"           => task.failed, message.sent, message.sent
    ",
    a_one_shot_agents_failures_count_too: "
        team alpha gate playbook \"phase build | same-failure 2\"
        add ana role dev
        create lexer retries 9
        start ana one-shot
        claim 1 by ana
        submit 1 by ana
        return 1 reason \"a failed\"           => task.released
        stopped ana
        start ana one-shot
        claim 1 by ana
        submit 1 by ana
        return 1 reason \"a failed\"           => task.failed, message.sent, message.sent
    ",
    whoever_owns_a_wanted_file_is_named: "
        team alpha lead lia gate playbook \"phase build | contested 2\"
        start lia
        join ana scope src/a
        join bo scope src/b
        create a files src/a
        create b files src/b
        claim 1 by ana
        claim 2 by bo
        submit 1 by ana
        ask-scope 1 files src/b/api.rs reason \"it changes src/b/api.rs\" \
            => question.asked, message.sent, message.sent
        expect inbox lia: question #: task 1 (a) of alpha/ana@1 waits: it changes src/b/api.rs; \
            src/b/api.rs is owned by alpha/bo (task 2, in progress); options: grant, refuse, without
        expect inbox ana: task 1 (a) of alpha/ana@1 waits: it changes src/b/api.rs; src/b/api.rs is \
            owned by alpha/bo (task 2, in progress): ask bo with SendMessage
        answer refuse by lia
        read by lia
        read by ana
        submit 2 by bo
        ask-scope 2 files src/a/mod.rs reason \"it changes src/a/mod.rs\" \
            => question.asked, message.sent, message.sent, message.sent
        expect inbox lia: question #: task 2 (b) of alpha/bo@1 waits: it changes src/a/mod.rs; \
            src/a/mod.rs is owned by alpha/ana (task 1, in progress); options: grant, refuse, without \
            | alpha/bo and alpha/ana have wanted each other's files 2 times (now src/a/mod.rs): \
            merge their scopes into one teammate, or give the shared files to one of them
    ",
    a_scope_or_a_plan_says_whose_a_file_is_too: "
        team alpha lead lia gate playbook \"phase build | contested 9\"
        start lia
        join ana
        join bo scope docs
        create a files src/a
        create b files src/b assignee bo
        claim 1 by ana
        submit 1 by ana
        ask-scope 1 files docs/a.md reason \"docs\"
        expect inbox lia: question #: task 1 (a) of alpha/ana@1 waits: docs; \
            docs/a.md is owned by alpha/bo (its scope); options: grant, refuse, without
        answer grant by lia
        read by lia
        ask-scope 1 files src/b/x.rs reason \"b\"
        expect inbox lia: question #: task 1 (a) of alpha/ana@1 waits: b; \
            src/b/x.rs is owned by alpha/bo (task 2); options: grant, refuse, without
        answer grant by lia
        read by lia
        ask-scope 1 files lib reason \"nobody's\"
        expect inbox lia: question #: task 1 (a) of alpha/ana@1 waits: nobody's; options: grant, refuse, without
    ",
    tasks_are_taken_by_number_where_a_playbook_says_so: "
        team alpha playbook \"phase build | order number\"
        join ana
        create-all one two three four five six seven eight nine ten \"eleven after +10\"
        expect available for ana: 1, 2, 3, 4, 5, 6, 7, 8, 9, 10
        create sooner priority 1
        expect available for ana: 12, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10
        next by ana
        expect 12 in_progress by ana
        submit 12 by ana
        next by ana
        expect 1 in_progress by ana
        submit 1 by ana
        // Without the playbook it would be 10, which another waits for.
        next by ana
        expect 2 in_progress by ana
    ",
    they_are_asked_to_stop_one_after_the_other: "
        team alpha stops 60s playbook \"phase build | in-turn\"
        add lia seat lead when-needed
        begin build mates \"ana when-needed | bo when-needed\" tasks \"x | y | z\"
        staff
        next by ana
        next by bo
        next by lia
        submit 1 by ana
        submit 2 by bo
        submit 3 by lia
        end-phase build done
        expect due: RequestShutdown
        wait 0s                                => shutdown.requested, message.sent
        expect senders ana: shutdown_request from runtime
        expect due: nothing
        answer-shutdown clean by ana
        expect due: nothing
        stopped ana
        expect due: RequestShutdown
        wait 0s
        expect senders bo: shutdown_request from runtime
        wait 59s                               => unchanged
        wait 1s                                => shutdown.timed_out
        expect due: nothing
        stopped bo timed_out
        wait 0s
        expect senders lia: shutdown_request from runtime
    ",
    a_rejection_holds_the_others_until_somebody_answers_it: "
        team alpha stops 60s playbook \"phase build | in-turn\"
        add lia seat lead when-needed
        begin build mates \"ana when-needed | bo when-needed\" tasks \"x | y | z\"
        staff
        next by ana
        next by bo
        next by lia
        submit 1 by ana
        submit 2 by bo
        submit 3 by lia
        end-phase build done
        wait 0s                                => shutdown.requested, message.sent
        answer-shutdown rejected \"a test is red\" by ana => shutdown.answered, message.sent
        expect inbox lia: alpha/ana@1 refuses to stop: a test is red
        expect due: nothing
        send \"leave it\" to ana by lia         => message.sent
        expect due: RequestShutdown
        wait 0s                                => shutdown.requested, message.sent
        expect senders bo: shutdown_request from runtime
        answer-shutdown rejected \"not yet\" by bo
        expect due: nothing
        wait 59s                               => unchanged
        wait 1s                                => shutdown.timed_out
        expect teammate bo running @1
        expect due: RequestShutdown
    ",
    whoever_thinks_better_of_it_may_still_stop: "
        team alpha stops 60s playbook \"phase build | in-turn\"
        begin build mates \"ana when-needed\" tasks \"x\"
        staff
        next by ana
        submit 1 by ana
        end-phase build done
        wait 0s
        answer-shutdown rejected \"a test is red\" by ana
        answer-shutdown clean by ana           => shutdown.answered
        stopped ana                            => teammate.stopped, message.expired
    ",
    a_phase_that_sends_everybody_home_does_so_in_turn: "
        team alpha lead lia stops 60s playbook \"phase build dismiss | phase close lead-only | in-turn\"
        start lia
        begin build mates \"ana when-needed | bo when-needed\" tasks \"x | y\"
        staff
        next by ana
        next by bo
        submit 1 by ana
        submit 2 by bo
        end-phase build done                   => phase.ended
        wait 0s                                => shutdown.requested, message.sent
        expect due: nothing
        begin close                            => phase.began
        expect effects: nothing
        answer-shutdown clean by ana
        stopped ana
        wait 0s                                => shutdown.requested, message.sent
        answer-shutdown clean by bo
        stopped bo
        expect due: nothing
        expect effects: leave alpha
    ",
}
