//! Teammates and their lives: what belongs to an ended one can do nothing.

scenarios! {
    a_member_is_added_once: "
        add ana
        add ana                        => refused: alpha/ana is a member already
        add ../ana \
            => refused: \"..\" is not a name: use letters, digits, '_' and '-', beginning with a \
            letter or digit
        add person \
            => refused: \"person\" is a reserved word and cannot be a name
        add zoe holds 0 \
            => refused: the number of tasks held at once is zero and must be at least 1
        add zoe holds 65 \
            => refused: the number of tasks held at once is 65 tasks and the limit is 64
        add zoe agent long:513         => refused: the agent is 513 bytes and the limit is 512
        add nowhere/zoe                => refused: there is no team nowhere
    ",
    a_team_has_one_lead: "
        team alpha lead lia
        add lu seat lead               => refused: team alpha has a lead already: lia
        remove lia
        add lu seat lead               => teammate.added
    ",
    only_a_lead_or_a_person_adds_starts_and_removes: "
        team alpha lead lia
        start lia
        join ana
        add bo by ana \
            => refused: alpha/ana@1 may not add teammates; the lead of team alpha or a person may
        add bo by lia                  => teammate.added
        start bo by ana \
            => refused: alpha/ana@1 may not start teammates; the lead of team alpha or a person may
        start bo by lia                => teammate.started
        remove bo by ana \
            => refused: alpha/ana@1 may not remove teammates; the lead of team alpha or a person may
    ",
    a_life_must_end_before_the_next: "
        join ana
        start ana                      => refused: alpha/ana is running as epoch 1
        stopped ana
        start ana                      => teammate.started
        expect teammate ana running @2
    ",
    an_old_life_can_do_nothing: "
        join ana
        create x
        claim 1 by ana
        disappeared ana
        start ana
        claim 1 by ana@1 \
            => refused: alpha/ana@1 is no longer current: the epoch of alpha/ana is now 2
        submit 1 by ana@1 \
            => refused: the claim # on task 1 has ended; the task is pending now
        send \"hi\" to person by ana@1 \
            => refused: alpha/ana@1 is no longer current: the epoch of alpha/ana is now 2
        read by ana@1 \
            => refused: alpha/ana@1 is no longer current: the epoch of alpha/ana is now 2
        create y by ana@1 \
            => refused: alpha/ana@1 is no longer current: the epoch of alpha/ana is now 2
        claim 1 by ana                 => task.claimed
    ",
    a_life_that_disappeared_does_not_act_before_it_is_started_again: "
        join ana
        create x
        disappeared ana
        claim 1 by ana                 => refused: alpha/ana is not running
        disappeared ana                => refused: alpha/ana is not running
        stopped ana@7 \
            => refused: alpha/ana@7 is no longer current: the epoch of alpha/ana is now 1
    ",
    a_removed_name_goes_on_counting_its_lives: "
        join ana
        remove ana                     => teammate.stopped, teammate.removed
        claim 1 by ana                 => refused: there is no teammate alpha/ana; members: none
        join ana
        expect teammate ana running @2
        shutdown ana@1 \
            => refused: alpha/ana@1 is no longer current: the epoch of alpha/ana is now 2
    ",
    a_process_is_shut_down_before_its_teammate_is_removed: "
        join ana supervised
        remove ana                     => refused: alpha/ana is running as epoch 1
        stopped ana
        remove ana                     => teammate.removed
    ",
    a_removed_teammate_gives_back_its_task_and_its_mail: "
        join ana
        join bo
        create x
        claim 1 by ana
        send \"hi\" to ana by bo
        remove ana \
            => teammate.stopped, task.released, message.bounced, message.sent, teammate.removed
        expect 1 pending
        expect inbox bo: alpha/ana did not read your message #: it stopped
    ",
    a_member_that_was_never_started_can_be_removed: "
        add ana
        send \"hi\" to ana
        remove ana                     => message.bounced, message.sent, teammate.removed
        expect inbox person: alpha/ana did not read your message #: it was removed
        remove ana                     => refused: there is no teammate alpha/ana; members: none
    ",
    who_is_paused_takes_no_task: "
        join ana
        create x
        pause ana reason \"wait for bo\" => teammate.paused
        pause ana reason \"wait for bo\" => unchanged
        next by ana                    => refused: alpha/ana is paused: wait for bo
        continue ana                   => teammate.continued
        continue ana                   => unchanged
        next by ana                    => task.claimed
    ",
    a_lead_cannot_lift_its_own_limits: "
        team alpha lead lia
        start lia
        mode lia delegate
        mode lia delegate              => unchanged
        mode lia normal by lia         => refused: alpha/lia@1 may not change its own mode
        pause lia
        continue lia by lia            => refused: alpha/lia@1 may not end its own pause
        budget lia tokens 5 by lia     => refused: alpha/lia@1 may not set its own budget
    ",
    a_lead_changes_the_mode_of_others: "
        team alpha lead lia
        start lia
        join ana
        mode ana plan by lia           => teammate.mode_changed
        mode lia normal by ana \
            => refused: alpha/ana@1 may not change a teammate's mode; the lead of team alpha or a \
            person may
        pause lia by ana \
            => refused: alpha/ana@1 may not pause teammates; the lead of team alpha or a person may
    ",
    an_idle_teammate_always_has_a_reason: "
        add ana
        expect idle ana: not started
        start ana
        expect idle ana: just started
        create x
        claim 1 by ana
        expect idle ana: busy
        submit 1 by ana
        expect idle ana: no task
        idle \"waiting for bo\" by ana => teammate.idle
        idle \"waiting for bo\" by ana => unchanged
        expect idle ana: waiting for bo
        idle \"\" by ana               => refused: the reason is empty
        idle \"x\" by person           => refused: person may not report that it is idle
        disappeared ana reason \"killed\"
        expect idle ana: disappeared: killed
    ",
    the_runtime_alone_reports_ends: "
        join ana
        join bo
        disappeared bo by ana \
            => refused: alpha/ana@1 may not report that a teammate disappeared
        stopped bo by person           => refused: person may not report that a teammate stopped
    ",
    a_lead_chooses_among_the_commands_there_are: "
        team alpha lead lia
        start lia
        add ana command \"agent --fast\"
        add bo command \"agent --fast\" by lia => teammate.added
        add cy command \"rm -rf /\" by lia \
            => refused: alpha/lia@1 may not bring a command of its own
        add cy by lia                  => teammate.added
        add dee command long:65537     => refused: the command is 65537 bytes and the limit is 65536
    ",
    a_session_outlives_the_life_that_had_it: "
        join ana supervised
        session s-1 by ana             => teammate.session
        session s-1 by ana             => unchanged
        session s-2 by ana             => teammate.session
        disappeared ana
        start ana supervised
        expect session ana: s-2
        session s-3 by ana@1 \
            => refused: alpha/ana@1 is no longer current: the epoch of alpha/ana is now 2
        session s-3 by person          => refused: person may not name its agent's session
        session long:513 by ana        => refused: the session is 513 bytes and the limit is 512
    ",
}
