//! A lead's plan, when it comes: shown once, and decided by whoever is there to decide it.

use std::io::IsTerminal;

use shipmate_protocol::verbs;
use shipmate_protocol::view::PlanView;

use crate::cli::failure::Failure;
use crate::cli::plan::work;
use crate::cli::screen::plain;
use crate::cli::session::Session;

/// What a person wants done with a plan.
#[derive(Debug, Clone, PartialEq, Eq)]
enum Wish {
    Approve,
    Reject(String),
    Stop,
    /// Decided elsewhere, or later.
    Leave,
}

/// What became of it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Decided {
    GoesOn,
    /// The person wants no more of it.
    Stop,
}

/// Shows a plan and decides it, as far as somebody is there.
pub(super) fn decide(
    plan: u64,
    yes: bool,
    session: &mut Session,
    ask: &mut dyn FnMut(&str) -> Option<String>,
) -> Result<Decided, Failure> {
    let plans = session.ask(verbs::Plans { all: false })?;
    // Decided, or replaced by another, before it could be looked at.
    let Some(plan) = plans.into_iter().find(|open| open.id == plan) else {
        return Ok(Decided::GoesOn);
    };
    show(&plan, session)?;
    let terminal = std::io::stdin().is_terminal() && std::io::stdout().is_terminal();
    let wish = match (yes, terminal && !session.screen.json) {
        (true, _) => Wish::Approve,
        (false, true) => ask_person(ask),
        (false, false) => Wish::Leave,
    };
    let id = plan.id;
    match wish {
        Wish::Approve => return approve(&plan, yes, session),
        Wish::Reject(feedback) => {
            let answer = session.ask(verbs::PlanReject { plan: id, feedback, unworkable: false });
            print_refusal(answer, session)?;
        }
        Wish::Stop => return Ok(Decided::Stop),
        Wish::Leave => commands(id, session)?,
    }
    Ok(Decided::GoesOn)
}

/// A teammate's plan that was approved before it came.
pub(super) fn approve_teammate_plan(plan: u64, session: &mut Session) -> Result<(), Failure> {
    let answer = session.ask(verbs::PlanApprove { plan });
    print_refusal(answer, session)
}

fn show(plan: &PlanView, session: &Session) -> Result<(), Failure> {
    let screen = &session.screen;
    if screen.json {
        return screen.json(&serde_json::json!({ "plan": plan }));
    }
    let mut text = screen.quote(&format!("plan {} of the lead", plan.id), &plan.body);
    for line in plan.work.iter().flat_map(|planned| work::lines(planned)) {
        text.push_str(&format!("{line}\n"));
    }
    screen.print(&text)
}

/// How often a plan goes back by itself.
const SENT_BACK_MAX: usize = 3;

/// By itself: what cannot be approved goes back to the lead with the reason.
fn approve(plan: &PlanView, yes: bool, session: &mut Session) -> Result<Decided, Failure> {
    let (id, lead) = (plan.id, seat(&plan.who));
    let answer = session.ask(verbs::PlanApprove { plan: id });
    let is_away = answer.as_ref().is_err_and(Failure::is_away);
    let refused = answer.as_ref().err().and_then(|failure| failure.refused()).cloned();
    if is_away {
        return answer.map(|_| Decided::GoesOn);
    }
    let Some(refused) = refused.filter(|_| yes) else {
        return print_refusal(answer, session).map(|()| Decided::GoesOn);
    };
    let feedback = format!("it cannot be carried out: {}", refused.one_line());
    let plans = session.ask(verbs::Plans { all: true })?;
    let is_ours = |plan: &&PlanView| seat(&plan.who) == lead && plan.unworkable;
    if plans.iter().filter(is_ours).count() >= SENT_BACK_MAX {
        print_refusal(answer, session)?;
        return Ok(Decided::Stop);
    }
    let answer = session.ask(verbs::PlanReject { plan: id, feedback, unworkable: true });
    print_refusal(answer, session).map(|()| Decided::GoesOn)
}

/// `team/name`, whichever of its lives it was.
fn seat(who: &str) -> &str {
    who.split('@').next().unwrap_or(who)
}

/// Somebody else was faster, say: the run goes on either way.
fn print_refusal<T>(answer: Result<T, Failure>, session: &Session) -> Result<(), Failure> {
    match answer {
        Ok(_) => Ok(()),
        // Asked again when it can be answered.
        Err(failure) if failure.is_away() => Err(failure),
        Err(failure) => match failure.refused() {
            Some(refused) if !session.screen.json => {
                session.screen.line(&format!("refused: {}", plain(&refused.one_line())))
            }
            Some(_) => Ok(()),
            None => Err(failure),
        },
    }
}

fn commands(id: u64, session: &Session) -> Result<(), Failure> {
    if session.screen.json {
        return Ok(());
    }
    let own = session.command_for(Some(session.client.team.as_deref().unwrap_or_default()));
    session.screen.line(&format!(
        "it waits for you:\n  {own} plan approve {id}\n  {own} plan reject {id} \"what to change\""
    ))
}

/// `ask` shows its text and gives a line, or nothing when there are no more.
fn ask_person(ask: &mut dyn FnMut(&str) -> Option<String>) -> Wish {
    loop {
        let Some(line) = ask("[a]pprove, [r]eject with feedback, or [s]top? ") else {
            return Wish::Leave;
        };
        match line.chars().next().map(|c| c.to_ascii_lowercase()) {
            Some('a' | 'y') => return Wish::Approve,
            Some('s') => return Wish::Stop,
            Some('r') => match ask("what should change? ") {
                Some(feedback) if !feedback.is_empty() => return Wish::Reject(feedback),
                Some(_) => {}
                None => return Wish::Leave,
            },
            _ => {}
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn wish(typed: &str) -> Wish {
        let mut lines = typed.lines().map(str::to_owned);
        ask_person(&mut |_| lines.next())
    }

    #[test]
    fn a_person_approves_rejects_with_words_or_stops() {
        assert_eq!(wish("a\n"), Wish::Approve);
        assert_eq!(wish("Yes\n"), Wish::Approve);
        assert_eq!(wish("hm\n\ns\n"), Wish::Stop);
        assert_eq!(wish("r\nfewer tasks\n"), Wish::Reject("fewer tasks".to_owned()));
        assert_eq!(wish("r\n\na\n"), Wish::Approve);
        assert_eq!(wish(""), Wish::Leave);
        assert_eq!(wish("r\n"), Wish::Leave);
    }
}
