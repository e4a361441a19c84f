//! Claude Code: the server in `.mcp.json` (or the user's `.claude.json`), the hooks in
//! `.claude/settings.local.json` (or the user's settings).

use serde_json::json;

use super::{Change, Scope, Site, Unfit, Way, json_text};

pub(super) fn changes(scope: Scope, way: Way, site: &Site) -> Result<Vec<Change>, Unfit> {
    let user = match std::env::var_os("CLAUDE_CONFIG_DIR") {
        Some(folder) => folder.into(),
        None => site.home.join(".claude"),
    };
    let (server, hooks) = match scope {
        Scope::Project => {
            let settings = site.workspace.join(".claude").join("settings.local.json");
            (site.workspace.join(".mcp.json"), settings)
        }
        Scope::User => {
            let server = match std::env::var_os("CLAUDE_CONFIG_DIR") {
                Some(_) => user.join(".claude.json"),
                None => site.home.join(".claude.json"),
            };
            (server, user.join("settings.json"))
        }
    };
    let entry = json!({ "command": site.command, "args": ["mcp"] });
    let at = server.clone();
    let server = site.change(server, |text| {
        let keys = ["mcpServers", "shipmate"];
        match way {
            Way::Install => json_text::set(text, &keys, &entry),
            Way::Undo => json_text::unset(text, &keys, |there| {
                let command = there["command"].as_str().unwrap_or_default();
                there["args"] == entry["args"] && super::is_shipmate(command)
            }),
        }
        .map_err(|fact| Unfit::of(&at, &fact, "repair or remove it, then try again"))
    })?;
    Ok(vec![server, site.hooks(hooks, way, true)?])
}
