//! Fallbacks: who goes on with another program while its account has no room, and comes back.

scenarios! {
    who_has_a_fallback_goes_on_with_it_and_comes_back: "
        team alpha stall 0s
        add ana when-needed agent claude fallback codex
        create x
        create y
        start ana supervised
        account ana claude-1
        claim 1 by ana
        session s-1 by ana
        fall-over ana                  => unchanged
        limit until 600s by ana         => account.parked, message.sent
        wait 0s                        => teammate.fell_over, message.sent
        expect behind ana: codex for claude
        wait 0s                        => unchanged
        fall-over ana                  => unchanged
        next by ana \
            => refused: alpha/ana is parked: no room until \
            1970-01-01 00:26:40 UTC on account claude-1: limit
        release 1 by ana
        wait 0s                        => shutdown.requested, message.sent
        wait 0s                        => unchanged
        answer-shutdown clean by ana
        ended ana
        expect effects: start alpha/ana
        start ana supervised
        account ana codex-1
        next by ana                    => task.claimed
        expect 1 in_progress by ana
        wait 600s                       => account.resumed
        wait 0s                        => unchanged
        submit 1 by ana
        wait 0s                        => teammate.fell_over, message.sent
        expect behind ana: claude
    ",
    at_the_soft_cap_who_has_a_fallback_goes_on_with_it_once_it_has_done_its_task: "
        team alpha stall 0s
        add ana when-needed agent claude fallback codex
        add bo when-needed agent claude fallback codex
        add lia when-needed seat lead agent claude fallback codex
        create x
        create y
        start ana supervised
        start lia supervised
        account ana claude-1
        account bo claude-2
        account lia claude-1
        claim 1 by ana
        windows 930 resets 10800s by ana
        windows 930 resets 200s account claude-2
        wait 0s                        => unchanged
        submit 1 by ana
        wait 0s                        => teammate.fell_over, message.sent
        expect behind ana: codex for claude
        expect behind lia: claude
        wait 0s                        => shutdown.requested, message.sent
        answer-shutdown clean by ana
        ended ana
        start ana supervised
        account ana codex-1
        next by ana                    => task.claimed
    ",
    nobody_goes_back_to_an_account_with_a_window_at_the_soft_cap: "
        team alpha stall 0s
        add ana when-needed agent claude fallback codex
        account ana claude-1
        windows 930 window week resets 259200s account claude-1
        wait 0s                        => teammate.fell_over, message.sent
        limit until 600s account claude-1
        wait 600s                      => account.resumed
        wait 0s                        => unchanged
        expect behind ana: codex for claude
        wait 258600s                   => account.told
        wait 0s                        => teammate.fell_over, message.sent
        expect behind ana: claude
    ",
    a_fallback_that_is_parked_as_well_waits_for_the_first_that_has_room: "
        team alpha
        add ana when-needed agent claude fallback codex
        create x
        account ana claude-1
        limit until 600s account claude-1
        wait 0s                        => teammate.fell_over, message.sent
        account ana codex-1
        limit until 900s account codex-1
        wait 0s                        => unchanged
        expect effects: nothing
        wait 600s                       => account.resumed
        wait 0s                        => teammate.fell_over, message.sent
        expect behind ana: claude
        expect effects: start alpha/ana
    ",
    who_chose_anew_is_not_taken_back: "
        team alpha
        add ana when-needed agent claude fallback codex
        account ana claude-1
        limit until 600s account claude-1
        wait 0s
        change-team alpha agent gemini about ana => team.changed, teammate.agent_changed
        wait 600s                       => account.resumed
        wait 0s                        => unchanged
        expect behind ana: gemini
    ",
    a_lead_brings_no_command_of_its_own_by_a_fallback: "
        team alpha lead lia
        start lia
        add ana when-needed agent claude fallback sh:evil by lia \
            => refused: alpha/lia@1 may not bring a command of its own
        add ana agent claude fallback codex
        account ana claude-1
        limit until 600s account claude-1
        wait 0s                        => unchanged
    ",
    who_fell_over_goes_back_between_two_tasks: "
        team alpha gate stall 0s
        add ana when-needed agent claude fallback codex
        create x
        create y
        account ana claude-1
        limit until 600s account claude-1
        wait 0s                        => teammate.fell_over, message.sent
        start ana supervised
        account ana codex-1
        claim 1 by ana
        wait 600s                      => account.resumed
        wait 60s                       => unchanged
        fall-over ana                  => unchanged
        submit 1 by ana
        return 1 reason red
        wait 0s                        => unchanged
        claim 1 by ana
        submit 1 by ana
        wait 0s                        => teammate.fell_over, message.sent
        next by ana \
            => refused: alpha/ana takes no new task: its next life goes on with claude
        wait 0s                        => shutdown.requested, message.sent
        answer-shutdown rejected by ana
        wait 0s                        => unchanged
        next by ana                    => task.claimed
    ",
    what_comes_back_to_who_falls_over_costs_no_attempt: "
        team alpha gate stall 0s
        add ana when-needed agent claude fallback codex
        create x retries 1
        start ana supervised
        account ana claude-1
        claim 1 by ana
        submit 1 by ana
        return 1 reason red
        limit until 600s by ana
        wait 0s                        => teammate.fell_over, message.sent
        wait 0s                        => shutdown.requested, message.sent
        wait 600s                      => shutdown.timed_out, account.resumed
        ended ana                      => task.released, teammate.stopped, message.expired
        expect 1 pending
    ",
    a_short_refusal_moves_nobody_to_its_fallback: "
        team alpha
        add ana when-needed agent claude fallback codex
        account ana claude-1
        limit account claude-1
        wait 0s                        => unchanged
        wait 60s                       => account.resumed
        limit until 60s account claude-1
        wait 0s                        => teammate.fell_over, message.sent
    ",
}
