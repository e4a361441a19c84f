//! Accounts: a refusal parks who asks with one, caps hold before that, and nothing fails of it.

scenarios! {
    one_refusal_keeps_everybody_on_the_account_from_claiming_starting_and_asking: "
        team alpha
        join ana supervised
        join bo supervised
        join cy supervised
        add dee when-needed
        account ana claude-1           => teammate.account
        account ana claude-1           => unchanged
        account bo claude-1
        account dee claude-1
        account cy codex-1
        create w
        create x
        create y
        create z
        claim 1 by ana
        limit until 60s reason \"5-hour limit\" by ana => account.parked, message.sent
        release 1 by ana               => task.released
        expect 1 pending
        next by ana \
            => refused: alpha/ana is parked: no room until \
            1970-01-01 00:17:40 UTC on account claude-1: 5-hour limit
        claim 2 by bo \
            => refused: alpha/bo is parked: no room until \
            1970-01-01 00:17:40 UTC on account claude-1: 5-hour limit
        reserve tokens 1 by bo \
            => refused: alpha/bo is parked: no room until \
            1970-01-01 00:17:40 UTC on account claude-1: 5-hour limit
        start dee supervised \
            => refused: alpha/dee is parked: no room until \
            1970-01-01 00:17:40 UTC on account claude-1: 5-hour limit
        expect effects: nothing
        next by cy                     => task.claimed
        limit until 50s by bo          => unchanged
        limit by bo                    => unchanged
        limit until 90s by bo          => account.parked
        expect wake: 90000ms
        wait 89s                       => unchanged
        wait 1s                        => account.resumed
        next by ana                    => task.claimed
    ",
    who_was_parked_goes_on_with_what_it_had: "
        join ana supervised
        account ana claude-1
        create x priority 50
        create y
        claim 2 by ana
        limit until 60s by ana
        release 2 by ana
        wait 60s                       => account.resumed
        next by ana                    => task.claimed
        expect 2 in_progress by ana
    ",
    what_one_left_half_done_is_its_own_after_the_reset: "
        join ana supervised
        join bo supervised
        account ana claude-1
        account bo claude-1
        create x
        create y
        claim 1 by ana
        limit until 60s by ana
        release 1 by ana
        wait 60s                       => account.resumed
        next by bo                     => task.claimed
        expect 2 in_progress by bo
        next by ana                    => task.claimed
        expect 1 in_progress by ana
    ",
    a_refusal_spends_no_attempt_and_counts_as_no_stall: "
        team alpha stall 60s
        join ana supervised
        account ana claude-1
        create x retries 0
        claim 1 by ana
        limit until 600s by ana
        release 1 by ana
        wait 599s                      => unchanged
        wait 1s                        => account.resumed
        claim 1 by ana                 => task.claimed
        expect 1 in_progress by ana
    ",
    who_does_not_say_when_is_tried_again_later_and_later: "
        join ana supervised
        account ana claude-1
        limit by ana                   => account.parked, message.sent
        wait 59s                       => unchanged
        wait 1s                        => account.resumed
        limit by ana                   => account.parked
        wait 119s                      => unchanged
        wait 1s                        => account.resumed
        spend tokens 5 by ana
        limit by ana                   => account.parked, message.sent
        wait 60s                       => account.resumed
    ",
    a_reset_in_the_past_or_too_far_off_is_not_believed: "
        join ana supervised
        account ana claude-1
        limit until 0s by ana          => account.parked, message.sent
        wait 60s                       => account.resumed
        spend tokens 5 by ana
        limit until 54000000s by ana       => account.parked, message.sent
        wait 60s                       => account.resumed
    ",
    a_time_that_was_told_and_was_wrong_is_not_believed_twice: "
        join ana supervised
        account ana claude-1
        limit until 5s by ana
        wait 5s                        => account.resumed
        limit until 1s by ana
        wait 119s                      => unchanged
        wait 1s                        => account.resumed
    ",
    a_restart_and_a_clock_that_jumps_change_nothing: "
        join ana supervised
        account ana claude-1
        limit until 3600s by ana
        expect wake: 600000ms
        restart
        wait 3599s                     => unchanged
        wait 1s                        => account.resumed
        wait 600m                      => unchanged
    ",
    a_person_lets_it_go_on_earlier_and_a_late_word_of_the_runtime_does_not: "
        join ana supervised
        account ana claude-1
        go-on claude-1                 => unchanged
        go-on claude-2                 => refused: there is no account claude-2; accounts: claude-1
        limit until 60s by ana as first
        go-on claude-1 by ana          => refused: alpha/ana@1 may not let an account go on
        go-on claude-1                 => account.resumed
        go-on claude-1 on first by runtime => refused: account claude-1 is not parked as that
        limit until 60s by ana
        go-on claude-1 on first by runtime => refused: account claude-1 is not parked as that
    ",
    nobody_speaks_of_anothers_account: "
        join ana supervised
        join bo supervised
        account ana claude-1
        limit by bo                    => refused: alpha/bo@1 may not say that an account is refused
        windows 100 by bo \
            => refused: alpha/bo@1 may not tell of that account's windows
        limit account claude-2 by ana \
            => refused: alpha/ana@1 may not say that an account is refused
        limit account claude-1         => account.parked, message.sent
    ",
    above_the_soft_cap_no_task_is_taken_and_at_the_hard_cap_nothing_is_asked: "
        team alpha lead lia caps 800,950,50,plain
        start lia supervised
        join ana supervised
        account lia claude-1
        account ana claude-1
        create x
        create y
        windows 799 resets 60s by ana  => account.told
        windows 799 resets 60s by ana  => unchanged
        windows 700 resets 60s by ana  => unchanged
        claim 1 by ana                 => task.claimed
        windows 800 resets 60s by ana
        submit 1 by ana
        next by ana \
            => refused: alpha/ana takes no new task: 5 hours 80 % of account claude-1 is used, and \
            soft-cap is 80 %; it is reset at 1970-01-01 00:17:40 UTC
        reserve tokens 1 by ana        => usage.reserved
        next by lia \
            => refused: alpha/lia takes no new task: 5 hours 80 % of account claude-1 is used, and \
            soft-cap is 80 %; it is reset at 1970-01-01 00:17:40 UTC
        windows 900 resets 60s by ana
        reserve tokens 1 by ana \
            => refused: alpha/ana is parked: no room until \
            1970-01-01 00:17:40 UTC on account claude-1: 5 hours 90 %, and the cap is 90 %
        reserve tokens 1 by lia        => usage.reserved
        windows 950 resets 60s by ana
        reserve tokens 1 by lia \
            => refused: alpha/lia is parked: no room until \
            1970-01-01 00:17:40 UTC on account claude-1: 5 hours 95 %, and the cap is 95 %
        wait 60s                       => account.told
        next by ana                    => task.claimed
    ",
    a_window_without_a_reset_holds_nobody_back: "
        join ana supervised
        account ana claude-1
        create x
        windows 990 by ana             => account.told
        next by ana                    => task.claimed
    ",
    a_task_is_taken_only_where_it_can_end: "
        team alpha caps 900,980,30
        join ana supervised
        join bo supervised
        account ana claude-1
        account bo claude-1
        create w
        create x
        create y
        windows 100 resets 60s by ana
        claim 1 by ana
        windows 400 resets 60s by ana
        submit 1 by ana
        claim 2 by ana                 => task.claimed
        next by bo \
            => refused: alpha/bo takes no new task: 5 hours 40 % of account claude-1 is used, and \
            a task takes about 30 %: beside the 1 begun there is no room for one more below 95 %; \
            it is reset at 1970-01-01 00:17:40 UTC
        submit 2 by ana
        next by bo                     => task.claimed
    ",
    somebody_that_is_told_not_to_go_on_by_itself_waits_for_a_person: "
        team alpha caps 900,980,30,stays
        join ana supervised
        account ana claude-1
        limit until 5s by ana
        expect wake: never
        wait 600s                      => unchanged
        go-on claude-1                 => account.resumed
    ",
    a_window_that_was_full_waits_for_a_person_whatever_is_told_of_its_next_span: "
        team alpha caps 900,980,30,stays
        join ana supervised
        account ana claude-1
        create x
        windows 930 resets 60s by ana
        windows 100 window week resets 600s by ana => account.told
        wait 60s                       => unchanged
        windows 10 resets 18000s by ana => unchanged
        next by ana => refused: alpha/ana takes no new task: 5 hours 93 % of account claude-1 is used, \
            and soft-cap is 90 %; it is reset at 1970-01-01 00:17:40 UTC
        go-on claude-1                 => account.resumed
        windows 10 resets 18000s by ana => account.told
        next by ana                    => task.claimed
    ",
    who_has_words_that_it_could_not_answer_is_woken: "
        join ana supervised hears
        account ana claude-1
        limit until 60s by ana
        send \"hello\" to ana
        wait 60s                       => account.resumed, message.sent
    ",
    who_asks_another_model_than_it_was_to_is_told_of_once: "
        add ana model opus
        start ana
        session s-1 by ana                              => teammate.session
        session s-1 model claude-opus-5-5 by ana        => teammate.session
        session s-1 model claude-haiku-5 by ana         => teammate.session, message.sent
        session s-1 model claude-haiku-5 by ana         => unchanged
        session s-2 by ana                              => teammate.session
        add bo
        start bo
        session s-1 model claude-haiku-5 by bo          => teammate.session
    ",
    an_account_has_no_more_windows_than_anybody_tells: "
        join ana supervised
        account ana claude-1
        windows 1 window a by ana
        windows 1 window b by ana
        windows 1 window c by ana
        windows 1 window d by ana
        windows 1 window e by ana
        windows 1 window f by ana
        windows 1 window g by ana
        windows 1 window h by ana
        windows 1 window i by ana      => refused: the account is 9 windows and the limit is 8
        windows 1 window long:41 by ana \
            => refused: the window's name is 41 bytes and the limit is 40
    ",
    at_the_soft_cap_nobody_is_started_and_whoever_waits_does_not_stall: "
        team alpha stall 60s caps 800,980,30
        add ana when-needed
        add bo when-needed
        start ana supervised
        account ana claude-1
        account bo claude-1
        create x
        create y
        windows 800 resets 3600s by ana
        expect effects: nothing
        wait 600s                      => unchanged
        claim 1 by ana                 => refused: alpha/ana takes no new task: 5 hours 80 % of \
            account claude-1 is used, and soft-cap is 80 %; it is reset at 1970-01-01 01:16:40 UTC
    ",
    who_is_begun_above_the_soft_cap_may_stall_as_ever: "
        team alpha stall 60s caps 800,980,30
        add ana when-needed
        start ana supervised
        account ana claude-1
        create x
        claim 1 by ana
        windows 800 resets 3600s by ana
        wait 30s                       => teammate.stalled, message.sent
    ",
    held_by_escrow_nobody_is_started_and_whoever_waits_does_not_stall: "
        team alpha stall 60s caps 900,980,30
        add ana when-needed
        add bo when-needed
        add cy when-needed
        start ana supervised
        start bo supervised
        account ana claude-1
        account bo claude-1
        account cy claude-1
        create w
        create x
        create y
        create z
        windows 100 resets 3600s by ana
        claim 1 by ana
        windows 400 resets 3600s by ana
        submit 1 by ana
        expect effects: nothing
        claim 2 by ana
        wait 20s                       => unchanged
        progress ana
        wait 15s                       => unchanged
    ",
    who_may_ask_again_after_a_hard_cap_is_woken_for_what_it_could_not_answer: "
        join ana supervised hears
        account ana claude-1
        windows 990 resets 60s by ana
        send \"hello\" to ana
        wait 60s                       => account.told, message.sent
        expect inbox ana: hello | your account has room again: go on where you stopped
    ",
    the_reset_of_one_window_keeps_what_is_known_of_the_others: "
        team alpha caps 900,980,30
        join ana supervised
        join bo supervised
        account ana claude-1
        account bo claude-1
        create v
        create w
        create x
        create y
        create z
        windows 100 window week resets 36000m by ana
        windows 0 resets 60s by ana
        claim 1 by ana
        submit 1 by ana
        claim 2 by ana
        submit 2 by ana
        windows 500 window week resets 36000m by ana
        wait 60s                       => account.told
        windows 0 resets 18000s by ana
        claim 3 by ana
        submit 3 by ana
        next by ana                    => task.claimed
        next by bo                     => task.claimed
    ",
    a_reset_that_is_told_a_little_otherwise_is_the_same_span: "
        team alpha caps 900,980,30
        join ana supervised
        account ana claude-1
        windows 100 resets 3600s by ana => account.told
        windows 100 resets 3540s by ana => unchanged
        windows 200 resets 3700s by ana => account.told
        windows 100 resets 3600s by ana => unchanged
        windows 100 resets 18000s by ana => account.told
    ",
    escrow_holds_nobody_back_until_a_task_has_ended: "
        team alpha caps 900,980,30
        join ana supervised
        join bo supervised
        account ana claude-1
        account bo claude-1
        create x
        create y
        create z
        windows 850 resets 3600s by ana
        claim 1 by ana                 => task.claimed
        claim 2 by bo                  => task.claimed
        windows 890 resets 3600s by ana
        submit 1 by ana
        next by ana \
            => refused: alpha/ana takes no new task: 5 hours 89 % of account claude-1 is used, and \
            a task takes about 4 %: beside the 1 begun there is no room for one more below 95 %; \
            it is reset at 1970-01-01 01:16:40 UTC
    ",
    escrow_lets_one_task_be_begun_whatever_others_have_used: "
        team alpha caps 900,980,30
        join ana supervised
        join bo supervised
        account ana claude-1
        account bo claude-1
        create w
        create x
        create y
        windows 100 resets 3600s by ana
        claim 1 by ana
        windows 800 resets 3600s by ana
        submit 1 by ana
        claim 2 by ana                 => task.claimed
        next by bo \
            => refused: alpha/bo takes no new task: 5 hours 80 % of account claude-1 is used, and \
            a task takes about 70 %: beside the 1 begun there is no room for one more below 95 %; \
            it is reset at 1970-01-01 01:16:40 UTC
    ",
    a_clock_that_was_ahead_parks_nobody_once_it_is_right: "
        join ana supervised
        account ana claude-1
        clock ahead 600m
        limit until 60s by ana         => account.parked, message.sent
        wait 0s                        => unchanged
        clock back 600m
        wait 0s                        => account.resumed
        clock ahead 600m
        windows 990 resets 3600s by ana
        clock back 600m
        wait 0s                        => account.told
        reserve tokens 1 by ana        => usage.reserved
        clock ahead 1m
        limit until 60s by ana
        clock back 1m
        wait 0s                        => unchanged
    ",
    a_persons_word_holds_for_a_window_until_its_reset: "
        join ana supervised
        account ana claude-1
        create x
        windows 990 resets 60s by ana
        windows 100 window week resets 600s by ana
        go-on claude-1                 => account.resumed
        windows 995 resets 61s by ana
        windows 100 window week resets 600s by ana
        reserve tokens 1 by ana        => usage.reserved
        next by ana                    => task.claimed
        windows 990 window week resets 600s by ana
        reserve tokens 1 by ana \
            => refused: alpha/ana is parked: no room until \
            1970-01-01 00:26:40 UTC on account claude-1: week 99 %, and the cap is 95 %
        go-on claude-1
        wait 60s
        windows 990 resets 18000s by ana
        reserve tokens 1 by ana \
            => refused: alpha/ana is parked: no room until \
            1970-01-01 05:17:40 UTC on account claude-1: 5 hours 99 %, and the cap is 95 %
    ",
    a_phase_has_its_time_without_that_in_which_all_are_parked: "
        team alpha playbook \"phase build deadline 60s late build:1\"
        add ana when-needed
        begin build tasks \"x\"
        start ana supervised
        account ana claude-1
        limit until 600s by ana
        wait 599s                      => unchanged
        wait 1s                        => account.resumed
        wait 59s                       => unchanged
        wait 1s                        => phase.ended, message.sent
    ",
    time_in_which_all_wait_at_the_soft_cap_is_nobodys: "
        team alpha playbook \"phase build deadline 60s late build:1\" timeout 90s caps 800,980,30
        add ana when-needed
        begin build tasks \"x\"
        start ana supervised
        account ana claude-1
        windows 800 resets 600s by ana
        wait 599s                      => unchanged
        wait 1s                        => account.told
        claim 1 by ana
        windows 800 resets 600s by ana
        wait 59s                       => unchanged
        wait 1s                        => phase.ended, message.sent
    ",
    the_cap_of_a_playbook_is_without_the_time_in_which_all_are_parked: "
        team alpha playbook \"phase layers | cap for 60s\"
        add lia seat lead mode delegate when-needed hears
        begin layers
        start lia supervised
        account lia claude-1
        limit until 600s account claude-1
        wait 599s                      => unchanged
        wait 1s                        => account.resumed
        wait 59s                       => unchanged
        wait 1s                        => phase.left_to_lead, teammate.mode_changed, message.sent
    ",
    an_outage_that_lasts_longer_than_was_said_is_told_of_again: "
        join ana supervised
        account ana claude-1
        limit until 600s by ana        => account.parked, message.sent
        limit until 3600s by ana       => account.parked
        wait 3600s                     => account.resumed
        limit until 86400s by ana      => account.parked, message.sent
        wait 86400s                    => account.resumed
        limit until 3600s by ana       => account.parked
    ",
    work_that_is_handed_in_is_an_answer_of_a_model: "
        join ana supervised
        account ana goose-1
        create x
        limit by ana                   => account.parked, message.sent
        wait 60s                       => account.resumed
        claim 1 by ana
        submit 1 by ana
        limit by ana                   => account.parked, message.sent
        wait 60s                       => account.resumed
    ",
    what_was_left_half_done_and_assigned_to_another_is_that_ones: "
        join ana supervised
        join bo supervised
        account ana claude-1
        account bo claude-1
        create x
        claim 1 by ana
        limit until 60s by ana
        release 1 by ana
        assign 1 to bo
        wait 60s                       => account.resumed
        next by bo                     => task.claimed
        expect 1 in_progress by bo
    ",
    a_limit_of_pace_is_told_and_holds_nobody_back: "
        join ana supervised
        account ana openai-1
        create x
        windows 1000 window requests resets 60s pace by ana => account.told
        reserve tokens 1 by ana        => usage.reserved
        next by ana                    => task.claimed
        windows 900 window requests resets 60s pace by ana => account.told
        wait 60s                       => account.told
    ",
    an_estimate_is_no_answer_of_a_model: "
        join ana supervised
        account ana claude-1
        limit by ana
        wait 60s                       => account.resumed
        spend tokens 5 estimated 5 by ana
        limit by ana
        wait 60s                       => unchanged
        wait 60s                       => account.resumed
    ",
}

#[test]
fn who_goes_on_by_itself_is_told_to_wait_and_who_does_not_is_not() {
    for (caps, waits) in [("900,980,30", true), ("900,980,30,stays", false)] {
        for full in ["limit until 600s by ana", "windows 930 resets 600s by ana"] {
            let world = crate::play::play(&format!(
                "team alpha caps {caps}\njoin ana supervised\naccount ana claude-1\n{full}"
            ));
            let (state, who) = (world.state(), "alpha/ana".parse().unwrap());
            let held = shipmate_core::account::held_back(state, &who, &state.teammates[&who]);
            let remedy = held.unwrap().remedy().unwrap();
            assert_eq!(remedy.starts_with("wait"), waits, "{full}: {remedy}");
            assert!(remedy.contains("`shipmate account resume`"), "{remedy}");
        }
    }
}
