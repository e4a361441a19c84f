//! Whether one agent does the work: asked once, before the first phase begins, and computed from the
//! work with its numbers.
//!
//! Where these do not say that a team is worth it, one agent does it. The advice changes who works,
//! never what has to hold: gates, models and coverage stay as they are.

use shipmate_model::playbook::{Playbook, Single, Weight};
use shipmate_playbook::complexity;
use shipmate_playbook::project_files::ProjectFiles;
use shipmate_playbook::work::{self, Item, Work};
use shipmate_process::blocking;

use super::stage::Stage;

/// Why one agent should do it all; nothing for a team, or where a phase has begun already.
pub(super) async fn reason(stage: &Stage, ground: &ProjectFiles) -> Result<Option<String>, String> {
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
    { own }.any(|rule| work.items.iter().any(|item| complexity::fits(&rule, item, work)))
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
    let reasons: Vec<String> = few.into_iter().chain(advice(single, work)).collect();
    (!reasons.is_empty()).then(|| {
        let reasons = reasons.join("; ");
        format!("one agent is enough: {reasons} (--set single=no: a team all the same)")
    })
}

/// What a person is told where a team does the work.
pub(super) fn note(stage: &Stage, work: &Work) -> Option<String> {
    let rule = stage.playbook.single.as_ref().filter(|_| !work.items.is_empty())?;
    if stage.course.alone.is_some() {
        return None;
    }
    let reasons = advice(rule, work);
    Some(match reasons.is_empty() {
        true => format!("{}: a team is worth it", pieces(work.items.len())),
        false => format!("a team although one agent would do: {}", reasons.join("; ")),
    })
}

/// What speaks for one agent, each with its number; nothing: a team is worth it.
pub(super) fn advice(rule: &Single, work: &Work) -> Vec<String> {
    let items = &work.items;
    let mut reasons = Vec::new();
    if items.is_empty() {
        return reasons;
    }
    let sizes: Option<Vec<usize>> = items.iter().map(|item| item.size).collect();
    match (&sizes, items.as_slice()) {
        (Some(sizes), [_]) => {
            let files = sizes[0];
            if let Some(least) = rule.files_min.filter(|least| files < *least as usize) {
                reasons.push(format!("1 piece of work with {} (a team from {least})", n(files)));
            }
        }
        (Some(sizes), [_, _]) => {
            let largest = sizes.iter().copied().max().unwrap_or_default();
            if let Some(least) = rule.files_each_min.filter(|least| largest < *least as usize) {
                reasons.push(format!(
                    "2 pieces of work, the larger with {} (a team from {least})",
                    n(largest)
                ));
            }
        }
        (None, [_] | [_, _]) if rule.files_min.or(rule.files_each_min).is_some() => {
            reasons.push(format!("{}, and nobody can say how large", pieces(items.len())));
        }
        _ => {}
    }
    let weighs_time = rule.overhead_minutes.is_some();
    if weighs_time && items.len() > 1 && longest(work, |_| 1) == items.len() {
        reasons.push(format!("{}, one after the other", pieces(items.len())));
    }
    reasons.extend(time(rule, work));
    reasons
}

/// The two sides in minutes: what working side by side saves, and what it costs.
fn time(rule: &Single, work: &Work) -> Vec<String> {
    let Some(all) = work.items.iter().map(|item| minutes(rule, item)).sum::<Option<usize>>() else {
        return Vec::new();
    };
    let mut reasons = Vec::new();
    if let Some(least) = rule.minutes_min.filter(|least| all < *least as usize) {
        reasons.push(format!("about {all} minutes of work (a team from {least})"));
    }
    let path = longest(work, |item| minutes(rule, item).unwrap_or_default());
    let parts = match work.items.as_slice() {
        [one] => complexity::modules(one).len(),
        _ => independent(work),
    };
    // One piece in several modules could be shared out: as far as that goes, it is not one path.
    let path = if work.items.len() == 1 { path.div_ceil(parts.max(1)) } else { path };
    if let Some(each) = rule.overhead_minutes {
        let (saved, cost) = (all - path, each as usize * parts.max(1));
        if saved <= cost {
            reasons.push(format!("side by side saves about {saved} minutes and costs {cost}"));
        }
    }
    reasons
}

fn minutes(rule: &Single, item: &Item) -> Option<usize> {
    let said = item.duration_ms.map(|ms| usize::try_from(ms / 60_000).unwrap_or(usize::MAX));
    said.or_else(|| Some(item.size? * rule.minutes_per_file? as usize))
}

/// How many wait for none of the others.
fn independent(work: &Work) -> usize {
    let known = |need: &String| work.items.iter().any(|item| item.id == *need);
    work.items.iter().filter(|item| !item.needs.iter().any(known)).count()
}

/// The longest chain of pieces that wait for each other.
fn longest(work: &Work, length: impl Fn(&Item) -> usize) -> usize {
    // A piece comes after all it waits for, so by how many those are is an order.
    let waits = work.waits();
    let mut order: Vec<&Item> = work.items.iter().collect();
    order.sort_by_key(|item| waits[item.id.as_str()].len());
    let mut ends: std::collections::BTreeMap<&str, usize> = std::collections::BTreeMap::new();
    for item in order {
        let before = item.needs.iter().filter_map(|need| ends.get(need.as_str())).max();
        let end = before.copied().unwrap_or_default() + length(item);
        ends.insert(&item.id, end);
    }
    ends.values().copied().max().unwrap_or_default()
}

fn n(files: usize) -> String {
    if files == 1 { "1 file".to_owned() } else { format!("{files} files") }
}

fn pieces(count: usize) -> String {
    if count == 1 { "1 piece of work".to_owned() } else { format!("{count} pieces of work") }
}

#[cfg(test)]
mod tests {
    use super::*;

    const RULE: Single = Single {
        independent_min: None,
        files_min: Some(5),
        files_each_min: Some(3),
        minutes_min: Some(30),
        minutes_per_file: Some(6),
        overhead_minutes: Some(5),
    };

    /// `id:files[<need]`.
    fn work(text: &str) -> Work {
        let items = text.split_whitespace().map(|one| {
            let (one, needs) = one.split_once('<').unwrap_or((one, ""));
            let (id, size) = one.split_once(':').unwrap();
            let files = (1..=size.parse().unwrap_or(1)).map(|n| format!("src/{id}{n}/x"));
            Item {
                id: id.to_owned(),
                size: size.parse().ok(),
                files: files.collect(),
                needs: needs.split(',').filter(|n| !n.is_empty()).map(str::to_owned).collect(),
                ..Item::default()
            }
        });
        Work { items: items.collect(), ..Work::default() }
    }

    #[track_caller]
    fn check(text: &str, wanted: &[&str]) {
        assert_eq!(advice(&RULE, &work(text)), wanted, "{text}");
    }

    #[test]
    fn one_small_piece_is_for_one_agent() {
        let small = [
            "1 piece of work with 4 files (a team from 5)",
            "about 24 minutes of work (a team from 30)",
            "side by side saves about 18 minutes and costs 20",
        ];
        check("a:4", &small);
        check("a:9", &[]);
        let features = crate::phases::builtin("features").playbook;
        assert_eq!(features.single, Some(RULE), "the rule of these tests is the playbook's");
    }

    #[test]
    fn two_small_pieces_are_for_one_agent_and_two_of_three_files_for_a_team() {
        check(
            "a:2 b:2",
            &[
                "2 pieces of work, the larger with 2 files (a team from 3)",
                "about 24 minutes of work (a team from 30)",
            ],
        );
        check("a:3 b:3", &[]);
    }

    #[test]
    fn a_chain_saves_nothing() {
        check(
            "a:9 b:9<a c:9<b",
            &[
                "3 pieces of work, one after the other",
                "side by side saves about 0 minutes and costs 5",
            ],
        );
        check("a:9 b:9<a c:9<a", &[]);
    }

    #[test]
    fn the_time_of_all_is_weighed_against_half_an_hour() {
        let mut work = work("a:? b:?");
        for (item, minutes) in work.items.iter_mut().zip([14, 15]) {
            item.size = Some(3);
            item.duration_ms = Some(minutes * 60_000);
        }
        assert_eq!(advice(&RULE, &work), ["about 29 minutes of work (a team from 30)"]);
        work.items[0].duration_ms = Some(16 * 60_000);
        assert!(advice(&RULE, &work).is_empty());
        // The other side: the same work, and words that cost more than it saves.
        let dear = Single { overhead_minutes: Some(8), ..RULE };
        assert_eq!(advice(&dear, &work), ["side by side saves about 15 minutes and costs 16"]);
    }

    #[test]
    fn in_doubt_one_agent_begins() {
        check("a:? b:?", &["2 pieces of work, and nobody can say how large"]);
        check("a:? b:? c:?", &[]);
    }
}
