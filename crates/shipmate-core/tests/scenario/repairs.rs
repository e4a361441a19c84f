//! What a person mends: who cannot work waits for it and costs nothing, and one word starts everybody.

scenarios! {
    who_cannot_work_waits_for_a_person_and_costs_nothing: "
        add ana when-needed
        add bo when-needed
        create x retries 0
        create y retries 0
        staff
        next by ana
        next by bo
        disappeared ana unable reason \"the key was refused\" \
            => teammate.disappeared, task.released, message.sent
        expect inbox person: alpha/ana@1 cannot work: the key was refused; mend that, then \
            `shipmate --team alpha resume`
        expect 1 pending
        expect breaker alpha closed
        expect effects: nothing
        // The same cause is told once.
        disappeared bo unable reason \"the key was refused\" \
            => teammate.disappeared, task.released
        expect breaker alpha closed
        expect effects: nothing
        continue-team alpha            => team.continued
        expect effects: start alpha/ana | start alpha/bo
        continue-team alpha            => unchanged
        staff
        next by ana                    => task.claimed
    ",
    a_probe_that_cannot_work_says_nothing_about_the_others: "
        add ana when-needed
        add bo when-needed
        create x
        create y
        join cy
        join dee
        disappeared cy
        disappeared dee
        wait 120s                      => breaker.half_opened
        start ana by runtime
        expect breaker alpha half open with ana as probe
        disappeared ana unable         => teammate.disappeared, message.sent
        expect breaker alpha half open
        expect effects: start alpha/bo
    ",
    going_on_starts_everybody_whatever_held_them: "
        add ana when-needed
        add bo when-needed
        add cy when-needed
        create x
        create y
        create z
        staff
        // Given up after three lives, sent away, and behind an open breaker.
        disappeared ana broken
        staff
        disappeared ana broken
        staff
        disappeared ana broken
        shutdown bo
        stopped bo
        disappeared cy broken
        expect breaker alpha open
        read by person
        continue-team alpha            => team.continued, breaker.closed
        expect effects: start alpha/ana | start alpha/bo | start alpha/cy
    ",
    a_lead_lets_only_a_paused_team_go_on: "
        team alpha lead lia
        start lia
        add ana when-needed
        create x
        staff
        disappeared ana unable
        continue-team alpha by lia     => unchanged
        expect effects: nothing
        pause-team alpha
        continue-team alpha by lia     => team.continued
        expect effects: start alpha/ana
    ",
    who_stopped_for_want_of_a_budget_goes_on_once_there_is_one: "
        add ana when-needed
        create x
        staff
        budget ana tokens 10
        spend tokens 10 by ana
        pause ana spent reason \"its budget is spent: 10 tokens\" by ana
        continue-team alpha            => unchanged
        budget ana tokens 20           => teammate.budget_set, teammate.continued, message.sent
        pause ana spent reason \"its budget is spent: too little was set aside\" by ana
        continue-team alpha            => teammate.continued, message.sent
    ",
    the_goal_reaches_the_lead_again_until_there_is_a_plan: "
        add lia seat lead mode plan when-needed hears
        send \"build a calculator\" to lia
        expect effects: start alpha/lia
        staff
        take by lia
        disappeared lia unable reason \"connection refused\"
        expect effects: nothing
        // It has not been read: nothing is asked twice.
        continue-team alpha            => team.continued
        expect effects: start alpha/lia
        staff
        read by lia
        send \"which one?\" to person by lia
        shutdown lia
        stopped lia
        continue-team alpha            => team.continued, message.sent
        expect inbox lia: build a calculator
        expect senders lia: message from person
        expect effects: start alpha/lia
        staff
        read by lia
        submit-plan \"one part\" tasks \"a files src/a\" mates \"ana when-needed\" single \"it is small\" by lia
        continue-team alpha            => unchanged
        approve
        continue-team alpha            => unchanged
    ",
    the_goal_reaches_the_next_lead: "
        add lia seat lead mode plan when-needed hears
        send \"build a calculator\" to lia
        staff
        read by lia
        disappeared lia unable
        remove lia
        add lou seat lead mode plan when-needed hears
        continue-team alpha            => message.sent
        expect inbox lou: build a calculator
        expect effects: start alpha/lou
    ",
    a_team_works_in_new_ways_from_the_next_start_on: "
        team alpha trees own base 1111111 gates make
        add ana when-needed agent clade
        join bo
        change-team alpha gates \"make test\" by bo \
            => refused: alpha/bo@1 may not change how the team works
        change-team alpha gates \"make test\" agent claude model opus about ana \
            => team.changed, teammate.agent_changed
        change-team alpha gates \"make test\" agent claude model opus about ana => unchanged
        expect setup alpha: gate make test agent claude model opus base 1111111
        expect agent ana: claude opus
        change-team alpha base 2222222 => team.changed
        expect setup alpha: gate make test agent claude model opus base 2222222
    ",
    a_team_with_trees_begins_at_a_commit: "
        team beta under alpha trees own base \"\" \
            => refused: the commit that the team begins at is empty
    ",
    a_supervisor_that_could_not_be_started_is_tried_again_later_and_later: "
        add ana when-needed
        create x
        staff
        not-spawned ana
        expect effects: nothing
        wait 249ms
        expect effects: nothing
        wait 1ms
        expect effects: spawn alpha/ana@1
        not-spawned ana
        wait 499ms
        expect effects: nothing
        wait 1ms
        expect effects: spawn alpha/ana@1
        connect ana
        expect effects: nothing
        expect breaker alpha closed
    ",
    one_that_can_never_be_started_is_told_of_once_and_waits: "
        add ana when-needed
        create x
        staff
        repeat 8 not-spawned ana
        expect due: ReportDisappeared
        wait 0s                        => teammate.disappeared, message.sent
        expect inbox person: alpha/ana@1 cannot work: its supervisor could not be started: no \
            space left on device; mend that, then `shipmate --team alpha resume`
        expect breaker alpha closed
        expect effects: nothing
        continue-team alpha            => team.continued
        expect effects: start alpha/ana
    ",
}
