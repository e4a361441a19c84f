//! The bugs: where each goes, and which test of its row has to notice it.
//!
//! The rows were chosen by a shuffle with a seed and not by hand. A text to find is a whole
//! expression, and stands once in its file; a test holds that.

use super::RowMutant;

pub(super) const ROWS: &[RowMutant] = &[
    // A result of tests reaches whoever leads too, past the senior that its route names.
    RowMutant {
        row: "R757",
        file: "crates/shipmate-core/src/route.rs",
        find: "role.is_some_and(|role| route.to.contains(role))",
        replace: concat!(
            "role.is_some_and(|role| route.to.contains(role)) || (kind.ends_with(\"_result\") ",
            "&& state.teammates.get(to).is_some_and(|mate| mate.is_lead()))",
        ),
        test: "shipmate-core/tests/scenario/routes.rs::a_dev_reaches_its_senior_and_no_one_above",
    },
    // What a lost teammate held is released twice, and costs two retries.
    RowMutant {
        row: "R935",
        file: "crates/shipmate-core/src/health.rs",
        find: "life::release_all(state, found, cause, word)",
        replace: concat!(
            "{ let once = life::release_all(state, found, cause, word); ",
            "[once.clone(), once].concat() }",
        ),
        test: "shipmate-core/tests/scenario/breaker.rs::what_a_lost_teammate_held_is_free_once",
    },
    // Of work whose size nobody knows, only one piece alone is for one agent: two are a team's.
    RowMutant {
        row: "R407",
        file: "crates/shipmate-coordinator/src/phases/single_agent.rs",
        find: "rule.files_min.or(rule.files_each_min).is_some()",
        replace: "rule.files_min.is_some() && items.len() == 1",
        test: "shipmate-coordinator/src/phases/single_agent.rs::in_doubt_one_agent_begins",
    },
    // A folder that selects a playbook counts only where features.json lies in it.
    RowMutant {
        row: "R401",
        file: "crates/shipmate-playbook/src/catalog.rs",
        find: "workspace.join(path).exists()",
        replace: concat!(
            "{ let at = workspace.join(path); ",
            "at.exists() && (!at.is_dir() || at.join(\"features.json\").exists()) }",
        ),
        test: "shipmate/tests/cli/playbook.rs::the_files_of_a_way_of_working_choose_its_playbook",
    },
    // Of the two ways out of shared files only the second is proposed.
    RowMutant {
        row: "R482",
        file: "crates/shipmate-playbook/src/work/overlap.rs",
        find: concat!(
            "format!(\n",
            "                        \"{a} and {b} both own {path}: give both to one teammate (the same \\\n",
            "                         assigned_to), or let {b} depend on {a}\"\n",
            "                    )",
        ),
        replace: "format!(\"{a} and {b} both own {path}: let {b} depend on {a}\")",
        test: concat!(
            "shipmate/tests/playbooks/features.rs",
            "::features_that_share_files_are_named_before_anybody_starts",
        ),
    },
    // team_name is read as one more word for the recipient, and contradicts the real one.
    RowMutant {
        row: "R048",
        file: "crates/shipmate-protocol/src/tools/send_message.rs",
        find: "arguments.word(&[\"to\", \"recipient\", \"target\"])?",
        replace: "arguments.word(&[\"team_name\", \"to\", \"recipient\", \"target\"])?",
        test: concat!(
            "shipmate/tests/mcp/seeds.rs",
            "::messages_reach_those_they_name_and_a_broadcast_everybody_else",
        ),
    },
    // The list of tools of a role does not bound TaskGet: every teammate has it.
    RowMutant {
        row: "R013",
        file: "crates/shipmate-protocol/src/tools.rs",
        find: "!seat.tools.iter().any(|own| own == tool)",
        replace: "!seat.tools.iter().any(|own| own == tool) && tool != \"TaskGet\"",
        test: concat!(
            "shipmate-protocol/tests/tools/offered.rs",
            "::a_tool_outside_the_seat_is_refused_without_a_request",
        ),
    },
    // A feature whose task failed after its retries is written as pending.
    RowMutant {
        row: "R414",
        file: "crates/shipmate-coordinator/src/phases/artifact/features.rs",
        find: "json!(word(task))",
        replace: concat!(
            "Value::from(if matches!(task.status, Status::Failed { .. }) ",
            "{ \"pending\" } else { word(task) })",
        ),
        test: concat!(
            "shipmate/tests/playbooks/features_gate.rs",
            "::a_feature_that_never_gets_there_is_failed_with_the_reason_and_the_others_go_on",
        ),
    },
    // An `f` that is neither a list nor a text passes for an empty list.
    RowMutant {
        row: "R714",
        file: "crates/shipmate-protocol/src/plan_file/record.rs",
        find: "self.wrong_type(key, \"a list of texts\", \"[\\\"…\\\"]\")",
        replace: "if key != \"f\" { self.wrong_type(key, \"a list of texts\", \"[\\\"…\\\"]\") }",
        test: concat!(
            "shipmate-protocol/src/plan_file/tests/lines.rs",
            "::every_mistake_is_told_with_its_line_and_its_remedy",
        ),
    },
    // A claim does not look whether somebody else has taken the task since it was seen to be free.
    RowMutant {
        row: "R729",
        file: "crates/shipmate-core/src/task/claim.rs",
        find: "return Err(Refusal::AlreadyClaimed { task: id, by: claim.by.clone() })",
        replace: "()",
        test: "shipmate-testkit/tests/simulation.rs::every_guarantee_holds_under_every_fault",
    },
    // Whoever disappeared is shown without the reason.
    RowMutant {
        row: "R302",
        file: "crates/shipmate-core/src/life.rs",
        find: "format!(\"disappeared: {reason}\")",
        replace: "\"disappeared\".to_owned()",
        test: "shipmate-core/tests/scenario/teammates.rs::an_idle_teammate_always_has_a_reason",
    },
    // The time for an answer runs from the start of a life, though nothing was asked.
    RowMutant {
        row: "R303",
        file: "crates/shipmate-core/src/outstanding.rs",
        find: "observed.asked.get(&who)",
        replace: "observed.asked.get(&who).or(Some(&0))",
        test: concat!(
            "shipmate-core/tests/scenario/stalls.rs",
            "::a_supervisor_that_does_not_answer_in_time_is_lost",
        ),
    },
    // The time of a message is taken for microseconds and divided once too often.
    RowMutant {
        row: "R008",
        file: "crates/shipmate-coordinator/src/phases/artifact/talk.rs",
        find: "message.sent_at as f64 / 1000.0",
        replace: "message.sent_at as f64 / 1_000_000.0",
        test: concat!(
            "shipmate/tests/playbooks/board.rs",
            "::a_lead_and_three_teammates_go_through_the_whole_flow_and_its_files",
        ),
    },
    // A long text between two values is lost: the section on git ends behind its branch.
    RowMutant {
        row: "R664",
        file: "crates/shipmate-playbook/src/fill.rs",
        find: "filled.push_str(&rest[..open])",
        replace: "filled.push_str(if open > 150 { \"\" } else { &rest[..open] })",
        test: concat!(
            "shipmate/tests/playbooks/contract_first.rs",
            "::the_brief_of_a_layer_has_every_section_and_its_tree_has_the_contracts",
        ),
    },
    // What is done is called by the board's own word in the file of a task.
    RowMutant {
        row: "R112",
        file: "crates/shipmate-coordinator/src/phases/artifact/board.rs",
        find: "(\"done\", iso(task.changed_at))",
        replace: "(\"completed\", iso(task.changed_at))",
        test: concat!(
            "shipmate/tests/playbooks/delegate.rs",
            "::a_lead_with_seven_tools_has_the_work_done_and_its_files_tell_of_it",
        ),
    },
    // The lead is told with each task that ends, not once when all work has ended.
    RowMutant {
        row: "R150",
        file: "crates/shipmate-core/src/plan/done.rs",
        find: "open > ended.len()",
        replace: "false",
        test: concat!(
            "shipmate-core/tests/scenario/goals.rs",
            "::the_end_of_planned_work_is_told_once_and_asks_for_a_report",
        ),
    },
    // A layer owns the folders of tests that it shares, and not the one that is its own.
    RowMutant {
        row: "R621",
        file: "crates/shipmate-playbook/src/work/layers.rs",
        find: "(nested && !shared).then(|| folder.to_owned())",
        replace: "(nested && shared).then(|| folder.to_owned())",
        test: concat!(
            "shipmate-playbook/src/work/layers.rs",
            "::a_folder_of_tests_that_no_other_layer_uses_is_the_layers",
        ),
    },
    // A task that is not in the plan counts as a dependency that is met.
    RowMutant {
        row: "R708",
        file: "crates/shipmate-protocol/src/plan_file/graph.rs",
        find: "problems.add(place, fact, remedy)",
        replace: "if group.is_some() { problems.add(place, fact, remedy) }",
        test: concat!(
            "shipmate-protocol/src/plan_file/tests/lines.rs",
            "::every_mistake_is_told_with_its_line_and_its_remedy",
        ),
    },
    // All layers that name no agent get one teammate together.
    RowMutant {
        row: "R615",
        file: "crates/shipmate-playbook/src/work/layers.rs",
        find: "slug(own)",
        replace: "if agent.is_empty() { \"layer\".to_owned() } else { slug(own) }",
        test: concat!(
            "shipmate/tests/playbooks/contract_first.rs",
            "::three_layers_are_filled_in_side_by_side_and_integrated_by_the_lead",
        ),
    },
    // After a summary nobody says again who the agent is.
    RowMutant {
        row: "R042",
        file: "crates/shipmate-agent/src/context.rs",
        find: concat!(
            "format!(\n",
            "            \"[Your conversation was summarised to save room.]\\n\\n{}{task}\\n\\n",
            "Summary of what came \\\n",
            "             before:\\n{}\",\n",
            "            self.identity,\n",
            "            summary.trim()\n",
            "        )",
        ),
        replace: concat!(
            "format!(\"[Your conversation was summarised to save room.]{task}\\n\\n",
            "Summary of what came before:\\n{}\", summary.trim())",
        ),
        test: concat!(
            "shipmate-agent/tests/turn.rs",
            "::a_full_window_is_summarised_and_the_agent_still_knows_who_it_is_and_its_task",
        ),
    },
    // An absent `agent-teams` is taken for a closed gate: teams that were asked for are refused.
    RowMutant {
        row: "R940",
        file: "crates/shipmate/src/config/mode.rs",
        find: "agent_teams == Some(false)",
        replace: "agent_teams != Some(true)",
        test: "shipmate/src/config/mode.rs::every_row_of_the_table_holds",
    },
    // The order, with the life's token in it, can be read by everybody on the machine.
    RowMutant {
        row: "R143",
        file: "crates/shipmate-programs/src/order.rs",
        find: concat!(
            "OpenOptions::new()\n",
            "            .create(true)\n",
            "            .truncate(true)\n",
            "            .write(true)\n",
            "            .mode(0o600)\n",
            "            .open(self.0.join(\"order.json\"))",
        ),
        replace: concat!(
            "OpenOptions::new()\n",
            "            .create(true)\n",
            "            .truncate(true)\n",
            "            .write(true)\n",
            "            .mode(0o644)\n",
            "            .open(self.0.join(\"order.json\"))",
        ),
        test: concat!(
            "shipmate/tests/team/agents.rs",
            "::a_supervisor_is_this_program_and_what_it_has_to_know_is_its_owners_alone",
        ),
    },
    // Everybody is let go as soon as nobody works, though tasks are pending that may become theirs.
    RowMutant {
        row: "R027",
        file: "crates/shipmate-core/src/staff.rs",
        find: "team.counts.are_done()",
        replace: "team.counts.in_progress == 0",
        test: "shipmate-core/tests/scenario/staff.rs::nobody_is_let_go_while_a_task_is_open",
    },
    // A phase takes the lead's hands away and never gives them back: it stays in delegate mode.
    RowMutant {
        row: "R637",
        file: "crates/shipmate-core/src/phase/begin.rs",
        find: "state.teammates[who].profile.mode != mode",
        replace: "state.teammates[who].profile.mode != mode && mode == Mode::Delegate",
        test: concat!(
            "shipmate/tests/playbooks/contract_first.rs",
            "::three_layers_are_filled_in_side_by_side_and_integrated_by_the_lead",
        ),
    },
    // Whoever hands in and asks for the next task in the same step gets none.
    RowMutant {
        row: "R525",
        file: "crates/shipmate-coordinator/src/verbs/task.rs",
        find: "Some(Act::ClaimNext { lease_ms: self.lease_ms })",
        replace: "None",
        test: "shipmate/tests/cli/board.rs::a_task_is_handed_in_and_the_next_taken_in_one_step",
    },
    // The model of a role is passed over: its members have the team's usual one.
    RowMutant {
        row: "R422",
        file: "crates/shipmate-coordinator/src/phases/staff.rs",
        find: "[&post.kind.model, &role.model, &usual.model]",
        replace: "[&post.kind.model, &usual.model, &usual.model]",
        test: concat!(
            "shipmate/tests/playbooks/features_native.rs",
            "::a_large_feature_is_reviewed_into_a_file_and_a_small_one_is_not",
        ),
    },
    // A line about health names the team where the department belongs.
    RowMutant {
        row: "R317",
        file: "crates/shipmate-coordinator/src/phases/artifact/health.rs",
        find: "own.unwrap_or(sight.team)",
        replace: "sight.team",
        test: concat!(
            "shipmate/tests/playbooks/departments_ways.rs",
            "::a_department_whose_agents_die_goes_on_with_one_shots_and_the_others_as_they_were",
        ),
    },
    // A task is handed over as its bare subject, without the brief.
    RowMutant {
        row: "R123",
        file: "crates/shipmate-supervisor/src/brief.rs",
        find: "assignment(task, work, &how_to_end(task, work.alone))",
        replace: "task.row.subject.clone()",
        test: concat!(
            "shipmate-supervisor/src/brief/tests.rs",
            "::a_task_has_the_sections_that_whoever_does_it_needs",
        ),
    },
    // A phase whose time is written in minutes has no deadline.
    RowMutant {
        row: "R602",
        file: "crates/shipmate-playbook/src/compile.rs",
        find: "seconds.or(minutes.map(|minutes| minutes.saturating_mul(60)))",
        replace: "seconds",
        test: concat!(
            "shipmate-playbook/src/numbers.rs",
            "::contract_first_has_two_clocks_and_two_deadlines",
        ),
    },
    // Nobody is told of a teammate that disappeared.
    RowMutant {
        row: "R504",
        file: "crates/shipmate-core/src/health.rs",
        find: concat!(
            "match loss {\n",
            "        Loss::Unable => tell_unable(state, who, reason),\n",
            "        _ => {\n",
            "            let mut text = format!(\"{who} disappeared: {reason}\");\n",
            "            if given_up {\n",
            "                text.push_str(\n",
            "                    \"; [FALLBACK] it could not work in several lives ",
            "and is not started again by \\\n",
            "                     itself\",\n",
            "                );\n",
            "            }\n",
            "            mail::tell_lead_about(state, team, Some(&who.address), text)\n",
            "        }\n",
            "    }",
        ),
        replace: concat!(
            "match loss {\n",
            "        Loss::Unable => tell_unable(state, who, reason),\n",
            "        _ => None,\n",
            "    }",
        ),
        test: "shipmate-core/tests/scenario/breaker.rs::what_a_lost_teammate_held_is_free_once",
    },
    // What a team saves is the work divided by its pieces, whatever waits for what.
    RowMutant {
        row: "R529",
        file: "crates/shipmate-coordinator/src/phases/single_agent.rs",
        find: "all - path",
        replace: "all - all / work.items.len()",
        test: "shipmate-coordinator/src/phases/single_agent.rs::a_chain_saves_nothing",
    },
    // What was done about a conflict is not written into context_summary.md.
    RowMutant {
        row: "R491",
        file: "crates/shipmate-coordinator/src/phases/artifact/session.rs",
        find: r#"lines.push(format!("- resolution ({}): {taken}; {}", word("case"), line(word("note"))))"#,
        replace: "()",
        test: concat!(
            "shipmate/tests/playbooks/features_repair.rs",
            "::a_conflict_of_architecture_takes_both_back_and_gives_the_interface_one_owner",
        ),
    },
    // The supervisor answers a shutdown request with an error, though nothing is left.
    RowMutant {
        row: "R128",
        file: "crates/shipmate-supervisor/src/lib.rs",
        find: "ShutdownAnswer::Clean",
        replace: r#"ShutdownAnswer::Error { reason: "asked to stop".to_owned() }"#,
        test: "shipmate/tests/team/shutdowns.rs::who_is_idle_stops_at_once_and_cleanly",
    },
    // The commands of a gate lose their pipefail: a failing test behind a pipe passes.
    RowMutant {
        row: "R805",
        file: "crates/shipmate-coordinator/src/demands/gates.rs",
        find: "fill::fill(line, values)",
        replace: r#"fill::fill(line, values).replace("-o pipefail ", "")"#,
        test: concat!(
            "shipmate/tests/playbooks/features_gate.rs",
            "::a_failing_test_behind_a_pipe_keeps_a_feature_from_passing",
        ),
    },
    // A route leads into other teams too, whether it says so or not.
    RowMutant {
        row: "R254",
        file: "crates/shipmate-core/src/route.rs",
        find: "route.across || !across",
        replace: "true",
        test: "shipmate-core/tests/scenario/routes.rs::between_teams_only_what_says_so_leads",
    },
    // A hook that ends with any other code than 0 and 2 is ignored.
    RowMutant {
        row: "R783",
        file: "crates/shipmate-coordinator/src/hooks/fire.rs",
        find: "How::Failed(exit)",
        replace: "How::Accepted",
        test: "shipmate-coordinator/src/hooks/tests.rs::every_row_of_the_documented_table_holds",
    },
    // Whoever waits for mail is woken without it.
    RowMutant {
        row: "R103",
        file: "crates/shipmate-coordinator/src/board/decide.rs",
        find: "What::Answer(Ok(Answer::Messages(unread)))",
        replace: concat!(
            "What::Answer(Ok(match &job.ask {\n",
            "    Ask::InboxRead { wait: true, .. } => Answer::Unchanged,\n",
            "    _ => Answer::Messages(unread),\n",
            "}))",
        ),
        test: concat!(
            "shipmate/tests/coordinator.rs",
            "::a_waiting_reader_hears_of_mail_and_a_waiting_claimer_of_work",
        ),
    },
    // The doctor tries only the hooks that can say no.
    RowMutant {
        row: "R479",
        file: "crates/shipmate-coordinator/src/errand.rs",
        find: r#"hooked::fire_all(settings, "", &hooks, &sample, (&cwd, &BTreeMap::new())).await"#,
        replace: concat!(
            "{\n",
            "    let none = crate::hooks::Hooks::default();\n",
            "    let own = if event.is_gate() { &hooks } else { &none };\n",
            "    hooked::fire_all(settings, \"\", own, &sample, (&cwd, &BTreeMap::new())).await\n",
            "}",
        ),
        test: "shipmate/tests/cli/doctor.rs::every_hook_is_tried_and_a_broken_one_is_a_problem",
    },
    // The lead is not told of a deleted task that others wait for.
    RowMutant {
        row: "R913",
        file: "crates/shipmate-core/src/task/change.rs",
        find: "!waiting.is_empty()",
        replace: "false",
        test: concat!(
            "shipmate-core/tests/scenario/dependencies.rs",
            "::a_deleted_blocker_keeps_its_dependents_and_the_lead_is_told",
        ),
    },
    // A task that there is once in a phase has no description: nothing says how contracts are written.
    RowMutant {
        row: "R662",
        file: "crates/shipmate-coordinator/src/phases/tasks.rs",
        find: "fill(&template.description, &values)",
        replace: concat!(
            "match template.each {\n",
            "    Each::Once => String::new(),\n",
            "    _ => fill(&template.description, &values),\n",
            "}",
        ),
        test: concat!(
            "shipmate/tests/playbooks/contract_first.rs",
            "::three_layers_are_filled_in_side_by_side_and_integrated_by_the_lead",
        ),
    },
];
