//! Timers: measured by whoever watches, on its own clock, and never early.

scenarios! {
    a_timer_begins_when_it_is_first_seen: "
        join ana
        create x
        claim 1 by ana for 60s
        expect wake: 60000ms
        wait 20s
        expect wake: 40000ms
        renew 1 by ana
        expect wake: 60000ms
        expect due: nothing
    ",
    a_renewed_lease_runs_from_its_renewal: "
        join ana
        create x
        claim 1 by ana for 60s
        wait 50s
        renew 1 by ana
        wait 50s                       => unchanged
        wait 10s                       => task.released
    ",
    a_restart_measures_again_and_is_never_early: "
        join ana
        create x
        claim 1 by ana for 60s
        shutdown ana within 90s
        wait 50s
        restart
        wait 59s                       => unchanged
        wait 1s                        => task.released
        wait 29s                       => unchanged
        wait 1s                        => shutdown.timed_out, teammate.stopped, message.expired
    ",
    after_a_long_sleep_each_timer_ends_once: "
        join ana
        join bo
        create x
        create y
        claim 1 by ana for 60s
        claim 2 by bo for 90s
        wait 600m                      => task.released, task.released
        wait 600m                      => unchanged
    ",
    nothing_to_watch_is_nothing_to_wake_for: "
        team alpha stall 0s
        join ana supervised
        create x
        claim 1 by ana
        expect wake: never
        expect effects: nothing
    ",
    effects_are_the_same_after_a_restart: "
        team alpha gate
        join ana supervised
        join bo supervised
        create x
        claim 1 by ana
        submit 1 by ana
        shutdown bo
        answer-shutdown clean by bo
        expect effects: end alpha/bo@1 | verify 1
        restart
        expect effects: end alpha/bo@1 | verify 1
    ",
    an_ending_outlives_the_one_who_asked: "
        team alpha lead lia
        start lia
        join ana
        shutdown ana by lia within 10s
        stopped lia
        answer-shutdown clean by ana
        expect inbox person: alpha/ana@1 stops
    ",
    only_the_runtime_ends_a_lease: "
        join ana
        join bo
        create x
        claim 1 by ana for 60s
        expire 1 by bo                 => refused: alpha/bo@1 may not end a lease
        expire 1 by person             => refused: person may not end a lease
    ",
}
