//! Just enough of Rust's grammar for rules that look at text.
//!
//! A full parser would be one more heavy dependency for every build of this crate; what the rules
//! need is to tell code from comments and literals, and where a function ends.

/// The source with the inside of comments, strings and characters replaced by spaces.
///
/// Lengths and lines stay as they are, so an offset in one is an offset in the other.
pub(crate) fn mask(source: &str) -> String {
    let bytes = source.as_bytes();
    let mut masked = bytes.to_vec();
    let mut at = 0;
    while at < bytes.len() {
        let Some((inside, next)) = literal_or_comment(bytes, at) else {
            at += 1;
            continue;
        };
        for byte in &mut masked[inside] {
            if *byte != b'\n' {
                *byte = b' ';
            }
        }
        at = next;
    }
    String::from_utf8(masked).expect("literals and comments are replaced as whole characters")
}

/// What to blank and where to go on, if a comment or a literal begins at `at`.
pub(crate) fn literal_or_comment(
    bytes: &[u8],
    at: usize,
) -> Option<(std::ops::Range<usize>, usize)> {
    let rest = &bytes[at..];
    match rest {
        [b'/', b'/', ..] => {
            let end = at + rest.iter().position(|b| *b == b'\n').unwrap_or(rest.len());
            Some((at..end, end))
        }
        [b'/', b'*', ..] => {
            let end = block_comment_end(bytes, at);
            Some((at..end, end))
        }
        [b'"', ..] => {
            let close = quoted_end(bytes, at + 1, b'"');
            Some((at + 1..close, close + 1))
        }
        // A lifetime has no closing quote: 'a is followed by anything but a quote.
        [b'\'', b'\\', ..] => {
            let close = quoted_end(bytes, at + 1, b'\'');
            Some((at + 1..close, close + 1))
        }
        [b'\'', first, ..] => {
            let close = at + 1 + utf8_len(*first);
            (bytes.get(close) == Some(&b'\'')).then_some((at + 1..close, close + 1))
        }
        [b'r', ..] => raw_string(bytes, at),
        _ => None,
    }
}

fn block_comment_end(bytes: &[u8], start: usize) -> usize {
    let mut depth = 0;
    let mut at = start;
    while at < bytes.len() {
        match &bytes[at..] {
            [b'/', b'*', ..] => {
                depth += 1;
                at += 2;
            }
            [b'*', b'/', ..] => {
                depth -= 1;
                at += 2;
                if depth == 0 {
                    return at;
                }
            }
            _ => at += 1,
        }
    }
    bytes.len()
}

/// The offset of the closing quote, or the end of the text.
fn quoted_end(bytes: &[u8], start: usize, quote: u8) -> usize {
    let mut at = start;
    while at < bytes.len() && bytes[at] != quote {
        at += if bytes[at] == b'\\' { 2 } else { 1 };
    }
    at.min(bytes.len())
}

/// `r"…"`, `r#"…"#` and their `b` and `c` forms, but not the raw identifier `r#type`.
fn raw_string(bytes: &[u8], at: usize) -> Option<(std::ops::Range<usize>, usize)> {
    let starts_word = match at.checked_sub(1).map(|i| bytes[i]) {
        Some(b'b' | b'c') => at < 2 || !is_word(bytes[at - 2]),
        Some(before) => !is_word(before),
        None => true,
    };
    let hashes = bytes[at + 1..].iter().take_while(|b| **b == b'#').count();
    let open = at + 1 + hashes;
    if !starts_word || bytes.get(open) != Some(&b'"') {
        return None;
    }
    let closing: Vec<u8> = std::iter::once(b'"').chain(std::iter::repeat_n(b'#', hashes)).collect();
    let body = &bytes[open + 1..];
    let length = body.windows(closing.len()).position(|w| w == closing).unwrap_or(body.len());
    let close = open + 1 + length;
    Some((open + 1..close, (close + closing.len()).min(bytes.len())))
}

fn utf8_len(first: u8) -> usize {
    match first {
        0xF0.. => 4,
        0xE0.. => 3,
        0xC0.. => 2,
        _ => 1,
    }
}

pub(crate) fn is_word(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || byte == b'_'
}

/// The offsets at which `word` stands as a whole word.
pub(crate) fn words<'a>(text: &'a str, word: &'a str) -> impl Iterator<Item = usize> + 'a {
    let bytes = text.as_bytes();
    text.match_indices(word).map(|(at, _)| at).filter(move |at| {
        let before = at.checked_sub(1).is_some_and(|i| is_word(bytes[i]));
        let after = bytes.get(at + word.len()).is_some_and(|b| is_word(*b));
        !before && !after
    })
}

/// The name that begins at the start of `text`, after spaces.
pub(crate) fn leading_name(text: &str) -> &str {
    let text = text.trim_start();
    let text = text.strip_prefix("r#").unwrap_or(text);
    let end = text.bytes().position(|b| !is_word(b)).unwrap_or(text.len());
    &text[..end]
}

/// The line of an offset; the first is 1.
pub(crate) fn line_at(text: &str, offset: usize) -> usize {
    text.as_bytes()[..offset].iter().filter(|b| **b == b'\n').count() + 1
}

#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Function<'a> {
    pub(crate) name: &'a str,
    /// Where its `fn` stands.
    pub(crate) line: usize,
    /// From that line to the closing brace.
    pub(crate) length: usize,
}

/// Every function with a body, in masked text.
pub(crate) fn functions(masked: &str) -> Vec<Function<'_>> {
    let mut found = Vec::new();
    for at in words(masked, "fn") {
        let name = leading_name(&masked[at + 2..]);
        // `fn(u8) -> u8` is a type.
        if name.is_empty() {
            continue;
        }
        if let Some(end) = body_end(masked, at) {
            let line = line_at(masked, at);
            found.push(Function { name, line, length: line_at(masked, end) - line + 1 });
        }
    }
    found
}

/// The offset of the brace that closes the body, or `None` for a function without one.
fn body_end(masked: &str, start: usize) -> Option<usize> {
    // Parentheses and brackets of the signature, then braces of the body: `[u8; 4]` has a
    // semicolon that ends nothing.
    let mut nested = 0usize;
    let mut braces = 0usize;
    for (at, byte) in masked.bytes().enumerate().skip(start) {
        match byte {
            b'(' | b'[' => nested += 1,
            b')' | b']' => nested = nested.saturating_sub(1),
            b';' if nested == 0 && braces == 0 => return None,
            b'{' => braces += 1,
            b'}' => {
                braces = braces.saturating_sub(1);
                if braces == 0 {
                    return Some(at);
                }
            }
            _ => {}
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn masking_keeps_code_and_blanks_what_is_quoted_or_commented() {
        let table = [
            ("a // b", "a     "),
            ("a /* b /* c */ d */ e", "a                   e"),
            (r#"f("a\"b", c)"#, r#"f("    ", c)"#),
            (r###"r#"a"b"# c"###, r###"r#"   "# c"###),
            (r#"br"a\" c"#, r#"br"  " c"#),
            ("'\"' a 'b", "' ' a 'b"),
            (r"'\'' a", r"'  ' a"),
            ("'é' a", "'  ' a"),
            ("r#type a", "r#type a"),
            ("var\"a\"", "var\" \""),
            ("\"a\nb\"c", "\" \n \"c"),
        ];
        for (source, masked) in table {
            assert_eq!(mask(source), masked, "of {source}");
        }
    }

    #[test]
    fn masking_an_unclosed_literal_ends_with_the_text() {
        for source in ["\"a", "\"a\\", "/* a", "r#\"a", "'"] {
            assert_eq!(mask(source).len(), source.len(), "of {source}");
        }
    }

    #[test]
    fn a_word_is_whole() {
        assert_eq!(words("sleep sleep_until asleep sleep", "sleep").collect::<Vec<_>>(), [0, 25]);
    }

    #[test]
    fn a_function_is_measured_from_its_name_to_its_closing_brace() {
        let source = "\
trait T {
    fn without_body(a: [u8; 4]);
}
fn one() { if true { } }
fn three(f: fn(u8) -> u8)
where
    [u8; 3]: Sized {
    f(1);
}
";
        let found: Vec<_> = functions(source).iter().map(|f| (f.name, f.line, f.length)).collect();
        assert_eq!(found, [("one", 4, 1), ("three", 5, 5)]);
    }
}
