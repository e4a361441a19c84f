//! The page of all commands, from clap's own tree of them.

use clap::{Arg, Command, CommandFactory};

use super::head;
use crate::cli::Cli;

pub(super) fn page() -> String {
    let mut root = Cli::command();
    root.build();
    let mut text = head("Commands");
    push_about(&mut text, &root);
    push_block(&mut text, &after_help(&root));
    text.push_str("\n## Everywhere\n\nEvery command takes these.\n\n");
    for arg in root.get_arguments().filter(|arg| arg.is_global_set()) {
        push_option(&mut text, arg);
    }
    text.push_str("\n## List\n\n");
    for (path, command) in leaves(&root) {
        let about = command.get_about().map(ToString::to_string).unwrap_or_default();
        let anchor = path.replace(' ', "-");
        text.push_str(&format!("- [`{path}`](#{anchor}): {about}\n"));
    }
    for (path, command) in leaves(&root) {
        push_command(&mut text, &path, command);
    }
    text
}

/// Commands that do something, in the order of the help.
fn leaves(root: &Command) -> Vec<(String, &Command)> {
    let mut found = Vec::new();
    collect(root, root.get_name(), &mut found);
    found
}

fn collect<'a>(command: &'a Command, path: &str, found: &mut Vec<(String, &'a Command)>) {
    for sub in command.get_subcommands().filter(|sub| !sub.is_hide_set()) {
        if sub.get_name() == "help" {
            continue;
        }
        let path = format!("{path} {}", sub.get_name());
        if !sub.is_subcommand_required_set() {
            found.push((path.clone(), sub));
        }
        collect(sub, &path, found);
    }
}

fn push_command(text: &mut String, path: &str, command: &Command) {
    text.push_str(&format!("\n## {path}\n\n"));
    push_about(text, command);
    let own = |arg: &&Arg| !arg.is_global_set() && !arg.is_hide_set() && arg.get_id() != "help";
    let mut usage = path.to_owned();
    if command.get_opts().any(|arg| own(&arg)) || command.get_arguments().any(is_flag) {
        usage.push_str(" [OPTIONS]");
    }
    for arg in command.get_positionals() {
        let name = value_name(arg);
        let many = arg.get_num_args().is_some_and(|range| range.max_values() > 1);
        let dots = if many { "..." } else { "" };
        match arg.is_required_set() {
            true => usage.push_str(&format!(" <{name}>{dots}")),
            false => usage.push_str(&format!(" [{name}]{dots}")),
        }
    }
    if command.has_subcommands() {
        usage.push_str(" [COMMAND]");
    }
    text.push_str(&format!("\n```text\n{usage}\n```\n"));
    let args: Vec<&Arg> = command.get_arguments().filter(own).collect();
    if !args.is_empty() {
        text.push('\n');
    }
    for arg in args {
        push_option(text, arg);
    }
    push_block(text, &after_help(command));
}

fn is_flag(arg: &Arg) -> bool {
    let own = !arg.is_global_set() && arg.get_id() != "help" && arg.get_id() != "version";
    own && !arg.get_action().takes_values()
}

fn push_about(text: &mut String, command: &Command) {
    let about = command.get_long_about().or(command.get_about());
    let about = about.map(ToString::to_string).unwrap_or_default();
    // The first line is a title without a full stop.
    let (title, rest) = about.split_once("\n\n").unwrap_or((about.as_str(), ""));
    text.push_str(&format!("{}.\n", title.trim().trim_end_matches('.')));
    if !rest.is_empty() {
        text.push_str(&format!("\n{}\n", rest.trim()));
    }
}

fn after_help(command: &Command) -> String {
    command.get_after_help().map(ToString::to_string).unwrap_or_default()
}

fn push_block(text: &mut String, block: &str) {
    if !block.is_empty() {
        text.push_str(&format!("\n```text\n{}\n```\n", block.trim_end()));
    }
}

fn push_option(text: &mut String, arg: &Arg) {
    let name = match (arg.get_short(), arg.get_long()) {
        (_, Some(long)) if arg.get_action().takes_values() => {
            format!("--{long} {}", value_name(arg))
        }
        (_, Some(long)) => format!("--{long}"),
        _ => value_name(arg),
    };
    let mut facts = arg.get_help().map(ToString::to_string).unwrap_or_default();
    let choices: Vec<String> =
        arg.get_possible_values().iter().map(|value| value.get_name().to_owned()).collect();
    if !choices.is_empty() && arg.get_action().takes_values() {
        facts.push_str(&format!(" (one of {})", choices.join(", ")));
    }
    let defaults: Vec<String> =
        arg.get_default_values().iter().map(|value| value.to_string_lossy().into_owned()).collect();
    let shown = arg.get_action().takes_values() && !arg.is_hide_default_value_set();
    if shown && defaults.first().is_some_and(|default| !default.is_empty()) {
        facts.push_str(&format!(" [default: {}]", defaults.join(" ")));
    }
    if let Some(variable) = arg.get_env() {
        facts.push_str(&format!(" [env: {}]", variable.to_string_lossy()));
    }
    let facts = facts.trim();
    match facts.is_empty() {
        true => text.push_str(&format!("- `{name}`\n")),
        false => text.push_str(&format!("- `{name}`: {facts}\n")),
    }
}

fn value_name(arg: &Arg) -> String {
    let names = arg.get_value_names().map(|names| names.join(" "));
    names.unwrap_or_else(|| arg.get_id().to_string().to_uppercase())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_tree_of_commands_is_sound() {
        Cli::command().debug_assert();
    }

    #[test]
    fn every_command_has_an_example_and_a_line_about_it() {
        let root = Cli::command();
        for (path, command) in leaves(&root) {
            assert!(command.get_about().is_some(), "{path} says nothing about itself");
            let example = after_help(command);
            let shown = example.contains("shipmate") || path.starts_with("shipmate config ");
            assert!(shown, "{path} has no example");
        }
    }

    #[test]
    fn the_page_names_the_commands_and_hides_the_hidden() {
        let page = page();
        for command in
            ["## shipmate task claim\n", "## shipmate config init\n", "## shipmate log\n"]
        {
            assert!(page.contains(command), "{command}");
        }
        assert!(!page.contains("demo-worker"));
    }
}
