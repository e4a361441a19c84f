//! Files: two tasks that would write the same place are never in progress together.

scenarios! {
    a_folder_contains_its_files: "
        join ana
        join bo
        create a files src/a
        create b files src/a/b.rs
        create c files src/ab
        claim 1 by ana
        claim 2 by bo                  => refused: task 2 needs files held by alpha/ana@1 for task 1
        expect obstacles 2: files held by ana (task 1)
        claim 3 by bo                  => task.claimed
        submit 1 by ana
        claim 2 by ana                 => task.claimed
    ",
    paths_are_compared_by_meaning: "
        join ana
        join bo
        create a files ./src//x/../y \
            => refused: \"./src//x/../y\" climbs with '..'; file patterns stay inside the repository
        create a files /etc/passwd \
            => refused: \"/etc/passwd\" is absolute; file patterns are relative to the repository
        create a files ./src//y
        create b files src/y/
        claim 1 by ana
        claim 2 by bo                  => refused: task 2 needs files held by alpha/ana@1 for task 1
    ",
    globs_are_honoured: "
        join ana
        join bo
        create a files src/*.rs
        create b files src/main.rs
        create c files src/main.c
        create d files **/main.?s
        claim 1 by ana
        claim 2 by bo                  => refused: task 2 needs files held by alpha/ana@1 for task 1
        claim 4 by bo                  => refused: task 4 needs files held by alpha/ana@1 for task 1
        claim 3 by bo                  => task.claimed
    ",
    the_best_free_task_is_taken_round_files_that_are_held: "
        join ana
        join bo
        join cy
        create a files src
        create b files src/b.rs priority 1
        create c files docs
        claim 1 by ana
        next by bo
        expect 3 in_progress by bo
        next by cy \
            => refused: no task is available for alpha/cy now; 1 pending task is blocked, held up \
            or meant for others
        submit 1 by ana
        next by cy
        expect 2 in_progress by cy
    ",
    files_are_held_across_departments: "
        team beta under alpha
        join ana
        join beta/bo
        create a files src
        create b files src/x in beta
        claim 1 by ana
        claim 2 by beta/bo             => refused: task 2 needs files held by alpha/ana@1 for task 1
    ",
    files_come_free_with_whatever_ends_the_claim: "
        join ana
        join bo
        create a files src
        create b files src/x
        claim 1 by ana for 60s
        wait 60s
        claim 2 by bo
        release 2 by bo
        claim 1 by ana
        disappeared ana
        claim 2 by bo                  => task.claimed
        start ana
        claim 1 by ana                 => refused: task 1 needs files held by alpha/bo@1 for task 2
        submit 2 by bo                 => task.submitted, task.completed
        claim 1 by ana                 => task.claimed
    ",
    files_can_be_changed_while_nobody_works: "
        join ana
        join bo
        create a files src
        create b files src/x
        claim 1 by ana
        update 2 files docs
        claim 2 by bo                  => task.claimed
    ",
    a_task_without_files_meets_nobody: "
        join ana
        join bo
        create a files .
        create b
        create c files x
        claim 1 by ana
        claim 3 by bo                  => refused: task 3 needs files held by alpha/ana@1 for task 1
        claim 2 by bo                  => task.claimed
    ",
    a_list_of_files_has_a_limit_because_everybody_waits_while_it_is_compared: "
        join ana
        create x files long:1025 \
            => refused: the file pattern \"xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx\"… is longer \
            than 1024 bytes
        create x files many:17 \
            => refused: the list of files is 17024 bytes and the limit is 16384
        create x files many:16
        update 1 files many:17 \
            => refused: the list of files is 17024 bytes and the limit is 16384
        add bo scope many:17 \
            => refused: the scope is 17024 bytes and the limit is 16384
    ",
}
