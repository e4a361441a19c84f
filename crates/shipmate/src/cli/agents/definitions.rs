//! `shipmate agents --definitions`.

use serde_json::json;

use crate::cli::failure::Failure;
use crate::cli::screen::plain;
use crate::cli::session::Session;
use crate::cli::table::{Column, Table, cell};
use crate::coordinator::definitions::Found;
use crate::coordinator::definitions_here;

/// What is there, what each gives, and what of it nobody here holds.
pub(super) fn show(session: &Session) -> Result<(), Failure> {
    let config = session.config()?.config;
    let all = definitions_here(&session.place, &config)
        .map_err(|e| Failure::Storage(format!("the path of this program is unknown: {e}")))?;
    if session.screen.json {
        let found = all.found.iter().map(|found| {
            json!({
                "name": found.definition.name,
                "source": found.definition.source,
                "description": found.description,
                "program": found.format.program(),
                "model": found.model,
                "tools": found.definition.tools,
                "denied": found.definition.denied,
                "servers": found.definition.servers.keys().collect::<Vec<_>>(),
                "notes": found.notes,
            })
        });
        let broken = all.broken.iter();
        let broken = broken.map(|one| json!({ "source": one.source, "reason": one.reason }));
        return session.screen.json(&json!({
            "definitions": found.collect::<Vec<_>>(),
            "broken": broken.collect::<Vec<_>>(),
        }));
    }
    if all.found.is_empty() && all.broken.is_empty() {
        let text = "no definitions: .claude/agents/**/*.md, .codex/agents/**/*.toml and .opencode/agent/**/*.md, \
                    here and where these programs have your settings";
        return session.screen.line(text);
    }
    let mut table = Table::new(&[
        Column::Left("NAME"),
        Column::Left("FROM"),
        Column::Left("MODEL"),
        Column::Left("TOOLS"),
        Column::Elastic("WHAT FOR"),
    ]);
    let lists: Vec<String> = all.found.iter().map(tools).collect();
    for (found, tools) in all.found.iter().zip(&lists) {
        table.row([
            cell(&found.definition.name),
            cell(&found.definition.source),
            cell(&found.model),
            cell(tools),
            cell(&found.description),
        ]);
    }
    session.screen.print(&table.render(&session.screen))?;
    for found in all.found.iter().filter(|found| !found.notes.is_empty()) {
        let (name, notes) = (&found.definition.name, found.notes.join("; "));
        session.screen.line(&format!("{}: {}", plain(name), plain(&notes)))?;
    }
    for one in &all.broken {
        let (file, reason) = (plain(&one.source), plain(&one.reason));
        session.screen.line(&format!("{file}: cannot be used: {reason}"))?;
    }
    Ok(())
}

fn tools(found: &Found) -> String {
    let definition = &found.definition;
    let mut text = match &definition.tools {
        None => "all".to_owned(),
        Some(tools) => tools.join(" "),
    };
    if !definition.denied.is_empty() {
        text.push_str(&format!(" without {}", definition.denied.join(" ")));
    }
    text
}
