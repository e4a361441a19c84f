//! The end of what a program printed.

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
