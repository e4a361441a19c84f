//! Links between the pages of the repository lead somewhere.
//!
//! Only links to files of the tree are followed, with their anchors; the web is not asked, because
//! a test that needs somebody else's server fails for reasons that are not ours.

use std::collections::BTreeMap;

use crate::tree::Tree;
use crate::violation::Violation;

pub(super) fn check(tree: &Tree) -> Vec<Violation> {
    let mut found = Vec::new();
    for (path, text) in tree.texts().filter(|(path, _)| path.ends_with(".md")) {
        for (line, target) in links(text) {
            if let Err((fact, remedy)) = follow(tree, path, text, &target) {
                found.push(Violation::new(path, line, fact, remedy));
            }
        }
    }
    found
}

fn follow(tree: &Tree, from: &str, text: &str, target: &str) -> Result<(), (String, String)> {
    if is_elsewhere(target) {
        return Ok(());
    }
    let (file, anchor) = target.split_once('#').unwrap_or((target, ""));
    let file = file.split('?').next().unwrap_or(file).replace("%20", " ");
    let (path, page) = if file.is_empty() {
        (from.to_owned(), Some(text))
    } else {
        let missing = || {
            (format!("the link to {target} leads nowhere"), "correct it or add the file".to_owned())
        };
        let path = resolve(from, &file).filter(|p| tree.has(p)).ok_or_else(missing)?;
        let page = tree.text(&path);
        (path, page)
    };
    let page = page.filter(|_| path.ends_with(".md") && !anchor.is_empty());
    match page {
        Some(page) if !anchors(page).contains(&anchor.to_lowercase()) => Err((
            format!("{path} has no heading #{anchor}"),
            "correct the anchor; it is the heading in lower case with `-` for spaces".to_owned(),
        )),
        _ => Ok(()),
    }
}

/// `https:`, `mailto:` and the like, and `//host/path`.
fn is_elsewhere(target: &str) -> bool {
    let scheme = target.split(['/', '#', '?']).next().unwrap_or_default();
    scheme.contains(':') || target.starts_with("//")
}

/// The path from the root, or `None` if it leads out of the repository.
fn resolve(from: &str, link: &str) -> Option<String> {
    let mut parts: Vec<&str> = from.split('/').collect();
    parts.pop();
    if link.starts_with('/') {
        parts.clear();
    }
    for part in link.split('/') {
        match part {
            "" | "." => {}
            ".." => {
                parts.pop()?;
            }
            name => parts.push(name),
        }
    }
    Some(parts.join("/"))
}

/// The lines that are prose, with their numbers: no code blocks, and code spans blanked.
fn prose(text: &str) -> impl Iterator<Item = (usize, String)> {
    let mut fence: Option<String> = None;
    text.lines().enumerate().filter_map(move |(index, line)| {
        let start = line.trim_start();
        let mark: String = match start.chars().next() {
            Some(c @ ('`' | '~')) => start.chars().take_while(|other| *other == c).collect(),
            _ => String::new(),
        };
        match &fence {
            Some(open) => {
                if mark.starts_with(open.as_str()) && start.trim_end() == mark {
                    fence = None;
                }
                None
            }
            None if mark.len() >= 3 => {
                fence = Some(mark);
                None
            }
            None => Some((index + 1, line.to_owned())),
        }
    })
}

/// The line with what stands between backticks replaced by spaces.
fn without_code(line: &str) -> String {
    let mut in_code = false;
    let closes = |rest: &str| rest.contains('`');
    let mut out = String::new();
    for (at, c) in line.char_indices() {
        if c == '`' && (in_code || closes(&line[at + 1..])) {
            in_code = !in_code;
            out.push(' ');
        } else {
            out.push(if in_code { ' ' } else { c });
        }
    }
    out
}

/// Every link target of a page with its line.
fn links(text: &str) -> Vec<(usize, String)> {
    let mut found = Vec::new();
    for (number, line) in prose(text) {
        let line = without_code(&line);
        for (at, _) in line.match_indices("](") {
            found.push((number, destination(&line[at + 2..])));
        }
        if let Some(rest) = line.trim_start().strip_prefix('[')
            && !rest.starts_with('^')
            && let Some((label, target)) = rest.split_once("]:")
            && !label.contains(']')
        {
            found.push((number, destination(target.trim_start())));
        }
        for attribute in ["href=\"", "src=\""] {
            for (at, _) in line.match_indices(attribute) {
                let value = &line[at + attribute.len()..];
                found.push((number, value.split('"').next().unwrap_or_default().to_owned()));
            }
        }
    }
    found.retain(|(_, target)| !target.is_empty());
    found
}

/// The target at the start of `text`, without a title: it ends at a space or an open `)`.
fn destination(text: &str) -> String {
    if let Some(quoted) = text.strip_prefix('<') {
        return quoted.split('>').next().unwrap_or_default().to_owned();
    }
    let mut depth = 0usize;
    let mut out = String::new();
    for c in text.chars() {
        match c {
            '(' => depth += 1,
            ')' if depth == 0 => break,
            ')' => depth -= 1,
            c if c.is_whitespace() => break,
            _ => {}
        }
        out.push(c);
    }
    out
}

/// What can stand after `#` in a link to this page.
fn anchors(page: &str) -> Vec<String> {
    let mut seen: BTreeMap<String, usize> = BTreeMap::new();
    let mut found = Vec::new();
    for (_, line) in prose(page) {
        for attribute in ["id=\"", "name=\""] {
            for (at, _) in line.match_indices(attribute) {
                let value = &line[at + attribute.len()..];
                found.push(value.split('"').next().unwrap_or_default().to_lowercase());
            }
        }
        let level = line.bytes().take_while(|b| *b == b'#').count();
        let Some(title) = line[level..].strip_prefix(' ').filter(|_| (1..=6).contains(&level))
        else {
            continue;
        };
        let slug = slug(title);
        let count = seen.entry(slug.clone()).or_default();
        found.push(if *count == 0 { slug } else { format!("{slug}-{count}") });
        *count += 1;
    }
    found
}

/// The anchor that forges make of a heading.
fn slug(title: &str) -> String {
    // `[text](target)` is shown as its text.
    let mut shown = String::new();
    let mut rest = title.trim().trim_end_matches('#').trim_end();
    while let Some((text, after)) = rest.split_once("](") {
        shown.push_str(text);
        rest = after.split_once(')').map_or("", |(_, after)| after);
    }
    shown.push_str(rest);
    shown
        .to_lowercase()
        .chars()
        .filter(|c| c.is_alphanumeric() || matches!(c, ' ' | '-' | '_'))
        .map(|c| if c == ' ' { '-' } else { c })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The facts found in `docs/a.md` beside a few other files.
    fn facts(page: &str) -> Vec<String> {
        let tree = Tree::from([
            ("README.md", "# Shipmate\n## The `log` of a team\n## Why?\n## Why?\n"),
            ("docs/a.md", page),
            ("docs/b.md", "<a id=\"here\"></a>\n```sh\n# not a heading\n```\n"),
            ("src/main.rs", ""),
        ]);
        check(&tree).iter().map(|v| format!("{}: {}", v.line, v.fact)).collect()
    }

    #[test]
    fn a_link_to_a_file_that_is_not_there_is_refused() {
        for link in ["[c](c.md)", "[c]: c.md", "<img src=\"c.md\">", "![c](c.md \"title\")"] {
            assert_eq!(facts(&format!("# A\n{link}\n")), ["2: the link to c.md leads nowhere"]);
        }
        assert_eq!(facts("[out](../../x.md)"), ["1: the link to ../../x.md leads nowhere"]);
    }

    #[test]
    fn a_link_to_a_heading_that_is_not_there_is_refused() {
        assert_eq!(facts("[x](../README.md#whence)"), ["1: README.md has no heading #whence"]);
        assert_eq!(facts("# A\n[x](#b)"), ["2: docs/a.md has no heading #b"]);
        assert_eq!(
            facts("[x](b.md#not-a-heading)"),
            ["1: docs/b.md has no heading #not-a-heading"]
        );
    }

    #[test]
    fn links_that_lead_somewhere_are_allowed() {
        for link in [
            "[b](b.md)",
            "[b](./b.md#here)",
            "[folder](../src)",
            "[code](../src/main.rs#L3)",
            "[root](/README.md)",
            "[log](../README.md#the-log-of-a-team)",
            "[second](../README.md#why-1)",
            "[web](https://example.org/x#y)",
            "[mail](mailto:ana@example.org)",
            "`[code](c.md)`",
            "```\n[code](c.md)\n```",
            "[^1]: a footnote",
            "# A\n[self](#a)",
        ] {
            assert_eq!(facts(link), [""; 0], "of {link}");
        }
    }
}
