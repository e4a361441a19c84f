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
        expect counts beta: 1 pending
    ",
    a_teammate_deletes_no_team: "
        join ana
        delete-team alpha by ana \
            => refused: alpha/ana@1 may not delete the team; the lead of team alpha or a person may
    ",
}
