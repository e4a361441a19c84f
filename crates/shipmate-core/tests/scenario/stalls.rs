//! Stalls: no sign of progress, first said to the teammate, then to its lead, then acted on.

scenarios! {
    who_hangs_is_told_then_its_lead_and_is_given_up_when_the_time_is_over: "
        team alpha lead lia stall 120s
        join ana supervised
        create x
        wait 600s                      => unchanged
        claim 1 by ana
        wait 59s                       => unchanged
        wait 1s                        => teammate.stalled, message.sent
        expect inbox ana: no sign of progress for 1 min: say what you are waiting for, or give the \
            task back
        expect inbox lia: nothing
        wait 29s                       => unchanged
        wait 1s                        => teammate.stalled, message.sent
        expect inbox lia: alpha/ana@1 stalls: no sign of progress for 90 s; in 30 s it is given up
        wait 29s                       => unchanged
        wait 1s \
            => teammate.disappeared, task.released, message.expired, message.sent
        expect idle ana: disappeared: it hung: no sign of progress for 2 min
        expect failure 1: it hung: no sign of progress for 2 min
        expect breaker alpha closed with 1 strikes
        expect 1 pending
    ",
    progress_in_between_begins_again: "
        team alpha stall 120s
        join ana supervised
        create x
        claim 1 by ana
        wait 50s
        progress ana
        wait 59s                       => unchanged
        wait 1s                        => teammate.stalled, message.sent
        wait 20s                       => unchanged
        progress ana
        expect due: ReportStalled
        wait 0s                        => teammate.stalled
        expect due: nothing
        wait 59s                       => unchanged
        wait 1s                        => teammate.stalled, message.sent
        wait 30s                       => teammate.stalled, message.sent
        progress ana
        wait 0s                        => teammate.stalled
        wait 60s                       => teammate.stalled, message.sent
        expect teammate ana running @1
    ",
    a_new_task_begins_again: "
        team alpha stall 120s
        join ana supervised
        create x
        create y
        claim 1 by ana
        wait 60s                       => teammate.stalled, message.sent
        submit 1 by ana
        wait 600s                      => unchanged
        claim 2 by ana
        wait 59s                       => unchanged
        wait 1s                        => teammate.stalled, message.sent
        stalled ana 2                  => teammate.stalled, message.sent
    ",
    a_late_word_about_a_stall_changes_nothing: "
        team alpha stall 120s
        join ana supervised
        create x
        claim 1 by ana
        stalled ana 0                  => unchanged
        stalled ana 2                  => unchanged
        stalled ana 3                  => unchanged
        stalled ana 1                  => teammate.stalled, message.sent
        stalled ana 1                  => unchanged
        stalled ana 3                  => unchanged
        stalled ana 2                  => teammate.stalled, message.sent
        stalled ana 1                  => unchanged
        stalled ana 0                  => teammate.stalled
        stalled ana 3                  => unchanged
        stalled ana 1 by person        => refused: person may not report that a teammate stalls
        disappeared ana
        stalled ana 1                  => refused: alpha/ana is not running
        start ana supervised
        stalled ana@1 1 \
            => refused: alpha/ana@1 is no longer current: the epoch of alpha/ana is now 2
        stalled ana 2                  => unchanged
    ",
    who_holds_no_task_or_has_no_supervisor_does_not_stall: "
        team alpha stall 120s
        join ana supervised
        join bo
        create x
        claim 1 by bo for 3600s
        wait 600s                      => unchanged
    ",
    work_that_came_back_and_is_not_taken_up_is_a_stall: "
        team alpha gate stall 120s
        join ana supervised
        create x
        claim 1 by ana
        submit 1 by ana
        wait 600s                      => unchanged
        return 1
        wait 59s                       => unchanged
        wait 1s                        => teammate.stalled, message.sent
        wait 30s                       => teammate.stalled, message.sent
        wait 30s                       => teammate.disappeared, task.released, message.expired, \
            message.sent
    ",
    who_was_started_for_a_task_and_does_not_take_it_stalls: "
        team alpha stall 120s
        add ana when-needed
        create x
        staff
        expect effects: nothing
        wait 60s                       => teammate.stalled, message.sent
        pause-team alpha
        wait 600s                      => unchanged
        continue-team alpha
        wait 30s                       => teammate.stalled, message.sent
        wait 30s                       => teammate.disappeared, message.expired, message.sent
        expect effects: start alpha/ana
        staff
        next by ana
        submit 1 by ana
        answer-shutdown clean by ana   => refused: there is no open shutdown request #
        expect due: RequestShutdown
    ",
    who_waits_for_an_answer_does_not_stall: "
        team alpha stall 120s
        join ana supervised
        create x
        claim 1 by ana
        ask \"which format?\" by ana
        wait 600s                      => unchanged
        answer toml
        wait 59s                       => unchanged
        wait 1s                        => teammate.stalled, message.sent
        stalled ana 0
        submit-plan \"read, then write\" by ana
        wait 600s                      => unchanged
        approve
        wait 60s                       => teammate.stalled, message.sent
        stalled ana 0
        pause ana
        wait 600s                      => unchanged
        continue ana
        wait 60s                       => teammate.stalled, message.sent
    ",
    a_team_without_a_stall_clock_never_says_so: "
        team alpha stall 0s
        join ana supervised
        create x
        claim 1 by ana
        wait 6000s                     => unchanged
    ",
    a_restart_begins_the_stall_clock_again: "
        team alpha stall 120s
        join ana supervised
        create x
        claim 1 by ana
        wait 60s                       => teammate.stalled, message.sent
        wait 20s
        restart
        wait 29s                       => unchanged
        wait 1s                        => teammate.stalled, message.sent
        progress ana
        wait 0s                        => teammate.stalled
    ",
    a_supervisor_that_does_not_answer_in_time_is_lost: "
        team alpha answers 20s stall 0s
        join ana supervised
        asked ana
        wait 19s                       => unchanged
        answered ana
        wait 600s                      => unchanged
        asked ana 2
        wait 19s                       => unchanged
        asked ana 3
        wait 19s                       => unchanged
        wait 1s                        => teammate.disappeared, message.sent
        expect idle ana: disappeared: its supervisor did not answer in time
        wait 600s                      => breaker.strike_forgiven
    ",
}
