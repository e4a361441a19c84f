//! Trouble climbs one level at a time, and answers come down.

scenarios! {
    an_escalation_goes_exactly_one_level_up: "
        team alpha playbook \"phase build | role tester to senior | role odd | levels dev,senior,head,arc\"
        join dev1 role dev
        join sen role senior
        join lia role head
        join tes role tester
        join odd role odd
        join bo
        create x
        claim 1 by dev1
        send \"stuck\" to lia kind escalation by dev1 \
            => refused: an escalation of alpha/dev1 (dev) goes exactly one level up: to alpha/sen
        send \"stuck\" to person kind escalation by dev1 \
            => refused: an escalation of alpha/dev1 (dev) goes exactly one level up: to alpha/sen
        send \"stuck\" to all kind escalation by dev1 \
            => refused: an escalation of alpha/dev1 (dev) goes exactly one level up: to alpha/sen
        send \"stuck\" to sen kind escalation by dev1 => escalation.raised, message.sent
        expect escalations: dev1 with alpha/sen
        expect senders sen: {handoff:escalation} from alpha/dev1@1
        expect 1 in_progress by dev1
        send \"still\" to sen kind escalation by dev1 \
            => refused: escalation # is open and lies with alpha/sen
        send \"red\" to sen kind escalation by tes => escalation.raised, message.sent
        send \"lost\" to sen kind escalation by bo \
            => refused: an escalation of alpha/bo goes exactly one level up: to nobody: it has no role
        send \"odd\" to sen kind escalation by odd \
            => refused: an escalation of alpha/odd (odd) goes exactly one level up: to person
    ",
    an_answer_only_flows_down_and_only_to_what_was_asked: "
        team alpha playbook \"phase build | levels dev,senior,head\"
        join dev1 role dev
        join sen role senior
        join lia role head
        send \"stuck\" to sen kind escalation by dev1 as e
        send \"so\" to dev1 kind escalation_resolution by lia \
            => refused: no open escalation of alpha/dev1 lies with alpha/lia: a resolution only answers one
        send \"so\" to sen kind escalation_resolution by dev1 \
            => refused: no open escalation of alpha/sen lies with alpha/dev1: a resolution only answers one
        send \"so\" to all kind escalation_resolution by sen \
            => refused: no open escalation of alpha/dev1, alpha/lia lies with alpha/sen: \
            a resolution only answers one
        send \"so\" to dev1 kind escalation_resolution reply e by sen => message.sent, escalation.resolved
        expect escalations: dev1 settled by alpha/sen
        expect inbox dev1: so
        send \"so\" to dev1 kind escalation_resolution by sen \
            => refused: no open escalation of alpha/dev1 lies with alpha/sen: a resolution only answers one
    ",
    a_level_that_does_not_answer_is_passed_over_once: "
        team alpha stall 3600s playbook \"phase build | levels dev,senior,head within 300s\"
        join dev1 role dev supervised
        join sen role senior
        join lia role head
        create x
        claim 1 by dev1
        send \"stuck\" to sen kind escalation by dev1
        expect wake: 300000ms
        wait 299s                              => unchanged
        wait 1s => escalation.raised, message.sent, message.sent, message.sent
        expect escalations: dev1 with alpha/lia
        expect inbox lia: stuck
        expect inbox dev1: alpha/sen did not answer escalation # within 300 s; it lies with alpha/lia
        expect 1 in_progress by dev1
        send \"too late\" to dev1 kind escalation_resolution by sen \
            => refused: no open escalation of alpha/dev1 lies with alpha/sen: a resolution only answers one
        wait 300s => question.asked, escalation.raised, message.sent, message.sent, message.sent
        expect escalations: dev1 with person
        expect inbox person: alpha/dev1 needs a decision (question #): stuck
        wait 3000s                             => unchanged
        answer \"leave it out\"                 => question.answered, message.sent, escalation.resolved
        expect escalations: dev1 settled by person
        expect 1 in_progress by dev1
    ",
    only_the_last_word_counts_for_the_clock: "
        team alpha playbook \"phase build | levels dev,senior,head within 60s\"
        join dev1 role dev
        join sen role senior
        raise                                  => refused: there is no escalation #
        send \"stuck\" to sen kind escalation by dev1
        raise by person                        => refused: person may not pass an escalation on
        send \"so\" to dev1 kind escalation_resolution by sen
        raise                                  => unchanged
        expect wake: never
    ",
    answers_that_do_not_help_lead_one_level_up_in_task_mode_too: "
        team alpha task-mode playbook \"phase build | levels dev,senior,head max 2\"
        join dev1 role dev
        join sen role senior
        join lia role head
        send \"stuck\" to sen kind escalation by dev1
        send \"try this\" to dev1 kind escalation_resolution by sen
        send \"stuck\" to sen kind escalation by dev1
        expect escalations: dev1 with alpha/sen
        send \"try that\" to dev1 kind escalation_resolution by sen
        send \"stuck\" to sen kind escalation by dev1 => escalation.raised, message.sent
        expect escalations: dev1 with alpha/lia
        expect inbox lia: stuck
        send \"drop it\" to dev1 kind escalation_resolution by lia => message.sent, escalation.resolved
    ",
    other_trouble_begins_below: "
        team alpha playbook \"phase build | levels dev,senior,head max 1\"
        add dev1 role dev holds 1
        start dev1
        join sen role senior
        join lia role head
        create x
        create y
        claim 1 by dev1
        send \"stuck\" to sen kind escalation by dev1
        send \"try\" to dev1 kind escalation_resolution by sen
        send \"stuck\" to sen kind escalation by dev1
        expect escalations: dev1 with alpha/lia
        send \"drop it\" to dev1 kind escalation_resolution by lia
        release 1 by dev1
        claim 2 by dev1
        send \"stuck\" to sen kind escalation by dev1
        expect escalations: dev1 settled by alpha/lia | dev1 with alpha/sen
    ",
    who_is_not_there_is_not_asked: "
        team alpha playbook \"phase build | levels dev,senior,head\"
        join dev1 role dev
        join lia role head
        send \"stuck\" to lia kind escalation by dev1 => escalation.raised, message.sent
        join dev2 role dev
        remove lia
        send \"stuck\" to person kind escalation by dev2 => question.asked, escalation.raised, message.sent
        remove dev2 \
            => teammate.stopped, teammate.removed, question.withdrawn
        expect escalations: dev1 with alpha/lia | dev2 settled by person
    ",
    a_person_may_answer_with_a_handoff_too: "
        team alpha playbook \"phase build | levels dev\"
        join dev1 role dev
        send \"stuck\" to person kind escalation by dev1
        send \"do it\" to dev1 kind escalation_resolution by person \
            => question.answered, message.sent, escalation.resolved
        expect inbox dev1: do it
        answer again                           => refused: question # was answered already
    ",
    a_question_that_trouble_became_outlives_the_life_that_raised_it: "
        team alpha playbook \"phase build | levels dev\"
        add dev1 role dev
        start dev1 supervised
        send \"stuck\" to person kind escalation by dev1
        disappeared dev1
        answer \"do it\"                        => question.answered, message.sent, escalation.resolved
        start dev1 supervised
        expect inbox dev1: answer to question #: do it
    ",
    waiting_for_an_answer_is_no_stall: "
        team alpha stall 60s playbook \"phase build | levels dev,senior within 900s\"
        join dev1 role dev supervised
        join sen role senior
        create x
        claim 1 by dev1
        send \"stuck\" to sen kind escalation by dev1
        expect wake: 900000ms
        send \"go on\" to dev1 kind escalation_resolution by sen
        wait 60s                               => teammate.stalled, message.sent
    ",
    a_phase_that_fails_for_good_is_told_above_its_lead: "
        team alpha stops 5s playbook \"phase build | phase ship | role head leads | levels dev,head,arc\"
        add lia seat lead role head
        start lia
        join arc role arc
        begin build mates \"ana role dev\" tasks \"lexer retries 0\"
        start ana
        claim 1 by ana
        fail 1 by ana reason \"no grammar\"
        set-aside 1 \"refs/shipmate/aside/1\" by ana token 999
        end-phase build failed reason \"task 1 failed\" \
            => phase.ended, shutdown.requested, message.sent, shutdown.requested, message.sent, \
            shutdown.requested, message.sent, escalation.raised, message.sent, message.sent
        expect escalations: lia with alpha/arc
        expect senders arc: shutdown_request from runtime | {handoff:escalation} from runtime
    ",
    without_anybody_above_the_person_is_asked: "
        team alpha lead lia playbook \"phase build | role head leads | levels head\"
        start lia
        begin build
        end-phase build failed reason red \
            => phase.ended, shutdown.requested, message.sent, question.asked, escalation.raised, \
            message.sent, message.sent
        expect escalations: lia with person
    ",
    without_levels_an_escalation_is_a_handoff_like_others: "
        join ana
        join bo
        send \"stuck\" to bo kind escalation by ana => message.sent
        send \"so\" to ana kind escalation_resolution by bo => message.sent
        expect escalations: nothing
    ",
}
