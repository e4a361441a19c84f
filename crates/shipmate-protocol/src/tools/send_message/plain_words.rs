//! What a lead says in plain words and the board takes for a decision: the answer to a question,
//! or the verdict on a plan.
//!
//! Only the words of a lead, only to one other, and only where they can mean one thing. The board
//! itself refuses a lead that may not decide: its words are then mail like any other.

use crate::refused::Refused;
use crate::tools::arguments::Bad;
use crate::tools::outcome::Reply;
use crate::tools::{Board, Outcome, Seat, SeatKind, plan, question, words};
use crate::verbs;
use crate::verbs::{Ask, QuestionKind};
use crate::view::{QuestionState, QuestionView};

/// Sends the words, or does what they mean.
pub(super) async fn say(
    board: &impl Board,
    seat: &Seat,
    to: String,
    request: Option<u64>,
    body: String,
) -> Reply {
    if seat.kind != SeatKind::Lead || to == "all" || words::is_me(seat, &to) {
        return super::send(board, to, None, body).await;
    }
    let open = match mentions_verdict(&body) {
        true => plan::open_plans(board, seat, &to).await.unwrap_or_default(),
        false => Vec::new(),
    };
    let mut hint = None;
    if let (Some(verdict), [plan]) = (verdict(&body), &open[..]) {
        match decide(board, &to, *plan, verdict).await? {
            Ok(outcome) => return Ok(outcome),
            Err(refused) => {
                hint = Some(format!("Plan {plan} is not decided: {}", refused.one_line()));
            }
        }
    }
    let hint = hint.or_else(|| undecided(&to, &open));
    let (mut outcome, open_question) = match answer(board, seat, &to, request, &body).await {
        Taken::Answered(outcome) => (outcome, None),
        Taken::Open(text) => (super::send(board, to, None, body).await?, Some(text)),
        Taken::NoQuestion => (super::send(board, to, None, body).await?, None),
    };
    for text in open_question.into_iter().chain(hint) {
        let end = if outcome.text.ends_with('.') { "" } else { "." };
        outcome.text.push_str(&format!("{end} {text}"));
    }
    Ok(outcome)
}

fn mentions_verdict(body: &str) -> bool {
    let body = body.to_lowercase();
    ["approved", "rejected"].iter().any(|word| body.contains(word))
}

/// Whoever planned would wait for ever behind words that decide nothing.
fn undecided(to: &str, open: &[u64]) -> Option<String> {
    let how = "it is decided by a message that begins with \"Plan approved.\" or \"Plan rejected.\", \
               or with type plan_approval_response";
    match open {
        [] => None,
        [plan] => Some(format!("Plan {plan} of {to} is still undecided: {how}")),
        several => Some(format!(
            "{to} has several open plans ({several:?}): decide each with type \
             plan_approval_response and its request_id"
        )),
    }
}

/// `Plan approved` and `Plan rejected` at the beginning, and the rest.
///
/// An approval ends its sentence there: "Plan approved if you add tests" is none yet.
fn verdict(body: &str) -> Option<(bool, &str)> {
    let body = body.trim();
    let after = |words: &str| {
        let begins = body.get(..words.len())?.eq_ignore_ascii_case(words);
        begins.then(|| &body[words.len()..])
    };
    let ends_sentence = |c: char| matches!(c, '.' | '!' | ':' | ',' | ';' | '\n');
    let (approve, rest) = match (after("plan approved"), after("plan rejected")) {
        (Some(rest), _) if rest.is_empty() || rest.starts_with(ends_sentence) => (true, rest),
        (_, Some(rest)) if !rest.starts_with(|c: char| c.is_alphanumeric() || c == '?') => {
            (false, rest)
        }
        _ => return None,
    };
    let rest = rest.trim_start_matches(|c: char| ends_sentence(c) || c.is_whitespace());
    Some((approve, rest))
}

async fn decide(
    board: &impl Board,
    to: &str,
    plan: u64,
    (approve, rest): (bool, &str),
) -> Result<Result<Outcome, Refused>, Bad> {
    if !approve && rest.is_empty() {
        return Err(Bad::missing("message", "what to change, after \"Plan rejected.\""));
    }
    let feedback = rest.to_owned();
    let ask = match approve {
        true => Ask::PlanApprove(verbs::PlanApprove { plan }),
        false => Ask::PlanReject(verbs::PlanReject {
            plan,
            feedback: feedback.clone(),
            unworkable: false,
        }),
    };
    if let Err(refused) = board.ask(ask).await {
        return Ok(Err(refused));
    }
    let mut outcome = plan::decided(plan, approve);
    // An approval has no words of its own.
    if approve && !rest.is_empty() {
        let sent = match super::send(board, to.to_owned(), None, feedback).await {
            Ok(sent) | Err(sent) => sent,
        };
        outcome.text.push_str(&format!(" The rest: {}", sent.text));
    }
    Ok(Ok(outcome))
}

enum Taken {
    Answered(Outcome),
    /// There is one, and these words do not answer it: why.
    Open(String),
    NoQuestion,
}

/// Answers the one question that the other has asked.
async fn answer(
    board: &impl Board,
    seat: &Seat,
    to: &str,
    request: Option<u64>,
    body: &str,
) -> Taken {
    let open = open_questions(board, seat, to).await.unwrap_or_default();
    let named = open.iter().filter(|question| request.is_none_or(|id| id == question.id));
    let asked = match named.collect::<Vec<_>>()[..] {
        [] => return Taken::NoQuestion,
        [one] => one,
        _ => {
            let ids: Vec<u64> = open.iter().map(|question| question.id).collect();
            let text = format!(
                "{to} has several open questions ({ids:?}), and this answers none: \
                 say it again with request_id, the number of the question"
            );
            return Taken::Open(text);
        }
    };
    let id = asked.id;
    let option = asked.options.iter().find(|option| option.eq_ignore_ascii_case(body.trim()));
    let answer = match option {
        Some(option) => option.clone(),
        None if asked.options.is_empty() => body.to_owned(),
        None => {
            let options = asked.options.join(", ");
            let text = format!(
                "Question {id} of {to} is still open: answer it with one of its \
                 options, word for word: {options}"
            );
            return Taken::Open(text);
        }
    };
    match board.ask(verbs::QuestionAnswer { question: id, answer }).await {
        Ok(_) => Taken::Answered(question::answered(id)),
        Err(refused) => {
            Taken::Open(format!("Question {id} of {to} is still open: {}", refused.one_line()))
        }
    }
}

/// What the other has asked and a lead may answer.
async fn open_questions(
    board: &impl Board,
    seat: &Seat,
    who: &str,
) -> Result<Vec<QuestionView>, Refused> {
    let mut found = board.ask(verbs::Questions { all: false }).await?;
    found.retain(|question| {
        let theirs = words::short(seat, &question.who) == words::short(seat, who);
        theirs && question.state == QuestionState::Open && question.kind != QuestionKind::Permission
    });
    Ok(found)
}

#[cfg(test)]
mod tests {
    use super::verdict;

    #[test]
    fn a_verdict_begins_the_message_and_an_approval_ends_its_sentence() {
        let cases = [
            ("Plan approved. Proceed.", Some((true, "Proceed."))),
            ("plan approved", Some((true, ""))),
            ("Plan approved: go on", Some((true, "go on"))),
            ("Plan rejected. Revise: add tests", Some((false, "Revise: add tests"))),
            ("Plan rejected because it is long", Some((false, "because it is long"))),
            ("Plan rejected", Some((false, ""))),
            ("Plan approved if you add tests", None),
            ("Plan approved?", None),
            ("Plan rejected?", None),
            ("Your plan approved. Go", None),
            ("Plan approvedly", None),
            ("Plän approved", None),
        ];
        for (body, expected) in cases {
            assert_eq!(verdict(body), expected, "{body}");
        }
    }
}
