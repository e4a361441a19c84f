//! Work that changes nothing: done if somebody says why, given back once if not, then failed.

scenarios! {
    work_without_a_change_or_a_reason_comes_back_once_and_then_has_failed: "
        team alpha lead lia gate trees own
        start lia
        join ana
        create x
        create y after 1
        claim 1 by ana
        unchanged 1                    => refused: task 1 is not submitted
        submit 1 by ana
        unchanged 1 by ana             => refused: alpha/ana@1 may not return a task
        unchanged 1                    => task.returned, message.sent
        expect inbox ana: task 1 (x) came back: nothing was changed, and no reason was given. Make \
            the change; if none is needed, say why: with a result (TaskUpdate, `shipmate task \
            submit --result`) or in the file that SHIPMATE_RESULT names
        next by ana
        submit 1 by ana
        unchanged 1                    => task.failed, message.sent
        expect inbox lia: task 1 (x) failed: nothing was changed, twice, and no reason was given; \
            still blocked by it: 2
        retry 1
        claim 1 by ana
        submit 1 by ana
        unchanged 1                    => task.returned, message.sent
    ",
    it_comes_back_once_however_few_attempts_there_are: "
        team alpha gate trees own
        join ana
        create x retries 0
        claim 1 by ana
        submit 1 by ana
        unchanged 1                    => task.returned, message.sent
        next by ana
        submit 1 by ana
        unchanged 1                    => task.failed, message.sent
    ",
    a_reason_is_enough: "
        team alpha gate trees own
        join ana
        create x
        claim 1 by ana
        submit 1 by ana
        unchanged 1                    => task.returned, message.sent
        next by ana
        submit 1 by ana result \"it was there already\"
        unchanged 1                    => unchanged
        complete 1 by runtime          => task.completed
    ",
    a_task_that_may_change_nothing_is_not_given_back: "
        team alpha gate trees own playbook \"phase build gates red\"
        join ana
        join bo mode read-only
        join cy mode delegate
        create research no-change
        create review assignee bo
        create lead assignee cy
        claim 1 by ana
        submit 1 by ana
        unchanged 1                    => unchanged
        claim 2 by bo
        submit 2 by bo
        unchanged 2                    => unchanged
        claim 3 by cy
        submit 3 by cy
        unchanged 3                    => unchanged
    ",
    where_there_is_no_repository_nobody_knows_what_was_changed: "
        team alpha gate
        join ana
        create x
        claim 1 by ana
        submit 1 by ana
        unchanged 1                    => unchanged
    ",
    whoever_is_gone_or_had_one_try_leaves_it_to_the_next: "
        team alpha gate trees own
        join bo one-shot
        join ana
        create x retries 0
        claim 1 by bo
        submit 1 by bo
        unchanged 1                    => task.released
        expect failure 1: nothing was changed, and no reason was given. Make the change; if none \
            is needed, say why: with a result (TaskUpdate, `shipmate task submit --result`) or in \
            the file that SHIPMATE_RESULT names
        claim 1 by ana
        submit 1 by ana
        unchanged 1                    => task.failed, message.sent
    ",
}
