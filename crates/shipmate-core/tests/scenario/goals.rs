//! A lead's plan for its team: what holds, what is sent back, what its approval brings about,
//! and how the lead hears of its end.

scenarios! {
    a_leads_plan_becomes_teammates_and_tasks_in_one_step: "
        team alpha
        add lia seat lead mode plan when-needed hears
        send \"build it\" to lia
        staff
        submit-plan \"two parts\" tasks \"a files src/a | b files src/b | c files src/c after a,b\" \
            mates \"ana role dev | bo scope src model opus hears\" by lia => plan.submitted, message.sent
        expect inbox person: alpha/lia@1 asks for approval of plan #:; two parts; ; \
            tasks: 3, teammates: 2; `shipmate plan list` shows them
        expect counts alpha: nothing
        approve => plan.approved, teammate.mode_changed, teammate.added, teammate.added, \
            task.created, task.created, task.created, message.sent
        expect counts alpha: 3 pending
        expect available: 1, 2
        expect 3 blocked by 1, 2
        expect untaken lia: build it | plan # is approved: its teammates and tasks are there, \
            and you are in delegate mode
        expect effects: start alpha/ana | start alpha/bo
    ",
    only_a_lead_plans_for_its_team: "
        team alpha lead lia
        start lia
        join ana mode plan
        submit-plan \"mine\" tasks \"a files x\" by ana \
            => refused: alpha/ana@1 may not plan tasks and teammates: only the lead may; hand in \
            the plan's text alone
        submit-plan \"mine\" by ana    => plan.submitted, message.sent
    ",
    a_lead_in_plan_mode_changes_the_board_by_its_plan_alone: "
        team alpha lead lia
        start lia
        mode lia plan
        add ana
        create x by lia \
            => refused: alpha/lia must have its plan approved before it makes tasks or starts \
            teammates
        add bo by lia \
            => refused: alpha/lia must have its plan approved before it makes tasks or starts \
            teammates
        start ana by lia \
            => refused: alpha/lia must have its plan approved before it makes tasks or starts \
            teammates
        submit-plan \"p\" tasks \"a files x\" by lia
        create x by lia \
            => refused: alpha/lia must have its plan approved before it makes tasks or starts \
            teammates
        approve
        create y by lia
        add bo by lia
        start ana by lia
    ",
    every_problem_of_a_plan_is_told_at_once: "
        team alpha lead lia protects Cargo.lock,ci
        start lia
        add zoe
        create old alias old
        submit-plan \"p\" by lia \
            tasks \"a | a files ../x | old files src after gone | c files src/c after c subject long:600\" \
            mates \"zoe | b/d | eve scope /etc | eve role dev\" lacks \"fay has no program\" \
            => refused: the plan does not hold: \
            - fay has no program \
            - teammate zoe: a member has that name already; choose another \
            - teammate 2 of the list: \"b/d\" is not a name: use letters, digits, '_' and '-', \
            beginning with a letter or digit \
            - teammate eve: \"/etc\" is absolute; file patterns are relative to the repository \
            - teammate eve: another one has that name; give each its own \
            - task a: it has no files; name the files or folders it writes \
            - task a: another task has that key; give each its own \
            - task a: \"../x\" climbs with '..'; file patterns stay inside the repository \
            - task old: task 1 on the board has that name; use another key \
            - task c: its subject is 600 bytes and the limit is 512 \
            - task old: it waits for gone, which is no task of the plan (a, a, old, c) \
            - tasks c → c wait for each other; leave out one of these dependencies \
            - tasks old and c may run at the same time and both write src; let one wait for the \
            other, or give each its own files
        expect inbox person: nothing
    ",
    a_plan_without_tasks_does_not_hold: "
        team alpha lead lia
        start lia
        submit-plan \"p\" single \"\" by lia \
            => refused: the plan does not hold: - it has no task; name at least one in `tasks`, \
            with key, subject, description and files
        submit-plan \"\" tasks \"a files x\" by lia => refused: the plan is empty
        submit-plan \"p\" tasks \"files x subject s\" by lia \
            => refused: the plan does not hold: - task 1 of the list: it has no key; give it a \
            short one, such as `api`
    ",
    a_plan_that_is_too_large_is_not_weighed: "
        team alpha lead lia
        start lia
        submit-plan \"p\" tasks count:201 mates count:17 by lia \
            => refused: the plan does not hold: \
            - the plan has 201, and at most 200 tasks: join those that belong together \
            - the plan has 17, and at most 16 teammates: fewer do more each
        submit-plan \"p\" tasks count:200 mates count:16 by lia
    ",
    tasks_that_may_meet_write_different_files: "
        team alpha lead lia
        start lia
        submit-plan \"p\" tasks \"a files src/* | b files ./src//main.rs\" by lia \
            => refused: the plan does not hold: - tasks a and b may run at the same time and both \
            write src/*; let one wait for the other, or give each its own files
        submit-plan \"p\" tasks \"a files src | b files src/b after a | c files src/c after b\" by lia
        submit-plan \"p\" tasks \"a files src | b files docs | c files src/c after b\" by lia \
            => refused: the plan does not hold: - tasks a and c may run at the same time and both \
            write src; let one wait for the other, or give each its own files
    ",
    somebody_must_be_there_for_each_task: "
        team alpha lead lia protects Cargo.lock,ci
        start lia
        add old role qa scope tests
        submit-plan \"p\" tasks \"a role dev files a | b role ui files b | c files docs/c | \
            d assignee fay files src/d | e role qa files tests/e | f files ci/x,src/f\" \
            mates \"ana role dev scope src | bo scope src,a\" by lia \
            => refused: the plan does not hold: \
            - task a: nobody who may take it may write a; widen a scope, or leave scopes out \
            - task b: no teammate has the role ui; add one, or leave the role out \
            - task c: nobody who may take it may write docs/c; widen a scope, or leave scopes out \
            - task d: it is meant for fay, who is no teammate \
            - task f: ci/x is protected; leave it out, the person can grant it when the work is there \
            - task f: nobody who may take it may write ci/x, src/f; widen a scope, or leave scopes out
        submit-plan \"p\" tasks \"a assignee ana files x | b files .\" mates \"ana\" by lia \
            => refused: the plan does not hold: - tasks a and b may run at the same time and both \
            write x; let one wait for the other, or give each its own files
        submit-plan \"p\" tasks \"a assignee ana files x\" mates \"ana\" by lia
        approve
        expect obstacles 1: assigned to ana
    ",
    a_team_that_brings_nothing_is_sent_back: "
        team alpha lead lia
        start lia
        submit-plan \"p\" tasks \"a files a | b files b after a\" mates \"ana | bo\" by lia \
            => refused: the plan does not hold: - a team of 2 brings nothing: each task waits for \
            the one before; say in `single` why one teammate is enough and name one, or split the \
            work into parts with their own files
        submit-plan \"p\" tasks \"a files a\" mates \"ana | bo | cy\" by lia \
            => refused: the plan does not hold: - a team of 3 brings nothing: there is one task; \
            say in `single` why one teammate is enough and name one, or split the work into parts \
            with their own files
        submit-plan \"p\" tasks \"a files a | b files b\" mates \"ana | bo\" single \"small\" by lia \
            => refused: the plan does not hold: - `single` says that one teammate is enough, and \
            2 are named; name one, or leave `single` out
        submit-plan \"p\" tasks \"a files a | b files b\" mates \"ana\" single \"small\" by lia
    ",
    a_number_is_a_key_and_no_alias: "
        team alpha lead lia
        start lia
        submit-plan \"p\" tasks \"1 files a | 2 files a after 1\" mates \"ana\" by lia
        approve
        expect 2 blocked by 1
    ",
    a_leads_plan_outlives_the_life_that_made_it: "
        team alpha
        add lia seat lead mode plan when-needed hears
        send \"build it\" to lia
        staff
        read by lia
        submit-plan \"p\" tasks \"a files a\" mates \"ana\" by lia
        disappeared lia
        expect effects: nothing
        approve => plan.approved, teammate.mode_changed, teammate.added, task.created
        expect effects: start alpha/ana
        expect inbox lia: nothing
    ",
    a_rejected_plan_wakes_its_lead_and_nothing_else_has_changed: "
        team alpha
        add lia seat lead mode plan when-needed hears
        send \"build it\" to lia
        staff
        read by lia
        submit-plan \"p\" tasks \"a files a\" mates \"ana\" by lia as p1
        stopped lia
        reject \"\"                    => refused: the feedback is empty
        reject \"smaller\"             => plan.rejected, message.sent
        expect inbox lia: plan # is rejected: smaller
        expect effects: start alpha/lia
        approve on p1                  => refused: plan # was decided already
        staff
        submit-plan \"p2\" tasks \"a files a\" mates \"ana\" by lia
        approve by lia                 => refused: alpha/lia@2 may not approve its own plan
        approve
    ",
    a_plan_approves_nobody_who_only_has_its_leads_name: "
        team alpha lead lia
        start lia
        submit-plan \"p\" tasks \"a files a\" mates \"bo\" by lia
        stopped lia
        remove lia
        join lia mode plan
        approve => plan.approved, teammate.added, task.created
        claim 1 by lia
        submit 1 by lia \
            => refused: alpha/lia must have its plan approved before it hands in work
    ",
    a_later_plan_replaces_the_one_before: "
        team alpha lead lia
        start lia
        submit-plan \"p\" tasks \"a files a\" by lia as p1
        submit-plan \"q\" tasks \"a files a\" by lia
        approve on p1                  => refused: plan # was replaced by a later one
        approve
        submit-plan \"r\" tasks \"a files a\" by lia \
            => refused: the plan does not hold: - task a: task 1 on the board has that name; use \
            another key
    ",
    what_was_taken_meanwhile_keeps_a_plan_from_being_approved: "
        team alpha lead lia
        start lia
        submit-plan \"p\" tasks \"a files a | b files b\" mates \"ana | bo\" by lia
        add ana
        approve                        => refused: alpha/ana is a member already
        remove ana
        create x alias b
        approve                        => refused: the alias b belongs to task 1
        expect counts alpha: 1 pending
        reject \"other names\"         => plan.rejected, message.sent
    ",
    a_lead_that_plans_or_delegates_takes_only_what_is_its_by_name: "
        team alpha
        add lia seat lead mode plan when-needed hears
        create x
        create y assignee lia
        create z role dev
        expect effects: start alpha/lia
        start lia
        expect available for lia: 2
        next by lia                    => task.claimed
        mode lia delegate
        expect available for lia: nothing
        mode lia normal
        expect available for lia: 1
    ",
    the_end_of_planned_work_is_told_once_and_asks_for_a_report: "
        team alpha gate
        add lia seat lead mode plan when-needed hears
        send \"build it\" to lia
        staff
        submit-plan \"p\" tasks \"a files a | b files b\" mates \"ana | bo\" by lia
        approve
        read by lia
        staff
        next by ana
        next by bo
        idle \"no task\" by lia
        submit 1 by ana result \"a is there\"
        complete 1 by runtime result \"a is there; and more\"
        expect inbox lia: nothing
        submit 2 by bo
        complete 2 by runtime          => task.completed, message.sent
        expect senders lia: work_done from runtime
        expect inbox lia: All tasks are completed:; - task 1 (do a): a is there; and more; \
            - task 2 (do b); Report to the person in a few sentences what was done and what is \
            left: SendMessage to \"person\". Then end your turn.
        expect due: RequestShutdown, RequestShutdown
        read by lia
        expect due: RequestShutdown, RequestShutdown, RequestShutdown
        create more by lia
        expect due: nothing
        next by ana
        submit 3 by ana
        complete 3 by runtime          => task.completed, message.sent
    ",
    work_that_ends_in_a_failure_is_told_too: "
        team alpha
        add lia seat lead mode plan when-needed hears
        send \"build it\" to lia
        staff
        submit-plan \"p\" tasks \"a files a | b files b\" mates \"ana\" single \"small\" by lia
        approve
        read by lia
        staff
        next by ana
        submit 1 by ana
        next by ana
        fail 2 by ana
        next by ana
        fail 2 by ana
        next by ana
        fail 2 by ana
        next by ana
        fail 2 by ana reason \"no compiler\" => task.failed, message.sent, message.sent
        expect senders lia: notice from runtime | work_done from runtime
        expect inbox lia: task 2 (do b) failed after 4 attempts: no compiler | No task is left to \
            do. Failed: 2. You may retry or replace what failed; otherwise report. Completed:; \
            - task 1 (do a); Report to the person in a few sentences what was done and what is \
            left: SendMessage to \"person\". Then end your turn.
        read by lia
        retry 2 by lia
        delete 2 by lia                => task.deleted, message.sent
        expect senders lia: work_done from runtime
    ",
    work_that_was_all_deleted_is_nothing_to_report: "
        team alpha
        add lia seat lead mode plan when-needed hears
        send \"build it\" to lia
        staff
        submit-plan \"p\" tasks \"a files a\" mates \"ana\" single \"small\" by lia
        approve
        read by lia
        delete 1                       => task.deleted
    ",
    a_lead_stays_where_teammates_do_one_task_each: "
        team alpha task-mode
        add lia seat lead mode plan when-needed hears
        add ana when-needed hears
        send \"build it\" to lia
        send \"hello\" to ana
        expect effects: start alpha/lia
    ",
    a_team_without_a_leads_plan_hears_of_no_end: "
        team alpha
        add lia seat lead when-needed hears
        create x
        staff
        next by lia
        submit 1 by lia                => task.submitted, task.completed
        expect inbox lia: nothing
    ",
}
