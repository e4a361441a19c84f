//! Usage and budgets: stop before a ceiling, and count what was spent in any case.

scenarios! {
    who_stopped_for_want_of_a_budget_goes_on_with_the_next_one: "
        team alpha
        join ana
        join bo
        team-budget alpha tokens 10
        pause ana spent reason \"its budget is spent: 10 tokens\" by ana  => teammate.paused
        pause bo reason \"tea\"         => teammate.paused
        pause bo reason \"x\" by ana \
            => refused: alpha/ana@1 may not pause teammates; the lead of team alpha or a person may
        create 1
        next by ana \
            => refused: alpha/ana is paused: its budget is spent: 10 tokens
        team-budget alpha tokens 1000  => team.budget_set, teammate.continued, message.sent
        claim 1 by ana                 => task.claimed
        create 2
        next by bo                     => refused: alpha/bo is paused: tea
    ",
    who_has_used_up_its_budget_gets_no_new_task: "
        join ana
        create x
        create y
        budget ana tokens 100
        claim 1 by ana
        spend by ana tokens 99 about 1 => usage.recorded
        submit 1 by ana
        spend by ana tokens 1
        next by ana \
            => refused: the budget of alpha/ana is used up: 100 of 100 tokens spent
        budget ana tokens 200
        next by ana                    => task.claimed
    ",
    who_waits_for_a_task_is_told_of_the_budget_only_when_there_is_one: "
        join ana
        budget ana tokens 100
        spend by ana tokens 100
        next by ana                    => refused: no task is available for alpha/ana now
        create x
        next by ana \
            => refused: the budget of alpha/ana is used up: 100 of 100 tokens spent
    ",
    a_share_of_a_window_is_a_budget: "
        team alpha
        join ana
        account ana claude-1
        team-budget alpha window 200
        create x
        create y
        windows 100 resets 60s by ana
        windows 299 resets 60s by ana
        claim 1 by ana                 => task.claimed
        windows 300 resets 60s by ana
        reserve tokens 1 by ana \
            => refused: the budget of team alpha is used up: 20 % of 5 hours of account claude-1, \
            of at most 20 %
        team-budget alpha window 300   => team.budget_set
        reserve tokens 1 by ana        => usage.reserved
    ",
    what_others_used_before_the_team_began_is_no_part_of_its_share: "
        team alpha
        join ana
        account ana claude-1
        team-budget alpha window 200
        windows 100 resets 60s account claude-1 by runtime
        windows 350 resets 60s by ana
        reserve tokens 1 by ana        => usage.reserved
        windows 550 resets 60s account claude-1 by runtime
        reserve tokens 1 by ana \
            => refused: the budget of team alpha is used up: 20 % of 5 hours of account claude-1, \
            of at most 20 %
    ",
    a_share_of_a_window_is_no_budget_where_none_is_told: "
        team alpha
        join ana
        account ana claude-1
        team-budget alpha window 200
        create x
        create y
        claim 1 by ana                 => task.claimed
        reserve tokens 1 by ana        => usage.reserved
        submit 1 by ana
        next by ana \
            => refused: the budget of team alpha is a share of a window, and account claude-1 \
            tells of none
    ",
    a_reservation_counts_until_it_is_settled: "
        join ana
        budget ana tokens 100 cost 2500000
        reserve tokens 60 by ana as r1 => usage.reserved
        reserve tokens 60 by ana \
            => refused: the budget of alpha/ana is used up: 0 of 100 tokens spent, 60 tokens set \
            aside for requests under way, the next request may cost up to 60 tokens; $0.00 of \
            $2.50 spent
        spend tokens 30 by ana reservation r1 => usage.recorded
        reserve tokens 60 by ana       => usage.reserved
        spend cost 1203600 by ana
        reserve cost 1300001 by ana \
            => refused: the budget of alpha/ana is used up: 30 of 100 tokens spent, 60 tokens set \
            aside for requests under way; $1.20 of $2.50 spent, the next request may cost up to \
            $1.30
    ",
    a_teams_budget_bounds_all_below_it: "
        team alpha
        team beta under alpha
        join beta/bo
        join beta/cy
        create x in beta
        team-budget alpha tokens 10
        spend tokens 10 by beta/bo
        next by beta/cy \
            => refused: the budget of team alpha is used up: 10 of 10 tokens spent
        reserve tokens 1 by beta/cy \
            => refused: the budget of team alpha is used up: 10 of 10 tokens spent, the next \
            request may cost up to 1 token
        team-budget nowhere tokens 1   => refused: there is no team nowhere
    ",
    a_reservation_ends_with_its_life: "
        join ana
        budget ana tokens 20
        reserve tokens 10 by ana as r1
        disappeared ana
        start ana
        reserve tokens 10 by ana       => usage.reserved
        spend tokens 3 by ana reservation r1 => usage.recorded
        reserve tokens 1 by ana \
            => refused: the budget of alpha/ana is used up: 13 of 20 tokens spent, 10 tokens set \
            aside for requests under way, the next request may cost up to 1 token
    ",
    a_request_of_a_life_that_is_over_is_booked_by_estimate: "
        join ana
        join bo
        reserve tokens 10 cost 50 by ana
        reserve tokens 7 by bo
        disappeared ana                => usage.recorded, teammate.disappeared, message.sent
        stopped bo                     => usage.recorded, teammate.stopped
    ",
    what_may_have_come_out_of_it_is_not_booked: "
        join ana
        reserve tokens 10 out 20 cost 110 by ana
        disappeared ana                => usage.recorded, teammate.disappeared, message.sent
        start ana
        budget ana cost 11
        reserve cost 2 by ana \
            => refused: the budget of alpha/ana is used up: $0.000010 of $0.000011 spent, the next \
            request may cost up to $0.000002
    ",
    what_was_spent_is_told_and_not_what_was_set_aside: "
        team alpha
        join ana
        team-budget alpha cost 10000
        spend cost 4000 by ana
        reserve cost 13000 by ana \
            => refused: the budget of team alpha is used up: $0.004 of $0.01 spent, the next \
            request may cost up to $0.013
        team-budget alpha cost 1234567
        reserve cost 1995000 by ana \
            => refused: the budget of team alpha is used up: $0.004 of $1.23 spent, the next \
            request may cost up to $2.00
        team-budget alpha cost 12
        create x
        next by ana \
            => refused: the budget of team alpha is used up: $0.004 of $0.000012 spent
    ",
    no_model_sets_the_budget_of_a_team: "
        team alpha lead lia
        start lia
        join ana
        team-budget alpha tokens 5 by lia => refused: alpha/lia@1 may not set a budget
        budget ana tokens 5 by ana     => refused: alpha/ana@1 may not set its own budget
        budget lia tokens 5 by ana \
            => refused: alpha/ana@1 may not set budgets; the lead of team alpha or a person may
        budget ana tokens 5 by lia     => teammate.budget_set
        reserve tokens 1 by person     => refused: person may not reserve usage
        spend tokens 1 by person       => refused: person may not report usage
        spend tokens 1 about 9 by ana  => refused: there is no task 9
    ",
}

#[test]
fn a_spent_budget_names_the_command_that_raises_it_and_keeps_the_rest() {
    for (budget, used, raise) in [
        ("budget ana tokens 9", "spend by ana tokens 9", "teammate budget ana --tokens N"),
        (
            "team-budget alpha cost 500000 window 125",
            "spend by ana cost 500000",
            "team budget --cost DOLLARS --window 12.5%",
        ),
        (
            "team-budget alpha cost 500000 tokens 9 window 20",
            "windows 1 resets 60s by ana\nwindows 21 resets 60s by ana",
            "team budget --cost 0.5 --tokens 9 --window PERCENT",
        ),
    ] {
        let begun = "team alpha\njoin ana supervised\naccount ana claude-1";
        let world = crate::play::play(&format!("{begun}\n{budget}\n{used}"));
        let (state, who) = (world.state(), "alpha/ana".parse().unwrap());
        let refusal = shipmate_core::spent(state, &who, &state.teammates[&who]).unwrap();
        assert_eq!(refusal.remedy().unwrap(), format!("`shipmate --team alpha {raise}` raises it"));
    }
}
