//! The YAML that configuration is written in: maps and lists, texts with or without quotes, `[a, b]`,
//! `|` blocks and comments.
//!
//! The rest of YAML (anchors, tags, maps in braces, texts over several lines) is refused with its line. A
//! command that is run stands in the file as it is run, and without anchors a file is no larger than it
//! looks.

use saphyr_parser::{Event, Parser, ScalarStyle, Span, StrInput};

/// How deep maps and lists may lie in each other.
const DEPTH_MAX: usize = 64;

/// A value of the file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Node {
    Nothing,
    Text(String),
    List(Vec<Node>),
    /// In the file's order.
    Map(Vec<(String, Node)>),
}

impl Node {
    pub(crate) fn get(&self, key: &str) -> Option<&Node> {
        match self {
            Node::Map(entries) => entries.iter().find(|(own, _)| own == key).map(|(_, node)| node),
            _ => None,
        }
    }
}

/// A line, and what is wrong with it.
type Trouble = (usize, String);

pub(crate) fn parse(text: &str) -> Result<Node, Trouble> {
    let mut reader = Reader { text, events: Parser::new_from_str(text) };
    let mut found = None;
    loop {
        let (event, span) = reader.next()?;
        match event {
            Event::StreamEnd => return Ok(found.unwrap_or(Node::Nothing)),
            Event::StreamStart | Event::DocumentEnd => {}
            Event::DocumentStart(_) if found.is_none() => {}
            Event::DocumentStart(_) => return wrong(&span, "a second document begins here"),
            event => match reader.node(event, &span, 0)? {
                Node::Text(text) => {
                    return wrong(&span, &format!("{text:?} is no key with a value"));
                }
                node => found = Some(node),
            },
        }
    }
}

struct Reader<'t> {
    text: &'t str,
    events: Parser<'t, StrInput<'t>>,
}

impl<'t> Reader<'t> {
    fn next(&mut self) -> Result<(Event<'t>, Span), Trouble> {
        let next = self.events.next_event().expect("nobody asks after the end of the stream");
        next.map_err(|e| {
            // A tab is said to be a fault of the text that it comes after.
            let lines = self.text.lines().enumerate().skip(e.marker().line() - 1).take(2);
            let mut tabs = lines.filter(|(_, line)| line.trim_start_matches(' ').starts_with('\t'));
            match tabs.next().filter(|_| e.info().contains("tab")) {
                Some((at, _)) => (at + 1, "it is indented with a tab; use spaces".to_owned()),
                None => (e.marker().line(), e.info().to_owned()),
            }
        })
    }

    /// Refuses what YAML has and configuration need not, as it stands in the file.
    fn too_much<T>(&self, span: &Span) -> Result<T, Trouble> {
        let line = self.text.lines().nth(span.start.line() - 1).unwrap_or_default();
        let shown: String = line.chars().skip(span.start.col()).take(80).collect();
        let shown = shown.trim_end();
        wrong(
            span,
            &format!("{shown} is more than is understood here; write it as a text in quotes"),
        )
    }

    fn node(&mut self, event: Event<'t>, span: &Span, depth: usize) -> Result<Node, Trouble> {
        if depth > DEPTH_MAX {
            return wrong(span, &format!("it lies in more than {DEPTH_MAX} maps and lists"));
        }
        // Of maps and lists only those in braces and brackets begin with a character of their own.
        let is_flow = !span.is_empty();
        match event {
            Event::Alias(_)
            | Event::Scalar(_, _, 1.., _)
            | Event::SequenceStart(1.., _)
            | Event::MappingStart(1.., _)
            | Event::Scalar(_, _, _, Some(_))
            | Event::SequenceStart(_, Some(_))
            | Event::MappingStart(_, Some(_))
            | Event::Scalar(_, ScalarStyle::Folded, ..) => self.too_much(span),
            Event::Scalar(text, style, ..) => scalar(&text, style, span),
            Event::SequenceStart(..) => self.list(span, is_flow, depth),
            Event::MappingStart(..) => self.map(span, is_flow, depth),
            other => unreachable!("{other:?} begins no value"),
        }
    }

    fn list(&mut self, begin: &Span, is_flow: bool, depth: usize) -> Result<Node, Trouble> {
        let mut items = Vec::new();
        loop {
            let (event, span) = self.next()?;
            let is_end = event == Event::SequenceEnd;
            if is_flow && span.start.line() != begin.start.line() {
                return wrong(begin, "a list in brackets ends on its line");
            }
            if is_end {
                return Ok(Node::List(items));
            }
            let is_text = matches!(event, Event::Scalar(..));
            if !is_text && (is_flow || matches!(event, Event::SequenceStart(..))) {
                return wrong(&span, "a list in brackets or in a list is not understood here");
            }
            items.push(self.node(event, &span, depth + 1)?);
        }
    }

    fn map(&mut self, begin: &Span, is_flow: bool, depth: usize) -> Result<Node, Trouble> {
        let mut entries: Vec<(String, Node)> = Vec::new();
        loop {
            let (event, at) = self.next()?;
            let key = match event {
                Event::MappingEnd => return Ok(Node::Map(entries)),
                _ if is_flow => return self.too_much(begin),
                event => match self.node(event, &at, depth + 1)? {
                    Node::Text(key) => key,
                    _ => return wrong(&at, "only a text is understood as a key here"),
                },
            };
            let is_plain = |c: char| c.is_alphanumeric() || "_-./ ".contains(c);
            if key.is_empty() || !key.chars().all(is_plain) {
                return wrong(&at, &format!("{key:?} is no key that is understood here"));
            }
            if entries.iter().any(|(own, _)| *own == key) {
                return wrong(&at, &format!("{key} is there twice"));
            }
            let (event, span) = self.next()?;
            // The line of a block is that of its first text, and `>` stands before it.
            let span = match event {
                Event::Scalar(_, ScalarStyle::Folded, ..) => at,
                _ => span,
            };
            entries.push((key, self.node(event, &span, depth + 1)?));
        }
    }
}

fn scalar(text: &str, style: ScalarStyle, span: &Span) -> Result<Node, Trouble> {
    let goes_on = span.end.line() > span.start.line();
    match style {
        ScalarStyle::Plain if goes_on => Err((
            span.start.line() + 1,
            "it goes on with the text before it; use | or quotes".to_owned(),
        )),
        ScalarStyle::SingleQuoted | ScalarStyle::DoubleQuoted if goes_on => {
            wrong(span, "it has a quote that does not end on its line")
        }
        ScalarStyle::Plain if matches!(text, "" | "~" | "null") => Ok(Node::Nothing),
        _ => Ok(Node::Text(text.to_owned())),
    }
}

fn wrong<T>(span: &Span, why: &str) -> Result<T, Trouble> {
    Err((span.start.line(), why.to_owned()))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at<'a>(node: &'a Node, place: &str) -> Option<&'a Node> {
        place.split('.').try_fold(node, |node, key| node.get(key))
    }

    #[test]
    fn maps_lists_texts_and_blocks_are_read() {
        let tree = parse(include_str!("workflow.yaml")).unwrap();
        let text = |place: &str| match at(&tree, place) {
            Some(Node::Text(text)) => text.clone(),
            other => panic!("{place}: {other:?}"),
        };
        assert_eq!(text("commands.test.focused"), "pytest {path}");
        assert_eq!(text("commands.test.full"), "pytest -q # all");
        assert_eq!(text("commands.lint"), "ruff check .");
        assert_eq!(text("hooks.notes"), "first: line\n  second\n");
        assert_eq!(at(&tree, "commands.typecheck"), Some(&Node::Nothing));
        let Some(Node::List(overrides)) = at(&tree, "deliberation.conflict_overrides") else {
            panic!("{tree:?}")
        };
        assert_eq!(overrides.len(), 2);
        assert_eq!(overrides[0].get("level"), Some(&Node::Text("HIGH".to_owned())));
        let docs =
            Node::List(["docs/a.md", "docs/b.md"].map(|d| Node::Text(d.to_owned())).to_vec());
        assert_eq!(at(&tree, "planning.reference_docs"), Some(&docs));
    }

    #[test]
    fn what_is_not_understood_is_refused_with_its_line() {
        for (text, line) in [
            ("a: 1\n\tb: 2\n", 2),
            ("a: &x 1\n", 1),
            ("a: *x\n", 1),
            ("a: !tag b\n", 1),
            ("a: {b: c}\n", 1),
            ("a: >\n  folded\n", 1),
            ("a: one\n  two\n", 2),
            ("a: 1\na: 2\n", 2),
            ("a: \"open\nb: 1\n", 1),
            ("a: b: c\n", 1),
            ("just words\n", 1),
            ("a:\n    b: 1\n  c: 2\n", 3),
            ("a: [b, [c]]\n", 1),
            ("- a\nb: 1\n", 2),
            ("a: \"x\\q\"\n", 1),
            ("<<: *base\n", 1),
            ("a: 1\n---\nb: 2\n", 2),
            ("a: [b, {c: d}]\n", 1),
            ("a: [b: c]\n", 1),
            ("a: [b,\n  c]\n", 1),
            ("- - a\n", 1),
            ("b: 1\n\na: \"one\n  two\"\n", 3),
            ("? [a]\n: b\n", 1),
            ("a:\n  b: &x [c, c]\n  d: [*x, *x]\n", 2),
        ] {
            let (at, why) = parse(text).expect_err(text);
            assert_eq!(at, line, "{text:?}: {why}");
        }
    }

    #[test]
    fn a_file_made_to_hurt_is_refused_with_its_line() {
        let deep: String = (0..1_000).map(|n| format!("{}a:\n", " ".repeat(n))).collect();
        assert_eq!(parse(&deep).unwrap_err().0, 65);
        for text in ["- ".repeat(500_000), "[".repeat(1_000_000), "{".repeat(1_000_000)] {
            assert_eq!(parse(&text).unwrap_err().0, 1);
        }
        let bomb = "a: &a [x, x]\nb: &b [*a, *a]\nc: [*b, *b]\n";
        assert_eq!(parse(bomb).unwrap_err().0, 1);
    }

    #[test]
    fn an_apostrophe_opens_no_quote_and_an_empty_file_is_nothing() {
        let tree = parse("a: don't # stop\nb: it''s\n").unwrap();
        assert_eq!(tree.get("a"), Some(&Node::Text("don't".to_owned())));
        assert_eq!(parse("# nothing\n\n"), Ok(Node::Nothing));
        assert_eq!(parse("---\na: 1\n").unwrap().get("a"), Some(&Node::Text("1".to_owned())));
    }
}
