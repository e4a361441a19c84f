//! Messages: accepted means it will be read, bounced or expired, and never lost.

scenarios! {
    a_message_reaches_its_recipient_in_order_and_once: "
        join ana
        join bo
        send \"one\" to bo by ana      => message.sent
        send \"two\" to bo by ana
        send \"three\" to bo
        expect inbox bo: one | two | three
        expect senders bo: message from alpha/ana@1 | message from alpha/ana@1 | message from person
        read by bo max 2               => message.acknowledged
        expect inbox bo: three
        read by bo
        read by bo                     => unchanged
        read by bo max 0               => unchanged
    ",
    mail_from_outside_says_so_and_only_outside_brings_it: "
        join ana
        join bo
        drop \"hi\" to bo end 20 by outside => message.sent
        expect inbox bo: hi
        expect senders bo: message from outside
        drop \"hi\" to bo by ana       => refused: alpha/ana@1 may not bring in mail from outside
        drop \"hi\" to bo              => refused: person may not bring in mail from outside
        drop \"hi\" to bo by runtime   => refused: runtime may not bring in mail from outside
        drop \"\" to bo by outside     => refused: the message is empty
        drop \"hi\" to zoe by outside  => refused: there is no teammate alpha/zoe; members: alpha/ana, alpha/bo
        read by bo                     => message.acknowledged
    ",
    a_broadcast_is_one_record_and_leaves_the_sender_out: "
        team alpha lead lia
        join ana
        join bo
        join cy
        stopped cy
        send \"all hands\" to all by ana => message.sent
        expect inbox ana: nothing
        expect inbox bo: all hands
        expect inbox lia: all hands
        expect inbox cy: nothing
        expect senders bo: broadcast from alpha/ana@1
        read by bo
        expect inbox lia: all hands
    ",
    lead_is_an_address_whatever_the_lead_is_called: "
        team alpha lead lia
        join ana
        send \"ready\" to lead by ana  => message.sent
        expect inbox lia: ready
    ",
    a_broadcast_needs_somebody_to_hear_it: "
        join ana
        send \"hello?\" to all by ana  => refused: nobody else is in team alpha
        team beta under alpha
        send \"hello?\" to all:beta    => refused: nobody else is in team beta
        send \"hello?\" to all:gamma   => refused: there is no team gamma
        join beta/bo
        send \"hello\" to all:beta by ana => message.sent
        expect inbox beta/bo: hello
    ",
    the_lead_and_the_person_have_an_inbox: "
        team alpha lead lia
        start lia
        join ana
        send \"done\" to lia by ana
        send \"help\" to person by ana
        expect inbox lia: done
        expect inbox person: help
        read by person                 => message.acknowledged
        read by runtime                => refused: runtime may not read mail
    ",
    an_unknown_recipient_is_refused_and_the_members_named: "
        join ana
        join bo
        send \"x\" to cy by ana \
            => refused: there is no teammate cy; members: alpha/ana, alpha/bo
        send \"x\" to beta/cy by ana \
            => refused: there is no teammate beta/cy; members: alpha/ana, alpha/bo
        send \"x\" to ../../etc by ana \
            => refused: \"..\" is not a name: use letters, digits, '_' and '-', beginning with a \
            letter or digit
        send \"\" to bo by ana         => refused: the message is empty
        send long:65537 to bo by ana   => refused: the message is 65537 bytes and the limit is 65536
    ",
    a_stopped_recipient_is_refused_and_the_members_named: "
        join ana
        join bo
        stopped bo
        send \"x\" to bo by ana \
            => refused: alpha/bo has stopped and reads no more mail; members: alpha/ana, alpha/bo
        start bo
        send \"x\" to bo by ana        => message.sent
    ",
    a_name_is_looked_for_nearby_first: "
        team alpha
        team beta under alpha
        team gamma under alpha
        join beta/sam
        join gamma/sam
        join gamma/gil
        join ana
        send \"x\" to sam by ana       => refused: sam is ambiguous: beta/sam, gamma/sam
        send \"x\" to sam by gamma/gil => message.sent
        expect inbox gamma/sam: x
        send \"y\" to beta/sam by ana
        expect inbox beta/sam: y
        send \"z\" to gil by ana
        expect inbox gamma/gil: z
    ",
    mail_sent_before_the_start_arrives: "
        add ana
        send \"the task is this\" to ana
        start ana supervised
        expect untaken ana: the task is this
        read by ana
        expect inbox ana: nothing
    ",
    mail_that_a_supervisor_took_stays_unread_and_is_taken_once: "
        join ana supervised
        send \"one\" to ana
        send \"two\" to ana
        send \"three\" to ana
        take by ana max 2              => message.offered
        expect untaken ana: three
        expect inbox ana: one | two | three
        take by ana                    => message.offered
        take by ana                    => unchanged
        take by ana max 0              => unchanged
        read by ana                    => message.acknowledged
        send \"four\" to ana
        take by ana                    => message.offered
        take by person                 => refused: person may not take its mail
        take by runtime                => refused: runtime may not take its mail
        stopped ana
        take by ana                    => refused: alpha/ana is not running
    ",
    mail_outlives_a_life_that_disappears: "
        join ana supervised
        join bo
        send \"one\" to ana by bo
        take by ana                    => message.offered
        inject by ana turn 4           => message.injected
        expect untaken ana: nothing
        disappeared ana
        send \"two\" to ana by bo
        start ana supervised
        expect untaken ana: one | two
        take by ana@1 \
            => refused: alpha/ana@1 is no longer current: the epoch of alpha/ana is now 2
        read by ana
    ",
    mail_of_a_life_that_stops_goes_back_to_its_senders: "
        join ana
        join bo
        send \"one\" to ana by bo as m1
        send \"two\" to ana as m2
        send \"note to self\" to ana by ana
        stopped ana \
            => teammate.stopped, message.bounced, message.sent, message.bounced, message.bounced, \
            message.sent
        expect inbox ana: nothing
        expect inbox bo: alpha/ana did not read your message #: it stopped
        expect senders bo: bounce from runtime
        expect inbox person: alpha/ana did not read your message #: it stopped
    ",
    what_was_read_is_not_read_again: "
        join ana
        join bo
        send \"one\" to ana by bo as m1
        acknowledge by ana messages m1,m1 => message.acknowledged
        acknowledge by ana messages m1 => refused: message # is not in the inbox of alpha/ana
        inject by ana messages m1      => refused: message # is not in the inbox of alpha/ana
        acknowledge by ana             => refused: the list of messages is empty
        send \"two\" to ana by bo as m2
        acknowledge by bo messages m2  => refused: message # is not in the inbox of alpha/bo
    ",
    old_mail_expires_by_the_runtime: "
        join ana
        send \"one\" to ana
        expire-mail ana by ana         => refused: alpha/ana@1 may not let messages expire
        expire-mail ana                => message.expired
        expect inbox ana: nothing
        expire-mail ana                => refused: the list of messages is empty
    ",
    a_decision_is_not_sent_by_hand: "
        join ana
        join bo
        send \"stop\" to bo kind shutdown_request by ana \
            => refused: alpha/ana@1 may not send that kind of message by hand: it comes with the \
            decision
        send \"ok\" to bo kind plan_approval_response by ana \
            => refused: alpha/ana@1 may not send that kind of message by hand: it comes with the \
            decision
        send \"{}\" to bo kind dev_progress by ana => message.sent
        expect senders bo: {handoff:dev_progress} from alpha/ana@1
    ",
    a_reply_names_what_it_answers: "
        join ana
        send \"which?\" to ana as m1
        send \"that\" to person reply m1 by ana => message.sent
        send \"something else\" to person by ana
        expect inbox person: that | something else
        expect replies person: m1 | nothing
    ",
    an_inbox_has_a_limit_and_others_are_not_hurt: "
        join ana
        join bo
        join cy
        repeat 10000 send \"x\" to bo by ana
        send \"x\" to bo by ana \
            => refused: the inbox of alpha/bo holds 10000 unread messages, which is its limit
        send \"x\" to all by ana \
            => refused: the inbox of alpha/bo holds 10000 unread messages, which is its limit
        expect inbox cy: nothing
        send \"x\" to cy by ana        => message.sent
        shutdown bo                    => shutdown.requested
        read by bo max 1
        send \"x\" to bo by ana        => message.sent
    ",
}
