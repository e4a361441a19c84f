//! Codex: the server in `config.toml`, the hooks in `hooks.json` beside it. Codex runs hooks only
//! after its user has reviewed them.

use super::{Change, Scope, Site, Unfit, Way};

const HEAD: &str = "[mcp_servers.shipmate]";
const ARGS: &str = "args = [\"mcp\"]";
/// Codex starts servers in a bare environment. A coordinator that one of them starts has these for its agents.
const PASSED: [&str; 10] = [
    "ANTHROPIC_API_KEY",
    "ANTHROPIC_AUTH_TOKEN",
    "CLAUDE_CODE_OAUTH_TOKEN",
    "CLAUDE_CONFIG_DIR",
    "OPENAI_API_KEY",
    "CODEX_HOME",
    "GEMINI_API_KEY",
    "GOOGLE_API_KEY",
    "OPENROUTER_API_KEY",
    "XDG_RUNTIME_DIR",
];

pub(super) fn changes(scope: Scope, way: Way, site: &Site) -> Result<Vec<Change>, Unfit> {
    let folder = match (scope, std::env::var_os("CODEX_HOME")) {
        (Scope::Project, _) => site.workspace.join(".codex"),
        (Scope::User, Some(folder)) => folder.into(),
        (Scope::User, None) => site.home.join(".codex"),
    };
    let command = toml::Value::String(site.command.clone());
    let block = format!("{HEAD}\ncommand = {command}\n{ARGS}\n{}\n", passed());
    let path = folder.join("config.toml");
    let at = path.clone();
    let server = site.change(path, |text| {
        let done = match way {
            Way::Install => add(text, &block),
            Way::Undo => remove(text),
        };
        done.map_err(|fact| {
            let remedy = format!("change it by hand; what is meant:\n{block}");
            Unfit::of(&at, &fact, remedy.trim_end().replace('\n', "\n  ").as_str())
        })
    })?;
    Ok(vec![server, site.hooks(folder.join("hooks.json"), way, false)?])
}

fn passed() -> String {
    let names = PASSED.map(|name| format!("{name:?}"));
    format!("env_vars = [{}]", names.join(", "))
}

/// A table at the end of the file leaves every line before it as it is.
fn add(text: &str, block: &str) -> Result<String, String> {
    let table = read(text)?;
    if let Some(there) = table.get("mcp_servers").and_then(|servers| servers.get("shipmate")) {
        let meant = read(block)?;
        // As an earlier release wrote it.
        let mut earlier = meant["mcp_servers"]["shipmate"].clone();
        earlier.as_table_mut().map(|table| table.remove("env_vars"));
        if *there == earlier {
            return add(&remove(text)?, block);
        }
        return match there == &meant["mcp_servers"]["shipmate"] {
            true => Ok(text.to_owned()),
            false => Err("mcp_servers.shipmate is there already, with other settings".to_owned()),
        };
    }
    let gap = match text {
        "" => "",
        text if text.ends_with('\n') => "\n",
        _ => "\n\n",
    };
    let whole = format!("{text}{gap}{block}");
    read(&whole).map_err(|_| "a table cannot be added to it (mcp_servers is inline)".to_owned())?;
    Ok(whole)
}

fn remove(text: &str) -> Result<String, String> {
    let lines: Vec<&str> = text.split_inclusive('\n').collect();
    let is_block = |at: &usize| match &lines[*at..] {
        [head, command, args, ..] => {
            let command = command.trim().strip_prefix("command = ").unwrap_or_default();
            head.trim() == HEAD
                && super::is_shipmate(command.trim_matches(['"', '\'']))
                && args.trim() == ARGS
        }
        _ => false,
    };
    let Some(at) = (0..lines.len()).find(is_block) else {
        let table = read(text)?;
        return match table.get("mcp_servers").and_then(|servers| servers.get("shipmate")) {
            Some(_) => Err("mcp_servers.shipmate was changed since it was added".to_owned()),
            None => Ok(text.to_owned()),
        };
    };
    // The empty line that was put before it goes with it; an earlier release wrote no variables.
    let begin = if at > 0 && lines[at - 1] == "\n" { at - 1 } else { at };
    let has_passed = lines.get(at + 3).is_some_and(|line| line.trim() == passed());
    let end = if has_passed { at + 4 } else { at + 3 };
    let rest = [&lines[..begin], &lines[end..]].concat().concat();
    read(&rest).map_err(|_| "mcp_servers.shipmate was changed since it was added".to_owned())?;
    Ok(rest)
}

fn read(text: &str) -> Result<toml::Table, String> {
    text.parse::<toml::Table>().map_err(|e| format!("it is no TOML: {}", e.message()))
}

#[cfg(test)]
mod tests {
    use super::*;

    const BLOCK: &str = "[mcp_servers.shipmate]\ncommand = \"shipmate\"\nargs = [\"mcp\"]\n";

    #[test]
    fn what_is_added_is_taken_back_exactly_whatever_is_edited_around_it() {
        for text in [
            "",
            "model = \"x\"\n",
            "# mine\nmodel = \"x\"  # kept\n\n[mcp_servers.other]\ncommand = 'o'\n",
            "[a]\nb = 1",
        ] {
            let added = add(text, BLOCK).unwrap();
            assert!(added.starts_with(text), "{added}");
            assert_eq!(add(&added, BLOCK).unwrap(), added, "twice changes nothing");
            let back = remove(&added).unwrap();
            assert_eq!(back.trim_end(), text.trim_end());
            let edited = format!("# new\n{added}\n[later]\nc = 2\n");
            let back = remove(&edited).unwrap();
            assert!(!back.contains("shipmate") && back.contains("[later]\nc = 2\n"), "{back}");
        }
    }

    #[test]
    fn what_somebody_else_wrote_is_neither_replaced_nor_removed() {
        let own = "[mcp_servers.shipmate]\ncommand = \"other\"\n";
        assert!(add(own, BLOCK).unwrap_err().contains("with other settings"));
        assert!(remove(own).unwrap_err().contains("was changed"));
        assert!(add("mcp_servers = { a = { command = \"x\" } }\n", BLOCK).is_err());
        assert!(add("no toml [", BLOCK).unwrap_err().contains("it is no TOML"));
    }
}
