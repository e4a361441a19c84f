//! Shutdown: asked, answered or out of time, and always seen to its end.

scenarios! {
    a_clean_answer_ends_the_life: "
        team alpha lead lia
        start lia
        join ana
        shutdown ana by lia            => shutdown.requested, message.sent
        expect inbox ana: shutdown requested: the work is done; answer within 30000 ms
        answer-shutdown clean by ana \
            => shutdown.answered, message.sent, teammate.stopped, message.expired
        expect teammate ana stopped clean @1
        expect inbox lia: alpha/ana@1 stops
        expect senders lia: shutdown_response from alpha/ana@1
    ",
    work_left_over_is_said_and_given_back: "
        join ana
        create x
        claim 1 by ana
        shutdown ana
        answer-shutdown in_progress \"tests of x\" by ana \
            => shutdown.answered, message.sent, teammate.stopped, task.released, message.expired
        expect teammate ana stopped with tests of x left @1
        expect inbox person: alpha/ana@1 stops with work left: tests of x
        expect 1 pending
    ",
    an_error_is_recorded: "
        join ana
        shutdown ana
        answer-shutdown error \"disk full\" by ana
        expect teammate ana stopped in error (disk full) @1
        expect inbox person: alpha/ana@1 stops in error: disk full
    ",
    a_rejection_keeps_the_life_and_its_reason: "
        join ana
        create x
        shutdown ana
        answer-shutdown rejected \"in the middle\" by ana => shutdown.answered, message.sent
        expect teammate ana running @1
        expect inbox person: alpha/ana@1 refuses to stop: in the middle
        next by ana                    => task.claimed
        shutdown ana                   => shutdown.requested, message.sent
    ",
    no_answer_ends_the_life_at_the_deadline: "
        join ana
        shutdown ana within 10s
        wait 9s                        => unchanged
        wait 1s                        => shutdown.timed_out, teammate.stopped, message.expired
        expect teammate ana stopped out of time @1
        answer-shutdown clean by ana   => refused: alpha/ana is not running
    ",
    a_process_is_ended_and_its_end_reported: "
        join ana supervised
        shutdown ana within 10s
        expect effects: nothing
        wait 10s                       => shutdown.timed_out
        expect teammate ana running @1
        expect effects: end alpha/ana@1
        answer-shutdown clean by ana   => refused: there is no open shutdown request #
        expire-shutdown ana            => refused: there is no open shutdown request #
        stopped ana timed_out          => teammate.stopped, message.expired
        expect effects: nothing
    ",
    who_was_asked_takes_no_new_task_but_finishes_its_own: "
        join ana holds 2
        create x
        create y
        claim 1 by ana
        shutdown ana
        next by ana \
            => refused: alpha/ana was asked to shut down and takes no new task
        shutdown ana \
            => refused: alpha/ana was asked to shut down and takes no new task
        submit 1 by ana                => task.submitted, task.completed
        answer-shutdown clean by ana
    ",
    a_request_does_not_drop_the_rest_of_the_mail: "
        join ana supervised
        send \"before\" to ana
        shutdown ana
        send \"after\" to ana
        take by ana
        expect inbox ana: before | shutdown requested: the work is done; answer within 30000 ms | \
            after
    ",
    an_old_request_cannot_stop_a_new_life: "
        join ana
        shutdown ana within 60s as s1
        disappeared ana
        expect inbox ana: nothing
        start ana
        wait 60s                       => unchanged
        expire-shutdown ana on s1      => refused: there is no open shutdown request #
        answer-shutdown clean by ana on s1 => refused: there is no open shutdown request #
        shutdown ana@1 \
            => refused: alpha/ana@1 is no longer current: the epoch of alpha/ana is now 2
        expect teammate ana running @2
        expect inbox ana: nothing
    ",
    a_whole_team_is_asked_at_once: "
        team alpha lead lia
        start lia
        join ana
        join bo
        shutdown team:alpha by lia \
            => shutdown.requested, message.sent, shutdown.requested, message.sent
        shutdown team:alpha by lia     => unchanged
        expect inbox lia: nothing
        answer-shutdown clean by ana
        answer-shutdown clean by bo
        shutdown team:alpha by lia     => refused: nobody in team alpha is running
        shutdown team:beta             => refused: there is no team beta
    ",
    nobody_answers_for_another: "
        join ana
        join bo
        shutdown ana as s1
        answer-shutdown clean by bo on s1 => refused: alpha/bo@1 may not answer another's shutdown
        answer-shutdown clean by person on s1 => refused: person may not answer a shutdown request
        shutdown bo by ana \
            => refused: alpha/ana@1 may not shut a teammate down; the lead of team alpha or a \
            person may
        shutdown team:alpha by ana \
            => refused: alpha/ana@1 may not shut the team down; the lead of team alpha or a \
            person may
        expire-shutdown ana by bo      => refused: alpha/bo@1 may not end a shutdown request
    ",
    an_answer_to_the_runtime_reaches_the_lead: "
        team alpha lead lia
        start lia
        join ana
        join bo
        shutdown ana by runtime
        answer-shutdown clean by ana
        // That it went as asked needs nobody's attention.
        expect inbox lia: nothing
        shutdown bo by runtime
        answer-shutdown error \"disk full\" by bo
        expect inbox lia: alpha/bo@1 stops in error: disk full
    ",
}
