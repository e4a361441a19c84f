//! Plans and questions: who asks waits, and the answer reaches that life or nobody.

scenarios! {
    who_plans_first_hands_in_nothing_before_it_is_approved: "
        team alpha lead lia
        start lia
        join ana mode plan
        create x
        claim 1 by ana
        submit 1 by ana \
            => refused: alpha/ana must have its plan approved before it hands in work
        complete 1 by ana \
            => refused: alpha/ana must have its plan approved before it hands in work
        submit-plan \"first a, then b\" about 1 by ana => plan.submitted, message.sent
        expect senders lia: plan_approval_request from alpha/ana@1
    ",
    a_rejection_carries_feedback_and_the_plan_is_revised: "
        team alpha lead lia
        start lia
        join ana mode plan
        create x
        claim 1 by ana
        submit-plan \"a\" by ana as p1
        reject \"\" by lia             => refused: the feedback is empty
        reject \"b first\" by lia      => plan.rejected, message.sent
        expect inbox ana: plan # is rejected: b first
        expect senders ana: plan_approval_response from alpha/lia@1
        submit 1 by ana \
            => refused: alpha/ana must have its plan approved before it hands in work
        approve by lia on p1           => refused: plan # was decided already
        submit-plan \"b, then a\" by ana
        approve by lia                 => plan.approved, message.sent
        submit 1 by ana                => task.submitted, task.completed
    ",
    an_approved_plan_is_for_one_task: "
        team alpha lead lia
        start lia
        join ana mode plan
        create x
        create y
        claim 1 by ana
        submit-plan \"x\" by ana
        approve by lia
        submit 1 by ana                => task.submitted, task.completed
        claim 2 by ana
        submit 2 by ana \
            => refused: alpha/ana must have its plan approved before it hands in work
        submit-plan \"y\" by ana
        approve by lia
        release 2 by ana reason \"later\"
        claim 2 by ana
        submit 2 by ana                => task.submitted, task.completed
    ",
    a_plan_that_came_before_the_task_is_for_the_first_that_is_claimed: "
        join ana mode plan
        create x
        create y
        submit-plan \"x\" by ana
        approve
        claim 1 by ana
        submit 1 by ana                => task.submitted, task.completed
        claim 2 by ana
        submit 2 by ana \
            => refused: alpha/ana must have its plan approved before it hands in work
    ",
    the_lead_or_a_person_decides: "
        team alpha lead lia
        start lia
        join ana mode plan
        join bo
        submit-plan \"a\" by ana as p1
        approve by bo \
            => refused: alpha/bo@1 may not decide plans; the lead of team alpha or a person may
        approve by ana \
            => refused: alpha/ana@1 may not decide plans; the lead of team alpha or a person may
        approve on 77                  => refused: there is no plan 77
        approve                        => plan.approved, message.sent
        submit-plan \"\" by ana        => refused: the plan is empty
        submit-plan \"x\" about 9 by ana => refused: there is no task 9
        submit-plan \"x\" by person    => refused: person may not submit a plan
    ",
    a_lead_does_not_approve_its_own_plan: "
        team alpha lead lia
        start lia
        mode lia plan
        submit-plan \"a\" by lia       => plan.submitted, message.sent
        expect inbox lia: nothing
        expect senders person: plan_approval_request from alpha/lia@1
        approve by lia                 => refused: alpha/lia@1 may not approve its own plan
    ",
    an_approval_is_for_the_life_that_asked: "
        join ana mode plan
        create x
        submit-plan \"a\" by ana as p1
        disappeared ana                => teammate.disappeared, message.sent, plan.withdrawn
        approve on p1                  => refused: alpha/ana is not running
        start ana
        approve on p1 \
            => refused: alpha/ana@1 is no longer current: the epoch of alpha/ana is now 2
        claim 1 by ana
        submit-plan \"a\" by ana
        approve
        stopped ana
        start ana
        claim 1 by ana
        submit 1 by ana \
            => refused: alpha/ana must have its plan approved before it hands in work
    ",
    an_undelivered_answer_ends_with_its_life: "
        join ana mode plan
        submit-plan \"a\" by ana
        send \"mail\" to ana
        approve
        disappeared ana                => teammate.disappeared, message.expired, message.sent
        expect inbox ana: mail
    ",
    a_question_is_answered_once_with_one_of_its_options: "
        team alpha lead lia
        start lia
        join ana
        ask \"which one?\" options a,b by ana as q1 => question.asked, message.sent
        answer \"c\"                   => refused: \"c\" is not one of the options: a, b
        answer \"a\" by ana \
            => refused: alpha/ana@1 may not answer questions; the lead of team alpha or a person may
        answer \"a\" by lia            => question.answered, message.sent
        expect inbox ana: answer to question #: a
        answer \"b\"                   => refused: question # was answered already
        answer \"b\" on 77             => refused: there is no question 77
        ask \"\" by ana                => refused: the question is empty
        ask \"may I?\" by person       => refused: person may not ask a person
        ask \"pick\" options \
            1,2,3,4,5,6,7,8,9,10,11,12,13,14,15,16,17,\
            18,19,20,21,22,23,24,25,26,27,28,29,30,31,32,33 by ana \
            => refused: the question is 33 options and the limit is 32
    ",
    a_model_gives_no_permission: "
        team alpha lead lia
        start lia
        join ana
        ask \"may I run rm?\" kind permission by ana
        answer \"yes\" by lia \
            => refused: alpha/lia@1 may not answer a permission request; a person may
        answer \"no\"                  => question.answered, message.sent
        ask \"may I write docs?\" kind scope by ana
        answer \"yes\" by lia          => question.answered, message.sent
        ask \"what now?\" by lia
        answer \"go\" by lia           => refused: alpha/lia@1 may not answer its own question
    ",
    who_asked_may_take_a_question_back: "
        join ana
        join bo
        ask \"may I?\" kind permission by ana as q1
        withdraw on q1 by bo           => refused: alpha/bo@1 may not withdraw this question
        withdraw on q1 by person       => refused: person may not withdraw a question
        withdraw on q1 by ana          => question.withdrawn
        withdraw on q1 by ana          => refused: question # was answered already
        answer \"yes\" on q1           => refused: question # was answered already
    ",
    a_question_ends_with_the_life_that_asked: "
        join ana
        ask \"which?\" by ana as q1
        disappeared ana                => teammate.disappeared, message.sent, question.withdrawn
        answer \"a\" on q1             => refused: alpha/ana is not running
        start ana
        answer \"a\" on q1 \
            => refused: alpha/ana@1 is no longer current: the epoch of alpha/ana is now 2
        expect inbox ana: nothing
    ",
    old_decisions_are_forgotten_and_open_ones_kept: "
        join ana
        ask \"open\" by ana as q1
        ask \"first\" by ana as q2
        answer \"x\"
        repeat 202 ask \"more\" by ana
        stopped ana
        start ana
        ask \"last\" by ana
        answer \"x\" on q2             => refused: there is no question #
    ",
}
