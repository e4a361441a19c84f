//! Health: what a lost teammate leaves behind, and the breaker of its team.

scenarios! {
    what_a_lost_teammate_held_is_free_once: "
        team alpha lead lia
        join ana holds 2
        join bo
        join cy
        create x files src
        create y files src/a
        create z files docs
        claim 1 by ana
        claim 3 by cy
        disappeared ana reason \"no sign for 60 s\" \
            => teammate.disappeared, task.released, message.sent
        expect teammate ana disappeared @1
        expect 1 pending
        expect 3 in_progress by cy
        expect inbox lia: alpha/ana@1 disappeared: no sign for 60 s
        disappeared ana                => refused: alpha/ana is not running
        claim 2 by bo                  => task.claimed
    ",
    late_work_of_a_lost_teammate_is_refused_and_names_the_new_holder: "
        join ana
        join bo
        create x
        claim 1 by ana
        disappeared ana
        claim 1 by bo
        complete 1 by ana \
            => refused: the claim # on task 1 has ended; it is claimed by alpha/bo@1 now
        set-aside 1 \"branch ana\" by ana => task.work_set_aside, message.sent
    ",
    submitted_work_survives_its_teammate: "
        team alpha gate
        join ana
        create x
        claim 1 by ana
        submit 1 by ana
        disappeared ana                => teammate.disappeared, message.sent
        expect effects: verify 1
        complete 1 by runtime          => task.completed
    ",
    of_a_lost_lead_the_person_is_told: "
        team alpha lead lia
        start lia
        join ana
        create x retries 0
        create y
        claim 1 by lia
        claim 2 by ana
        disappeared lia \
            => teammate.disappeared, task.failed, message.sent, message.sent
        expect inbox lia: nothing
        expect inbox person: task 1 (x) failed after 1 attempt: its holder disappeared | \
            alpha/lia@1 disappeared: the process is gone
        expect 2 in_progress by ana
        complete 2 by ana              => task.completed
    ",
    two_disappearances_close_together_open_the_breaker: "
        join ana
        join bo
        disappeared ana
        expect breaker alpha closed with 1 strikes
        start ana                      => teammate.started
        disappeared bo                 => teammate.disappeared, message.sent, breaker.opened, \
            message.sent
        expect breaker alpha open
        start bo by runtime \
            => refused: the circuit breaker of team alpha is open: its teammates kept disappearing
        start bo one-shot by runtime   => teammate.started
    ",
    a_disappearance_counts_for_five_minutes: "
        join ana
        join bo
        disappeared ana
        wait 299s                      => unchanged
        wait 1s                        => breaker.strike_forgiven
        forgive alpha \
            => refused: the circuit breaker of team alpha is not in that state
        disappeared bo
        expect breaker alpha closed with 1 strikes
    ",
    after_two_minutes_one_probe_is_let_through: "
        join ana
        join bo
        disappeared ana
        disappeared bo
        wait 119s                      => unchanged
        wait 1s                        => breaker.half_opened
        expect breaker alpha half open
        start ana by runtime           => teammate.started
        expect breaker alpha half open with ana as probe
        start bo by runtime \
            => refused: the circuit breaker of team alpha is trying one teammate first
        start bo one-shot by runtime   => teammate.started
        probed alpha answered          => breaker.closed
        expect breaker alpha closed
    ",
    a_silent_probe_opens_the_breaker_again: "
        join ana
        join bo
        disappeared ana
        disappeared bo
        wait 120s
        wait 10m                       => breaker.strike_forgiven, breaker.strike_forgiven
        expect breaker alpha half open
        start ana by runtime
        wait 59s                       => unchanged
        wait 1s                        => breaker.opened
        expect breaker alpha open
        wait 119s                      => unchanged
        wait 1s                        => breaker.half_opened
    ",
    a_lost_probe_opens_the_breaker_again: "
        join ana
        join bo
        join cy
        disappeared ana
        disappeared bo
        wait 120s
        start ana by runtime
        disappeared cy                 => teammate.disappeared, message.sent
        disappeared ana                => teammate.disappeared, message.sent, breaker.opened, \
            message.sent
    ",
    a_word_about_another_opening_changes_nothing: "
        join ana
        join bo
        probe alpha \
            => refused: the circuit breaker of team alpha is not in that state
        disappeared ana
        disappeared bo
        probe alpha on 3 \
            => refused: the circuit breaker of team alpha is not in that state
        probe alpha by person          => refused: person may not probe a breaker
        probe alpha                    => breaker.half_opened
        probed alpha silent on 3 \
            => refused: the circuit breaker of team alpha is not in that state
        probed alpha silent by ana     => refused: alpha/ana@1 may not report a probe
        forgive alpha by person        => refused: person may not forgive a strike
    ",
    departments_have_a_breaker_each: "
        team alpha
        team beta under alpha
        team gamma under alpha
        join beta/ana
        join beta/bo
        join gamma/gil
        disappeared beta/ana
        disappeared beta/bo
        expect breaker beta open
        expect breaker gamma closed
        stopped gamma/gil
        start gamma/gil                => teammate.started
    ",
    a_person_who_starts_somebody_closes_the_breaker: "
        add ana when-needed
        add bo when-needed
        create x
        create y
        staff
        disappeared ana
        disappeared bo
        expect breaker alpha open
        start bo supervised            => breaker.closed, teammate.started
        expect breaker alpha closed
        start ana supervised           => teammate.started
    ",
    a_half_open_breaker_tries_who_has_only_mail: "
        team alpha lead lia
        add ana when-needed hears
        join bo
        join cy
        disappeared bo
        disappeared cy
        send \"look at the board\" to ana
        expect effects: nothing
        wait 120s                      => breaker.half_opened
        expect effects: start alpha/ana
        staff                          => teammate.started
        expect breaker alpha half open with ana as probe
    ",
}
