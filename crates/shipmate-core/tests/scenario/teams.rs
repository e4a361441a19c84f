//! Teams: one tree, and an end that is never silent and never a leak.

scenarios! {
    a_team_is_created_with_its_lead: "
        team alpha lead lia            => team.created, teammate.added
        expect team alpha active
        expect teammate lia added
    ",
    a_team_without_a_lead_is_led_by_the_person: "
        team alpha                     => team.created
        join ana                       => teammate.started
    ",
    a_teams_name_is_taken_once: "
        team alpha
        team alpha                     => refused: team alpha exists already
    ",
    a_tree_has_one_root: "
        team alpha
        team beta                      => refused: a tree of teams has one root and it is alpha
        team beta under alpha          => team.created
        team gamma under nowhere       => refused: there is no team nowhere
    ",
    only_a_lead_above_or_a_person_creates_a_team_below: "
        team alpha lead lia
        start lia
        join ana
        team beta under alpha lead bea by ana \
            => refused: alpha/ana@1 may not create a team below it; the lead of team alpha or a \
            person may
        team beta under alpha lead bea by lia => team.created, teammate.added
        start beta/bea by lia
        team gamma under beta by lia
        team delta under alpha by beta/bea \
            => refused: beta/bea@1 may not create a team below it; the lead of team alpha or a \
            person may
    ",
    a_lead_sets_the_model_of_whom_it_brings_in_and_nothing_else: "
        team alpha lead lia
        start lia
        join ana
        change-team alpha model opus by lia => team.changed
        change-team alpha model sonnet by ana \
            => refused: alpha/ana@1 may not change what its teammates work with; the lead of team \
            alpha or a person may
        change-team alpha gates make by lia \
            => refused: alpha/lia@1 may not change how the team works
        change-team alpha agent \"rm -r .\" by lia \
            => refused: alpha/lia@1 may not change how the team works
    ",
    a_name_cannot_leave_its_folder: "
        team ../x \
            => refused: \"../x\" is not a name: use letters, digits, '_' and '-', beginning with \
            a letter or digit
    ",
    a_description_has_a_limit: "
        team alpha description long:65537 \
            => refused: the description is 65537 bytes and the limit is 65536
    ",
    a_team_in_which_nobody_runs_is_deleted_at_once: "
        team alpha lead lia
        delete-team alpha              => team.deletion_requested, team.deleted
        expect team alpha deleted and all is over
        delete-team alpha              => refused: there is no team alpha
        create x                       => refused: there is no team alpha
        team alpha \
            => refused: team alpha was deleted; its name stays with what it did
    ",
    deleting_a_team_asks_everybody_and_waits_for_them: "
        join ana
        join bo supervised
        delete-team alpha within 30s \
            => team.deletion_requested, shutdown.requested, message.sent, shutdown.requested, \
            message.sent
        expect team alpha ending
        answer-shutdown clean by ana \
            => shutdown.answered, message.sent, teammate.stopped, message.expired
        expect team alpha ending
        answer-shutdown clean by bo    => shutdown.answered, message.sent
        expect effects: end alpha/bo@1
        stopped bo                     => teammate.stopped, message.expired, team.deleted
        expect team alpha deleted and all is over
    ",
    a_team_that_ends_takes_nobody_and_nothing_new: "
        join ana
        add bo
        create x
        delete-team alpha
        add cy                         => refused: team alpha is being deleted
        start bo                       => refused: team alpha is being deleted
        create y                       => refused: team alpha is being deleted
        next by ana                    => refused: team alpha is being deleted
        team beta under alpha          => refused: team alpha is being deleted
        delete-team alpha              => refused: team alpha is being deleted
    ",
    who_does_not_answer_is_ended_after_the_deadline: "
        join ana
        join bo supervised
        delete-team alpha within 30s
        wait 29s                       => unchanged
        wait 1s \
            => shutdown.timed_out, teammate.stopped, message.expired, shutdown.timed_out
        expect teammate ana stopped out of time @1
        expect effects: end alpha/bo@1
        stopped bo forced
        expect team alpha deleted and all is over
    ",
    a_rejection_does_not_keep_a_team_from_being_deleted: "
        join ana
        delete-team alpha within 30s
        answer-shutdown rejected \"not yet\" by ana => shutdown.answered, message.sent
        expect team alpha ending
        wait 30s \
            => shutdown.timed_out, teammate.stopped, message.expired, team.deleted
        expect team alpha deleted and all is over
    ",
    now_escalates_at_once: "
        join ana
        join bo supervised
        create x
        claim 1 by ana
        delete-team alpha within 60s
        delete-team alpha now \
            => teammate.stopped, task.released, message.expired, shutdown.requested, message.sent
        wait 0s                        => shutdown.timed_out
        expect effects: end alpha/bo@1
        stopped bo forced
        expect team alpha deleted and all is over
        expect 1 pending
    ",
    a_team_is_never_gone_before_those_below_it: "
        team alpha lead lia
        team beta under alpha
        team gamma under beta
        start lia supervised
        join gamma/gil supervised
        delete-team alpha
        stopped lia
        expect team alpha ending
        expect team beta ending
        expect team gamma ending
        stopped gamma/gil \
            => teammate.stopped, message.expired, team.deleted, team.deleted, team.deleted
        expect team alpha deleted and all is over
    ",
    deleting_a_department_leaves_the_others_alone: "
        team alpha lead lia
        team beta under alpha
        team gamma under alpha
        join beta/bo
        join gamma/gil
        delete-team beta now
        expect team beta deleted
        expect team gamma active
        expect team alpha active
        expect teammate gamma/gil running @1
    ",
    mail_of_members_that_never_start_again_goes_back: "
        add ana
        join bo
        send \"hello\" to ana by bo
        send \"again\" to ana
        delete-team alpha now
        expect inbox ana: nothing
        expect inbox person: alpha/ana did not read your message #: its team ended
        send \"late\" to ana \
            => refused: alpha/ana has stopped and reads no more mail; members: alpha/ana, alpha/bo
    ",
    what_a_deleted_team_left_is_not_to_be_taken: "
        team alpha
        team beta under alpha
        create x in beta
        create y
        delete-team beta now
        expect available: 2
        expect counts beta: 1 deleted
    ",
    a_teammate_deletes_no_team: "
        join ana
        delete-team alpha by ana \
            => refused: alpha/ana@1 may not delete the team; the lead of team alpha or a person may
    ",
    a_paused_team_starts_nobody_and_claims_nothing_but_hands_in: "
        team alpha lead lia gate
        join ana supervised
        add bo when-needed
        create x
        create y
        claim 1 by ana
        pause-team alpha reason \"lunch\" => team.paused
        pause-team alpha reason \"rest\" => unchanged
        expect paused alpha: lunch
        expect effects: nothing
        start bo supervised            => refused: team alpha is paused: lunch
        start bo one-shot              => refused: team alpha is paused: lunch
        start bo                       => teammate.started
        next by bo                     => refused: team alpha is paused: lunch
        claim 2 by bo                  => refused: team alpha is paused: lunch
        renew 1 by ana                 => task.renewed
        submit 1 by ana                => task.submitted
        expect effects: verify 1
        return 1
        claim 1 by ana                 => refused: team alpha is paused: lunch
        submit 1 by ana                => task.submitted
        complete 1 by runtime          => task.completed
        continue-team alpha            => team.continued
        continue-team alpha            => unchanged
        claim 2 by bo                  => task.claimed
    ",
    a_pause_is_for_managers: "
        team alpha lead lia
        start lia
        join ana
        pause-team alpha by ana \
            => refused: alpha/ana@1 may not pause the team; the lead of team alpha or a person may
        pause-team alpha by lia        => team.paused
        continue-team alpha by ana \
            => refused: alpha/ana@1 may not let the team continue; the lead of team alpha or a \
            person may
        continue-team alpha by lia     => team.continued
        pause-team alpha reason long:65537 \
            => refused: the reason is 65537 bytes and the limit is 65536
        pause-team beta                => refused: there is no team beta
        delete-team alpha
        pause-team alpha               => refused: team alpha is being deleted
        continue-team alpha            => refused: team alpha is being deleted
    ",
    a_pause_is_of_one_team: "
        team beta under alpha
        add ana when-needed
        add beta/bo when-needed
        create x
        create y in beta
        pause-team alpha
        expect effects: start beta/bo
        continue-team alpha
        pause-team beta
        expect effects: start alpha/ana
    ",
    a_teams_time_ends_its_work_and_asks_everybody_to_stop: "
        team alpha lead lia timeout 60s stops 5s
        expect wake: never
        join ana supervised
        join bo
        add cy when-needed
        create x
        create y
        claim 1 by ana
        wait 59s                       => unchanged
        wait 1s \
            => team.paused, shutdown.requested, message.sent, shutdown.requested, message.sent, \
            message.sent
        expect paused alpha: the team's time of 60 s is over
        expect inbox lia: the team's time of 60 s is over
        expect inbox bo: shutdown requested: the team's time of 60 s is over; answer within 5000 ms
        expect effects: nothing
        submit 1 by ana                => task.submitted, task.completed
        wait 60s \
            => shutdown.timed_out, shutdown.timed_out, teammate.stopped, message.expired
        wait 60s                       => unchanged
        ended ana
        continue-team alpha
        expect effects: start alpha/cy
    ",
    a_late_word_about_a_teams_time_changes_nothing: "
        team alpha timeout 60s
        team beta under alpha
        join ana
        expire-team alpha by ana       => refused: alpha/ana@1 may not end a team's time
        pause-team alpha reason \"lunch\"
        expire-team alpha              => unchanged
        expect paused alpha: lunch
        expire-team gamma              => refused: there is no team gamma
        delete-team beta
        expire-team beta               => refused: there is no team beta
        delete-team alpha
        expire-team alpha              => refused: team alpha is being deleted
    ",
    a_team_without_a_time_never_ends_by_itself: "
        join ana
        expire-team alpha              => unchanged
        expect wake: never
    ",
    a_team_below_works_as_the_one_above: "
        team alpha lead lia gate stall 20s timeout 100s stops 7s
        start lia
        team beta under alpha
        team gamma under alpha stall 900s by lia
        team delta under alpha stall 40s
        join beta/bo supervised
        create x in beta
        claim 1 by beta/bo
        expect wake: 10000ms
        submit 1 by beta/bo            => task.submitted, task.completed
        join gamma/gil supervised
        create y in gamma
        claim 2 by gamma/gil
        expect wake: 10000ms
        submit 2 by gamma/gil          => task.submitted
        join delta/dee supervised
        create z in delta
        claim 3 by delta/dee
        expect wake: 20000ms
    ",
    a_setup_has_limits: "
        team alpha
        team beta under alpha gates long:65537 \
            => refused: a gate command is 65537 bytes and the limit is 65536
        team beta under alpha protects many:17 \
            => refused: the protected paths is # bytes and the limit is 16384
    ",
    gates_and_hooks_are_on_record: "
        team alpha gate
        join ana
        gate alpha commit 1111111 for 2s => gate.ran
        gate alpha about 1 red result \"1 failed\" => gate.ran
        gate beta                      => refused: there is no team beta
        gate alpha by ana              => refused: alpha/ana@1 may not report a gate
        gate alpha result long:65537   => refused: the output is 65537 bytes and the limit is 65536
        hook alpha on-claim \"exit code 2\" => hook.noted
        hook alpha on-claim \"x\" by person => refused: person may not report a hook
        hook beta on-claim \"x\"       => refused: there is no team beta
    ",
}
