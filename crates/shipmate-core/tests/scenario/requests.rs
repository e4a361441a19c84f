//! Requests that are asked again are answered again and carried out once.

scenarios! {
    a_repeated_request_is_carried_out_once: "
        join ana
        req cli/1 create x             => task.created
        req cli/1 create x             => repeated
        expect counts alpha: 1 pending
        req cli/2 create x             => task.created
        req cli/1 create x \
            => refused: request 1 is older than the last one of this client (2)
    ",
    a_request_of_several_records_is_repeated_whole: "
        req cli/1 create-all \"a\" \"b\" \"c\" => task.created, task.created, task.created
        req cli/1 create-all \"a\" \"b\" \"c\" => repeated
        expect counts alpha: 3 pending
    ",
    a_claim_whose_answer_was_lost_is_the_same_claim: "
        join ana
        join bo
        create x
        create y
        req ana-1/7 next by ana        => task.claimed
        req ana-1/7 next by ana        => repeated
        next by bo
        expect 1 in_progress by ana
        expect 2 in_progress by bo
    ",
    reading_is_exactly_once: "
        join ana
        send \"one\" to ana
        req ana-1/1 read by ana        => message.acknowledged
        send \"two\" to ana
        req ana-1/1 read by ana        => repeated
        expect inbox ana: two
    ",
    a_refused_request_may_be_decided_again: "
        join ana
        req c/1 claim 1 by ana         => refused: there is no task 1
        create x
        req c/1 claim 1 by ana         => task.claimed
    ",
    clients_do_not_meet: "
        req one/5 create x             => task.created
        req two/5 create x             => task.created
        req two/4 create x \
            => refused: request 4 is older than the last one of this client (5)
    ",
}
