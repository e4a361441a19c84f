//! Which departments take part in a run, and what placeholders stand for in each of them.
//!
//! The value `departments` names them, separated by commas; without it all take part. A value
//! whose key begins with a department and a point is that department's own. Whatever is about a
//! department that takes no part is left out with it.

use shipmate_model::Name;
use shipmate_model::playbook::Playbook;

use super::fill::{Values, fill};

/// Keeps the departments of this run. The error is what is wrong and what can be done.
pub fn choose(playbook: &mut Playbook) -> Result<(), (String, String)> {
    place(&mut playbook.values);
    if playbook.departments.is_empty() {
        return Ok(());
    }
    let known: Vec<Name> = playbook.departments.iter().map(|own| own.name.clone()).collect();
    let names = || known.iter().map(Name::as_str).collect::<Vec<_>>().join(", ");
    if let Some(chosen) = playbook.values.get("departments") {
        let chosen: Vec<&str> =
            chosen.split(',').map(str::trim).filter(|name| !name.is_empty()).collect();
        let is_known = |name: &&&str| known.iter().any(|own| own.as_str() == **name);
        if let Some(other) = chosen.iter().find(|name| !is_known(name)) {
            let text = format!("{} has no department {other}", playbook.name);
            return Err((text, format!("its departments are {}", names())));
        }
        if chosen.is_empty() {
            let text = "no department takes part".to_owned();
            return Err((text, format!("name one or more of {}", names())));
        }
        playbook.departments.retain(|own| chosen.contains(&own.name.as_str()));
    }
    let kept: Vec<Name> = playbook.departments.iter().map(|own| own.name.clone()).collect();
    for own in &mut playbook.departments {
        own.after.retain(|name| kept.contains(name));
        let prefix = format!("{}.", own.name);
        let mine = playbook.values.iter().filter_map(|(key, value)| {
            Some((key.strip_prefix(&prefix)?.to_owned(), value.clone()))
        });
        own.values.extend(mine);
        let mut values = playbook.values.clone();
        values.insert("department".to_owned(), own.name.to_string());
        values.extend(own.values.clone());
        own.description = fill(&own.description, &values);
    }
    Ok(())
}

/// A folder called `01-accounts` gives a number and a name.
fn place(values: &mut Values) {
    let Some(dir) = values.get("dir") else { return };
    let name = dir.trim_end_matches('/').rsplit('/').next().unwrap_or_default().to_owned();
    let digits = name.chars().take_while(char::is_ascii_digit).count();
    let (number, rest) = name.split_at(digits);
    let rest = rest.trim_start_matches(['-', '_']);
    let (number, rest) = (number.to_owned(), if rest.is_empty() { &name } else { rest }.to_owned());
    values.entry("dir-number".to_owned()).or_insert(number);
    values.entry("dir-name".to_owned()).or_insert(rest);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_folder_with_a_number_gives_a_number_and_a_name() {
        let mut values = Values::from([("dir".to_owned(), "phases/01-accounts/".to_owned())]);
        place(&mut values);
        assert_eq!(
            (values["dir-number"].as_str(), values["dir-name"].as_str()),
            ("01", "accounts")
        );
        let mut values = Values::from([("dir".to_owned(), "plans".to_owned())]);
        place(&mut values);
        assert_eq!((values["dir-number"].as_str(), values["dir-name"].as_str()), ("", "plans"));
    }
}
