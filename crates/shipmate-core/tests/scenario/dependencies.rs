//! Dependencies and groups: what waits for what, and what never may.

scenarios! {
    a_task_waits_for_all_it_depends_on: "
        join ana holds 3
        create a
        create b
        create c after 1,2
        expect 3 blocked by 1, 2
        claim 3 by ana                 => refused: task 3 is blocked by 1, 2
        claim 1 by ana
        claim 2 by ana
        submit 2 by ana
        expect 3 blocked by 1
        submit 1 by ana
        claim 3 by ana                 => task.claimed
    ",
    a_completion_frees_all_who_waited: "
        join ana
        create a
        create b after 1
        create c after 1
        create d after 2,3
        claim 1 by ana
        submit 1 by ana
        expect available: 2, 3
    ",
    a_dependency_on_a_completed_task_is_met_at_once: "
        join ana
        create a
        claim 1 by ana
        submit 1 by ana
        create b after 1
        expect available: 2
        create c
        update 3 after 1
        expect available: 2, 3
    ",
    unknown_self_and_circle_are_refused: "
        create a
        create b after 1
        create c after 2
        create d after 9               => refused: there is no task 9
        update 1 after 9               => refused: there is no task 9
        create d after 4               => refused: task 4 cannot depend on itself
        update 1 after 1               => refused: task 1 cannot depend on itself
        update 1 after 3 \
            => refused: that dependency would close a circle: 1 → 3 → 2 → 1
        create-all \"x after +2\" \"y after +1\" \
            => refused: that dependency would close a circle: 4 → 5 → 4
        create d after group:none      => refused: there is no group none
        update 1 after group:none      => refused: there is no group none
        expect counts alpha: 3 pending
    ",
    what_is_completed_closes_no_circle: "
        join ana
        create a
        create b after 1
        claim 1 by ana
        submit 1 by ana
        create c
        update 2 after 3
        update 3 after 1               => task.updated
        expect available: 3
    ",
    naming_a_dependency_twice_is_harmless: "
        join ana
        create a
        create b after 1,1,1
        create c
        update 3 after 1,1
        update 3 after 1
        expect 2 blocked by 1
        claim 1 by ana
        submit 1 by ana
        expect available: 2, 3
    ",
    a_dependency_can_be_taken_away: "
        create a
        create b after 1
        update 2 without 1
        expect available: 1, 2
        update 2 without 1             => refused: task 2 does not depend on task 1
        update 2 without group:g       => refused: task 2 does not depend on group g
    ",
    work_under_way_gets_no_new_dependency: "
        join ana
        create a
        create b
        claim 1 by ana
        update 1 after 2               => refused: task 1 is in_progress
    ",
    a_deleted_blocker_keeps_its_dependents_and_the_lead_is_told: "
        team alpha lead lia
        create a
        create b after 1
        delete 1                       => task.deleted, message.sent
        expect 2 blocked by 1 (deleted)
        expect inbox lia: task 1 (a) was deleted; still blocked by it: 2
        update 2 without 1
        expect available: 2
    ",
    deleting_what_nobody_waits_for_tells_nobody: "
        create a
        delete 1                       => task.deleted
        expect inbox person: nothing
    ",
    a_failed_blocker_keeps_its_dependents_and_the_lead_is_told: "
        team alpha lead lia
        join ana
        create a retries 0
        create b after 1
        claim 1 by ana
        fail 1 by ana reason \"no\"    => task.failed, message.sent
        expect 2 blocked by 1 (failed)
        expect inbox lia: task 1 (a) failed after 1 attempt: no; still blocked by it: 2
        retry 1
        claim 1 by ana
        submit 1 by ana
        expect available: 2
    ",
    landed_work_that_is_taken_back_blocks_those_who_wait_again: "
        team alpha gate
        join ana
        create a group auth
        create b after 1
        create c after group:auth
        revert 1                       => unchanged
        claim 1 by ana
        submit 1 by ana
        complete 1 by runtime          => task.completed
        expect 2 pending
        revert 1 by person             => refused: person may not take back landed work
        revert 1 commit 3333333 reason \"the suite is red\" => task.reverted, message.sent
        expect 1 failed the suite is red
        expect 2 blocked by 1 (failed)
        expect 3 blocked by group auth (0 of 1 completed, 1 failed)
        expect inbox person: task 1 (a) was taken back: the suite is red; still blocked by it: 2
        revert 1                       => unchanged
        retry 1
        claim 1 by ana
        submit 1 by ana
        complete 1 by runtime
        claim 2 by ana                 => task.claimed
    ",
    work_that_is_taken_back_does_not_wait_for_what_came_to_wait_for_it: "
        team alpha gate
        join ana
        create a group auth
        create b after group:auth
        claim 1 by ana
        submit 1 by ana
        complete 1 by runtime
        claim 2 by ana
        submit 2 by ana
        complete 2 by runtime
        create c after 2 group auth    => task.created
        revert 2                       => task.updated, task.reverted, message.sent
        retry 2
        claim 2 by ana                 => task.claimed
        submit 2 by ana
        complete 2 by runtime
        expect available: 3
    ",
    a_group_is_done_when_its_members_are: "
        join ana holds 5
        create a group auth
        create b group auth
        create c after group:auth
        expect 3 blocked by group auth (0 of 2 completed)
        claim 1 by ana
        submit 1 by ana
        expect 3 blocked by group auth (1 of 2 completed)
        claim 2 by ana
        submit 2 by ana
        expect available: 3
    ",
    a_late_member_makes_a_group_undone: "
        join ana
        create a group auth
        create b after group:auth
        claim 1 by ana
        submit 1 by ana
        expect available: 2
        create c group auth
        expect 2 blocked by group auth (1 of 2 completed)
        expect available: 3
    ",
    deleted_members_do_not_count: "
        join ana
        create a group auth
        create b group auth
        create c after group:auth
        claim 1 by ana
        submit 1 by ana
        delete 2                       => task.deleted
        expect available: 3
    ",
    a_group_of_which_nothing_is_left_is_not_done: "
        create a group auth
        create b after group:auth
        delete 1                       => task.deleted, message.sent
        expect 2 blocked by group auth (0 of 0 completed)
        expect inbox person: task 1 (a) was deleted; still blocked by it: 2
        update 2 without group:auth
        expect available: 2
    ",
    a_failed_member_is_shown_and_told: "
        join ana
        create a group auth retries 0
        create b group auth
        create c after group:auth
        claim 1 by ana
        fail 1 by ana reason \"no\"
        expect 3 blocked by group auth (0 of 2 completed, 1 failed)
        expect inbox person: task 1 (a) failed after 1 attempt: no; still blocked by it: 3
    ",
    no_circle_goes_through_a_group: "
        create a group auth
        create b after group:auth
        update 1 after 2               => refused: that dependency would close a circle: 1 → 2 → 1
        create c group auth after 2    => refused: that dependency would close a circle: 3 → 2 → 3
        update 1 after group:auth      => refused: task 1 cannot depend on itself
        create-all \"x group g after +2\" \"y after group:g\" \
            => refused: that dependency would close a circle: 3 → 4 → 3
        expect counts alpha: 2 pending
    ",
    a_plan_waits_for_a_plan_by_one_edge_each: "
        create-all \"a group one\" \"b group one\" \"c group two after group:one\" \"d group two \
            after group:one\"
        expect 3 blocked by group one (0 of 2 completed)
        expect 4 blocked by group one (0 of 2 completed)
        create-all \"p after group:three\" \"q group three\" => task.created, task.created
        expect 5 blocked by group three (0 of 1 completed)
    ",
    a_department_waits_for_another: "
        team beta under alpha
        join ana
        join beta/bo
        create a
        create b in beta after 1
        next by beta/bo \
            => refused: no task is available for beta/bo now; 1 pending task is blocked, held up \
            or meant for others
        claim 1 by ana
        submit 1 by ana
        next by beta/bo                => task.claimed
    ",
}
