//! Tasks: created, claimed, handed in, given back, changed.

scenarios! {
    a_claim_excludes_others_until_its_lease_ends: "
        join ana
        join bo
        create parser
        claim 1 by ana for 60s         => task.claimed
        claim 1 by bo for 60s          => refused: task 1 is claimed by alpha/ana@1
        wait 59s                       => unchanged
        wait 1s                        => task.released
        claim 1 by bo for 60s          => task.claimed
    ",
    claiming_again_renews: "
        join ana
        create x
        claim 1 by ana for 60s
        claim 1 by ana for 60s         => task.renewed
        renew 1 by ana                 => task.renewed
        expire 1 renewal 1 \
            => refused: the lease on task 1 was renewed (2) after the one that ran out
        expire 1                       => task.released
        renew 1 by ana \
            => refused: the claim # on task 1 has ended; the task is pending now
    ",
    a_claimer_without_a_supervisor_always_has_a_lease: "
        team alpha stall 0s
        join ana
        join bo supervised
        create x
        create y
        claim 1 by ana
        claim 2 by bo
        wait 10m                       => task.released
        expect 1 pending
        expect 2 in_progress by bo
    ",
    several_claimers_take_several_tasks: "
        join ana
        join bo
        create x
        create y
        next by ana                    => task.claimed
        next by bo                     => task.claimed
        expect 1 in_progress by ana
        expect 2 in_progress by bo
        next by ana                    => refused: alpha/ana holds 1 of 1 tasks it may hold: 1
    ",
    a_teammate_holds_as_many_as_it_may: "
        join ana holds 2
        create x
        create y
        create z
        next by ana
        next by ana
        claim 3 by ana                 => refused: alpha/ana holds 2 of 2 tasks it may hold: 1, 2
        submit 1 by ana
        claim 3 by ana                 => task.claimed
        join bo
        create v
        create w
        claim 4 by bo
        claim 5 by bo                  => refused: alpha/bo holds 1 of 1 tasks it may hold: 4
    ",
    only_a_pending_task_is_claimed: "
        join ana
        join bo
        create x
        create y retries 0
        create z
        claim 1 by ana
        submit 1 by ana
        claim 1 by bo                  => refused: task 1 is completed
        claim 2 by ana
        fail 2 by ana
        claim 2 by bo                  => refused: task 2 is failed
        delete 3
        claim 3 by bo                  => refused: task 3 is deleted
        claim 4 by bo                  => refused: there is no task 4
        claim 0 by bo                  => refused: there is no task 0
        claim 1 by person              => refused: person may not claim tasks
        next by runtime                => refused: runtime may not claim tasks
    ",
    a_task_of_another_role_assignee_or_team_is_refused: "
        team beta under alpha
        join ana role dev
        join bo
        join beta/bea
        create x role dev
        create y assignee bo
        claim 1 by bo                  => refused: task 1 is for role dev, and alpha/bo has none
        claim 2 by ana                 => refused: task 2 is assigned to bo
        claim 1 by beta/bea            => refused: task 1 belongs to team alpha
        next by beta/bea               => refused: no task is available for beta/bea now
        expect available for ana: 1
        expect available for bo: 2
        expect obstacles 1: role dev
        expect obstacles 2: assigned to bo
        join cy role qa
        claim 1 by cy                  => refused: task 1 is for role dev, and alpha/cy has role qa
        next by cy \
            => refused: no task is available for alpha/cy now; 2 pending tasks are blocked, held \
            up or meant for others
        claim 1 by ana
        claim 2 by bo
        create z after 1
        submit 1 by ana
        expect available: 3
    ",
    tasks_come_by_priority_then_path_then_number: "
        join ana holds 10
        create ordinary
        create long duration 600s
        create urgent priority 1
        create also-urgent priority 1
        create first-of-a-chain
        create second-of-a-chain after 5
        expect available: 3, 4, 2, 5, 1
        next by ana
        expect 3 in_progress by ana
        update 1 priority 0
        next by ana
        expect 1 in_progress by ana
        update 4 duration 1s
        expect available: 4, 2, 5
    ",
    ids_are_numbers_and_order_as_numbers: "
        join ana holds 20
        repeat 12 create x
        expect available: 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12
        create y after 2,10
        claim 2 by ana
        submit 2 by ana
        expect 13 blocked by 10
    ",
    an_alias_is_another_handle: "
        join ana
        create x alias 03-01/T10
        create y alias 03-01/T2 after 03-01/T10
        claim 03-01/T2 by ana          => refused: task 2 is blocked by 1
        claim 03-01/T10 by ana         => task.claimed
        create z alias 03-01/T10       => refused: the alias 03-01/T10 belongs to task 1
        create-all \"p alias A1\" \"q alias A1\" => refused: the alias A1 belongs to task 3
        create w alias a/../b \
            => refused: \"a/../b\" is not an alias: use letters, digits and any of _ - . / : #, \
            at most 128 characters, and not a plain number
        delete 2
        create y alias 03-01/T2        => task.created
    ",
    a_plan_is_created_whole_or_not_at_all: "
        create-all \"a\" \"b after +1\" \"c after +1,+2\" \
            => task.created, task.created, task.created
        expect 3 blocked by 1, 2
        create-all \"d\" \"e after 99\" => refused: there is no task 99
        create-all \"d\" \"e after +7\" => refused: there is no task 10
        create-all                     => refused: the list of tasks is empty
        create-many 10001 \
            => refused: the number of tasks in one command is 10001 tasks and the limit is 10000
        expect counts alpha: 3 pending
        create-all \"later after +2\" \"sooner\" => task.created, task.created
        expect 4 blocked by 5
    ",
    a_task_has_a_subject_and_limits: "
        create \" \"                   => refused: the subject is empty
        create long:513                => refused: the subject is 513 bytes and the limit is 512
        create x description long:65537 \
            => refused: the description is 65537 bytes and the limit is 65536
        create x active long:513       => refused: the active form is 513 bytes and the limit is 512
        create x assignee zoe          => refused: there is no teammate alpha/zoe; members: none
        create x meta entries=65       => refused: the metadata is 65 entries and the limit is 64
        create x in nowhere            => refused: there is no team nowhere
    ",
    without_a_gate_the_submission_is_the_completion: "
        join ana
        create x
        claim 1 by ana
        submit 1 by ana commit abc result \"done\" => task.submitted, task.completed
        expect 1 completed by ana
    ",
    completing_twice_is_an_error: "
        join ana
        create x
        claim 1 by ana
        complete 1 by ana              => task.completed
        complete 1 by ana \
            => refused: the claim # on task 1 has ended; the task is completed now
        complete 1                     => refused: task 1 is completed, not in progress
        submit 1 by ana \
            => refused: the claim # on task 1 has ended; the task is completed now
    ",
    only_the_holder_completes: "
        join ana
        join bo
        create x
        complete 1 by ana token 5 \
            => refused: the claim 5 on task 1 has ended; the task is pending now
        claim 1 by ana
        complete 1 by bo               => refused: task 1 is claimed by alpha/ana@1
        submit 1 by bo                 => refused: task 1 is claimed by alpha/ana@1
        fail 1 by bo                   => refused: task 1 is claimed by alpha/ana@1
        renew 1 by bo                  => refused: task 1 is claimed by alpha/ana@1
        release 1 by bo \
            => refused: alpha/bo@1 may not release another's task; the lead of team alpha or a \
            person may
        submit 1 by person             => refused: person may not submit a task
        complete 1 by runtime          => refused: task 1 is not submitted
    ",
    a_person_completes_a_claim_as_it_stands: "
        join ana
        create x
        claim 1 by ana
        complete 1                     => task.completed
        expect 1 completed by ana
    ",
    a_gate_completes_what_a_teammate_submits: "
        team alpha gate
        join ana
        join bo
        create x files src
        create y after 1
        create z files src/a.rs
        claim 1 by ana
        complete 1 by ana \
            => refused: in team alpha a gate completes tasks; alpha/ana@1 can submit task 1
        submit 1 by ana                => task.submitted
        expect 1 in_progress by ana submitted
        expect effects: verify 1
        expect 2 blocked by 1
        claim 3 by bo                  => refused: task 3 needs files held by alpha/ana@1 for task 1
        submit 1 by ana                => refused: task 1 is submitted and waits for its gate
        claim 1 by ana                 => refused: task 1 is submitted and waits for its gate
        expire 1                       => refused: task 1 is submitted and waits for its gate
        create w
        claim 4 by ana                 => task.claimed
        complete 1 by runtime          => task.completed
        expect 2 pending
        expect available: 2, 3
    ",
    red_reopens_it_to_the_same_teammate_first: "
        team alpha gate
        join ana
        create x files src priority 200
        create urgent priority 1
        claim 1 by ana
        return 1                       => refused: task 1 is not submitted
        submit 1 by ana
        return 1 by ana                => refused: alpha/ana@1 may not return a task
        return 1 reason \"test a fails\" => task.returned, message.sent
        expect 1 in_progress by ana returned
        expect 1 failure test a fails
        expect inbox ana: task 1 (x) came back: test a fails
        expect available for ana: 1, 2
        next by ana                    => task.claimed
        expect 1 in_progress by ana
    ",
    a_supervisor_tells_the_reason_with_the_task_and_no_message_says_it_again: "
        team alpha gate trees own
        join ana supervised
        create x
        claim 1 by ana
        submit 1 by ana
        return 1 reason \"test a fails\" => task.returned
        expect 1 failure test a fails
        next by ana
        submit 1 by ana
        unchanged 1                    => task.returned
    ",
    a_returned_task_is_claimed_by_number_too: "
        team alpha gate
        join ana
        create x
        create y
        claim 1 by ana
        submit 1 by ana
        claim 2 by ana
        return 1
        claim 1 by ana                 => refused: alpha/ana holds 1 of 1 tasks it may hold: 2
        submit 2 by ana
        claim 1 by ana                 => task.claimed
        submit 1 by ana                => task.submitted
    ",
    a_returned_task_does_not_wait_for_ever: "
        team alpha gate
        join ana
        join bo
        create x files src
        claim 1 by ana for 60s
        wait 50s
        submit 1 by ana
        return 1
        wait 59s                       => unchanged
        wait 1s                        => task.released
        claim 1 by bo                  => task.claimed
        claim 1 by ana                 => refused: task 1 is claimed by alpha/bo@1
    ",
    red_work_of_a_life_that_ended_goes_to_anybody: "
        team alpha gate
        join ana
        create x
        claim 1 by ana
        submit 1 by ana
        stopped ana
        expect 1 in_progress by ana submitted
        return 1                       => task.released
        expect 1 pending
    ",
    green_work_of_a_life_that_ended_is_completed: "
        team alpha gate
        join ana
        create x
        claim 1 by ana
        submit 1 by ana
        remove ana
        complete 1 by runtime          => task.completed
        expect 1 completed by ana
    ",
    red_for_the_last_time_fails: "
        team alpha gate
        join ana
        create x retries 1
        claim 1 by ana
        submit 1 by ana
        return 1
        next by ana
        submit 1 by ana
        return 1 reason \"still red\"  => task.failed, message.sent
        expect 1 failed still red
        expect inbox person: task 1 (x) failed after 2 attempts: still red
    ",
    a_failed_attempt_goes_back_to_the_board_up_to_the_limit: "
        join ana
        create x retries 1
        claim 1 by ana
        fail 1 by ana reason \"no compiler\" => task.released
        expect 1 failure no compiler
        claim 1 by ana
        fail 1 by ana reason \"still none\"  => task.failed, message.sent
        claim 1 by ana                 => refused: task 1 is failed
        retry 1                        => task.retried
        retry 1                        => refused: task 1 has not failed, it is pending
        claim 1 by ana                 => task.claimed
    ",
    giving_a_task_back_costs_no_retry: "
        join ana
        create x retries 0
        claim 1 by ana
        release 1 by ana               => task.released
        release 1 by ana               => refused: task 1 is pending, not in progress
        claim 1 by ana
        wait 10m                       => task.failed, message.sent
    ",
    a_lead_takes_a_task_away: "
        team alpha lead lia
        start lia
        join ana
        join bo
        create x
        claim 1 by ana
        release 1 by lia reason \"bo knows it\" => task.released, message.sent
        expect inbox ana: task 1 (x) was taken from you: bo knows it
        submit 1 by ana \
            => refused: the claim # on task 1 has ended; the task is pending now
    ",
    late_work_is_refused_by_name_and_set_aside: "
        team alpha lead lia
        join ana
        join bo
        create x
        claim 1 by ana for 60s
        set-aside 1 \"branch ana-1\" by ana \
            => refused: the claim of alpha/ana@1 on task 1 still stands; only late work is set aside
        wait 60s
        claim 1 by bo
        submit 1 by ana \
            => refused: the claim # on task 1 has ended; it is claimed by alpha/bo@1 now
        set-aside 1 \"branch ana-1\" by ana => task.work_set_aside, message.sent
        expect inbox lia: late work of alpha/ana@1 on task 1 was set aside: branch ana-1
        set-aside 1 \"x\" by person    => refused: person may not set work aside
        set-aside 1 long:513 by ana    => refused: the work is 513 bytes and the limit is 512
        remove ana
        set-aside 1 \"branch ana-2\" by ana => task.work_set_aside, message.sent
    ",
    late_work_is_told_once: "
        team alpha lead lia
        join ana
        create x
        claim 1 by ana for 60s
        wait 60s
        set-aside 1 \"aside/1\" commit c1 by ana   => task.work_set_aside, message.sent
        set-aside 1 \"aside/1\" commit c1 by ana   => unchanged
        set-aside 1 \"work/1\" commit c1 by ana    => unchanged
        set-aside 1 \"aside/1-2\" commit c2 by ana => task.work_set_aside, message.sent
    ",
    work_that_was_handed_in_is_not_late: "
        team alpha gate lead lia
        join ana
        create x
        claim 1 by ana
        submit 1 commit c1 by ana
        return 1 reason \"red\"
        release 1 by ana reason \"tired\"
        set-aside 1 \"work/1\" commit c1 by ana => unchanged
        set-aside 1 \"work/1\" commit c2 by ana => task.work_set_aside, message.sent
        claim 1 by ana
        submit 1 commit c3 by ana
        complete 1 by runtime commit c4
        set-aside 1 \"work/1\" commit c3 by ana => unchanged
    ",
    work_set_aside_has_a_limit: "
        join ana
        create x
        repeat 200 set-aside 1 \"branch TIME\" by ana token 5
        set-aside 1 \"a branch\" by ana token 5 \
            => refused: the work set aside is 200 entries and the limit is 200
    ",
    a_task_is_assigned_and_reassigned: "
        team alpha lead lia
        start lia
        join ana
        join bo
        create x
        assign 1 to zoe \
            => refused: there is no teammate alpha/zoe; members: alpha/ana, alpha/bo, alpha/lia
        assign 1 to bo by ana \
            => refused: alpha/ana@1 may not assign tasks; the lead of team alpha or a person may
        assign 1 to bo by lia          => task.assigned
        claim 1 by ana                 => refused: task 1 is assigned to bo
        claim 1 by bo
        assign 1 to bo                 => task.assigned
        expect 1 in_progress by bo
        assign 1 to ana                => task.released, message.sent, task.assigned
        expect inbox bo: task 1 (x) was reassigned
        submit 1 by bo \
            => refused: the claim # on task 1 has ended; the task is pending now
        assign 1 to anybody
        claim 1 by bo
        submit 1 by bo
        assign 1 to ana                => refused: task 1 is completed
    ",
    a_task_is_changed_by_who_made_or_holds_it: "
        team alpha lead lia
        start lia
        join ana
        join bo
        create x by ana
        update 1 subject \"y\" by bo \
            => refused: alpha/bo@1 may not change another's task; the lead of team alpha or a \
            person may
        update 1 subject \"y\" by ana  => task.updated
        claim 1 by bo
        update 1 description \"half\" by bo => task.updated
        update 1 files src by bo       => refused: task 1 is in_progress
        update 1 role dev by lia       => refused: task 1 is in_progress
        update 1                       => refused: the list of changes is empty
        update 1 subject \"\"          => refused: the subject is empty
        update 1 subject long:513      => refused: the subject is 513 bytes and the limit is 512
        update 1 meta entries=65       => refused: the metadata is 65 entries and the limit is 64
        submit 1 by bo
        update 1 subject \"z\"         => refused: task 1 is completed
        update 7 subject \"z\"         => refused: there is no task 7
    ",
    changing_the_role_changes_who_may_take_it: "
        join ana role dev
        join bo
        create x role dev meta a=1,b=2
        expect available for bo: nothing
        update 1 role any meta a=
        expect available for bo: 1
        update 1 role qa active \"doing\"
        expect available for ana: nothing
    ",
    a_task_is_deleted_by_who_made_it_while_nobody_works_on_it: "
        join ana
        join bo
        create x by ana
        delete 1 by bo \
            => refused: alpha/bo@1 may not delete another's task; the lead of team alpha or a \
            person may
        claim 1 by bo
        delete 1 by ana                => refused: task 1 is claimed by alpha/bo@1
        release 1 by bo
        delete 1 by ana                => task.deleted
        delete 1                       => refused: task 1 is deleted
        expect counts alpha: 1 deleted
    ",
    only_a_lead_or_person_retries: "
        join ana
        create x retries 0
        claim 1 by ana
        fail 1 by ana
        retry 1 by ana \
            => refused: alpha/ana@1 may not retry a failed task; the lead of team alpha or a \
            person may
    ",
}
