//! From the state to what a front end shows.

pub(crate) mod handoff;
pub(crate) mod look;

use shipmate_core::state::Standing;
use shipmate_core::state::{
    Account, Booked, BreakerPhase, Decision, Life, Message, Plan, Stage, State,
    Status as TaskStatus, Task, Team, TeamPhase, Teammate,
};
use shipmate_core::{Obstacle, account, is_another_model, lives_on, obstacles};
use shipmate_model::account::moment;
use shipmate_model::event::{Dependency, Supervision, Verification};
use shipmate_model::phase::PhaseEnd;
use shipmate_model::playbook::Phase;
use shipmate_model::profile::StartRule;
use shipmate_model::refusal::Refusal;
use shipmate_model::usage::Usage;
use shipmate_model::{Address, Name, PlannedWork};
use shipmate_protocol::view::{
    AccountView, BreakerState, Counts, HostView, InboxMessage, ParkedView, PauseView, PhaseState,
    PhaseView, PlanState, PlanView, PlannedTaskView, PlannedTeammateView, QuestionState,
    QuestionView, Status, TaskRow, TaskStage, TaskView, TeamState, TeamView, TeammateState,
    TeammateView, WorkView,
};

use crate::clock::wall_ms;
use crate::signs::Signs;

pub(crate) fn row(state: &State, task: &Task) -> TaskRow {
    let found = obstacles(state, task);
    let stands_in_the_way =
        |o: &Obstacle| matches!(o, Obstacle::Blocked { .. } | Obstacle::FilesHeld { .. });
    let claim = task.claim();
    TaskRow {
        id: task.id,
        subject: task.spec.subject.clone(),
        status: task.shown(),
        stage: claim.map(|claim| stage(&claim.stage)),
        owner: owner(task),
        available: task.status == TaskStatus::Pending && !found.iter().any(stands_in_the_way),
        blocked: found.iter().any(|o| matches!(o, Obstacle::Blocked { .. })),
        why: why(state, task, &found),
        blocked_by: task.spec.blocked_by.iter().map(dependency).collect(),
        alias: task.spec.alias.as_ref().map(ToString::to_string),
        group: task.spec.group.as_ref().map(ToString::to_string),
        priority: task.spec.priority,
        team: task.team.to_string(),
    }
}

fn why(state: &State, task: &Task, found: &[Obstacle]) -> Vec<String> {
    let mut why: Vec<String> = found.iter().map(ToString::to_string).collect();
    match &task.status {
        TaskStatus::Failed { reason } => why.push(format!("failed: {reason}")),
        TaskStatus::InProgress(claim) => {
            if let Stage::Returned { reason } = &claim.stage {
                why.push(format!("came back: {reason}"));
            }
            if let Some(question) = task.scope_question {
                why.push(format!("waits for the answer to question {question}"));
            }
            let is_open =
                |plan: &&Plan| plan.task == Some(task.id) && plan.decision == Decision::Open;
            if let Some((id, _)) = state.plans.iter().rev().find(|(_, plan)| is_open(plan)) {
                why.push(format!("waits for a word on plan {id}"));
            }
        }
        _ => {}
    }
    why
}

fn owner(task: &Task) -> Option<String> {
    match &task.status {
        TaskStatus::InProgress(claim) => Some(claim.by.to_string()),
        TaskStatus::Completed { by, .. } => by.as_ref().map(ToString::to_string),
        _ => None,
    }
}

fn stage(stage: &Stage) -> TaskStage {
    match stage {
        Stage::Claimed => TaskStage::Claimed,
        Stage::Submitted { .. } => TaskStage::Submitted,
        Stage::Returned { .. } => TaskStage::Returned,
    }
}

fn dependency(on: &Dependency) -> String {
    match on {
        Dependency::Task(id) => id.to_string(),
        Dependency::Group(name) => format!("group:{name}"),
    }
}

pub(crate) fn task(state: &State, task: &Task) -> TaskView {
    let (commit, result) = match &task.status {
        TaskStatus::Completed { commit, result, .. } => (commit.clone(), Some(result.clone())),
        TaskStatus::InProgress(claim) => match &claim.stage {
            Stage::Submitted { commit, result } => (commit.clone(), Some(result.clone())),
            _ => (None, None),
        },
        _ => (None, None),
    };
    let spec = &task.spec;
    let priors = handoff::priors(state, task);
    TaskView {
        row: row(state, task),
        description: spec.description.clone(),
        active_form: spec.active_form.clone(),
        files: spec.files.iter().map(ToString::to_string).collect(),
        role: spec.role.as_ref().map(ToString::to_string),
        assignee: spec.assignee.as_ref().map(ToString::to_string),
        blocks: task.dependents.clone(),
        duration_ms: spec.duration_ms,
        path_ms: task.path_ms,
        retries: task.retries,
        retries_max: spec.retries_max,
        last_failure: task.last_failure.clone(),
        failure_by: task.failure_by.as_ref().map(ToString::to_string).unwrap_or_default(),
        same_failures: task.same_failures,
        metadata: spec.metadata.clone(),
        token: task.claim().map(|claim| claim.token),
        lease_ms: task.claim().and_then(|claim| claim.lease_ms),
        commit,
        result: result.filter(|result| !result.is_empty()),
        handoff: task.handoff.as_ref().map(|handed| handed.handoff.clone()),
        handoffs: priors.told,
        handoffs_left_out: priors.left_out,
        handoffs_left_out_count: priors.left_out_count,
        notes: handoff::notes(state, task),
        set_aside: task.set_aside.iter().map(|kept| format!("{}: {kept}", kept.who)).collect(),
        created_by: task.created_by.to_string(),
        created_at: task.created_at,
        changed_at: task.changed_at,
    }
}

pub(crate) fn team(state: &State, name: &Name) -> TeamView {
    let team = &state.teams[name];
    let counts = &team.counts;
    TeamView {
        name: name.to_string(),
        parent: team.parent.as_ref().map(ToString::to_string),
        description: team.description.clone(),
        phase: match team.phase {
            TeamPhase::Active => TeamState::Active,
            TeamPhase::Ending => TeamState::Ending,
            TeamPhase::Deleted => TeamState::Deleted,
        },
        lead: team.lead.as_ref().map(ToString::to_string),
        gate: team.verification == Verification::Gate,
        teammates: state.members_of(name).count(),
        running: state.members_of(name).filter(|(_, mate)| mate.is_running()).count(),
        tasks: Counts {
            pending: counts.pending,
            in_progress: counts.in_progress,
            completed: counts.completed,
            failed: counts.failed,
            deleted: counts.deleted,
        },
        paused: team.paused.as_ref().map(|pause| pause.reason.clone()),
        pause: team.paused.as_ref().map(PauseView::of),
        base: team.setup.trees.as_ref().map(|trees| trees.base.clone()),
        branch: team
            .setup
            .trees
            .as_ref()
            .map(|_| crate::team_branch::branch(team.setup.branch(name))),
        breaker: match team.breaker.phase {
            BreakerPhase::Closed => BreakerState::Closed,
            BreakerPhase::Open { .. } => BreakerState::Open,
            BreakerPhase::HalfOpen { .. } => BreakerState::HalfOpen,
        },
        tokens_used: team.usage.tokens(),
        cost_micros: team.usage.cost_micros,
        tokens_unpriced: sum(state, name, |mate| unpriced(state, mate, false)),
        cost_notional_micros: sum(state, name, |mate| by_windows(state, mate).cost_micros),
        tokens_subscription: sum(state, name, |mate| by_windows(state, mate).tokens()),
        tokens_subscription_unpriced: sum(state, name, |mate| unpriced(state, mate, true)),
        tokens_estimated: team.usage.tokens_estimated,
        tokens_max: team.budget.tokens_max,
        window_max: team.budget.window_max,
        window_used: team.budget.window_max.map(|_| window_used(state, below(state, name))),
        cost_micros_max: team.budget.cost_micros_max,
        playbook: team.setup.playbook.as_ref().map(|playbook| playbook.name.to_string()),
        phases: phases(team),
        agent: team.setup.agent.clone(),
        model: team.setup.model.clone(),
        lead_tools: lead_tools(team),
    }
}

/// Over its teammates, and those of the teams below it.
fn sum(state: &State, team: &Name, of: impl Fn(&Teammate) -> u64) -> u64 {
    below(state, team).map(of).sum()
}

fn below<'a>(state: &'a State, team: &'a Name) -> impl Iterator<Item = &'a Teammate> {
    let is_below = move |name: &Name| {
        let parent = |name: &&Name| state.teams[*name].parent.as_ref();
        std::iter::successors(Some(name), parent).any(|above| above == team)
    };
    let mates = state.teammates.iter().filter(move |(who, _)| is_below(&who.team));
    mates.map(|(_, mate)| mate)
}

/// Of the windows that its teammates' accounts have, how far the one has moved that has moved most.
fn window_used<'a>(state: &State, mates: impl Iterator<Item = &'a Teammate>) -> u32 {
    let accounts = mates.filter_map(|mate| state.accounts.get(mate.account.as_ref()?));
    let shares = accounts.flat_map(|account| account.moved.shares());
    shares.map(|(_, used)| used).max().unwrap_or_default()
}

fn lead_tools(team: &Team) -> Vec<String> {
    let playbook = team.setup.playbook.as_ref();
    let lead = playbook.and_then(|playbook| playbook.lead());
    lead.map(|(_, role)| role.tools.clone()).unwrap_or_default()
}

fn phases(team: &Team) -> Vec<PhaseView> {
    let (Some(playbook), Some(course)) = (&team.setup.playbook, &team.course) else {
        return Vec::new();
    };
    let view = |phase: &Phase| {
        let (state, why) = match (&course.standing, course.end_of(&phase.name)) {
            (Standing::Waiting { missing }, _) if course.phase == phase.name => {
                // What a pause holds up has not been looked at since.
                let paused = team.paused.as_ref().map(|pause| pause.describe());
                let paused = paused.as_deref().and_then(|reason| reason.lines().next());
                let paused = paused.map(|reason| format!("the team is paused: {reason}"));
                let why: Vec<String> = missing.iter().cloned().chain(paused).collect();
                (PhaseState::Waits, why.join("; "))
            }
            (Standing::Running { left_to_lead, awaits, .. }, _) if course.phase == phase.name => {
                let lead = left_to_lead.map(|_| "left to the lead".to_owned());
                let open = (!awaits.is_empty()).then(|| format!("waits: {}", awaits.join("; ")));
                (PhaseState::Runs, lead.into_iter().chain(open).collect::<Vec<_>>().join("; "))
            }
            (_, None) => (PhaseState::Ahead, String::new()),
            (_, Some(PhaseEnd::Done { note })) => (PhaseState::Done, note.clone()),
            (_, Some(PhaseEnd::Skipped { reason })) => (PhaseState::Skipped, reason.clone()),
            (_, Some(PhaseEnd::Failed { reason })) => (PhaseState::Failed, reason.clone()),
            (_, Some(PhaseEnd::Passed { reason })) => (PhaseState::Passed, reason.clone()),
            (_, Some(PhaseEnd::Back { reason, .. })) => (PhaseState::Back, reason.clone()),
        };
        PhaseView {
            name: phase.name.to_string(),
            title: phase.title.clone(),
            state,
            round: course.rounds.get(&phase.name).copied().unwrap_or_default(),
            why,
            optional: phase.optional,
        }
    };
    playbook.course().map(view).collect()
}

pub(crate) fn teams(state: &State) -> Vec<TeamView> {
    let shown = state.teams.iter().filter(|(_, team)| team.phase != TeamPhase::Deleted);
    shown.map(|(name, _)| team(state, name)).collect()
}

pub(crate) fn teammate(
    state: &State,
    address: &Address,
    mate: &Teammate,
    signs: &Signs,
) -> TeammateView {
    let (state_now, why) = presence(state, address, mate);
    let sign = signs.of(address, mate.epoch);
    let context = sign.and_then(|sign| sign.context);
    let waits = sign.and_then(|sign| sign.waits_until).filter(|until| *until > wall_ms());
    let why = match waits.filter(|_| state_now == TeammateState::Active) {
        Some(until) => format!("{why}, waits for its model's provider until {}", moment(until)),
        None => why,
    };
    let definition = mate.profile.definition.as_ref();
    TeammateView {
        name: address.name.to_string(),
        team: address.team.to_string(),
        lead: mate.is_lead(),
        epoch: mate.epoch,
        state: state_now,
        why,
        role: mate.profile.role.as_ref().map(ToString::to_string),
        agent: mate.profile.agent.clone(),
        model: mate.profile.model.clone(),
        mode: mate.profile.mode,
        from: definition.map(|one| one.source.clone()).unwrap_or_default(),
        unheld: definition.map(|one| one.unheld.clone()).unwrap_or_default(),
        tools: state.role(address).map(|(_, role)| role.tools.clone()).unwrap_or_default(),
        scope: mate.profile.scope.iter().map(ToString::to_string).collect(),
        holds: mate.holds.iter().copied().collect(),
        submitted: mate.submitted.iter().copied().collect(),
        returned: mate.returned.iter().copied().collect(),
        unread: mate.inbox.len(),
        tasks_max: mate.profile.tasks_max,
        tokens_used: mate.usage.tokens(),
        cost_micros: mate.usage.cost_micros,
        tokens_unpriced: unpriced(state, mate, false),
        tokens_subscription_unpriced: unpriced(state, mate, true),
        cost_notional_micros: by_windows(state, mate).cost_micros,
        tokens_subscription: by_windows(state, mate).tokens(),
        subscription: pays_by_windows(state, mate.account.as_ref()),
        tokens_estimated: mate.usage.tokens_estimated,
        tokens_max: mate.budget.tokens_max,
        cost_micros_max: mate.budget.cost_micros_max,
        window_max: mate.budget.window_max,
        window_used: mate.budget.window_max.map(|_| window_used(state, [mate].into_iter())),
        model_used: mate.model.clone(),
        other_model: is_another_model(&mate.profile.model, &mate.model),
        fallback: mate.profile.fallback.as_ref().map(|it| it.name().to_owned()).unwrap_or_default(),
        instead_of: mate.fallen.as_ref().map(|it| it.choice.name().to_owned()).unwrap_or_default(),
        host: mate.host.as_ref().map(ToString::to_string),
        place: mate.profile.place.clone(),
        command: mate.profile.command.clone(),
        supervision: mate.supervision,
        session: mate.session.clone(),
        account: mate.account.as_ref().map(ToString::to_string),
        fence: mate.fence.clone(),
        last_words: sign.map(|sign| sign.last_words.clone()).unwrap_or_default(),
        silent_ms: sign.map(|sign| sign.at.elapsed().as_millis() as u64),
        pid: sign.and_then(|sign| sign.pid),
        sign_at: sign.map(|sign| sign.at_ms),
        context_used: context.map(|context| context.used),
        context_max: context.and_then(|context| context.max),
    }
}

/// The account is a subscription's: what a program says in dollars is what a key would have paid.
fn pays_by_windows(state: &State, account: Option<&Name>) -> bool {
    account.and_then(|name| state.accounts.get(name)).is_some_and(Account::is_subscription)
}

/// What it used where nobody pays by the token, by the account that it had then.
fn by_windows(state: &State, mate: &Teammate) -> Usage {
    let is_meant = |one: &&Booked| pays_by_windows(state, one.account.as_ref());
    let meant = mate.booked.iter().filter(is_meant);
    meant.fold(Usage::default(), |sum, one| sum.plus(&one.usage))
}

/// Tokens whose price is not known: those of accounts with windows, or those that somebody pays for.
fn unpriced(state: &State, mate: &Teammate, windows: bool) -> u64 {
    let is_meant = |one: &&Booked| pays_by_windows(state, one.account.as_ref()) == windows;
    mate.booked.iter().filter(is_meant).map(|one| one.unpriced.tokens).sum()
}

fn presence(state: &State, who: &Address, mate: &Teammate) -> (TeammateState, String) {
    let held = || {
        let ids: Vec<String> = mate.holds.iter().map(ToString::to_string).collect();
        format!("task {}", ids.join(", "))
    };
    match &mate.life {
        Life::Added => {
            let why = waits_for_account(state, who, mate);
            (TeammateState::Added, why.unwrap_or_else(|| "not started".to_owned()))
        }
        Life::Disappeared { reason } if mate.is_given_up() => {
            (TeammateState::Failed, format!("{reason}; mend that, then `shipmate resume`"))
        }
        Life::Disappeared { reason } => (TeammateState::Disappeared, reason.clone()),
        Life::Stopped { outcome } => {
            let why = waits_for_account(state, who, mate);
            (TeammateState::Stopped, why.unwrap_or_else(|| outcome.to_string()))
        }
        Life::Removed => (TeammateState::Removed, String::new()),
        Life::Running if mate.shutdown.is_some() => {
            (TeammateState::Stopping, "asked to shut down".to_owned())
        }
        Life::Running => match &mate.paused {
            Some(pause) => (TeammateState::Paused, pause.describe_for(who)),
            None if mate.holds.is_empty() => match held_by_account(state, who, mate) {
                Some(why) => (TeammateState::Parked, why),
                None => (TeammateState::Idle, mate.idle.clone().unwrap_or_default()),
            },
            None => (TeammateState::Active, held()),
        },
    }
}

/// The same of somebody whom the runtime would start otherwise.
fn waits_for_account(state: &State, who: &Address, mate: &Teammate) -> Option<String> {
    let waits = state.teams[&who.team].counts.pending > 0
        && mate.profile.start == StartRule::WhenNeeded
        && !mate.dismissed;
    held_by_account(state, who, mate).filter(|_| waits)
}

/// Why its account lets it take nothing now.
fn held_by_account(state: &State, who: &Address, mate: &Teammate) -> Option<String> {
    account::held_back(state, who, mate)?.held_by_account()
}

/// What the agents of teammates ask their models with.
pub(crate) fn accounts(state: &State) -> Vec<AccountView> {
    let resumes = account::caps(state).resumes;
    let views = state.accounts.iter().map(|(name, account)| {
        let own = |mate: &Teammate| mate.account.as_ref() == Some(name);
        let mates = state.teammates.iter().filter(|(_, mate)| own(mate));
        let there = mates.filter(|(_, mate)| mate.life != Life::Removed);
        let held = held(state, name, account);
        AccountView {
            name: name.to_string(),
            teammates: there.map(|(who, _)| who.to_string()).collect(),
            windows: account.windows.clone(),
            parked: account.parked.as_ref().map(|parked| ParkedView {
                at: parked.at,
                until: parked.until,
                told: parked.told,
                reason: parked.reason.clone(),
                resumes,
            }),
            held_until: held.as_ref().and_then(Refusal::held_until),
            held: held.as_ref().and_then(Refusal::held_by_account),
            closed: account::is_closed(state, account),
            tokens_used: account.usage.tokens(),
            cost_micros: account.usage.cost_micros,
            subscription: account.is_subscription(),
        }
    });
    views.collect()
}

/// Why the first of those who ask with it takes no task, where it is not parked as a whole.
fn held(state: &State, name: &Name, account: &Account) -> Option<Refusal> {
    let own = |mate: &Teammate| mate.account.as_ref() == Some(name) && mate.life != Life::Removed;
    let mut mates = state.teammates.iter().filter(|(_, mate)| own(mate));
    let by_account = |why: &Refusal| why.held_by_account().is_some();
    let held =
        || mates.find_map(|(who, mate)| account::held_back(state, who, mate).filter(by_account));
    account.parked.is_none().then(held).flatten()
}

/// The machines that share the tree.
pub(crate) fn hosts(state: &State, here: Option<&Name>, signs: &Signs) -> Vec<HostView> {
    let views = state.hosts.iter().map(|(name, host)| {
        let lives: Vec<(&Address, &Teammate)> = lives_on(state, name).collect();
        let takes = |(_, mate): &&(&Address, &Teammate)| mate.supervision != Supervision::None;
        HostView {
            name: name.to_string(),
            state: host.state,
            home: state.home.as_ref() == Some(name),
            here: here == Some(name),
            slots: host.spec.slots,
            taken: lives.iter().filter(takes).count() as u32,
            teammates: lives.iter().map(|(who, _)| who.to_string()).collect(),
            labels: host.spec.labels.iter().map(ToString::to_string).collect(),
            programs: host.spec.programs.iter().cloned().collect(),
            release: host.spec.release.clone(),
            lacks: host.spec.lacks.iter().cloned().collect(),
            silent_ms: signs.silence_ms(name),
            sign_at: signs.heard_at_ms(name),
        }
    });
    views.collect()
}

pub(crate) fn status(state: &State, here: Option<&Name>, log: &str, signs: &Signs) -> Status {
    let present = |(_, mate): &(&Address, &Teammate)| mate.life != Life::Removed;
    Status {
        root: state.root.as_ref().map(ToString::to_string).unwrap_or_default(),
        position: state.position,
        teams: teams(state),
        teammates: state
            .teammates
            .iter()
            .filter(present)
            .map(|(who, mate)| teammate(state, who, mate, signs))
            .collect(),
        hosts: hosts(state, here, signs),
        accounts: accounts(state),
        available: shipmate_core::available(state, 20),
        nobody_takes: shipmate_core::nobody_takes(state),
        open_plans: state.plans.values().filter(|p| p.decision == Decision::Open).count(),
        open_questions: state.questions.values().filter(|q| q.is_open()).count(),
        unread_by_person: state.person_inbox.len(),
        log: log.to_owned(),
        queue: signs.queue.clone(),
    }
}

pub(crate) fn message(id: u64, message: &Message) -> InboxMessage {
    InboxMessage {
        id,
        from: message.from.to_string(),
        kind: message.kind.word().to_owned(),
        body: message.body.clone(),
        reply_to: message.reply_to,
        sent_at: message.sent_at,
    }
}

pub(crate) fn plans(state: &State, all: bool) -> Vec<PlanView> {
    let shown = state.plans.iter().filter(|(_, plan)| all || plan.decision == Decision::Open);
    let view = shown.map(|(id, plan)| {
        let (state, feedback) = match &plan.decision {
            Decision::Open => (PlanState::Open, None),
            Decision::Approved { .. } => (PlanState::Approved, None),
            Decision::Rejected { feedback, .. } => (PlanState::Rejected, Some(feedback.clone())),
            Decision::Withdrawn => (PlanState::Withdrawn, None),
        };
        PlanView {
            id: *id,
            who: plan.who.to_string(),
            task: plan.task,
            body: plan.body.clone(),
            state,
            unworkable: matches!(plan.decision, Decision::Rejected { unworkable: true, .. }),
            feedback,
            submitted_at: plan.submitted_at,
            work: plan.work.as_deref().map(|work| Box::new(planned(work))),
        }
    });
    view.collect()
}

pub(crate) fn planned(work: &PlannedWork) -> WorkView {
    let (path, critical_path_ms) = work.critical_path();
    let key = |at: &usize| work.tasks[*at].key.clone();
    let tasks = work.tasks.iter().map(|task| PlannedTaskView {
        key: task.key.clone(),
        subject: task.spec.subject.clone(),
        description: task.spec.description.clone(),
        files: task.spec.files.iter().map(ToString::to_string).collect(),
        blocked_by: task.after.iter().map(key).collect(),
        role: task.spec.role.as_ref().map(ToString::to_string),
        assignee: task.spec.assignee.as_ref().map(ToString::to_string),
        duration_ms: task.spec.duration_ms,
    });
    let teammates = work.teammates.iter().map(|mate| PlannedTeammateView {
        name: mate.name.to_string(),
        role: mate.profile.role.as_ref().map(ToString::to_string),
        agent: mate.profile.agent.clone(),
        model: mate.profile.model.clone(),
        command: mate.profile.command.clone(),
        scope: mate.profile.scope.iter().map(ToString::to_string).collect(),
        mode: mate.profile.mode,
        place: mate.profile.place.clone(),
    });
    WorkView {
        tasks: tasks.collect(),
        teammates: teammates.collect(),
        single: work.single.clone(),
        width: work.width(),
        critical_path: path.iter().map(key).collect(),
        critical_path_ms,
    }
}

pub(crate) fn questions(state: &State, all: bool) -> Vec<QuestionView> {
    let shown = state.questions.iter().filter(|(_, question)| all || question.is_open());
    let view = shown.map(|(id, question)| QuestionView {
        id: *id,
        who: question.who.to_string(),
        kind: question.kind,
        text: question.text.clone(),
        options: question.options.clone(),
        state: match (&question.answer, question.withdrawn) {
            (Some(_), _) => QuestionState::Answered,
            (None, true) => QuestionState::Withdrawn,
            (None, false) => QuestionState::Open,
        },
        answer: question.answer.as_ref().map(|(_, answer)| answer.clone()),
        asked_at: question.asked_at,
    });
    view.collect()
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn what_was_used_with_a_subscription_and_with_a_key_is_told_apart_after_a_fall_over() {
        let used = |tokens: u64, micros: u64, epoch: u32| {
            let usage = json!({ "tokens_in": tokens, "cost_micros": micros });
            json!({ "usage.recorded": { "who": format!("alpha/ana@{epoch}"), "usage": usage } })
        };
        let account = |account: &str, subscription: bool| {
            let fields =
                json!({ "who": "alpha/ana", "account": account, "subscription": subscription });
            json!({ "teammate.account": fields })
        };
        let started = |epoch: u32| {
            let who = format!("alpha/ana@{epoch}");
            json!({ "teammate.started": { "who": who, "token_hash": "h" } })
        };
        let other = json!({ "agent": "native", "model": "m" });
        let events = [
            json!({ "team.created": { "team": "alpha" } }),
            json!({ "teammate.added": { "who": "alpha/ana", "profile": { "agent": "claude" } } }),
            started(1),
            account("claude-1", true),
            used(10, 500, 1),
            used(2, 0, 1),
            json!({ "teammate.fell_over": { "who": "alpha/ana", "choice": other, "back": false } }),
            json!({ "teammate.stopped": { "who": "alpha/ana@1", "outcome": "clean" } }),
            started(2),
            account("native-1", false),
            used(4, 30, 2),
            used(3, 0, 2),
        ];
        let mut state = State::default();
        for (n, event) in events.into_iter().enumerate() {
            let record = json!({ "n": n + 1, "at": n, "by": "runtime", "event": event });
            shipmate_core::apply(&mut state, &serde_json::from_value(record).expect("a record"));
        }
        let (who, mate) = state.teammates.first_key_value().expect("ana was added");
        let ana = teammate(&state, who, mate, &Signs::default());
        let team = team(&state, &who.team);
        let of_ana = (ana.tokens_used, ana.cost_micros, ana.tokens_unpriced);
        assert_eq!(of_ana, (19, 530, 3));
        assert_eq!((ana.tokens_subscription, ana.cost_notional_micros), (12, 500));
        let unknown = (ana.tokens_subscription_unpriced, team.tokens_subscription_unpriced);
        assert_eq!(unknown, (2, 2), "of those, what a key would have paid is not known");
        assert!(!ana.subscription, "its account has a price now");
        let of_team = (team.tokens_used, team.cost_micros, team.tokens_unpriced);
        assert_eq!(of_team, of_ana);
        assert_eq!((team.tokens_subscription, team.cost_notional_micros), (12, 500));
        let accounts = accounts(&state);
        let shown = accounts.iter().map(|one| (one.name.as_str(), one.subscription));
        assert_eq!(shown.collect::<Vec<_>>(), [("claude-1", true), ("native-1", false)]);
    }
}
