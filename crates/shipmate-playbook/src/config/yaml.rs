//! A part of YAML that configuration is written in: maps and lists by indentation, texts with or
//! without quotes, `[a, b]`, `|` blocks and comments.
//!
//! What it does not know (anchors, tags, maps in braces, texts over several lines) is refused with
//! its line: half an understanding of a command would run another command.

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

type Trouble = (usize, String);

/// A line that says something.
#[derive(Debug, Clone)]
struct Line {
    number: usize,
    indent: usize,
    text: String,
}

pub(crate) fn parse(text: &str) -> Result<Node, Trouble> {
    let mut reader = Reader { raw: text.lines().map(str::to_owned).collect(), at: 0 };
    if reader.peek()?.is_some_and(|line| line.text == "---") {
        reader.at = reader.peek()?.map_or(0, |line| line.number);
    }
    let Some(first) = reader.peek()? else { return Ok(Node::Nothing) };
    let node = reader.block(first.indent)?;
    match reader.peek()? {
        None => Ok(node),
        Some(line) => {
            Err((line.number, "it stands further left than what it belongs to".to_owned()))
        }
    }
}

struct Reader {
    raw: Vec<String>,
    at: usize,
}

impl Reader {
    /// The next line that says something, without its comment.
    fn peek(&mut self) -> Result<Option<Line>, Trouble> {
        while let Some(raw) = self.raw.get(self.at) {
            let text = raw.trim_start_matches(' ');
            let number = self.at + 1;
            if text.starts_with('\t') {
                return Err((number, "it is indented with a tab; use spaces".to_owned()));
            }
            let indent = raw.len() - text.len();
            let text = without_comment(text).trim_end();
            if !text.is_empty() {
                return Ok(Some(Line { number, indent, text: text.to_owned() }));
            }
            self.at += 1;
        }
        Ok(None)
    }

    /// Everything at this indentation: a map, or a list.
    fn block(&mut self, indent: usize) -> Result<Node, Trouble> {
        let is_item = |line: &Line| line.text == "-" || line.text.starts_with("- ");
        let mut entries: Vec<(String, Node)> = Vec::new();
        let mut items = Vec::new();
        while let Some(line) = self.peek()? {
            if line.indent < indent {
                break;
            }
            if line.indent > indent {
                let why = "it is indented further than what stands before it".to_owned();
                return Err((line.number, why));
            }
            if is_item(&line) {
                if !entries.is_empty() {
                    return Err((line.number, "an item of a list stands among keys".to_owned()));
                }
                items.push(self.item(&line)?);
                continue;
            }
            if !items.is_empty() {
                return Err((line.number, "a key stands among the items of a list".to_owned()));
            }
            self.at = line.number;
            let (key, rest) = key_of(&line)?;
            if entries.iter().any(|(own, _)| *own == key) {
                return Err((line.number, format!("{key} is there twice")));
            }
            let node = self.value(&line, rest)?;
            entries.push((key, node));
        }
        Ok(if items.is_empty() { Node::Map(entries) } else { Node::List(items) })
    }

    /// `- text`, or `- key: value` with more keys below it.
    fn item(&mut self, line: &Line) -> Result<Node, Trouble> {
        let rest = line.text[1..].trim_start();
        self.at = line.number;
        if rest.is_empty() {
            return self.value(line, "");
        }
        let is_quoted = rest.starts_with(['"', '\'', '[']);
        if is_quoted || key_of(&Line { text: rest.to_owned(), ..line.clone() }).is_err() {
            return scalar(line.number, rest);
        }
        // The keys of the item stand where its first one does.
        let indent = line.indent + (line.text.len() - rest.len());
        self.raw[line.number - 1] = format!("{}{rest}", " ".repeat(indent));
        self.at = line.number - 1;
        self.block(indent)
    }

    /// What follows a key: on its line, or indented below it.
    fn value(&mut self, line: &Line, rest: &str) -> Result<Node, Trouble> {
        match rest {
            "" => match self.peek()? {
                Some(next) if next.indent > line.indent => self.block(next.indent),
                // A list may stand right below its key.
                Some(next)
                    if next.indent == line.indent
                        && next.text.starts_with("- ")
                        && !line.text.starts_with('-') =>
                {
                    self.block(next.indent)
                }
                _ => Ok(Node::Nothing),
            },
            "|" | "|-" => Ok(Node::Text(self.literal(line.indent, rest == "|"))),
            rest => scalar(line.number, rest),
        }
    }

    /// Lines as they are, below a `|`.
    fn literal(&mut self, above: usize, ends: bool) -> String {
        let mut lines: Vec<&str> = Vec::new();
        let mut own = None;
        while let Some(raw) = self.raw.get(self.at) {
            let indent = raw.len() - raw.trim_start_matches(' ').len();
            if !raw.trim().is_empty() && indent <= above {
                break;
            }
            let own = *own.get_or_insert(indent);
            lines.push(raw.get(own.min(indent)..).unwrap_or_default());
            self.at += 1;
        }
        let text = lines.join("\n").trim_end().to_owned();
        if ends { text + "\n" } else { text }
    }
}

/// `#` begins a comment at the start or after a space, outside of quotes.
fn without_comment(text: &str) -> &str {
    let mut quote = None;
    let mut before = ' ';
    let mut escaped = false;
    for (at, letter) in text.char_indices() {
        match (quote, letter) {
            (Some(open), _) if letter == open && !escaped => quote = None,
            (Some(open), _) => escaped = open == '"' && letter == '\\' && !escaped,
            // A quote counts where a text may begin; elsewhere it is an apostrophe.
            (None, '"' | '\'') if before == ' ' || before == '[' => quote = Some(letter),
            (None, '#') if before == ' ' => return &text[..at],
            _ => {}
        }
        before = letter;
    }
    text
}

/// `key: rest`, where the key is a plain word or in quotes.
fn key_of(line: &Line) -> Result<(String, &str), Trouble> {
    let text = &line.text;
    let no_key = || (line.number, format!("{text:?} is no key with a value"));
    let (key, rest) = match text.chars().next() {
        Some(quote @ ('"' | '\'')) => {
            let end = text[1..].find(quote).ok_or_else(no_key)? + 1;
            let rest = text[end + 1..].strip_prefix(':').ok_or_else(no_key)?;
            (&text[1..end], rest)
        }
        _ => {
            let at = text.find(": ").or(text.strip_suffix(':').map(str::len)).ok_or_else(no_key)?;
            (&text[..at], &text[at + 1..])
        }
    };
    let plain = |c: char| c.is_alphanumeric() || "_-./ ".contains(c);
    if key.is_empty() || !key.chars().all(plain) {
        return Err((line.number, format!("{key:?} is no key that is understood here")));
    }
    Ok((key.to_owned(), rest.trim()))
}

fn scalar(line: usize, text: &str) -> Result<Node, Trouble> {
    let no = |why: &str| Err((line, format!("{text} {why}")));
    match text.chars().next() {
        Some('"') => match text.strip_prefix('"').and_then(|text| text.strip_suffix('"')) {
            Some(inner) if text.len() > 1 => unescaped(line, inner).map(Node::Text),
            _ => no("has a quote that does not end on its line"),
        },
        Some('\'') => match text.strip_prefix('\'').and_then(|text| text.strip_suffix('\'')) {
            Some(inner) if text.len() > 1 => Ok(Node::Text(inner.replace("''", "'"))),
            _ => no("has a quote that does not end on its line"),
        },
        Some('[') => {
            let inner = text.strip_prefix('[').and_then(|text| text.strip_suffix(']'));
            let Some(inner) = inner.filter(|inner| !inner.contains(['[', '{'])) else {
                return no("is a list that does not end on its line, or holds more than texts");
            };
            let parts = inner.split(',').map(str::trim).filter(|part| !part.is_empty());
            parts.map(|part| scalar(line, part)).collect::<Result<_, _>>().map(Node::List)
        }
        Some('{') if text == "{}" => Ok(Node::Map(Vec::new())),
        Some('{' | '&' | '*' | '!' | '>' | '|' | '%' | '@' | '`') => {
            no("is more than is understood here; write it as a text in quotes")
        }
        _ if text == "~" || text == "null" => Ok(Node::Nothing),
        _ if text.contains(": ") || text.ends_with(':') => {
            no("has a colon in it; put it in quotes")
        }
        _ => Ok(Node::Text(text.to_owned())),
    }
}

fn unescaped(line: usize, inner: &str) -> Result<String, Trouble> {
    let mut found = String::new();
    let mut letters = inner.chars();
    while let Some(letter) = letters.next() {
        match letter {
            '"' => return Err((line, "a quote stands inside of quotes".to_owned())),
            '\\' => match letters.next() {
                Some('n') => found.push('\n'),
                Some('t') => found.push('\t'),
                Some(same @ ('"' | '\\' | '/')) => found.push(same),
                other => {
                    let shown = other.map_or(String::new(), String::from);
                    return Err((line, format!("\\{shown} is no escape that is understood here")));
                }
            },
            other => found.push(other),
        }
    }
    Ok(found)
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
        ] {
            let (at, why) = parse(text).expect_err(text);
            assert_eq!(at, line, "{text:?}: {why}");
        }
    }

    #[test]
    fn an_apostrophe_opens_no_quote_and_an_empty_file_is_nothing() {
        let tree = parse("a: don't # stop\nb: it''s\n").unwrap();
        assert_eq!(tree.get("a"), Some(&Node::Text("don't".to_owned())));
        assert_eq!(parse("# nothing\n\n"), Ok(Node::Nothing));
        assert_eq!(parse("---\na: 1\n").unwrap().get("a"), Some(&Node::Text("1".to_owned())));
    }
}
