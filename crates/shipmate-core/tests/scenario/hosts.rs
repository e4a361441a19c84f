//! Hosts: machines that join, drain, leave and are lost, and where a life is placed.

scenarios! {
    the_first_host_is_the_home_and_has_whoever_runs: "
        join ana supervised
        join bo
        host here                      => host.joined
        expect host here joined home with 2
        host here                      => unchanged
        host here slots 3              => host.joined
        expect host here joined home with 2
    ",
    somebody_is_placed_on_the_least_loaded_host_and_comes_back_to_its_own: "
        team alpha trees own
        host here slots 2
        host box slots 2
        add ana when-needed
        add bo when-needed
        add cy when-needed
        create x
        create y
        create z
        staff                  => teammate.started, teammate.started, teammate.started
        expect place ana: here
        expect place bo: box
        expect place cy: here
        disappeared bo
        disappeared cy
        continue bo
        start bo supervised
        expect place bo: box
    ",
    a_host_that_is_full_or_draining_gets_nobody: "
        team alpha trees own
        host here slots 1
        add ana when-needed
        add bo when-needed
        create x
        create y
        staff                  => teammate.started
        expect effects: nothing
        start bo supervised \
            => refused: alpha/bo can be placed on no host: every host that it may run on is full
        host box slots 4
        expect effects: start alpha/bo
        drain box              => host.draining
        drain box              => unchanged
        expect effects: nothing
        host box slots 5       => host.joined
        expect host box draining with 0
        drain box undo         => host.draining
        staff                  => teammate.started
        expect place bo: box
    ",
    who_has_no_place_leaves_the_task_to_those_who_have_one: "
        team alpha trees own
        host here slots 2 labels old
        host box slots 2 labels new
        add ana labels old when-needed
        add bo labels new when-needed
        create x
        drain here
        expect effects: start alpha/bo
        drain box
        expect effects: nothing
        drain here undo
        expect effects: start alpha/ana
    ",
    a_host_must_have_the_program_and_the_labels: "
        team alpha trees own
        host here programs native
        host box slots 1 programs native,claude labels gpu
        add ana agent claude when-needed
        add bo labels gpu agent native when-needed
        add cy host nowhere when-needed
        create x
        staff                  => teammate.started
        expect place ana: box
        start bo supervised \
            => refused: alpha/bo can be placed on no host: every host that it may run on is full
        start cy supervised \
            => refused: alpha/cy can be placed on no host: no host that is there has its program, its \
            labels and its team's code
    ",
    without_other_machines_nobody_waits_for_one_in_silence: "
        add ana host box when-needed
        create x
        expect effects: nothing
        start ana supervised \
            => refused: alpha/ana can be placed on no host: no other machine has joined
        start ana              => teammate.started
    ",
    who_ran_on_a_lost_host_is_gone_and_its_task_is_free: "
        team alpha trees own
        host here slots 1
        host box slots 2
        here here
        host-lease 60s
        join ana supervised
        join bo supervised
        create x
        claim 1 by bo
        expect place bo: box
        wait 59s               => unchanged
        sign box
        wait 59s               => unchanged
        wait 1s                => host.lost
        wait 0s \
            => teammate.disappeared, task.released, message.sent
        expect host box lost with 0
        expect host here joined home with 1
        expect 1 pending
        expect inbox person: alpha/bo@1 disappeared: its machine box was silent for 1 min
        submit 1 by bo@1 \
            => refused: the claim # on task 1 has ended; the task is pending now
        wait 600s              => unchanged
    ",
    late_work_names_the_machine_that_has_it: "
        team alpha trees own lead lia
        host here
        host box
        join ana supervised
        create x
        claim 1 by ana
        release 1 by person reason \"it is late\"
        set-aside 1 \"aside/1\" commit c1 on box by ana => task.work_set_aside, message.sent
        expect inbox lia: late work of alpha/ana@1 on task 1 was set aside on host box: aside/1
        set-aside 1 \"aside/1\" commit c1 on box by ana => unchanged
    ",
    word_of_an_old_boot_changes_nothing: "
        host here
        host box boot b-2
        lost-host box boot b-1 => unchanged
        lost-host box boot b-2 => host.lost
        lost-host box boot b-2 => unchanged
        lost-host nowhere      => refused: there is no host nowhere; hosts: box, here
        lost-host box by person => refused: person may not report that a host was lost
    ",
    a_machine_that_was_started_again_comes_back_when_nobody_of_before_is_left: "
        team alpha trees own
        host here slots 1
        host box boot b-1
        join ana supervised
        join bo supervised
        host box boot b-2      => host.lost
        host box boot b-2      => unchanged
        wait 0s                => teammate.disappeared, message.sent
        host box boot b-2      => host.joined
        expect host box joined with 0
    ",
    a_lost_host_comes_back_with_its_old_boot: "
        host here
        host box
        lost-host box
        host box               => host.joined
        expect host box joined with 0
    ",
    one_name_is_one_machine_and_one_machine_has_one_name: "
        host here
        host box
        host box place elsewhere => refused: host box is there already
        host crate place box     => refused: host box is there already
        lost-host box
        host box place elsewhere => host.joined
        host crate release 2   => refused: host crate has release 2 and the home has 1
        host crate slots 0     => refused: the number of slots is zero and must be at least 1
        host crate by person   => refused: person may not join a host
    ",
    a_host_is_removed_when_nobody_runs_there_or_at_once: "
        team alpha trees own
        host here slots 1
        host box
        join ana supervised
        join bo supervised
        leave nowhere          => refused: there is no host nowhere; hosts: box, here
        leave here             => refused: host here is the home of the team
        leave box              => refused: alpha/bo runs on host box
        leave box by bo        => refused: alpha/bo@1 may not remove a host
        leave box now          => host.left
        wait 0s                => teammate.disappeared, message.sent
        add cy host box        => refused: host box is not there: it is left
        leave box              => unchanged
        drain box              => refused: host box is not there: it is left
        drain here by ana      => refused: alpha/ana@1 may not drain a host
        host box               => host.joined
    ",
    whoever_holds_nothing_leaves_a_machine_that_drains: "
        team alpha trees own
        host here slots 1
        host box slots 1
        add ana when-needed
        add bo when-needed
        create x
        create y
        staff                  => teammate.started, teammate.started
        expect place bo: box
        claim 1 by bo
        drain box
        expect due: nothing
        submit 1 by bo
        expect due: RequestShutdown
        wait 0s                => shutdown.requested, message.sent
        expect inbox bo: shutdown requested: its machine drains; answer within 30000 ms
    ",
    a_home_that_is_lost_goes_to_a_machine_that_can_be_one: "
        team alpha trees own
        host here
        host box
        host den
        drain box
        lost-host here         => host.lost, host.home
        expect host den joined home with 0
        host here              => host.joined
        lost-host box          => host.lost
        lost-host den          => host.lost, host.home
        expect host here joined home with 0
        lost-host here         => host.lost
        host here              => host.joined
        expect host here joined home with 0
    ",
    a_home_whose_files_are_nowhere_else_stays_where_it_is: "
        host here
        host box
        lost-host here         => host.lost
        expect host box joined with 0
        home box               => host.home
        expect host box joined home with 0
    ",
    a_home_that_is_lost_goes_to_a_machine_that_can_be_one_later: "
        team alpha trees own base 1111111
        host here
        host box lacks 1111111
        lost-host here         => host.lost
        expect due: nothing
        host box               => host.joined
        expect due: ReportHostLost
        wait 0s                => host.home
        expect host box joined home with 0
        expect due: nothing
    ",
    a_lead_is_told_of_a_machine_that_was_removed: "
        team alpha trees own lead lia
        start lia
        host here
        host box
        leave box              => host.left, message.sent
        expect inbox lia: host box was removed: nobody runs there any more
    ",
    where_somebody_may_run_can_be_said_later: "
        team alpha trees own lead lia
        host here slots 4
        host box slots 4 labels gpu
        add ana host here when-needed
        create x
        place ana host box     => teammate.placed
        place ana host box     => unchanged
        staff                  => teammate.started
        expect place ana: box
        place ana by ana \
            => refused: alpha/ana@1 may not say where a teammate runs; the lead of team alpha or a person may
        place ana              => teammate.placed
        expect place ana: box
        disappeared ana
        place ana labels gpu   => teammate.placed
        staff                  => teammate.started
        expect place ana: box
        place zoe host box \
            => refused: there is no teammate alpha/zoe; members: alpha/ana, alpha/lia
        leave box now
        place ana host box     => refused: host box is not there: it is left
    ",
    the_home_moves_by_hand: "
        host here
        host box
        home box               => host.home
        home box               => unchanged
        leave here             => host.left
        home here              => refused: host here is not there: it is left
        home box by runtime    => refused: runtime may not move the home
    ",
    an_observer_watches_only_the_lives_of_its_own_host: "
        team alpha trees own stall 120s
        host here slots 1
        host box
        here here
        join ana supervised
        join bo supervised
        create x
        claim 1 by bo
        wait 600s              => unchanged
        here box
        wait 0s                => unchanged
        wait 60s               => teammate.stalled, message.sent
    ",
    who_has_no_tree_of_its_own_stays_at_home_unless_somebody_said_otherwise: "
        team alpha trees shared
        host here slots 1
        host box slots 4
        add ana when-needed
        add bo when-needed
        add cy host box when-needed
        create x
        create y
        create z
        staff                  => teammate.started, teammate.started
        expect place ana: here
        expect place cy: box
        start bo supervised \
            => refused: alpha/bo can be placed on no host: every host that it may run on is full
        drain here
        start bo supervised \
            => refused: alpha/bo can be placed on no host: it has no tree of its own, and the home does not take it
    ",
    where_a_branch_stands_is_on_record_once_there_are_hosts: "
        branch alpha at 1111111  => unchanged
        host here
        branch alpha at 1111111  => branch.moved
        branch alpha at 1111111  => unchanged
        branch alpha at 2222222 from 1111111  => branch.moved
        branch alpha at 3333333 from 1111111  => unchanged
        branch alpha at 3333333  => unchanged
        branch alpha by person   => refused: person may not report where a branch stands
    ",
    where_a_branch_stood_is_known_until_somebody_begins_anew: "
        host here
        host box
        branch alpha at 1111111                => branch.moved
        home box                               => host.home
        leave here                             => host.left
        branch alpha at 2222222                => unchanged
        branch alpha at 2222222 from 1111111   => branch.moved
        leave box                              => host.left
        host here
        branch alpha at 3333333                => branch.moved
    ",
    the_home_moves_to_nobody_who_has_not_got_the_code: "
        host here
        host box lacks 1111111
        home box               => refused: host box has not got the team's code yet
        host box               => host.joined
        home box               => host.home
    ",
    who_comes_by_itself_sits_on_a_host_and_goes_with_it: "
        join ana
        host here slots 1
        expect host here joined home with 1
        host box slots 1
        add bo
        start bo at box        => teammate.started
        add cy
        start cy at nowhere    => teammate.started
        expect place bo: box
        leave box              => refused: alpha/bo runs on host box
        lost-host box          => host.lost
        host box               => unchanged
        wait 0s                => teammate.disappeared, message.sent
        host box               => host.joined
    ",
    a_host_gets_nobody_before_it_has_the_code: "
        team alpha trees own base 1111111
        host here slots 1
        host box slots 1 lacks 1111111,2222222
        join ana supervised
        add bo when-needed
        create x
        create y
        staff                  => unchanged
        expect effects: nothing
        host box slots 1 lacks 2222222 => host.joined
        staff                  => teammate.started
        expect place bo: box
    ",
    the_last_host_leaves_and_the_team_is_on_one_machine_again: "
        team alpha trees own
        join ana supervised
        host here slots 1
        host box slots 4
        branch alpha at 1111111
        leave here             => refused: host here is the home of the team
        lost-host box
        leave here             => host.left
        expect place ana: nothing
        leave box              => refused: there is no host box; hosts: none
        host here              => host.joined
        expect host here joined home with 1
    ",
}
