//! Whether the work is too little for a team: asked once, before the first phase begins.

use shipmate_model::playbook::{Playbook, Single, Weight};
use shipmate_playbook::ground::Ground;
use shipmate_playbook::weight;
use shipmate_playbook::work::{self, Work};
use shipmate_process::blocking;

use super::single;
use super::stage::Stage;

/// Why one agent should do it all; nothing for a team, or where a phase has begun already.
pub(super) async fn reason(stage: &Stage, ground: &Ground) -> Result<Option<String>, String> {
    let (Some(single), Some(source)) = (stage.playbook.single, stage.playbook.work.clone()) else {
        return Ok(None);
    };
    // Somebody may want a team all the same.
    let is_wanted = stage.values.get("single").is_some_and(|word| word == "no");
    if !stage.is_new() || is_wanted {
        return Ok(None);
    }
    let (ground, values) = (ground.clone(), stage.values.clone());
    let work = blocking(move || work::read(&source, &ground, &values)).await?;
    match &work.absent {
        Some(absent) => Err(absent.clone()),
        None if is_risky(&stage.playbook, &work) && stage.wants_plans() => Ok(None),
        None => Ok(too_little(&single, &work)),
    }
}

/// A piece must be planned for what it is, not for its size: whoever does it alone would show its
/// plan to nobody.
fn is_risky(playbook: &Playbook, work: &Work) -> bool {
    let rules = playbook.roles.values().filter_map(|role| role.plan_when.as_ref());
    let own = rules.map(|rule| Weight {
        having: rule.having.iter().filter(|key| *key != work::FIRST).cloned().collect(),
        words: rule.words.clone(),
        touches: rule.touches.clone(),
        ..Weight::default()
    });
    { own }.any(|rule| work.items.iter().any(|item| weight::fits(&rule, item, work)))
}

fn too_little(single: &Single, work: &Work) -> Option<String> {
    if let Some(unclear) = &work.unclear {
        return Some(format!("it is not clear which work is whose: {unclear}"));
    }
    let free = work.items.iter().filter(|item| item.needs.is_empty()).count();
    let independent = work.independent.unwrap_or(free);
    let min = single.independent_min.unwrap_or_default() as usize;
    let few = (independent < min).then(|| {
        let (pieces, names) = (work.items.len(), work.items.iter().map(|item| item.id.as_str()));
        let names: Vec<&str> = names.collect();
        format!(
            "{independent} of {pieces} pieces ({}) can be worked on side by side, and a team is \
             worth it from {min} on",
            names.join(", ")
        )
    });
    let reasons: Vec<String> = few.into_iter().chain(single::advice(single, work)).collect();
    (!reasons.is_empty()).then(|| {
        let reasons = reasons.join("; ");
        format!("one agent is enough: {reasons} (--set single=no: a team all the same)")
    })
}
