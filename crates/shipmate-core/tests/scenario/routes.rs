//! Who may write to whom, where a playbook says so.

scenarios! {
    a_dev_reaches_its_senior_and_no_one_above: "
        team alpha playbook \"phase build | role head leads | route dev to senior kinds message,dev_progress \
            | route dev to head kinds task_complete | route senior to head,dev | kind dev_progress \
            | route tester to senior kinds message,test_plan_result\"
        add lia seat lead role head
        start lia
        join sen role senior
        join dev1 role dev
        join dev2 role dev
        join arc role architect
        send \"a question\" to sen by dev1      => message.sent
        send \"done\" to sen kind dev_progress by dev1 => message.sent
        send \"done\" to lia kind task_complete by dev1 => message.sent
        send \"done\" to lia kind dev_progress by dev1 \
            => refused: alpha/dev1 (dev) may not send dev_progress to alpha/lia; \
            it may write to: senior (message, dev_progress), head (task_complete)
        send \"hello\" to lead by dev1 \
            => refused: alpha/dev1 (dev) may not send message to alpha/lia; \
            it may write to: senior (message, dev_progress), head (task_complete)
        send \"hello\" to arc by dev1 \
            => refused: alpha/dev1 (dev) may not send message to alpha/arc; \
            it may write to: senior (message, dev_progress), head (task_complete)
        send \"hello\" to dev2 by dev1 \
            => refused: alpha/dev1 (dev) may not send message to alpha/dev2; \
            it may write to: senior (message, dev_progress), head (task_complete)
        send \"hello\" to person by dev1 \
            => refused: alpha/dev1 (dev) may not send message to person; \
            it may write to: senior (message, dev_progress), head (task_complete)
        send \"this line\" to dev1 kind code_review_changes by sen => message.sent
        expect senders dev1: {handoff:code_review_changes} from alpha/sen@1
        expect senders dev2: nothing
        expect effects: enter alpha
        join tes role tester
        send \"{}\" to sen kind test_plan_result by tes => message.sent
        send \"{}\" to lia kind test_plan_result by tes \
            => refused: alpha/tes (tester) may not send test_plan_result to alpha/lia; \
            it may write to: senior (message, test_plan_result)
        send \"{}\" to lia kind senior_spec by dev1 \
            => refused: alpha/dev1 (dev) may not send senior_spec to alpha/lia; \
            it may write to: senior (message, dev_progress), head (task_complete)
        send \"{}\" to lia kind senior_spec by sen => message.sent
        send \"hello\" to sen by arc \
            => refused: alpha/arc (architect) may not send message to alpha/sen; it may write to: none
    ",
    a_role_with_one_member_is_an_address_whatever_that_one_is_called: "
        team alpha
        team beta under alpha lead bea
        join fe-senior role senior
        join fe-dev-1 role dev
        join fe-dev-2 role dev
        join beta/senior role senior
        send \"a question\" to senior by fe-dev-1 => message.sent
        expect inbox fe-senior: a question
        send \"ready\" to beta/lead by fe-dev-1   => message.sent
        expect inbox beta/bea: ready
        send \"hello\" to dev by fe-senior \
            => refused: there is no teammate dev; members: alpha/fe-dev-1, alpha/fe-dev-2, \
            alpha/fe-senior, beta/bea, beta/senior
    ",
    the_person_and_the_runtime_write_to_everybody: "
        team alpha playbook \"phase build | route senior to dev\"
        join dev1 role dev
        join bo
        send \"look here\" to dev1              => message.sent
        send \"and you\" to bo                  => message.sent
        send \"all of you\" to all              => message.sent
        send \"from the runtime\" to dev1 by runtime => message.sent
    ",
    whoever_is_written_to_may_answer_once: "
        team alpha lead lia playbook \"phase build | role head leads | route head to dev\"
        start lia
        join dev1 role dev
        send \"how far?\" to dev1 by lia        => message.sent
        send \"half\" to lia by dev1            => message.sent
        send \"more\" to lia by dev1 \
            => refused: alpha/dev1 (dev) may not send message to alpha/lia; it may write to: none
        send \"and you?\" to dev1 by person     => message.sent
        send \"fine\" to person by dev1         => message.sent
        send \"really\" to person by dev1 \
            => refused: alpha/dev1 (dev) may not send message to person; it may write to: none
        send \"everybody!\" to all by lia       => message.sent
        send \"yes?\" to lia by dev1 \
            => refused: alpha/dev1 (dev) may not send message to alpha/lia; it may write to: none
        send \"how far?\" to dev1 by lia
        send \"half\" to lia kind dev_progress by dev1 \
            => refused: alpha/dev1 (dev) may not send dev_progress to alpha/lia; it may write to: none
    ",
    a_broadcast_goes_to_all_or_to_nobody: "
        team alpha playbook \"phase build | route dev to senior | route senior to dev,senior,head\"
        join sen role senior
        join dev1 role dev
        join dev2 role dev
        send hello to all by sen               => message.sent
        send hello to all by dev1 \
            => refused: alpha/dev1 (dev) may not send message to alpha/dev2; \
            it may write to: with this alpha/sen, senior (any kind)
        expect inbox dev2: hello
    ",
    the_top_and_the_lead_of_the_run_reach_the_person: "
        team alpha playbook \"phase build | role head leads | route dev to dev | levels dev,arc\"
        add lia seat lead
        start lia
        join arc role arc
        join dev1 role dev
        send report to person by lia           => message.sent
        send help to person by arc             => message.sent
        send help to person by dev1 \
            => refused: alpha/dev1 (dev) may not send message to person; it may write to: dev (any kind)
    ",
    a_route_may_lead_to_the_person: "
        team alpha playbook \"phase build | route dev to person kinds message\"
        join dev1 role dev
        send help to person by dev1            => message.sent
        send help to person kind dev_progress by dev1 \
            => refused: alpha/dev1 (dev) may not send dev_progress to person; \
            it may write to: person (message)
    ",
    between_teams_only_what_says_so_leads: "
        team alpha lead lia playbook \"phase work root departments | phase build | department back \
            | department front | role owner root leads | role head leads | role dev \
            | route head to dev | route dev to head | route owner to head across kinds message \
            | route head to owner across kinds message | kind api_contract file api.jsonl\"
        start lia
        begin work
        begin build in alpha-back mates \"bea seat lead role head | bob role dev\"
        begin build in alpha-front mates \"fay seat lead role head\"
        start alpha-back/bea
        start alpha-back/bob
        start alpha-front/fay
        send \"go\" to alpha-back/bea by lia    => message.sent
        send \"going\" to alpha/lia by alpha-back/bea => message.sent
        send \"hi\" to alpha-front/fay by alpha-back/bea \
            => refused: alpha-back/bea (head) may not send message to alpha-front/fay; \
            it may write to: dev (any kind), owner (message); \
            between teams it goes by file: api.jsonl (api_contract)
        send \"hi\" to alpha-front/fay by alpha-back/bob \
            => refused: alpha-back/bob (dev) may not send message to alpha-front/fay; \
            it may write to: head (any kind); between teams it goes by file: api.jsonl (api_contract)
        send \"{}\" to alpha-front/fay kind api_contract by alpha-back/bea \
            => refused: api_contract is not sent: it goes by file, api.jsonl
    ",
    what_the_runtime_keeps_is_not_sent: "
        team alpha playbook \"phase build | route any | kind agent_health_event internal\"
        join dev1 role dev
        join dev2 role dev
        send hello to dev2 kind anything by dev1 => message.sent
        send \"{}\" to dev2 kind agent_health_event by dev1 \
            => refused: agent_health_event is not sent: the runtime keeps it for itself
    ",
    a_one_shot_agent_has_no_inbox: "
        team alpha playbook \"phase build\"
        add cri role critic one-task
        join ana
        join bo
        send hello to cri by ana => refused: alpha/cri is a one-shot agent and has no inbox
        send hello to cri        => refused: alpha/cri is a one-shot agent and has no inbox
        send hello to all by ana => message.sent
        expect inbox cri: nothing
        expect inbox bo: hello
    ",
    without_routes_everybody_writes_to_everybody: "
        team alpha lead lia playbook \"phase build\"
        team beta under alpha
        start lia
        join ana role dev
        join beta/bo
        send hello to lia by ana               => message.sent
        send hello to person by ana            => message.sent
        send hello to beta/bo by ana           => message.sent
    ",
    a_team_below_one_with_routes_is_not_a_way_round_them: "
        team alpha lead lia playbook \"phase build | role head leads | route dev to dev | route head\"
        start lia
        join ana role dev
        team beta under alpha by lia
        join beta/bo role dev
        join beta/cy
        send hello to beta/cy by beta/bo       => message.sent
        send hello to ana by beta/bo \
            => refused: beta/bo (dev) may not send message to alpha/ana; it may write to: dev (any kind)
        send hello to beta/bo by ana \
            => refused: alpha/ana (dev) may not send message to beta/bo; it may write to: dev (any kind)
    ",
}
