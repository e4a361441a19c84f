//! One file that defines an agent, in the form of the program that it was written for.

use std::collections::BTreeMap;

use saphyr_parser::{Event, Parser};
use serde_json::{Map, Value};
use shipmate_model::definition::{Definition, Server};
use shipmate_model::profile::Mode;

use super::{Format, Found, hooks};
use crate::fence::{has_password, is_about_a_secret, looks_secret};

const DEPTH_MAX: usize = 32;
const SHOWN_CHARS_MAX: usize = 40;
const TWICE: &str = "twice";

/// What files say for screens and lists alone, or what is so for every teammate anyhow.
const CLAUDE_ONLY: [&str; 4] = ["background", "color", "description", "isolation"];
const CODEX_ONLY: [&str; 1] = ["nickname_candidates"];
const OPENCODE_ONLY: [&str; 5] = ["description", "mode", "hidden", "color", "disable"];

/// What would change how it works, and is not held behind any program.
const NOT_HELD: [&str; 5] = ["memory", "initialPrompt", "temperature", "top_p", "options"];

/// What programs know of how hard a model thinks, and of how much it says.
const EFFORTS: [&str; 7] = ["none", "minimal", "low", "medium", "high", "xhigh", "max"];
const VERBOSITIES: [&str; 3] = ["low", "medium", "high"];

/// Reads a file; the text says why it is none.
pub(super) fn read(format: Format, stem: &str, text: &str) -> Result<Found, String> {
    match format {
        Format::Claude => claude(stem, text),
        Format::Codex => codex(stem, text),
        Format::Opencode => opencode(stem, text),
    }
}

fn found(format: Format, definition: Definition) -> Found {
    Found {
        definition,
        description: String::new(),
        format,
        model: String::new(),
        mode: None,
        is_projects: false,
        skills: Vec::new(),
        notes: Vec::new(),
    }
}

/// The head between two lines `---`, and what follows.
pub(super) fn parts(text: &str) -> Result<(&str, &str), String> {
    let text = text.trim_start_matches('\u{feff}');
    let (first, rest) = text.split_once('\n').unwrap_or((text, ""));
    if first.trim_end() != "---" {
        return Ok(("", text));
    }
    let mut at = 0;
    for line in rest.split_inclusive('\n') {
        if line.trim_end() == "---" {
            return Ok((&rest[..at], &rest[at + line.len()..]));
        }
        at += line.len();
    }
    Err("its head begins with --- and has no second ---".to_owned())
}

fn claude(stem: &str, text: &str) -> Result<Found, String> {
    let (head, body) = parts(text)?;
    if head.trim().is_empty() {
        return Err("it has no head with a name: --- name: NAME --- comes first".to_owned());
    }
    let head = head_of(head)?;
    let text_of =
        |key: &str| head.get(key).and_then(Value::as_str).unwrap_or_default().trim().to_owned();
    let name = match text_of("name") {
        name if name.is_empty() => stem.to_owned(),
        name => name,
    };
    let mut notes = Vec::new();
    let mode = match text_of("permissionMode").as_str() {
        "" | "default" => None,
        "plan" => Some(Mode::Plan),
        other @ ("acceptEdits" | "dontAsk" | "bypassPermissions" | "auto" | "delegate") => {
            notes.push(gives_nothing("permissionMode", other));
            None
        }
        other => {
            notes.push(format!("permissionMode {other} is not known"));
            None
        }
    };
    let mut servers = BTreeMap::new();
    for (name, server) in entries(head.get("mcpServers")) {
        match server {
            // One that the person has set up already, and the program knows.
            None => {
                notes.push(format!("the MCP server {name} is used where the program has it set up"))
            }
            Some(value) => {
                let server = server_of(&name, &value, &mut notes)?;
                servers.extend(server.map(|server| (name, server)));
            }
        }
    }
    let skills = list("skills", head.get("skills").unwrap_or(&Value::Null))?;
    let hooks = match head.get("hooks").filter(|hooks| !hooks.is_null()) {
        Some(value) => hooks::read(value, &mut notes)?,
        None => String::new(),
    };
    let known = [
        "name",
        "tools",
        "disallowedTools",
        "model",
        "permissionMode",
        "mcpServers",
        "skills",
        "hooks",
        "effort",
        "maxTurns",
    ];
    unknown(&head, &[&known, &CLAUDE_ONLY], &mut notes);
    let definition = Definition {
        name,
        body: body.trim().to_owned(),
        tools: match head.get("tools").filter(|tools| !tools.is_null()) {
            Some(tools) => Some(list("tools", tools)?),
            None => None,
        },
        denied: list("disallowedTools", head.get("disallowedTools").unwrap_or(&Value::Null))?,
        servers,
        effort: word_of(&head, "effort", &EFFORTS, &mut notes),
        turns_max: turns_of(&head, "maxTurns", &mut notes),
        hooks,
        ..Definition::default()
    };
    let (description, model) = (text_of("description"), text_of("model"));
    Ok(Found { description, model, mode, skills, notes, ..found(Format::Claude, definition) })
}

fn codex(stem: &str, text: &str) -> Result<Found, String> {
    let table: toml::Table = text.parse().map_err(|e: toml::de::Error| e.message().to_owned())?;
    let head = serde_json::to_value(table).map_err(|e| e.to_string())?;
    let head = head.as_object().cloned().unwrap_or_default();
    let text_of =
        |key: &str| head.get(key).and_then(Value::as_str).unwrap_or_default().trim().to_owned();
    let mut notes = Vec::new();
    let mode = match text_of("sandbox_mode").as_str() {
        "" => None,
        "read-only" => Some(Mode::ReadOnly),
        other @ ("workspace-write" | "danger-full-access") => {
            notes.push(gives_nothing("sandbox_mode", other));
            None
        }
        other => {
            notes.push(format!("sandbox_mode {other} is not known"));
            None
        }
    };
    let mut servers = BTreeMap::new();
    for (name, server) in entries(head.get("mcp_servers")) {
        if let Some(value) = server {
            let server = server_of(&name, &value, &mut notes)?;
            servers.extend(server.map(|server| (name, server)));
        }
    }
    let known = [
        "name",
        "description",
        "developer_instructions",
        "model",
        "sandbox_mode",
        "mcp_servers",
        "model_reasoning_effort",
        "model_verbosity",
    ];
    unknown(&head, &[&known, &CODEX_ONLY], &mut notes);
    let name = match text_of("name") {
        name if name.is_empty() => stem.to_owned(),
        name => name,
    };
    let body = text_of("developer_instructions");
    let definition = Definition {
        name,
        body,
        servers,
        effort: word_of(&head, "model_reasoning_effort", &EFFORTS, &mut notes),
        verbosity: word_of(&head, "model_verbosity", &VERBOSITIES, &mut notes),
        ..Definition::default()
    };
    let (description, model) = (text_of("description"), text_of("model"));
    Ok(Found { description, model, mode, notes, ..found(Format::Codex, definition) })
}

fn gives_nothing(key: &str, value: &str) -> String {
    format!("{key} {value} gives nothing here: what it may do is the team's to say")
}

/// opencode's tools by Claude Code's names.
const OPENCODE: [(&str, &[&str]); 10] = [
    ("write", &["Write"]),
    ("edit", &["Edit", "Write", "MultiEdit", "NotebookEdit"]),
    ("patch", &["MultiEdit"]),
    ("bash", &["Bash"]),
    ("read", &["Read"]),
    ("grep", &["Grep"]),
    ("glob", &["Glob"]),
    ("list", &["LS"]),
    ("webfetch", &["WebFetch", "WebSearch"]),
    ("task", &["Agent", "Task"]),
];

/// What Claude Code calls one of them.
fn names_of(opencode: &str) -> Option<impl Iterator<Item = &'static str>> {
    let (_, names) = OPENCODE.iter().find(|(own, _)| *own == opencode)?;
    Some(names.iter().copied())
}

fn opencode(stem: &str, text: &str) -> Result<Found, String> {
    let (head, body) = parts(text)?;
    let head = head_of(head)?;
    let text_of =
        |key: &str| head.get(key).and_then(Value::as_str).unwrap_or_default().trim().to_owned();
    let (mut denied, mut allowed, mut notes) = (Vec::new(), Vec::new(), Vec::new());
    let mut denies_rest = false;
    let mut deny = |tool: &str, notes: &mut Vec<String>| match names_of(tool) {
        _ if tool == "*" => denies_rest = true,
        Some(names) => denied.extend(names),
        None => notes.push(format!("nobody knows the tool {tool}")),
    };
    for (tool, given) in head.get("tools").and_then(Value::as_object).into_iter().flatten() {
        match matches!(given, Value::Bool(false)) || given == "false" {
            true => deny(tool, &mut notes),
            false => allowed.extend(names_of(tool).into_iter().flatten()),
        }
    }
    if head.get("disable") == Some(&Value::Bool(true)) {
        return Err("it is disabled".to_owned());
    }
    match head.get("permission").and_then(Value::as_str) {
        Some("deny") => deny("*", &mut notes),
        Some("ask") => notes.push(gives_nothing("permission", "ask")),
        _ => {}
    }
    for (tool, given) in head.get("permission").and_then(Value::as_object).into_iter().flatten() {
        match given {
            Value::String(word) if word == "deny" => deny(tool, &mut notes),
            Value::String(word) if word == "ask" => {
                notes.push(gives_nothing(&format!("permission.{tool}"), word))
            }
            Value::Object(patterns) => {
                notes.push(format!("the patterns of permission.{tool} are not held"));
                if patterns.values().any(|given| given == "allow") {
                    allowed.extend(names_of(tool).into_iter().flatten());
                }
            }
            _ => allowed.extend(names_of(tool).into_iter().flatten()),
        }
    }
    if denies_rest {
        // What is named itself is not meant by `*`.
        let all = OPENCODE.iter().flat_map(|(_, names)| *names).copied();
        denied.extend(all.filter(|name| !allowed.contains(name)));
    }
    let mut denied: Vec<String> = denied.into_iter().map(str::to_owned).collect();
    denied.sort_unstable();
    denied.dedup();
    let known = ["name", "model", "tools", "permission", "prompt", "steps", "maxSteps"];
    unknown(&head, &[&known, &OPENCODE_ONLY], &mut notes);
    let name = match text_of("name") {
        name if name.is_empty() => stem.to_owned(),
        name => name,
    };
    let definition = Definition {
        name,
        body: format!("{}\n{}", text_of("prompt"), body.trim()).trim().to_owned(),
        denied,
        turns_max: match turns_of(&head, "steps", &mut notes) {
            0 => turns_of(&head, "maxSteps", &mut notes),
            steps => steps,
        },
        ..Definition::default()
    };
    let (description, model) = (text_of("description"), text_of("model"));
    Ok(Found { description, model, notes, ..found(Format::Opencode, definition) })
}

/// One of these words; another is told of.
fn word_of(
    head: &Map<String, Value>,
    key: &str,
    words: &[&str],
    notes: &mut Vec<String>,
) -> String {
    let Some(value) = head.get(key).filter(|value| !value.is_null()) else { return String::new() };
    let word = value.as_str().unwrap_or_default().trim();
    if words.contains(&word) {
        return word.to_owned();
    }
    notes.push(format!("{key} {} is not known: there are {}", shown(value), words.join(", ")));
    String::new()
}

/// A number of 1 or more; anything else is told of.
fn turns_of(head: &Map<String, Value>, key: &str, notes: &mut Vec<String>) -> u32 {
    let Some(value) = head.get(key).filter(|value| !value.is_null()) else { return 0 };
    let turns = value.as_str().and_then(|text| text.trim().parse::<u32>().ok()).unwrap_or(0);
    if turns == 0 {
        notes.push(format!("{key} {} is no number of turns", shown(value)));
    }
    turns
}

/// The beginning of what a file says, for a sentence.
fn shown(value: &Value) -> String {
    let text = value.as_str().map_or_else(|| value.to_string(), str::to_owned);
    text.chars().take(SHOWN_CHARS_MAX).collect()
}

fn unknown(head: &Map<String, Value>, known: &[&[&str]], notes: &mut Vec<String>) {
    let is_known = |key: &str| known.iter().any(|keys| keys.contains(&key));
    let rest = head.keys().map(String::as_str).filter(|key| !is_known(key));
    let (not_held, strange): (Vec<&str>, Vec<&str>) = rest.partition(|key| NOT_HELD.contains(key));
    if !not_held.is_empty() {
        let fields = not_held.join(", ");
        notes.push(format!("its {fields} are not held: what the program is set to counts"));
    }
    if !strange.is_empty() {
        notes.push(format!("nobody here knows its fields {}", strange.join(", ")));
    }
}

/// A list, or a text with commas; commas in brackets are part of a tool's pattern.
fn list(key: &str, value: &Value) -> Result<Vec<String>, String> {
    Ok(match value {
        Value::Array(items) => {
            items.iter().filter_map(Value::as_str).map(|item| item.trim().to_owned()).collect()
        }
        Value::String(text) => {
            let (mut items, mut depth) = (vec![String::new()], 0_usize);
            for c in text.chars() {
                match c {
                    '(' => depth += 1,
                    ')' => depth = depth.saturating_sub(1),
                    _ => {}
                }
                match (c, depth) {
                    (',', 0) => items.push(String::new()),
                    (c, _) => items.last_mut().expect("there is one").push(c),
                }
            }
            items
                .into_iter()
                .map(|item| item.trim().to_owned())
                .filter(|item| !item.is_empty())
                .collect()
        }
        Value::Null => Vec::new(),
        _ => return Err(format!("its {key} are no list of tools")),
    })
}

/// Servers as a map, or as a list of names and maps.
fn entries(value: Option<&Value>) -> Vec<(String, Option<Value>)> {
    let of_map = |map: &Map<String, Value>| -> Vec<(String, Option<Value>)> {
        map.iter().map(|(name, value)| (name.clone(), Some(value.clone()))).collect()
    };
    match value {
        Some(Value::Object(map)) => of_map(map),
        Some(Value::Array(items)) => items
            .iter()
            .flat_map(|item| match item {
                Value::String(name) => vec![(name.clone(), None)],
                Value::Object(map) => of_map(map),
                _ => Vec::new(),
            })
            .collect(),
        _ => Vec::new(),
    }
}

/// What is read of a server; `enabled` and `disabled` say whether there is one.
const OF_SERVER: [&str; 11] = [
    "args",
    "bearer_token_env_var",
    "command",
    "disabled",
    "enabled",
    "env",
    "env_http_headers",
    "headers",
    "http_headers",
    "type",
    "url",
];

/// How a server is reached; nothing for one that is switched off.
fn server_of(name: &str, value: &Value, notes: &mut Vec<String>) -> Result<Option<Server>, String> {
    // The team's own, and what would pass for it.
    let is_taken =
        ["team", "shipmate"].contains(&name) || name.starts_with("team_") || name.contains("__");
    let plain = |c: char| c.is_ascii_alphanumeric() || c == '_' || c == '-';
    if is_taken || name.is_empty() || !name.chars().all(plain) {
        return Err(format!("an MCP server cannot be called {name:?} here: rename it"));
    }
    if value["enabled"] == false || value["disabled"] == true {
        return Ok(None);
    }
    let text = |key: &str| value[key].as_str().unwrap_or_default().to_owned();
    let texts = |key: &str| -> BTreeMap<String, String> {
        let pairs = value[key].as_object().into_iter().flatten();
        pairs.filter_map(|(name, value)| Some((name.clone(), value.as_str()?.to_owned()))).collect()
    };
    let mut own = Vec::new();
    let transport = match text("type").as_str() {
        "" | "stdio" | "http" | "streamable-http" | "streamable_http" => String::new(),
        "sse" => "sse".to_owned(),
        other => {
            own.push(format!("type {other} is not known"));
            String::new()
        }
    };
    unknown(value.as_object().unwrap_or(&Map::new()), &[&OF_SERVER], &mut own);
    notes.extend(own.into_iter().map(|note| format!("its MCP server {name}: {note}")));
    let (env, mut headers) = (texts("env"), texts("headers"));
    headers.extend(texts("http_headers"));
    headers.extend(
        texts("env_http_headers")
            .into_iter()
            .map(|(header, variable)| (header, format!("${{{variable}}}"))),
    );
    let bearer = text("bearer_token_env_var");
    if !bearer.is_empty() {
        headers.insert("Authorization".to_owned(), format!("Bearer ${{{bearer}}}"));
    }
    let args = value["args"].as_array().into_iter().flatten();
    let args = args.filter_map(Value::as_str).map(str::to_owned).collect();
    let server =
        Server { command: text("command"), args, env, url: text("url"), transport, headers };
    if let Some(place) = secret_in(&server) {
        let letters = place.trim_matches(|c: char| !c.is_ascii_alphanumeric());
        let letters = letters.replace(|c: char| !c.is_ascii_alphanumeric(), "_");
        return Err(format!(
            "its MCP server {name} has a secret written out ({place}): write ${{{}}}, and set the variable",
            letters.to_ascii_uppercase()
        ));
    }
    match server.command.is_empty() && server.url.is_empty() {
        true => Err(format!("its MCP server {name} has neither a command nor a url")),
        false => Ok(Some(server)),
    }
}

/// Where a server has a secret written out: a definition is recorded.
fn secret_in(server: &Server) -> Option<String> {
    let pairs = server.env.iter().chain(&server.headers);
    let named = pairs.map(|(name, value)| (name.as_str(), value.as_str()));
    let mut words: Vec<&str> =
        server.command.split_whitespace().chain(server.args.iter().map(String::as_str)).collect();
    // What a shell is given is a line of words in one.
    words.extend(server.args.iter().flat_map(|arg| arg.split_whitespace()));
    // `--api-key KEY`
    let flags = words.windows(2).map(|pair| (pair[0], pair[1]));
    let flags = flags.filter(|(flag, value)| flag.starts_with('-') && !value.starts_with('-'));
    // `--api-key=KEY`, `KEY=…` and `Authorization: …`
    let inside = words.iter().filter_map(|word| {
        // In `${KEY:-none}` a variable is named.
        let at = word.find(['=', ':']).filter(|at| !word[..*at].contains("${"))?;
        Some((&word[..at], &word[at + 1..]))
    });
    let addresses = words.iter().filter(|word| word.contains("://")).copied();
    let addresses = addresses.chain([server.url.as_str()]);
    let queries = addresses.flat_map(|word| word.split(['?', '&', '#']).skip(1));
    let query = queries.filter_map(|pair| pair.split_once('='));
    let mut pairs = named.chain(inside).chain(flags).chain(query);
    let found = pairs.find(|(name, value)| is_secret(name, value)).map(|(name, _)| name.to_owned());
    let is_address = |word: &&str| has_password(word) && !word.contains("${");
    let address = || words.iter().chain([&server.url.as_str()]).any(is_address);
    found.or_else(|| address().then(|| "url".to_owned()))
}

/// A secret itself.
fn is_secret(name: &str, value: &str) -> bool {
    let value = value.trim().trim_matches(['"', '\'']);
    let all = |is: fn(char) -> bool| value.chars().all(is);
    let small = name.to_ascii_lowercase();
    // `--no-auth`, `--auth basic`
    let is_way = small.ends_with("auth") && all(|c| c.is_ascii_lowercase());
    let is_about = is_about_a_secret(name) || small.starts_with("--no-");
    let is_plain = all(|c| c.is_ascii_digit()) || ["true", "false"].contains(&value);
    let is_named = looks_secret(name, "") && !is_about && !is_way && !is_plain;
    // In a line for a shell a variable has no braces.
    (is_named || has_password(value)) && !value.contains("${") && !value.starts_with('$')
}

/// The head as YAML; where it is none in the strict sense (a colon in a description, say), its lines.
fn head_of(text: &str) -> Result<Map<String, Value>, String> {
    if text.trim().is_empty() {
        return Ok(Map::new());
    }
    match yaml(text) {
        Ok(Value::Object(map)) => Ok(map),
        // Twice the same is wrong however it is read.
        Err(reason) if reason.ends_with(TWICE) => Err(reason),
        _ => lines(text),
    }
}

/// What a person reads and no program: it may be anything.
const WORDS: [&str; 4] = ["name", "description", "model", "color"];

/// Each key by itself: a description that is no YAML says nothing about the tools.
fn lines(text: &str) -> Result<Map<String, Value>, String> {
    let mut blocks: Vec<(String, String)> = Vec::new();
    for line in text.lines() {
        let is_inside = line.starts_with([' ', '\t', '-', '#']) || line.trim().is_empty();
        match (is_inside, line.split_once(':'), blocks.last_mut()) {
            (true, _, Some((_, block))) => block.push_str(&format!("{line}\n")),
            (true, _, None) => {}
            (false, Some((key, _)), _) => blocks.push((key.trim().to_owned(), format!("{line}\n"))),
            (false, None, _) => return Err(format!("its head has a line without a key: {line:?}")),
        }
    }
    let mut head = Map::new();
    for (key, block) in blocks {
        let value = match yaml(&block) {
            Ok(Value::Object(mut one)) if one.contains_key(&key) => {
                one.remove(&key).unwrap_or_default()
            }
            _ if WORDS.contains(&key.as_str()) => {
                let words = block.split_once(':').map(|(_, words)| words).unwrap_or_default();
                Value::String(words.split_whitespace().collect::<Vec<_>>().join(" "))
            }
            _ => return Err(format!("its head cannot be read at {key}: write it as YAML")),
        };
        if head.insert(key.clone(), value).is_some() {
            return Err(format!("its head has {key} twice"));
        }
    }
    Ok(head)
}

/// The first document.
pub(crate) fn yaml(text: &str) -> Result<Value, String> {
    let mut events = Vec::new();
    for event in Parser::new_from_str(text) {
        let (event, _) = event.map_err(|e| e.to_string())?;
        events.push(event);
    }
    let mut events = events.into_iter();
    while let Some(event) = events.next() {
        match event {
            Event::StreamStart | Event::DocumentStart(_) | Event::Nothing => {}
            event => return node(event, &mut events, 0),
        }
    }
    Ok(Value::Null)
}

fn node<'a>(
    event: Event<'a>,
    events: &mut impl Iterator<Item = Event<'a>>,
    depth: usize,
) -> Result<Value, String> {
    if depth > DEPTH_MAX {
        return Err("its head lies too deep".to_owned());
    }
    let ended = || "its head ends in the middle".to_owned();
    match event {
        Event::Scalar(text, ..) => Ok(match text.as_ref() {
            "true" | "True" | "TRUE" => Value::Bool(true),
            "false" | "False" | "FALSE" => Value::Bool(false),
            "null" | "~" => Value::Null,
            text => Value::String(text.to_owned()),
        }),
        Event::SequenceStart(..) => {
            let mut items = Vec::new();
            loop {
                match events.next().ok_or_else(ended)? {
                    Event::SequenceEnd => return Ok(Value::Array(items)),
                    event => items.push(node(event, events, depth + 1)?),
                }
            }
        }
        Event::MappingStart(..) => {
            let mut map = Map::new();
            loop {
                let key = match events.next().ok_or_else(ended)? {
                    Event::MappingEnd => return Ok(Value::Object(map)),
                    event => node(event, events, depth + 1)?,
                };
                let value = node(events.next().ok_or_else(ended)?, events, depth + 1)?;
                let key = key.as_str().map(str::to_owned).unwrap_or_else(|| key.to_string());
                if map.insert(key.clone(), value).is_some() {
                    return Err(format!("its head has {key} {TWICE}"));
                }
            }
        }
        _ => Err("its head has what nobody here reads (an alias, say)".to_owned()),
    }
}
