//! Who should be running: as many as there are tasks for, and nobody retired early.

scenarios! {
    a_teammate_is_started_when_there_is_a_task_for_it: "
        add ana when-needed
        add bo
        expect effects: nothing
        create x
        expect effects: start alpha/ana
        start ana supervised by runtime => teammate.started
        expect effects: spawn alpha/ana@1
        connect ana
        expect effects: nothing
        next by ana                    => task.claimed
        expect effects: nothing
    ",
    nobody_is_started_before_the_gate_was_green_once: "
        team alpha gate trees own gates make
        add ana when-needed hears
        expect effects: nothing
        send hello to ana
        expect effects: try the gate of alpha
        gate alpha red                 => gate.ran
        expect effects: try the gate of alpha
        pause-team alpha reason red
        expect effects: nothing
        continue-team alpha
        expect effects: try the gate of alpha
        gate alpha                     => gate.ran
        expect effects: start alpha/ana
        team beta under alpha gate trees own gates make
        add beta/bo when-needed
        create x in beta
        expect effects: try the gate of beta | start alpha/ana
    ",
    mail_alone_starts_who_can_be_talked_to: "
        team alpha
        add ana when-needed hears
        add bo when-needed
        send hello to ana
        send hello to bo
        expect effects: start alpha/ana
        staff                          => teammate.started
        expect effects: nothing
    ",
    who_can_be_talked_to_comes_back_for_mail_after_all_work_was_done: "
        team alpha
        add ana when-needed hears
        create x
        staff
        next by ana
        submit 1 by ana
        shutdown ana by runtime
        answer-shutdown clean by ana
        stopped ana                    => teammate.stopped, message.expired
        expect effects: nothing
        send \"one more thing\" to ana => message.sent
        expect effects: start alpha/ana
    ",
    who_was_sent_away_gets_no_mail: "
        team alpha
        add ana when-needed hears
        start ana supervised
        shutdown ana
        answer-shutdown clean by ana
        stopped ana
        send hello to ana \
            => refused: alpha/ana has stopped and reads no more mail; members: alpha/ana
    ",
    in_task_mode_everybody_does_one_task_and_ends: "
        team alpha task-mode
        add ana when-needed hears
        send hello to ana
        expect effects: nothing
        create x
        expect effects: start alpha/ana one-shot
        add bo when-needed
        create y after 1
        expect effects: start alpha/ana one-shot
        create z
        expect effects: start alpha/ana one-shot | start alpha/bo one-shot
        staff
        disappeared ana
        expect teammate ana disappeared @1
    ",
    a_sessions_mail_waits_for_it: "
        team alpha
        add cy session
        start cy
        stopped cy
        send hello to cy               => message.sent
        expect effects: nothing
        start cy
        expect inbox cy: hello
    ",
    a_session_that_leads_keeps_whom_it_can_talk_to: "
        team alpha
        add lia session seat lead
        start lia
        add ana when-needed hears
        add bo when-needed
        create x
        start ana supervised
        start bo supervised
        next by ana
        submit 1 by ana
        expect due: RequestShutdown
        wait 0s                        => shutdown.requested, message.sent
        expect inbox ana: nothing
    ",
    a_life_that_was_recorded_is_spawned_until_its_supervisor_is_there: "
        add ana when-needed
        create x
        start ana supervised by runtime
        restart
        expect effects: spawn alpha/ana@1
        connect ana
        restart
        expect effects: nothing
        lost ana
        expect effects: spawn alpha/ana@1
        disappeared ana
        expect effects: start alpha/ana
        join bo
        expect effects: start alpha/ana
    ",
    one_task_wants_one_of_two: "
        add ana when-needed
        add bo when-needed
        create x
        expect effects: start alpha/ana
        staff                          => teammate.started
        expect effects: nothing
        next by ana
        expect effects: nothing
        create y
        expect effects: start alpha/bo
    ",
    two_tasks_want_both_and_three_no_third: "
        add ana when-needed
        add bo when-needed
        create x
        create y
        create z
        expect effects: start alpha/ana | start alpha/bo
        staff                          => teammate.started, teammate.started
        expect effects: nothing
        staff                          => unchanged
    ",
    tasks_that_exclude_each_other_want_one: "
        add ana when-needed
        add bo when-needed
        create x files src
        create y files src/a
        create z files src/a
        expect effects: start alpha/ana
        staff
        next by ana
        expect effects: nothing
        create w files docs
        expect effects: start alpha/bo
    ",
    a_blocked_task_wants_nobody: "
        add ana when-needed
        add bo when-needed
        create x
        create y after 1
        expect effects: start alpha/ana
        staff
        next by ana
        expect effects: nothing
        create z after 1
        submit 1 by ana
        expect effects: start alpha/bo
    ",
    somebody_idle_of_another_role_keeps_nobody_from_being_started: "
        add rex role qa when-needed
        add ana role dev when-needed
        create x role qa
        staff                          => teammate.started
        next by rex
        submit 1 by rex
        create y role dev
        expect effects: start alpha/ana
    ",
    somebody_idle_of_another_scope_keeps_nobody_from_being_started: "
        add rex scope docs when-needed
        add zoe when-needed
        create x files docs/a
        staff
        next by rex
        submit 1 by rex
        create y files src
        expect effects: start alpha/zoe
    ",
    who_was_started_by_hand_keeps_nobody_from_being_started: "
        team alpha lead lia
        start lia
        join bo
        add ana when-needed
        create x
        expect effects: start alpha/ana
    ",
    who_has_no_budget_is_not_started_and_in_nobodys_way: "
        add ana when-needed
        add bo when-needed
        budget ana tokens 10
        create x
        staff                          => teammate.started
        expect teammate ana running @1
        spend tokens 10 by ana
        next by ana \
            => refused: the budget of alpha/ana is used up: 10 of 10 tokens spent
        expect effects: start alpha/bo
        stopped ana
        expect effects: start alpha/bo
        budget bo tokens 0
        expect effects: nothing
    ",
    who_is_paused_is_not_started: "
        add ana when-needed
        create x
        pause ana
        expect effects: nothing
        continue ana
        expect effects: start alpha/ana
    ",
    an_open_breaker_leaves_one_shot_agents: "
        add ana when-needed
        add bo when-needed
        create x
        create y
        staff
        disappeared ana
        expect effects: start alpha/ana
        disappeared bo                 => teammate.disappeared, message.sent, breaker.opened, \
            message.sent
        expect effects: start alpha/ana one-shot | start alpha/bo one-shot
        wait 120s                      => breaker.half_opened
        expect effects: start alpha/ana | start alpha/bo one-shot
        staff                          => teammate.started, teammate.started
        expect breaker alpha half open with ana as probe
        next by bo                     => task.claimed
        submit 1 by bo
        ended bo                       => teammate.stopped
        create z
        expect effects: start alpha/bo one-shot
        probed alpha answered          => breaker.closed
        expect effects: start alpha/bo
    ",
    an_open_breaker_after_a_silent_probe_leaves_one_shot_agents: "
        add ana when-needed
        add bo when-needed
        create x
        create y
        staff
        disappeared ana
        disappeared bo
        wait 120s
        staff
        wait 60s                       => breaker.opened
        disappeared ana
        expect effects: start alpha/ana one-shot
    ",
    a_one_shot_agent_gets_one_task: "
        join ana one-shot holds 2
        create x
        create y
        claim 1 by ana
        renew 1 by ana                 => task.renewed
        claim 1 by ana                 => task.renewed
        claim 2 by ana \
            => refused: alpha/ana is a one-shot agent and has had its task
        submit 1 by ana
        next by ana                    => refused: alpha/ana is a one-shot agent and has had its task
        ended ana                      => teammate.stopped
        start ana one-shot
        next by ana                    => task.claimed
    ",
    what_a_gate_sends_back_to_a_one_shot_agent_is_anybodys_at_once: "
        team alpha gate
        join ana one-shot
        join bo
        create x retries 1
        claim 1 by ana
        submit 1 by ana
        return 1 reason \"red\"        => task.released
        expect 1 pending
        claim 1 by bo                  => task.claimed
    ",
    who_cannot_work_in_three_lives_is_not_started_again: "
        add ana when-needed
        create x
        staff
        disappeared ana reason \"no such program\"
        wait 300s                      => breaker.strike_forgiven
        staff                          => teammate.started
        disappeared ana reason \"no such program\"
        wait 300s                      => breaker.strike_forgiven
        read by person
        staff                          => teammate.started
        disappeared ana reason \"no such program\"
        expect inbox person: alpha/ana@3 disappeared: no such program; [FALLBACK] it could \
            not work in several lives and is not started again by itself
        expect effects: nothing
        start ana supervised           => teammate.started
        next by ana                    => task.claimed
        disappeared ana                => teammate.disappeared, task.released, message.sent, \
            breaker.opened, message.sent
        expect effects: start alpha/ana one-shot
    ",
    what_goes_with_its_host_is_no_strike: "
        add ana when-needed
        add bo when-needed
        create x
        create y
        staff
        claim 1 by ana
        disappeared ana with-host      => teammate.disappeared, task.released, message.sent
        disappeared bo with-host       => teammate.disappeared, message.sent
        expect breaker alpha closed
        staff
        disappeared bo with-host
        staff
        disappeared bo with-host
        staff
        disappeared bo with-host
        expect breaker alpha closed
        expect effects: start alpha/bo
    ",
    what_goes_with_its_host_costs_its_task_no_retry: "
        join ana
        create x retries 0
        claim 1 by ana
        disappeared ana with-host      => teammate.disappeared, task.released, message.sent
        expect 1 pending
    ",
    what_goes_with_its_host_does_not_count_towards_a_strike: "
        join ana
        join bo
        disappeared ana
        disappeared bo with-host
        expect breaker alpha closed with 1 strikes
        wait 300s                      => breaker.strike_forgiven
    ",
    who_has_nothing_left_to_do_is_let_go: "
        team alpha stops 5s
        add ana when-needed
        add bo when-needed
        join cy supervised
        expect due: nothing
        create x
        create y
        staff
        next by ana
        next by bo
        submit 1 by ana
        expect due: nothing
        submit 2 by bo
        expect due: RequestShutdown, RequestShutdown
        wait 0s \
            => shutdown.requested, message.sent, shutdown.requested, message.sent
        expect due: nothing
        expect inbox ana: shutdown requested: all work is done; answer within 5000 ms
        answer-shutdown clean by ana
        expect effects: end alpha/ana@1
        ended ana                      => teammate.stopped, message.expired
        expect teammate ana stopped clean @1
        wait 5s                        => shutdown.timed_out
        ended bo                       => teammate.stopped, message.expired
        expect teammate bo stopped out of time @1
        expect teammate cy running @1
        expect effects: nothing
    ",
    who_was_let_go_comes_back_for_a_new_task: "
        add ana when-needed
        create x
        staff
        next by ana
        submit 1 by ana
        wait 0s
        answer-shutdown clean by ana
        ended ana
        expect effects: nothing
        create y
        expect effects: start alpha/ana
    ",
    nobody_is_let_go_while_a_task_is_open: "
        team alpha gate
        add ana when-needed
        add bo when-needed
        create x
        create y after 1
        create z
        staff
        next by ana
        next by bo
        submit 1 by ana
        expect due: nothing
        complete 1 by runtime
        fail 3 by bo
        complete 2 by person           => refused: task 2 is pending, not in progress
        expect due: nothing
        expect effects: nothing
        claim 2 by ana
        submit 2 by ana
        complete 2 by runtime
        expect due: nothing
        claim 3 by bo
        submit 3 by bo
        expect due: nothing
        complete 3 by runtime
        expect due: RequestShutdown, RequestShutdown
    ",
    nobody_is_let_go_while_a_task_waits_for_a_failed_one: "
        add ana when-needed
        create x retries 0
        create y after 1
        create z
        staff
        claim 1 by ana
        fail 1 by ana
        claim 3 by ana
        submit 3 by ana
        expect due: nothing
        delete 2
        expect due: RequestShutdown
    ",
    of_a_board_where_everything_failed_nobody_stays: "
        add ana when-needed
        create x retries 0
        staff
        claim 1 by ana
        fail 1 by ana
        expect due: RequestShutdown
    ",
    before_there_is_a_task_nobody_is_let_go: "
        add ana when-needed
        start ana supervised
        expect due: nothing
    ",
    who_refuses_to_go_stays_until_it_has_had_another_task: "
        add ana when-needed
        create x
        staff
        next by ana
        submit 1 by ana
        wait 0s                        => shutdown.requested, message.sent
        answer-shutdown rejected \"one more thing\" by ana
        expect due: nothing
        create y
        next by ana
        submit 2 by ana
        expect due: RequestShutdown
    ",
    who_refuses_to_go_in_the_middle_of_its_task_is_let_go_after_it: "
        add ana when-needed
        create x
        staff
        next by ana
        shutdown ana
        answer-shutdown rejected \"in the middle\" by ana
        submit 1 by ana
        expect due: RequestShutdown
    ",
    who_was_shut_down_comes_back_when_the_team_goes_on_or_a_task_is_tried_again: "
        add ana when-needed
        create x
        staff
        pause-team alpha
        shutdown ana
        answer-shutdown clean by ana
        ended ana                      => teammate.stopped, message.expired
        expect effects: nothing
        continue-team alpha            => team.continued
        expect effects: start alpha/ana
    ",
    who_was_shut_down_by_a_person_or_lead_does_not_come_back_by_itself: "
        team alpha lead lia
        start lia
        add ana when-needed
        create x
        create y
        staff
        shutdown ana
        answer-shutdown clean by ana
        ended ana                      => teammate.stopped, message.expired
        expect effects: nothing
        start ana supervised
        shutdown ana by lia within 1s
        wait 1s                        => shutdown.timed_out
        ended ana
        expect effects: nothing
        start ana supervised
        next by ana
        disappeared ana
        expect effects: start alpha/ana
    ",
    the_end_of_a_process_is_what_was_asked_of_it: "
        team alpha lead lia
        join ana supervised
        join bo supervised
        join cy supervised
        create x
        claim 1 by cy
        shutdown ana
        ended ana reason \"exit code 0\" => teammate.stopped, message.expired
        expect teammate ana stopped clean @1
        ended ana                      => unchanged
        shutdown bo
        answer-shutdown error \"no disk\" by bo
        ended bo reason \"exit code 1\" => teammate.stopped, message.expired
        expect teammate bo stopped in error (no disk) @1
        shutdown cy
        ended cy                       => teammate.stopped, task.released, message.expired
        expect teammate cy stopped with task 1 left @1
        expect breaker alpha closed
        start cy supervised
        shutdown cy
        answer-shutdown rejected \"no\" by cy
        ended cy reason \"exit code 7\" => teammate.disappeared, message.expired, message.sent
        expect idle cy: disappeared: exit code 7
        expect breaker alpha closed with 1 strikes
    ",
    a_one_shot_agent_that_ends_without_its_work_has_disappeared: "
        join ana one-shot
        create x
        ended ana                      => teammate.disappeared, message.sent
        start ana one-shot
        claim 1 by ana
        ended ana                      => teammate.disappeared, task.released, message.sent, \
            breaker.opened, message.sent
        create y retries 0
        start ana one-shot
        claim 2 by ana
        ended ana
        expect counts alpha: 1 pending, 1 failed
    ",
}
