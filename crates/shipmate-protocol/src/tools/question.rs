//! `AskUserQuestion` and `AnswerQuestion`: what somebody needs to know before it goes on.

use serde_json::{Value, json};

use crate::answers;
use crate::tools::arguments::{Arguments, Bad, word};
use crate::tools::outcome::{Reply, as_fields};
use crate::tools::task_read::one_line;
use crate::tools::words;
use crate::tools::{Board, Outcome, Seat, Tool, schema};
use crate::verbs;
use crate::verbs::QuestionKind;

/// Most questions of one call.
const QUESTIONS_MAX: usize = 16;
/// Most options of a question; the board's own limit.
const OPTIONS_MAX: usize = 32;

pub(crate) fn ask_tool() -> Tool {
    let text = |what: &str| json!({ "type": "string", "description": what });
    Tool {
        name: "AskUserQuestion",
        title: "Ask a question",
        description: "Asks the lead, or the person where you lead. The answer comes later as a message: go \
             on with what does not depend on it.",
        input_schema: schema(
            json!({
                "questions": {
                    "type": "array",
                    "description": "One or more questions, each with options to choose from",
                    "items": {
                        "type": "object",
                        "properties": {
                            "question": text("The whole question"),
                            "header": text("A word or two about it"),
                            "options": { "type": "array", "items": { "type": "object",
                                "properties": { "label": text("The answer"),
                                    "description": text("What it means") },
                                "additionalProperties": true } },
                            "multiSelect": { "type": "boolean",
                                "description": "Several options may be chosen" },
                        },
                        "additionalProperties": true,
                    },
                },
                "question": { "type": "string" },
                "options": { "type": "array", "items": { "type": "string" } },
            }),
            &[],
        ),
        ..Tool::default()
    }
}

pub(crate) fn answer_tool() -> Tool {
    Tool {
        name: "AnswerQuestion",
        title: "Answer a question",
        description: "Answers a teammate's question by its number, with one of its options if it has \
             any. Without a number: lists the open ones.",
        input_schema: schema(
            json!({
                "question_id": { "type": "string" },
                "answer": { "type": "string" },
                "all": { "type": "boolean", "description": "List answered questions too" },
            }),
            &[],
        ),
        ..Tool::default()
    }
}

#[derive(Debug)]
struct Wanted {
    text: String,
    options: Vec<String>,
}

fn read(arguments: &mut Arguments) -> Result<Wanted, Bad> {
    let question = arguments.required_text(&["question", "text"], "the question")?;
    let header = arguments.text(&["header"])?.filter(|header| !header.trim().is_empty());
    let several = arguments.flag(&["multi_select"])?.unwrap_or(false);
    let mut text = match header {
        Some(header) => format!("{header}: {question}"),
        None => question,
    };
    let mut labels = Vec::new();
    let items = match arguments.value(&["options"])? {
        Some((_, Value::Array(items))) if items.len() <= OPTIONS_MAX => items,
        Some((field, other)) => {
            let expected = format!("a list of at most {OPTIONS_MAX} options");
            return Err(Bad::new(&field, &other, &expected));
        }
        None => Vec::new(),
    };
    for (index, item) in items.into_iter().enumerate() {
        let place = format!("options[{index}]");
        let (label, meaning) = match item {
            Value::Object(_) => {
                let mut option = Arguments::new(item).map_err(|bad| bad.within(&place))?;
                let label = option.required_word(&["label", "value"], "the option's text");
                let meaning = option.text(&["description"]);
                let meaning = meaning.map_err(|bad| bad.within(&place))?.unwrap_or_default();
                (label.map_err(|bad| bad.within(&place))?, meaning)
            }
            item => (word(&place, &item)?, String::new()),
        };
        if !meaning.trim().is_empty() {
            text.push_str(&format!("\n- {label}: {meaning}"));
        } else if several {
            text.push_str(&format!("\n- {label}"));
        }
        labels.push(label);
    }
    // The board takes one option word for word; several are an answer in free text.
    if several && !labels.is_empty() {
        text.push_str("\n(one or more of these)");
        labels.clear();
    }
    Ok(Wanted { text, options: labels })
}

pub(crate) async fn ask(board: &impl Board, _seat: &Seat, arguments: &mut Arguments) -> Reply {
    let wanted = arguments.each("questions", QUESTIONS_MAX, "at least one question", read)?;
    arguments.skip(&["answers", "annotations", "metadata"]);
    let (mut lines, mut asked) = (Vec::new(), Vec::new());
    let total = wanted.len();
    for Wanted { text, options } in wanted {
        let said = one_line(text.lines().next().unwrap_or_default());
        let ask = verbs::Question { kind: QuestionKind::Question, text, options };
        let failed = match board.ask(ask).await {
            Ok(answers::Opened { id }) => {
                lines.push(format!("Question {id} is asked: {said}"));
                asked.push(json!({ "question_id": id.to_string(), "question": said }));
                continue;
            }
            Err(refused) => refused,
        };
        lines.push(format!("Not asked: {said}: {failed}"));
        if total > asked.len() + 1 {
            lines.push(format!("Not tried after that: {}", total - asked.len() - 1));
        }
        let mut fields = as_fields(&failed);
        fields.insert("questions".to_owned(), json!(asked));
        let (text, structured) = (lines.join("\n"), Value::Object(fields));
        return Err(Outcome { text, structured, is_error: true });
    }
    lines.push("The answer comes as a message.".to_owned());
    Ok(Outcome::done(lines.join("\n"), json!({ "questions": asked })))
}

pub(crate) async fn answer(board: &impl Board, seat: &Seat, arguments: &mut Arguments) -> Reply {
    let id = arguments.word(&["question_id", "request_id", "question", "id"])?;
    let answer = arguments.text(&["answer", "content", "message"])?;
    let all = arguments.flag(&["all"])?.unwrap_or(false);
    let Some(id) = id else {
        if let Some(answer) = answer {
            let expected = "question_id beside it: the number of the question";
            return Err(Bad::new("answer", &Value::from(answer), expected).into());
        }
        return list(board, seat, all).await;
    };
    let question = words::request_id("question_id", &id)?;
    let answer = answer.filter(|text| !text.trim().is_empty());
    let answer = answer.ok_or_else(|| Bad::missing("answer", "the answer"))?;
    board.ask(verbs::QuestionAnswer { question, answer }).await?;
    Ok(answered(question))
}

pub(crate) fn answered(question: u64) -> Outcome {
    let text = format!("Question {question} is answered; whoever asked is told.");
    Outcome::done(text, json!({ "question_id": question.to_string(), "state": "answered" }))
}

async fn list(board: &impl Board, seat: &Seat, all: bool) -> Reply {
    let found = board.ask(verbs::Questions { all }).await?;
    let mut lines = vec![format!("Questions ({}):", found.len())];
    for question in &found {
        let who = words::short(seat, &question.who);
        lines.push(format!("question {} of {who} [{}]", question.id, question.state));
        lines.extend(question.text.lines().map(|line| format!("│ {}", one_line(line))));
        if !question.options.is_empty() {
            lines.push(format!("options: {}", one_line(&question.options.join(", "))));
        }
        lines.extend(question.answer.as_ref().map(|text| format!("answer: {}", one_line(text))));
    }
    Ok(Outcome::done(lines.join("\n"), json!({ "questions": found })))
}
