//! A team goes through its playbook, phase by phase.

scenarios! {
    a_phase_waits_and_says_for_what_once: "
        team alpha playbook \"phase plan | phase build\"
        expect phase alpha: plan 1 waits
        expect effects: enter alpha
        hold plan missing docs/plan.md      => phase.waits
        expect phase alpha: plan 1 waits for docs/plan.md
        hold plan missing docs/plan.md      => unchanged
        hold plan missing docs/plan.md,docs/scope.md => phase.waits
        hold build missing src              => unchanged
        hold plan missing docs/a by person  => refused: person may not say what a phase waits for
        begin plan                          => phase.began
        hold plan missing docs/plan.md      => unchanged
    ",
    a_phase_begins_without_the_work_that_waits_and_is_not_over_before_it_is_done: "
        team alpha playbook \"phase build | phase ship\"
        begin build mates \"ana when-needed\" tasks \"lexer\" awaits base \
            => phase.began, teammate.added, task.created, phase.waits
        expect phase alpha: build 1 runs and waits for base
        hold build missing base             => unchanged
        hold build missing half             => phase.waits
        expect phase alpha: build 1 runs and waits for half
        staff
        next by ana
        submit 1 by ana
        expect effects: enter alpha
        hold build                          => unchanged
        begin build mates \"ana | bo when-needed\" tasks \"parser after 1\" \
            => teammate.added, task.created, phase.waits
        expect phase alpha: build 1 runs
        begin build => refused: alpha is not in phase build, or not as was thought
        next by ana
        submit 2 by ana
        expect effects: leave alpha
    ",
    work_that_failed_ends_a_phase_that_still_waits: "
        team alpha playbook \"phase build\"
        begin build mates \"ana when-needed\" tasks \"lexer retries 0\" awaits base
        staff
        claim 1 by ana
        fail 1 by ana
        expect effects: leave alpha
    ",
    a_phase_begins_with_its_people_and_tasks_in_one_append: "
        team alpha lead lia playbook \"phase build mode delegate\"
        begin build mates \"ana role dev when-needed | bo role dev when-needed\" \
            tasks \"lexer role dev files src/lex.rs | parser role dev after +1\" \
            => phase.began, teammate.added, teammate.added, teammate.mode_changed, task.created, task.created
        expect phase alpha: build 1 runs
        expect counts alpha: 2 pending
        expect effects: start alpha/ana
        expect obstacles 2: blocked by 1; role dev
    ",
    nobody_who_has_to_pass_a_gate_chooses_what_it_is_made_of: "
        team alpha lead lia playbook \"phase build | value target 95\"
        begin build mates \"ana\" tasks \"a\"
        start ana
        claim 1 by ana
        update 1 meta target=no by ana \
            => refused: alpha/ana@1 may not change metadata that the playbook goes by
        update 1 meta piece=F002 by ana \
            => refused: alpha/ana@1 may not change metadata that the playbook goes by
        update 1 meta note=half by ana     => task.updated
        update 1 meta target=90            => task.updated
    ",
    who_is_a_member_already_does_not_join_again: "
        team alpha playbook \"phase plan | phase build\"
        begin plan mates \"ana role dev\"     => phase.began, teammate.added
        end-phase plan done                 => phase.ended
        begin build mates \"ana role qa | bo\" => phase.began, teammate.added
        expect teammate ana added
    ",
    a_phase_that_cannot_begin_whole_does_not_begin: "
        team alpha playbook \"phase build\"
        begin build mates \"ana\" tasks \"a role dev | b after +3\" => refused: there is no task 3
        expect phase alpha: build 1 waits
        begin build by person => refused: person may not begin a phase
        begin ship            => refused: alpha is not in phase ship, or not as was thought
        begin build round 2   => refused: alpha is not in phase build, or not as was thought
        begin build           => phase.began
        begin build           => refused: alpha is not in phase build, or not as was thought
    ",
    a_paused_team_begins_no_phase: "
        team alpha playbook \"phase build\"
        pause-team alpha
        expect effects: nothing
        begin build => refused: alpha is not in phase build, or not as was thought
        continue-team alpha
        expect effects: enter alpha
    ",
    a_phase_is_looked_at_when_its_tasks_are_settled: "
        team alpha playbook \"phase build | phase ship\"
        begin build mates \"ana when-needed\" tasks \"lexer | parser after +1\"
        expect effects: start alpha/ana
        staff
        next by ana
        expect effects: nothing
        submit 1 by ana
        next by ana
        submit 2 by ana
        expect effects: leave alpha
        end-phase build done                => phase.ended
        expect phase alpha: ship 1 waits
        expect past alpha: build 1 done
        expect effects: enter alpha
    ",
    what_a_failure_blocks_does_not_hold_its_phase_open: "
        team alpha playbook \"phase build\"
        begin build mates \"ana when-needed\" tasks \"lexer retries 0 | parser after +1 | docs\"
        staff
        claim 1 by ana
        fail 1 by ana
        expect counts alpha: 2 pending, 1 failed
        expect effects: nothing
        next by ana
        expect effects: nothing
        submit 3 by ana
        expect obstacles 2: blocked by 1 (failed)
        expect effects: leave alpha
        retry 1
        expect effects: nothing
    ",
    nobody_is_sent_home_between_two_phases: "
        team alpha stops 5s playbook \"phase build | phase ship\"
        begin build mates \"ana when-needed\" tasks \"lexer\"
        staff
        next by ana
        submit 1 by ana
        expect due: nothing
        end-phase build done
        expect due: nothing
        begin ship tasks \"docs\"
        next by ana
        submit 2 by ana
        expect due: nothing
        end-phase ship done                 => phase.ended
        expect phase alpha: through
        expect due: RequestShutdown
        wait 0s                             => shutdown.requested, message.sent
    ",
    a_playbook_that_is_over_starts_nobody: "
        team alpha playbook \"phase build\"
        begin build mates \"ana when-needed hears\"
        end-phase build done
        create more
        send hello to ana
        expect effects: nothing
        begin build => refused: alpha is not in phase build, or not as was thought
        end-phase build done => refused: alpha is not in phase build, or not as was thought
    ",
    a_person_leaves_out_only_what_may_be_left_out: "
        team alpha lead lia playbook \"phase critique optional | phase build | phase audit optional\"
        start lia
        end-phase critique done by person   => refused: phase critique of alpha cannot be left out
        end-phase critique skip by lia      => refused: phase critique of alpha cannot be left out
        end-phase critique skip by person reason \"not today\" => phase.ended
        end-phase build skip by person      => refused: phase build of alpha cannot be left out
        begin build
        end-phase build done
        begin audit
        end-phase audit skip by person      => refused: phase audit of alpha cannot be left out
        end-phase audit skip reason \"nothing to audit\" => phase.ended
        expect past alpha: critique 1 left out (not today); build 1 done; \
            audit 1 left out (nothing to audit)
        expect phase alpha: through
    ",
    a_phase_that_fails_stops_the_team_and_says_so: "
        team alpha stops 5s playbook \"phase build | phase ship\"
        add lia seat lead
        start lia supervised
        begin build mates \"ana when-needed\" tasks \"lexer\"
        staff
        end-phase build failed reason \"the gate is red\" \
            => phase.ended, shutdown.requested, message.sent, shutdown.requested, message.sent, message.sent
        expect phase alpha: stopped
        expect past alpha: build 1 failed (the gate is red)
        expect senders lia: shutdown_request from runtime | notice from runtime
        expect effects: nothing
    ",
    a_phase_that_fails_can_be_passed_over: "
        team alpha lead lia playbook \"phase qa fails go-on | phase ship\"
        start lia
        begin qa
        end-phase qa failed reason \"1 of 2 failed\" => phase.ended, message.sent
        expect inbox lia: phase qa: 1 of 2 failed
        expect phase alpha: ship 1 waits
        expect past alpha: qa 1 passed (1 of 2 failed)
    ",
    a_phase_that_fails_sends_the_team_back_so_often_as_it_may: "
        team alpha playbook \"phase build | phase review fails build:2\"
        begin build
        end-phase build done
        begin review
        end-phase review failed reason \"no tests\" => phase.ended, message.sent
        expect inbox person: phase review goes back to build: no tests
        expect phase alpha: build 2 waits
        begin build round 1 => refused: alpha is not in phase build, or not as was thought
        begin build
        end-phase build done
        expect phase alpha: review 2 waits
        begin review
        end-phase review failed reason \"still none\" => phase.ended, message.sent
        expect phase alpha: build 3 waits
        begin build
        end-phase build done
        begin review
        end-phase review failed reason \"none\" => phase.ended, message.sent
        expect phase alpha: stopped
        expect past alpha: build 1 done; review 1 back to build (no tests); build 2 done; \
            review 2 back to build (still none); build 3 done; review 3 failed (none)
    ",
    what_comes_after_the_last_round_is_the_playbooks: "
        team alpha lead lia playbook \"phase build fails build:1:lead\"
        start lia
        begin build
        end-phase build failed reason red       => phase.ended, message.sent
        begin build
        end-phase build failed reason red       => phase.left_to_lead, task.created, message.sent
        expect phase alpha: build 2 is left to the lead
    ",
    a_failed_task_is_tried_again_in_the_next_round: "
        team alpha playbook \"phase build fails build:2\"
        join ana
        begin build tasks \"x retries 0\"
        claim 1 by ana
        fail 1 by ana
        end-phase build failed reason \"task 1 failed\"
        begin build retry 1                     => task.retried, phase.began
        expect 1 pending
        claim 1 by ana
        submit 1 by ana
        expect effects: leave alpha
        end-phase build done
        expect phase alpha: through
    ",
    what_halts_makes_every_team_of_the_run_wait: "
        team alpha lead lia playbook \"phase work root departments | phase build fails halt \
            | department back | department front\"
        start lia
        begin work
        begin build in alpha-back
        end-phase build failed in alpha-back reason red \
            => phase.ended, team.paused, team.paused, team.paused, message.sent
        expect paused alpha: alpha-back stops everything in phase build: red
        expect paused alpha-front: alpha-back stops everything in phase build: red
        expect effects: nothing
    ",
    a_phase_alone_lasts_until_the_others_have_stopped: "
        team alpha lead lia stops 5s playbook \"phase build | phase close lead-only\"
        start lia
        begin build mates \"ana when-needed\" tasks \"x\"
        staff
        next by ana
        submit 1 by ana
        end-phase build done
        begin close                             => phase.began, shutdown.requested, message.sent
        expect effects: nothing
        answer-shutdown clean by ana
        stopped ana
        expect effects: leave alpha
    ",
    a_phase_that_never_began_cannot_be_left_to_the_lead: "
        team alpha lead lia playbook \"phase build fails lead\"
        start lia
        end-phase build failed reason \"nothing to build\" \
            => phase.ended, shutdown.requested, message.sent, message.sent
        expect phase alpha: stopped
    ",
    a_phase_that_begins_again_finds_its_departments: "
        team alpha playbook \"phase work root departments | phase check root fails work:1 | phase build \
            | department back\"
        begin work                              => phase.began, team.created
        begin build in alpha-back
        end-phase build done in alpha-back
        end-phase work done
        begin check
        end-phase check failed reason red
        begin work                              => phase.began
        expect effects: leave alpha
    ",
    only_the_playbook_makes_departments: "
        team alpha playbook \"phase work root departments | phase build | department back\"
        team alpha-back under alpha \
            => refused: person may not create a team: the playbook says which departments there are
        begin work                              => phase.began, team.created
        delete-team alpha-back now
        expect effects: leave alpha
    ",
    what_is_left_is_the_leads_when_a_phase_is_late: "
        team alpha stops 5s stall 3600s playbook \"phase build deadline 900s late lead | phase ship\"
        add lia seat lead mode delegate when-needed hears
        begin build mates \"ana role dev when-needed | bo role dev when-needed\" \
            tasks \"lexer role dev retries 0 files src/lex.rs | parser role dev files src/parse.rs \
            | docs role dev after +1 assignee bo\"
        staff
        claim 1 by ana
        fail 1 by ana
        next by bo
        expect wake: 900000ms
        wait 900s => phase.left_to_lead, teammate.mode_changed, task.retried, shutdown.requested, \
            message.sent, shutdown.requested, message.sent, message.sent
        expect phase alpha: build 1 is left to the lead
        expect inbox ana: shutdown requested: timeout: the time of phase build, 900 s, is over; \
            answer within 5000 ms
        expect inbox lia: task 1 (lexer) failed after 1 attempt: it did not work; \
            still blocked by it: 3 | the time of phase build, 900 s, is over. \
            What is left of phase build is yours; what is done stays
        expect effects: start alpha/lia
        staff
        connect lia
        answer-shutdown clean by ana
        answer-shutdown in_progress parser by bo
        stopped ana clean
        stopped bo clean                    => teammate.stopped, task.released, message.expired
        expect effects: nothing
        expect available for lia: 1, 2
        next by lia                         => task.claimed
        claim 2 by lia                      => refused: alpha/lia holds 1 of 1 tasks it may hold: 1
        submit 1 by lia
        next by lia
        submit 2 by lia
        claim 3 by lia                      => task.claimed
        submit 3 by lia
        expect effects: leave alpha
        wait 900s                           => unchanged
        end-phase build done                => phase.ended
        expect phase alpha: ship 1 waits
    ",
    a_lead_that_fails_too_is_the_end: "
        team alpha lead lia playbook \"phase build fails lead | phase ship\"
        start lia
        begin build
        end-phase build failed reason \"red\" => phase.left_to_lead, task.created, message.sent
        next by lia
        submit 1 by lia
        end-phase build failed reason \"red again\" \
            => phase.ended, shutdown.requested, message.sent, message.sent
        expect phase alpha: stopped
    ",
    without_a_lead_nothing_can_be_left_to_one: "
        team alpha playbook \"phase build fails lead\"
        begin build
        end-phase build failed reason red => phase.ended, message.sent
        expect phase alpha: stopped
        expect inbox person: alpha stops in phase build: red
    ",
    a_phase_that_was_begun_again_has_its_own_time: "
        team alpha playbook \"phase build deadline 60s late build:1\"
        begin build tasks \"x\" as first
        wait 60s                            => phase.ended, message.sent
        expect phase alpha: build 2 waits
        begin build
        expire-phase on first               => unchanged
        expire-phase by person              => refused: person may not end a phase's time
        pause-team alpha
        expect wake: never
        continue-team alpha
        wait 60s                            => phase.ended, message.sent
        expect phase alpha: stopped
        expire-phase on first               => unchanged
        expire-phase in beta                => refused: there is no team beta
    ",
    others_are_asked_to_stop_where_a_phase_says_so: "
        team alpha lead lia stops 5s playbook \"phase build dismiss | phase ship\"
        start lia
        begin build mates \"ana when-needed\" tasks \"x\"
        staff
        next by ana
        submit 1 by ana
        end-phase build done => phase.ended, shutdown.requested, message.sent
        expect inbox lia: nothing
    ",
    departments_are_teams_of_their_own_in_one_tree: "
        team alpha lead lia trees own base 1111111 gates make protects conf stops 5s playbook \
            \"phase review root | phase work root departments | phase build | phase ship root \
            | department back denies ui | department front after back denies api without build \
            | role dev | role owner root leads | role head leads\"
        begin review
        end-phase review done
        begin work => phase.began, team.created, team.created
        expect phase alpha: work 1 runs
        expect phase alpha-back: build 1 waits
        expect phase alpha-front: none
        expect effects: enter alpha-back
        expect protected alpha-back: conf, ui
        expect protected alpha-front: api, conf
        expect branch alpha-back: alpha
        begin build in alpha-back mates \"bea role head seat lead when-needed | bob role dev when-needed\" \
            tasks \"x in alpha-back role dev\"
        expect effects: try the gate of alpha-back
        gate alpha-back                => gate.ran
        expect effects: start alpha-back/bob
        staff
        next by alpha-back/bob
        submit 1 by alpha-back/bob
        expect effects: verify 1
        complete 1 by runtime
        expect effects: leave alpha-back
        end-phase build done in alpha-back
        expect phase alpha-back: through
    ",
    a_phase_with_departments_ends_when_each_is_through_or_has_stopped: "
        team alpha lead lia playbook \"phase work root departments | phase build | phase ship root \
            | department back | department front\"
        start lia
        begin work
        begin build in alpha-back
        expect effects: leave alpha-back | enter alpha-front
        end-phase build done in alpha-back
        expect effects: enter alpha-front
        begin build in alpha-front
        end-phase build failed in alpha-front reason \"red\" => phase.ended, message.sent
        expect inbox lia: alpha-front stops in phase build: red
        expect effects: leave alpha
        end-phase work done
        expect phase alpha: ship 1 waits
    ",
    a_lead_that_plans_is_told_the_goal_when_the_phase_begins: "
        team alpha playbook \"phase work lead-plans | value goal calculator\"
        begin work mates \"lia seat lead mode delegate when-needed hears\" \
            => phase.began, teammate.added, message.sent
        expect inbox lia: calculator
        expect effects: start alpha/lia
        staff
        connect lia
        read by lia
        expect effects: nothing
        create x by lia
        add ana when-needed
        staff
        next by ana
        submit 1 by ana                     => task.submitted, task.completed, message.sent
        expect effects: nothing
        read by lia
        expect effects: leave alpha
    ",
    the_time_of_a_phase_ends_with_its_work: "
        team alpha playbook \"phase build deadline 60s late go-on\"
        join ana
        begin build tasks \"x\"
        expect wake: 60000ms
        claim 1 by ana
        submit 1 by ana
        // The runtime looks at its end, at a long gate say.
        expect effects: leave alpha
        expect wake: never
        wait 60s                            => unchanged
        end-phase build done                => phase.ended
    ",
    what_failed_before_a_phase_is_not_its_failure_until_it_fails_again: "
        team alpha lead lia playbook \"phase build fails go-on | phase check fails lead\"
        start lia
        join ana
        begin build tasks \"a retries 0 | b retries 0\"
        claim 2 by ana
        fail 2 by ana
        claim 1 by ana
        submit 1 by ana
        expect failed in alpha: 2
        end-phase build failed reason \"task 2 failed\"
        begin check tasks \"c retries 0\"
        expect failed in alpha: nothing
        update 2 priority 20
        expect failed in alpha: nothing
        claim 3 by ana
        fail 3 by ana
        expect failed in alpha: 3
        // The lead gets what failed earlier as well.
        end-phase check failed reason \"task 3 failed\" \
            => phase.left_to_lead, task.retried, task.retried, shutdown.requested, message.sent, message.sent
        expect failed in alpha: nothing
        claim 3 by lia
        submit 3 by lia
        claim 2 by lia
        fail 2 by lia
        expect failed in alpha: 2
        expect effects: leave alpha
    ",
    a_failure_of_an_earlier_task_is_the_one_that_is_named: "
        team alpha playbook \"phase build fails go-on | phase check\"
        join ana
        begin build tasks \"a | b retries 0\"
        claim 1 by ana
        submit 1 by ana
        claim 2 by ana
        fail 2 by ana
        end-phase build failed reason \"task 2 failed\"
        begin check
        create c retries 0
        retry 2
        claim 3 by ana
        fail 3 by ana
        claim 2 by ana
        fail 2 by ana
        expect failed in alpha: 2, 3
    ",
    what_a_phase_takes_back_is_not_its_failure: "
        team alpha playbook \"phase build | phase repair fails lead\"
        join ana
        begin build tasks \"a | b\"
        claim 1 by ana
        submit 1 by ana
        claim 2 by ana
        submit 2 by ana
        end-phase build done
        begin repair
        revert 1
        // A coordinator that dies here looks at the end of the phase again.
        expect counts alpha: 1 completed, 1 failed
        expect failed in alpha: nothing
        expect effects: leave alpha
        end-phase repair done
    ",
}
