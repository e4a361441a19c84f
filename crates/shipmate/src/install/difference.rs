//! Two texts as the lines that go and the lines that come, with a few around them.

const AROUND: usize = 3;
/// Beyond this many lines in question the middle is shown as replaced.
const LINES_MAX: usize = 2_000;

/// In the shape that `diff -u` has, without its head.
pub(crate) fn difference(before: &str, after: &str) -> String {
    let (old, new): (Vec<&str>, Vec<&str>) = (before.lines().collect(), after.lines().collect());
    let steps = steps(&old, &new);
    let near = |at: usize| {
        let around = at.saturating_sub(AROUND)..(at + AROUND + 1).min(steps.len());
        steps[around].iter().any(|(mark, _)| *mark != ' ')
    };
    let (mut text, mut line, mut open) = (String::new(), 0, false);
    for (at, (mark, content)) in steps.iter().enumerate() {
        if *mark != '+' {
            line += 1;
        }
        let shown = near(at);
        if shown && !open {
            text.push_str(&format!("@@ line {} @@\n", line.max(1)));
        }
        open = shown;
        if shown {
            text.push_str(&format!("{mark}{content}\n"));
        }
    }
    text
}

fn steps<'a>(old: &[&'a str], new: &[&'a str]) -> Vec<(char, &'a str)> {
    let shorter = old.len().min(new.len());
    let head = (0..shorter).take_while(|n| old[*n] == new[*n]).count();
    let same_end = |n: &usize| old[old.len() - 1 - n] == new[new.len() - 1 - n];
    let tail = (0..shorter - head).take_while(same_end).count();
    let kept = |lines: &[&'a str]| lines.iter().map(|line| (' ', *line)).collect::<Vec<_>>();
    let mut steps = kept(&old[..head]);
    steps.extend(middle(&old[head..old.len() - tail], &new[head..new.len() - tail]));
    steps.extend(kept(&old[old.len() - tail..]));
    steps
}

/// By the longest common subsequence.
fn middle<'a>(old: &[&'a str], new: &[&'a str]) -> Vec<(char, &'a str)> {
    let width = new.len() + 1;
    let is_large = old.len().max(new.len()) > LINES_MAX;
    let mut longest = vec![0_u32; if is_large { 0 } else { (old.len() + 1) * width }];
    if !is_large {
        for i in (0..old.len()).rev() {
            for j in (0..new.len()).rev() {
                longest[i * width + j] = match old[i] == new[j] {
                    true => longest[(i + 1) * width + j + 1] + 1,
                    false => longest[(i + 1) * width + j].max(longest[i * width + j + 1]),
                };
            }
        }
    }
    let (mut i, mut j, mut steps) = (0, 0, Vec::new());
    while i < old.len() || j < new.len() {
        if !is_large && i < old.len() && j < new.len() && old[i] == new[j] {
            steps.push((' ', old[i]));
            (i, j) = (i + 1, j + 1);
        } else if j == new.len()
            || (i < old.len()
                && (is_large || longest[(i + 1) * width + j] >= longest[i * width + j + 1]))
        {
            steps.push(('-', old[i]));
            i += 1;
        } else {
            steps.push(('+', new[j]));
            j += 1;
        }
    }
    steps
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_difference_shows_what_goes_and_comes_and_the_lines_around() {
        let before = "1\n2\n3\n4\n5\n6\n7\n8\n9\n";
        let after = "1\n2\n3\n4\n5\n5b\n6\n7\n8\n10\n";
        assert_eq!(
            difference(before, after),
            "@@ line 3 @@\n 3\n 4\n 5\n+5b\n 6\n 7\n 8\n-9\n+10\n"
        );
        assert_eq!(difference("", "a\n"), "@@ line 1 @@\n+a\n");
        assert_eq!(difference("a\n", "a\n"), "");
    }
}
