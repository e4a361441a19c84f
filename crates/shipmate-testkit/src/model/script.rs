//! The script of a scripted model: text in, rules out.
//!
//! The grammar is in the header of [`super`]. Whatever cannot be meant is refused with the number
//! of its line: a script that is half understood would make a test wait for something that never
//! comes. Nothing in here knows a conversation or a wire format.

use std::fmt;

use serde_json::Value;

/// Rules in the order they were written.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Script {
    pub(crate) rules: Vec<Rule>,
    /// Requests that offer no tools are conversations too, not side calls.
    pub(crate) plain: bool,
    /// The only key and the only model that are taken, where they are named.
    pub(crate) key: Option<String>,
    pub(crate) model: Option<String>,
    /// What answers calls itself so, whatever was asked.
    pub(crate) named: Option<String>,
}

#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Rule {
    pub(crate) actor: Actor,
    /// All of these are in the user's text; none at all means every text.
    pub(crate) on: Vec<String>,
    pub(crate) turns: Vec<Turn>,
    pub(crate) line: usize,
}

/// Whose rule it is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Actor {
    Everybody,
    /// The conversation contains this text; the name is for people.
    Told {
        name: String,
        text: String,
    },
}

/// What one call of the model answers.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct Turn {
    pub(crate) before: Vec<Before>,
    pub(crate) think: Option<String>,
    pub(crate) say: Option<String>,
    pub(crate) calls: Vec<Act>,
    pub(crate) usage: Option<Usage>,
    /// Breaks off in the middle, the first time.
    pub(crate) cut: bool,
}

/// What happens before the reply.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Before {
    Hold(String),
    Wait { ms: u64 },
    Error { status: u16, times: Times, retry_after: Option<u64>, text: String },
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Times {
    /// So often for one position of one conversation, then the reply comes.
    Only(u32),
    Always,
}

#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Act {
    Shell(String),
    Write { path: String, text: String },
    Tool { name: String, arguments: Value },
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Usage {
    pub(crate) input: u64,
    pub(crate) output: u64,
}

/// A line that cannot be meant.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ScriptError {
    pub line: usize,
    pub message: String,
}

impl fmt::Display for ScriptError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "line {} of the script: {}", self.line, self.message)
    }
}

impl std::error::Error for ScriptError {}

impl std::str::FromStr for Script {
    type Err = ScriptError;

    fn from_str(text: &str) -> Result<Self, ScriptError> {
        let mut reader = Reader { actor: Actor::Everybody, script: Self::default(), open: None };
        for (index, line) in text.lines().enumerate() {
            let number = index + 1;
            let line = line.trim();
            if line.is_empty() || line.starts_with('#') {
                continue;
            }
            reader.line(number, line).map_err(|message| ScriptError { line: number, message })?;
        }
        reader.close_rule()?;
        Ok(reader.script)
    }
}

struct Reader {
    actor: Actor,
    script: Script,
    /// The rule that is being read, and its last turn, which may still grow.
    open: Option<(Rule, Turn)>,
}

impl Reader {
    fn line(&mut self, number: usize, line: &str) -> Result<(), String> {
        let (word, rest) = split_word(line);
        match word {
            "plain" => self.script.plain = true,
            "key" => self.script.key = Some(some(rest, "which key?")?.to_owned()),
            "model" => self.script.model = Some(some(rest, "which model?")?.to_owned()),
            "named" => self.script.named = Some(some(rest, "named what?")?.to_owned()),
            "as" => {
                self.close_rule().map_err(|e| e.message)?;
                self.actor = actor(rest)?;
            }
            "on" => {
                self.close_rule().map_err(|e| e.message)?;
                let rule = Rule {
                    actor: self.actor.clone(),
                    on: patterns(rest)?,
                    turns: Vec::new(),
                    line: number,
                };
                self.open = Some((rule, Turn::default()));
            }
            _ => {
                let Some((rule, turn)) = &mut self.open else {
                    return Err(format!("`{word}` stands outside a rule: begin one with `on`"));
                };
                step(rule, turn, word, rest)?;
            }
        }
        Ok(())
    }

    fn close_rule(&mut self) -> Result<(), ScriptError> {
        let Some((mut rule, mut turn)) = self.open.take() else { return Ok(()) };
        let refused = |message: &str| ScriptError { line: rule.line, message: message.to_owned() };
        if !turn.answers() && turn != Turn::default() {
            return Err(refused("the last lines of this rule hold up a reply that never comes"));
        }
        close(&mut rule.turns, &mut turn);
        if rule.turns.is_empty() {
            return Err(refused("this rule has no step: add one, such as `say Done.`"));
        }
        self.script.rules.push(rule);
        Ok(())
    }
}

impl Turn {
    /// Whether there is anything to reply.
    fn answers(&self) -> bool {
        self.say.is_some() || !self.calls.is_empty()
    }
}

/// Puts away the turn that was growing, if it is one already.
fn close(turns: &mut Vec<Turn>, turn: &mut Turn) {
    if turn.answers() {
        turns.push(std::mem::take(turn));
    }
}

fn step(rule: &mut Rule, turn: &mut Turn, word: &str, rest: &str) -> Result<(), String> {
    let turns = &mut rule.turns;
    match word {
        "&" => {
            if !turn.answers() {
                return Err("`&` joins the line above, and there is none".to_owned());
            }
            let (word, rest) = split_word(rest);
            turn.calls.push(act(word, rest)?);
        }
        "say" => {
            close(turns, turn);
            turn.say = Some(some(rest, "say what?").and_then(text)?);
        }
        "stop" => {
            if !turn.answers() {
                return Err("`stop` ends a turn, and there is none above it".to_owned());
            }
            close(turns, turn);
        }
        "shell" | "write" | "tool" => {
            let act = act(word, rest)?;
            if !turn.calls.is_empty() {
                close(turns, turn);
            }
            turn.calls.push(act);
        }
        _ => {
            close(turns, turn);
            hold_up(turn, word, rest)?;
        }
    }
    Ok(())
}

/// What belongs to the reply below it.
fn hold_up(turn: &mut Turn, word: &str, rest: &str) -> Result<(), String> {
    match word {
        "think" => turn.think = Some(some(rest, "think what?").and_then(text)?),
        "hold" => {
            let name = some(rest, "hold needs a name, which `POST /release/NAME` lets go")?;
            turn.before.push(Before::Hold(one_word(name)?.to_owned()));
        }
        "wait" => {
            turn.before.push(Before::Wait { ms: number(rest, "wait needs milliseconds")? });
        }
        "error" => turn.before.push(error(rest)?),
        "cut" if rest.is_empty() => turn.cut = true,
        "usage" => {
            let (input, output) = split_word(rest);
            let told = "usage needs two numbers: tokens in and out";
            turn.usage = Some(Usage { input: number(input, told)?, output: number(output, told)? });
        }
        _ => {
            return Err(format!(
                "`{word} {rest}` is no step; steps are say, shell, write, tool, &, think, stop, \
                 hold, wait, error, cut, usage"
            ));
        }
    }
    Ok(())
}

fn act(word: &str, rest: &str) -> Result<Act, String> {
    match word {
        "shell" => Ok(Act::Shell(some(rest, "which command?")?.to_owned())),
        "write" => {
            let (path, rest) = split_word(some(rest, "write needs a path and a text")?);
            Ok(Act::Write { path: path.to_owned(), text: text(rest)? })
        }
        "tool" => {
            let (name, rest) = split_word(some(rest, "which tool?")?);
            let arguments = if rest.is_empty() { "{}" } else { rest };
            let arguments: Value = serde_json::from_str(arguments)
                .map_err(|e| format!("the arguments of {name} are no JSON: {e}"))?;
            if !arguments.is_object() {
                return Err(format!("the arguments of {name} must be a JSON object"));
            }
            Ok(Act::Tool { name: name.to_owned(), arguments })
        }
        _ => Err(format!("`{word}` is no call; calls are shell, write, tool")),
    }
}

/// `[N times | always] STATUS [retry-after SECONDS] [TEXT]`
fn error(rest: &str) -> Result<Before, String> {
    let told =
        "error needs a status, such as `error 529` or `error 3 times 500` or `error always 400`";
    let (first, after) = split_word(rest);
    let (second, after_second) = split_word(after);
    let (times, rest) = match (first, second) {
        ("always", _) => (Times::Always, after),
        (count, "times") => {
            (Times::Only(u32::try_from(number(count, told)?).map_err(|_| told)?), after_second)
        }
        _ => (Times::Only(1), rest),
    };
    let (status, rest) = split_word(rest);
    let status = number(status, told)?;
    if !(400..=599).contains(&status) {
        return Err(format!("{status} is no error: use a status from 400 to 599"));
    }
    let (retry_after, rest) = match rest.strip_prefix("retry-after ") {
        Some(rest) => {
            let (seconds, rest) = split_word(rest);
            (Some(number(seconds, "retry-after needs seconds")?), rest)
        }
        None => (None, rest),
    };
    let text = if rest.is_empty() { "an error of the script".to_owned() } else { text(rest)? };
    let status = u16::try_from(status).expect("a status has three digits");
    Ok(Before::Error { status, times, retry_after, text })
}

fn actor(rest: &str) -> Result<Actor, String> {
    let (word, after) = first_argument(some(rest, "as whom?")?)?;
    comment_or_nothing(after)?;
    Ok(match word {
        Argument::Bare("*") => Actor::Everybody,
        Argument::Bare(name) => {
            Actor::Told { name: name.to_owned(), text: format!("You are {name}") }
        }
        Argument::Quoted(text) => Actor::Told { name: text.clone(), text },
    })
}

fn patterns(rest: &str) -> Result<Vec<String>, String> {
    let told = "`on` needs the text in quotes, or * for any text";
    let mut rest = some(rest, told)?;
    let mut found = Vec::new();
    while !rest.is_empty() && !rest.starts_with('#') {
        let (argument, after) = first_argument(rest)?;
        match argument {
            Argument::Bare("*") if found.is_empty() => {
                return comment_or_nothing(after).map(|()| found);
            }
            Argument::Bare(_) => return Err(told.to_owned()),
            Argument::Quoted(text) if text.trim().is_empty() => return Err(told.to_owned()),
            Argument::Quoted(text) => found.push(text),
        }
        rest = after;
    }
    if found.is_empty() { Err(told.to_owned()) } else { Ok(found) }
}

enum Argument<'a> {
    Bare(&'a str),
    Quoted(String),
}

fn first_argument(rest: &str) -> Result<(Argument<'_>, &str), String> {
    if !rest.starts_with('"') {
        let (word, after) = split_word(rest);
        return Ok((Argument::Bare(word), after));
    }
    let mut values = serde_json::Deserializer::from_str(rest).into_iter::<String>();
    let text = values
        .next()
        .expect("there is a quote")
        .map_err(|e| format!("the text in quotes is not closed or no JSON string: {e}"))?;
    let end = values.byte_offset();
    Ok((Argument::Quoted(text), rest[end..].trim_start()))
}

fn comment_or_nothing(rest: &str) -> Result<(), String> {
    if rest.is_empty() || rest.starts_with('#') {
        return Ok(());
    }
    Err(format!("`{rest}` is too much on this line"))
}

/// The text as it stands, or what a JSON string means: that is how a text gets several lines.
fn text(rest: &str) -> Result<String, String> {
    if !rest.starts_with('"') {
        return Ok(rest.to_owned());
    }
    serde_json::from_str(rest)
        .map_err(|e| format!("a text that begins with a quote must be one JSON string: {e}"))
}

fn some<'a>(rest: &'a str, told: &str) -> Result<&'a str, String> {
    if rest.is_empty() { Err(told.to_owned()) } else { Ok(rest) }
}

fn one_word(rest: &str) -> Result<&str, String> {
    let (word, after) = split_word(rest);
    if after.is_empty() { Ok(word) } else { Err(format!("`{after}` is too much on this line")) }
}

fn number(rest: &str, told: &str) -> Result<u64, String> {
    rest.trim().parse().map_err(|_| told.to_owned())
}

fn split_word(line: &str) -> (&str, &str) {
    line.split_once(char::is_whitespace)
        .map_or((line, ""), |(word, rest)| (word, rest.trim_start()))
}

#[cfg(test)]
#[path = "script_tests.rs"]
mod tests;
