//! The files in `calls/`: a call, each request it makes with the board's answer, and what the
//! model reads.
//!
//! ```text
//! == a sentence that states a fact
//! ana> TaskGet {"taskId":"3"}
//!   task_show {"task":"3"}
//!     = task {"id":3}
//! | Task #3: Parse the header
//! ```
//!
//! `! ` instead of `| ` is an error. `& ` shows the structured output. Lines with `=` are what
//! the board answers; everything below a call is what is expected. With SHIPMATE_BLESS set the
//! files are written as the tools answer now: read the difference before you keep it.

use std::fmt::Write as _;
use std::path::Path;

use shipmate_protocol::tools::call;

use crate::script::{Script, now, seat};

#[test]
fn calls_become_the_requests_and_texts_of_the_scripts() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/tools/calls");
    let mut files: Vec<_> = folder.read_dir().unwrap().map(|entry| entry.unwrap().path()).collect();
    files.sort();
    assert!(files.len() > 5, "the scripts are there");
    for file in files {
        let expected = std::fs::read_to_string(&file).unwrap();
        let happened = play(&expected);
        if std::env::var_os("SHIPMATE_BLESS").is_some() {
            std::fs::write(&file, &happened).unwrap();
            continue;
        }
        let (wanted, got): (Vec<_>, Vec<_>) =
            (expected.lines().collect(), happened.lines().collect());
        for (index, line) in got.iter().enumerate() {
            let place = format!("{}:{}", file.display(), index + 1);
            assert_eq!(wanted.get(index), Some(line), "{place}\n{happened}");
        }
        assert_eq!(wanted.len(), got.len(), "{}", file.display());
    }
}

/// Plays every call of a file and writes down what happened, in the file's own form.
fn play(text: &str) -> String {
    let mut out = String::new();
    let mut lines = text.lines().peekable();
    while let Some(line) = lines.next() {
        let Some((who, rest)) = line.split_once("> ").filter(|_| !line.starts_with([' ', '=']))
        else {
            let is_output = ["| ", "! ", "& ", "  "].iter().any(|mark| line.starts_with(mark));
            if !is_output && line != "|" && line != "!" {
                out.push_str(line);
                out.push('\n');
            }
            continue;
        };
        let (tool, arguments) = rest.split_once(' ').unwrap_or((rest, "{}"));
        let mut answers = Vec::new();
        let mut structured = false;
        while let Some(next) = lines.next_if(|next| !next.is_empty()) {
            answers.extend(next.strip_prefix("    = ").map(str::to_owned));
            structured |= next.starts_with("& ");
        }
        let script = Script::new(answers);
        let arguments = serde_json::from_str(arguments).unwrap_or_else(|e| panic!("{line}: {e}"));
        let outcome = now(call(&script, &seat(who), tool, arguments));
        writeln!(out, "{line}").unwrap();
        for (ask, answer) in script.asked.lock().unwrap().iter() {
            writeln!(out, "  {ask}\n    = {answer}").unwrap();
        }
        let mark = if outcome.is_error { '!' } else { '|' };
        for line in outcome.text.lines() {
            writeln!(out, "{}", format!("{mark} {line}").trim_end()).unwrap();
        }
        if structured {
            writeln!(out, "& {}", outcome.structured).unwrap();
        }
        assert!(outcome.structured.is_object(), "{line}");
        assert_eq!(script.unused(), 0, "{line}: answers that nobody asked for");
    }
    out
}
