//! Tests of a text against what it was before: only what is new counts.

use std::collections::BTreeSet;

/// The first new block that has too many lines. A block is an unindented line with everything
/// below it that is indented, empty or only closes it: a type, a signature, a function.
pub(super) fn too_long(text: &str, before: &str, max: u32) -> Option<String> {
    let known: BTreeSet<Vec<&str>> = blocks(before).into_iter().map(|(_, lines)| lines).collect();
    let long = |(_, lines): &(usize, Vec<&str>)| {
        lines.iter().filter(|line| !line.trim().is_empty()).count() > max as usize
            && !known.contains(lines)
    };
    let (at, lines) = blocks(text).into_iter().find(long)?;
    let count = lines.iter().filter(|line| !line.trim().is_empty()).count();
    let head = lines.first().map(|line| line.trim()).unwrap_or_default();
    Some(format!(
        "says too much: {head:?} in line {at} has {count} lines, at most {max} are for it"
    ))
}

fn blocks(text: &str) -> Vec<(usize, Vec<&str>)> {
    let mut found: Vec<(usize, Vec<&str>)> = Vec::new();
    for (at, line) in text.lines().enumerate() {
        let is_head = line.starts_with(|c: char| !c.is_whitespace() && !")}]".contains(c));
        match found.last_mut() {
            Some((_, lines)) if !is_head => lines.push(line),
            _ => found.push((at + 1, vec![line])),
        }
    }
    for (_, lines) in &mut found {
        while lines.last().is_some_and(|line| line.trim().is_empty()) {
            lines.pop();
        }
    }
    found
}

/// The lines with one of these marks that are new.
pub(super) fn still_has(text: &str, before: &str, marks: &[String]) -> Option<String> {
    let known: BTreeSet<&str> = before.lines().map(str::trim).collect();
    let marked = |(_, line): &(usize, &str)| {
        !known.contains(line.trim()) && marks.iter().any(|mark| line.contains(mark))
    };
    let lines: Vec<String> =
        text.lines().enumerate().filter(marked).map(|(at, _)| (at + 1).to_string()).collect();
    let (at, line) = text.lines().enumerate().find(marked)?;
    let mark = marks.iter().find(|mark| line.contains(mark.as_str()))?;
    Some(match lines.len() {
        1 => format!("still has {mark} in line {}", at + 1),
        _ => format!("still has {mark} in lines {}", lines.join(", ")),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn model(lines: usize) -> String {
        let fields: Vec<String> = (1..lines).map(|n| format!("    f{n}: int")).collect();
        format!("class User:\n{}\n", fields.join("\n"))
    }

    #[test]
    fn nineteen_lines_pass_and_twenty_are_named_with_the_limit() {
        let text = format!("import x\n\n{}\n{}", model(19), model(19));
        assert_eq!(too_long(&text, "", 19), None, "each model counts by itself");
        let why = too_long(&format!("import x\n\n{}", model(20)), "", 19).unwrap();
        assert_eq!(
            why,
            "says too much: \"class User:\" in line 3 has 20 lines, at most 19 are for it"
        );
        let braces = format!("struct A {{\n{}\n}}\n", vec!["    a: u8,"; 18].join("\n"));
        assert!(too_long(&braces, "", 19).is_some(), "what closes a block is part of it");
    }

    #[test]
    fn what_was_there_before_is_not_counted() {
        let old = model(40);
        assert_eq!(too_long(&format!("{old}\nclass New:\n    a: int\n"), &old, 19), None);
        let skip = vec!["pytest.mark.skip".to_owned(), "it.skip".to_owned()];
        assert_eq!(still_has("@pytest.mark.skip\n", "@pytest.mark.skip\n", &skip), None);
        let two = "it.skip('a')\nx\nit.skip('b')\n";
        assert_eq!(still_has(two, "", &skip).unwrap(), "still has it.skip in lines 1, 3");
    }
}
