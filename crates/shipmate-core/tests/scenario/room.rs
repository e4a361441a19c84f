//! How much is handed out while work waits for its gate.

scenarios! {
    no_further_task_is_handed_out_while_many_wait_for_their_gate: "
        team alpha gate
        join ana
        create t1
        create t2
        create t3
        create t4
        create t5
        create t6
        create t7
        create t8
        create t9
        create t10
        create t11
        claim 1 by ana
        submit 1 by ana
        claim 2 by ana
        submit 2 by ana
        claim 3 by ana
        submit 3 by ana
        claim 4 by ana
        submit 4 by ana
        claim 5 by ana
        submit 5 by ana
        claim 6 by ana
        submit 6 by ana
        claim 7 by ana
        submit 7 by ana
        claim 8 by ana
        submit 8 by ana
        next by ana \
            => refused: 8 tasks of team alpha wait for their gate; \
            one must land or come back first
        claim 9 by ana \
            => refused: 8 tasks of team alpha wait for their gate; \
            one must land or come back first
        return 3 reason \"red\"
        next by ana                    => task.claimed
        expect 3 in_progress by ana
        submit 3 by ana
        next by ana \
            => refused: 8 tasks of team alpha wait for their gate; \
            one must land or come back first
        complete 1 by runtime
        next by ana                    => task.claimed
        expect 9 in_progress by ana
    ",
    a_returned_task_is_taken_up_though_the_queue_is_full: "
        team alpha gate
        join ana
        join bo
        create t1
        create t2
        create t3
        create t4
        create t5
        create t6
        create t7
        create t8
        create t9
        create t10
        create t11
        claim 11 by bo
        submit 11 by bo
        return 11 reason \"red\"
        claim 1 by ana
        submit 1 by ana
        claim 2 by ana
        submit 2 by ana
        claim 3 by ana
        submit 3 by ana
        claim 4 by ana
        submit 4 by ana
        claim 5 by ana
        submit 5 by ana
        claim 6 by ana
        submit 6 by ana
        claim 7 by ana
        submit 7 by ana
        claim 8 by ana
        submit 8 by ana
        next by bo                     => task.claimed
        expect 11 in_progress by bo
    ",
    work_that_waits_for_a_word_about_its_files_is_not_the_queues: "
        team alpha gate
        join ana
        create t1
        create t2
        create t3
        create t4
        create t5
        create t6
        create t7
        create t8
        create t9
        create t10
        create t11
        claim 1 by ana
        submit 1 by ana
        claim 2 by ana
        submit 2 by ana
        claim 3 by ana
        submit 3 by ana
        claim 4 by ana
        submit 4 by ana
        claim 5 by ana
        submit 5 by ana
        claim 6 by ana
        submit 6 by ana
        claim 7 by ana
        submit 7 by ana
        claim 8 by ana
        submit 8 by ana
        ask-scope 2 files docs reason \"more\"
        next by ana                    => task.claimed
    ",
    a_larger_team_may_have_more_at_its_gate: "
        team alpha gate
        join ana
        join b1
        join b2
        join b3
        join b4
        create t1
        create t2
        create t3
        create t4
        create t5
        create t6
        create t7
        create t8
        create t9
        create t10
        create t11
        claim 1 by ana
        submit 1 by ana
        claim 2 by ana
        submit 2 by ana
        claim 3 by ana
        submit 3 by ana
        claim 4 by ana
        submit 4 by ana
        claim 5 by ana
        submit 5 by ana
        claim 6 by ana
        submit 6 by ana
        claim 7 by ana
        submit 7 by ana
        claim 8 by ana
        submit 8 by ana
        next by ana                    => task.claimed
    ",
}
