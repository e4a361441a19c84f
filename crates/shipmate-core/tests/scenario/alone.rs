//! Where there is no team: work for one, and a team whose time is over.

scenarios! {
    when_the_time_of_the_team_is_over_the_lead_does_what_is_left_in_every_phase: "
        team alpha stops 60s stall 3600s \
            playbook \"phase contracts | phase layers | phase converge | cap for 900s in layers stops 30s\"
        add lia seat lead mode delegate when-needed hears
        begin contracts tasks \"shells assignee lia\"
        expect wake: never
        staff
        connect lia
        next by lia
        wait 900s => unchanged
        submit 1 by lia
        end-phase contracts done
        begin layers mates \"ana role dev when-needed | bo role dev when-needed\" \
            tasks \"models role dev assignee ana | api role dev assignee bo\"
        expect wake: 900000ms
        staff
        next by ana
        next by bo
        submit 2 by ana
        wait 899s => unchanged
        wait 1s => phase.left_to_lead, teammate.mode_changed, shutdown.requested, message.sent, \
            shutdown.requested, message.sent, message.sent
        expect phase alpha: layers 1 is left to the lead
        expect inbox lia: the team's time of 900 s is over; not done: task 3 (api). \
            What is left of phase layers is yours; what is done stays
        stopped ana clean
        stopped bo clean => teammate.stopped, task.released, message.expired
        next by lia => task.claimed
        submit 3 by lia
        end-phase layers done
        expect counts alpha: 3 completed
        begin converge tasks \"mend role dev\" => phase.began, task.created
        expect phase alpha: converge 1 is left to the lead
        next by lia => task.claimed
        wait 900s => unchanged
    ",
    the_time_of_the_team_is_over_between_two_phases: "
        team alpha playbook \"phase layers | phase converge | cap for 60s\"
        add lia seat lead mode delegate when-needed hears
        begin layers
        end-phase layers done
        wait 60s => phase.left_to_lead, teammate.mode_changed, message.sent
        expect phase alpha: converge 1 waits
        begin converge => phase.began
        expect phase alpha: converge 1 is left to the lead
        wait 60s => unchanged
    ",
    a_paused_team_and_one_without_a_lead_have_no_cap: "
        team alpha playbook \"phase layers | cap for 60s\"
        begin layers
        expect wake: never
        add lia seat lead when-needed hears
        expect wake: 60000ms
        pause-team alpha
        expect wake: never
        wait 600s => unchanged
        continue-team alpha
        wait 59s => unchanged
        wait 1s => phase.left_to_lead, message.sent
    ",
    work_for_one_is_the_leads_from_the_first_phase_on: "
        team alpha playbook \"phase layers mode delegate deadline 60s | phase converge mode delegate\"
        begin layers single \"one layer\" mates \"lia seat lead when-needed\" \
            tasks \"models assignee lia | api assignee lia\" \
            => phase.left_to_lead, phase.began, teammate.added, task.created, task.created
        expect phase alpha: layers 1 is left to the lead
        expect effects: start alpha/lia
        staff
        next by lia => task.claimed
        submit 1 by lia
        next by lia => task.claimed
        submit 2 by lia
        wait 60s => unchanged
        end-phase layers done
        begin converge single \"one layer\" tasks \"mend\" => phase.began, task.created
        next by lia => task.claimed
    ",
}
