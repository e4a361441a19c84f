//! `Config`: the few settings that are the agent's own to change, for as long as it lives.

use shipmate_protocol::native::Limits;

/// Name, least and most.
const OWN: [(&str, u64, u64); 2] =
    [("shell_timeout_ms", 1_000, 3_600_000), ("output_bytes_max", 1_024, 262_144)];

/// What others decide: naming them is worth an answer of its own.
const RUNTIMES: [&str; 9] =
    ["mode", "scope", "gate", "budget", "model", "role", "permission", "fence", "requests"];

pub(super) fn listed(limits: &Limits) -> String {
    let lines = OWN
        .map(|(name, least, most)| format!("{name} = {} ({least} to {most})", value(limits, name)));
    lines.join("\n")
}

fn value(limits: &Limits, name: &str) -> u64 {
    match name {
        "shell_timeout_ms" => limits.shell_timeout_ms,
        _ => limits.output_bytes_max as u64,
    }
}

pub(super) fn shown(limits: &Limits, key: &str) -> Result<String, String> {
    known(key)?;
    Ok(format!("{key} = {}", value(limits, key)))
}

pub(super) fn set(limits: &mut Limits, key: &str, to: Option<u64>) -> Result<String, String> {
    let (least, most) = known(key)?;
    let Some(to) = to.filter(|to| (least..=most).contains(to)) else {
        return Err(format!("{key} must be a whole number from {least} to {most}"));
    };
    match key {
        "shell_timeout_ms" => limits.shell_timeout_ms = to,
        _ => limits.output_bytes_max = usize::try_from(to).expect("it is in bounds"),
    }
    Ok(format!("{key} = {to}, for this session"))
}

fn known(key: &str) -> Result<(u64, u64), String> {
    if let Some((_, least, most)) = OWN.iter().find(|(name, ..)| *name == key) {
        return Ok((*least, *most));
    }
    let names = OWN.map(|(name, ..)| name).join(", ");
    let lower = key.to_lowercase();
    if RUNTIMES.iter().any(|word| lower.contains(word)) {
        return Err(format!(
            "{key} is the runtime's, and no agent changes it: ask the lead with SendMessage. \
             Yours are {names}"
        ));
    }
    Err(format!("there is no setting {key:?}; yours are {names}"))
}
