//! Phases that somebody has to bring about: a person who is asked, and a lead that plans.

scenarios! {
    the_yes_of_a_person_outlives_the_coordinator: "
        team alpha playbook \"phase plan optional | phase build\"
        ask-approval plan                   => team.paused
        expect approved alpha: nothing
        restart
        continue-team alpha
        expect approved alpha: plan
        expect effects: enter alpha
        pause-team alpha reason \"lunch\"
        continue-team alpha
        expect approved alpha: plan
        // What was asked about another phase says nothing about this one.
        ask-approval plan
        end-phase plan skip by person
        continue-team alpha
        expect approved alpha: plan
        expect phase alpha: build 1 waits
        ask-approval build
        continue-team alpha
        expect approved alpha: build
    ",
    a_lead_says_no_yes_for_its_person: "
        team alpha lead lia playbook \"phase plan\"
        start lia
        ask-approval plan
        continue-team alpha by lia \
            => refused: alpha/lia@1 may not let a phase begin that a person is asked about
        continue-team alpha
        pause-team alpha reason \"lunch\"
        continue-team alpha by lia          => team.continued
    ",
    a_lead_that_makes_no_task_does_not_hold_its_phase_open: "
        team alpha playbook \"phase work lead-plans | value goal calculator\"
        begin work mates \"lia seat lead mode delegate when-needed hears\"
        expect no-plan alpha: nothing
        staff
        connect lia
        idle \"no task\" by lia              => teammate.idle
        expect no-plan alpha: nothing
        // It may still act on what it has read.
        read by lia
        expect no-plan alpha: nothing
        expect effects: nothing
        idle \"no task\" by lia              => teammate.idle
        expect no-plan alpha: alpha/lia has heard the goal and made no task
        expect effects: leave alpha
        idle \"no task\" by lia              => unchanged
        send \"and now?\" to lia
        expect effects: nothing
        read by lia
        create x by lia
        idle \"no task\" by lia              => teammate.idle
        expect no-plan alpha: nothing
        expect effects: nothing
    ",
    a_lead_that_asks_or_has_told_somebody_is_waited_for: "
        team alpha playbook \"phase work lead-plans | value goal calculator\"
        begin work mates \"lia seat lead mode delegate when-needed hears | ana when-needed hears\"
        staff
        connect lia
        read by lia
        ask \"which port?\" by lia as port
        idle \"no task\" by lia
        expect no-plan alpha: nothing
        answer \"8080\" on port
        read by lia
        send \"look around\" to ana by lia
        idle \"no task\" by lia
        expect no-plan alpha: nothing
        expect effects: start alpha/ana
        staff
        connect ana
        expect no-plan alpha: nothing
        read by ana
        expect no-plan alpha: alpha/lia has heard the goal and made no task
    ",
    a_lead_that_is_gone_does_not_hold_its_phase_open: "
        team alpha playbook \"phase work lead-plans | value goal calculator\"
        begin work mates \"lia seat lead mode delegate when-needed hears\"
        staff
        connect lia
        // Unread, it is told again in another life.
        disappeared lia
        expect no-plan alpha: nothing
        expect effects: start alpha/lia
        staff
        connect lia
        read by lia
        disappeared lia
        expect no-plan alpha: alpha/lia is gone and has made no task
        expect effects: leave alpha
        end-phase work failed reason \"no task\"
        expect phase alpha: stopped
    ",
    what_a_leads_further_team_does_is_work_of_its_phase: "
        team alpha playbook \"phase work lead-plans | value goal calculator\"
        begin work mates \"lia seat lead mode delegate when-needed hears\"
        staff
        connect lia
        read by lia
        team beta under alpha by lia        => team.created
        idle \"no task\" by lia
        expect no-plan alpha: alpha/lia has heard the goal and made no task
        send \"and now?\" to lia
        read by lia
        create x in beta by lia
        join beta/bo
        idle \"no task\" by lia
        expect no-plan alpha: nothing
        expect effects: nothing
        claim 1 by beta/bo
        expect effects: nothing
        complete 1 by beta/bo               => task.completed, message.sent
        expect inbox lia: All tasks are completed:; - task 1 (x); Report to the person in a few \
            sentences what was done and what is left: SendMessage to \"person\". Then end your turn.
        expect effects: nothing
        read by lia
        expect effects: leave alpha
        // What is open goes with its team, and whoever waits for it is the lead's to know.
        create y in beta by lia
        create z after 2 by lia
        claim 2 by beta/bo
        expect effects: nothing
        delete-team beta now by lia
        expect 2 deleted
        expect inbox lia: with team beta went its open tasks 2; still blocked by them: 3
        delete 3 by lia
        read by lia
        expect effects: leave alpha
    ",
    a_further_team_that_is_gone_leaves_what_was_handed_in_to_the_phase: "
        team alpha playbook \"phase work lead-plans | value goal calculator\" gate make
        begin work mates \"lia seat lead mode delegate when-needed hears\"
        staff
        connect lia
        read by lia
        team beta under alpha by lia
        create x in beta by lia
        create y in beta by lia
        join beta/bo
        claim 1 by beta/bo
        submit 1 by beta/bo
        delete-team beta now by lia
        expect 1 in_progress by bo submitted
        expect 2 deleted
        expect no-plan alpha: nothing
        complete 1 by runtime
        expect inbox lia: All tasks are completed:; - task 1 (x); Report to the person in a few \
            sentences what was done and what is left: SendMessage to \"person\". Then end your turn.
    ",
    what_comes_back_to_a_team_that_is_gone_has_failed: "
        team alpha playbook \"phase work lead-plans | value goal calculator\" gate make
        begin work mates \"lia seat lead mode delegate when-needed hears\"
        staff
        connect lia
        read by lia
        team beta under alpha by lia
        create x in beta by lia
        join beta/bo
        claim 1 by beta/bo
        submit 1 by beta/bo
        delete-team beta now by lia
        return 1 reason \"red\"
        expect 1 failed red
        retry 1 by lia                      => refused: there is no team beta
        read by lia
        expect effects: leave alpha
    ",
    of_teams_that_go_together_all_open_tasks_go: "
        team alpha playbook \"phase work lead-plans | value goal calculator\"
        begin work mates \"lia seat lead mode delegate when-needed hears\"
        staff
        connect lia
        read by lia
        team gamma under alpha by lia
        team beta under gamma by lia
        create x in beta by lia
        create y in gamma by lia
        join beta/bo
        delete-team gamma within 30s by lia
        answer-shutdown clean by beta/bo
        expect 1 deleted
        expect 2 deleted
    ",
    a_further_team_starts_nobody_when_the_phases_are_over: "
        team alpha playbook \"phase work lead-plans | value goal calculator\"
        begin work mates \"lia seat lead mode delegate when-needed hears\"
        staff
        connect lia
        team beta under alpha by lia
        add beta/bo when-needed
        end-phase work failed reason \"x\"
        create x in beta
        expect effects: nothing
    ",
    a_further_team_is_paused_and_stopped_with_the_one_above: "
        team alpha playbook \"phase work lead-plans | value goal calculator\"
        begin work mates \"lia seat lead mode delegate when-needed hears\"
        staff
        connect lia
        team beta under alpha by lia
        join beta/bo
        create x in beta
        pause-team alpha reason \"lunch\"    => team.paused, team.paused
        claim 1 by beta/bo                  => refused: team beta is paused: lunch
        continue-team alpha                 => team.continued, team.continued
        // A pause of its own stays.
        pause-team beta reason \"its own\"   => team.paused
        continue-team alpha                 => unchanged
        continue-team beta                  => team.continued
        claim 1 by beta/bo                  => task.claimed
        read by beta/bo
        shutdown team:alpha reason \"enough\" within 30s
        expect inbox beta/bo: shutdown requested: enough; answer within 30000 ms
    ",
    what_fails_in_a_leads_further_team_is_the_leads_to_hear: "
        team alpha playbook \"phase work lead-plans | value goal calculator\"
        begin work mates \"lia seat lead mode delegate when-needed hears\"
        staff
        connect lia
        read by lia
        team beta under alpha by lia
        create x in beta retries 0 by lia
        join beta/bo
        submit-plan \"one file\" by beta/bo
        expect inbox lia: beta/bo@1 asks for approval of plan 11:; one file
        read by lia
        claim 1 by beta/bo
        fail 1 by beta/bo
        expect inbox lia: task 1 (x) failed after 1 attempt: it did not work | No task is left to \
            do. Failed: 1. You may retry or replace what failed; otherwise report. Completed:; Report \
            to the person in a few sentences what was done and what is left: SendMessage to \
            \"person\". Then end your turn.
        read by lia
        expect effects: leave alpha
        end-phase work failed reason \"x\"
        expect phase alpha: stopped
    ",
}
