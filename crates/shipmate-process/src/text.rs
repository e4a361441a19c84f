//! The end of what a program printed, and the beginning of a text that is shown in a line.

/// The end of a text, at most so many bytes; from the start of a line if there is one.
pub fn tail(output: &str, bytes_max: usize) -> &str {
    if output.len() <= bytes_max {
        return output;
    }
    let end = &output[output.ceil_char_boundary(output.len() - bytes_max)..];
    match end.find('\n') {
        Some(at) if at + 1 < end.len() => &end[at + 1..],
        _ => end,
    }
}

/// The beginning of a text, with `…` where it has more than so many characters.
pub fn beginning(text: &str, chars_max: usize) -> String {
    match text.char_indices().nth(chars_max) {
        Some((end, _)) => format!("{}…", &text[..end]),
        None => text.to_owned(),
    }
}

/// The beginning of a text, on one line.
pub fn one_line(text: &str, chars_max: usize) -> String {
    beginning(&text.split_whitespace().collect::<Vec<_>>().join(" "), chars_max)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_tail_begins_with_a_line_and_never_inside_a_character() {
        assert_eq!(tail("one\ntwo\nthree", 9), "three");
        assert_eq!(tail("short", 9), "short");
        assert_eq!(tail("ääää", 3), "ä");
        assert_eq!(tail("onelongline\n", 4), "ine\n");
    }
}
