//! `shipmate playbook init`.

use toml::de::DeTable;

use super::{harness, write};
use crate::cli::failure::Failure;
use crate::cli::session::Session;

/// Copy a playbook into the project, to be changed there
///
/// Writes .shipmate/playbooks/NAME.toml, which stands above a playbook of that name that comes with
/// shipmate.
#[derive(clap::Args, Debug)]
#[command(after_help = "\
Examples:
  shipmate playbook init departments                a copy to change
  shipmate playbook init ours --from departments    the same under another name
  shipmate playbook init features --harness         .harness/ for a project that has none")]
pub(crate) struct InitArgs {
    /// How it is to be called
    name: String,

    /// What to copy [default: the one of the same name]
    #[arg(long, value_name = "NAME|FILE")]
    from: Option<String>,

    /// Instead of a copy, make the files that `features` works by: .harness/features.json, init.sh
    /// and context_summary.md
    #[arg(long, conflicts_with = "from")]
    harness: bool,
}

pub(crate) fn run(args: InitArgs, mut session: Session) -> Result<(), Failure> {
    let InitArgs { name, from, harness } = args;
    if harness {
        return make_harness(&name, &session);
    }
    if super::is_path(&name) {
        return Err(Failure::Usage(format!(
            "{name:?} is a path\n  give a name: it becomes .shipmate/playbooks/NAME.toml"
        )));
    }
    if let Some((fact, remedy)) = shipmate_protocol::plan_file::bad_name(&name) {
        return Err(Failure::Usage(format!("{fact}\n  {remedy}")));
    }
    let shown = format!(".shipmate/playbooks/{name}.toml");
    let path = session.place.project().join("playbooks").join(format!("{name}.toml"));
    if path.exists() {
        return Err(Failure::Usage(format!(
            "{shown} exists already\n  edit it, or choose another name"
        )));
    }
    let from = super::given(from.as_deref().unwrap_or(&name))?;
    let view = session.ask(from)?;
    write(&path, None, &named(&view.toml, &name))?;
    match session.screen.json {
        true => session.screen.json(&serde_json::json!({ "path": shown })),
        false => session.screen.line(&format!(
            "wrote {shown}: a copy of {}\n`shipmate playbook check {name}` says what is wrong with \
             it once you have changed it",
            view.row.name
        )),
    }
}

fn make_harness(name: &str, session: &Session) -> Result<(), Failure> {
    if name != "features" {
        return Err(Failure::Usage(format!(
            "{name} has no harness\n  `shipmate playbook init features --harness` makes one"
        )));
    }
    let made = harness::make(&session.place.workspace)?;
    if session.screen.json {
        return session.screen.json(&serde_json::json!({ "made": made }));
    }
    let first = match made.as_slice() {
        [] => "everything is there already; nothing was changed".to_owned(),
        made => format!("made {}", made.join(", ")),
    };
    session.screen.line(&format!(
        "{first}\nsay in .harness/init.sh how the project is tested, and put features into \
         .harness/features.json:\ndocs/playbook-files.md shows one. Commit both. `shipmate run` does \
         those that are not passing\nyet, now and in every later session"
    ))
}

/// The text with another name in it.
fn named(text: &str, name: &str) -> String {
    let document = DeTable::parse(text).ok();
    let there = document.as_ref().and_then(|table| table.get_ref().get("name"));
    match there.map(|value| value.span()) {
        Some(span) => format!("{}{name:?}{}", &text[..span.start], &text[span.end..]),
        None => format!("name = {name:?}\n{text}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_copy_has_its_own_name_and_the_rest_of_the_text() {
        let text = "# a way\nname = 'old' # its name\n[roles.old]\n";
        assert_eq!(named(text, "new"), "# a way\nname = \"new\" # its name\n[roles.old]\n");
    }
}
