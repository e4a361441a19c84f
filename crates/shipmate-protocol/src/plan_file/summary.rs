//! `03-01.summary.jsonl`: one line about one plan, for programs that read such summaries.
//!
//! The keys and their meanings are those of the plan files; `dv` is a list of texts, always. A
//! reader sees the old file or the new one and never a half: it is written beside and renamed.

use std::fs::{self, File};
use std::io::{self, Write};
use std::path::{Path, PathBuf};

use serde::{Serialize, Serializer};

use crate::view::moment::date;

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum SummaryState {
    Complete,
    Partial,
    Failed,
}

impl SummaryState {
    /// Complete is only what is complete; a plan of which nothing came is failed.
    pub fn of(completed: usize, total: usize) -> SummaryState {
        match completed {
            done if done >= total => SummaryState::Complete,
            0 => SummaryState::Failed,
            _ => SummaryState::Partial,
        }
    }
}

/// What the tests of a plan have shown.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum TestsSeen {
    /// Red before the work and green after it.
    RedGreen,
    GreenOnly,
    NoTests,
}

/// What became of one plan, key by key as it is written.
#[derive(Debug, Clone, Serialize)]
pub struct Summary {
    pub p: String,
    pub n: String,
    #[serde(rename = "t")]
    pub title: String,
    #[serde(rename = "s")]
    pub state: SummaryState,
    /// Milliseconds since 1970; the date is that of UTC.
    #[serde(rename = "dt", serialize_with = "as_date")]
    pub at_ms: u64,
    #[serde(rename = "tc")]
    pub tasks_completed: usize,
    #[serde(rename = "tt")]
    pub tasks_total: usize,
    #[serde(rename = "ch")]
    pub commits: Vec<String>,
    #[serde(rename = "fm")]
    pub files_modified: Vec<String>,
    #[serde(rename = "dv")]
    pub deviations: Vec<String>,
    /// What is there now and was not before.
    pub built: Vec<String>,
    #[serde(rename = "tst")]
    pub tests: TestsSeen,
}

fn as_date<S: Serializer>(at_ms: &u64, serializer: S) -> Result<S::Ok, S::Error> {
    serializer.serialize_str(&date(*at_ms))
}

impl Summary {
    /// One line of JSON, with its end.
    pub fn line(&self) -> String {
        serde_json::to_string(self).expect("texts and numbers are always JSON") + "\n"
    }

    fn file_name(&self) -> io::Result<String> {
        let plain = |b: u8| b.is_ascii_alphanumeric() || b == b'_' || b == b'-';
        let id = format!("{}-{}", self.p, self.n);
        if !id.bytes().all(plain) {
            let fact = format!("{id:?} is not the id of a plan");
            return Err(io::Error::new(io::ErrorKind::InvalidInput, fact));
        }
        Ok(format!("{id}.summary.jsonl"))
    }

    /// Writes the summary into a folder, which is made if need be, over an earlier one of the
    /// same plan.
    pub fn write(&self, folder: &Path) -> io::Result<PathBuf> {
        let name = self.file_name()?;
        fs::create_dir_all(folder)?;
        let path = folder.join(&name);
        let beside = folder.join(format!(".{name}.{}", std::process::id()));
        let written = File::create(&beside).and_then(|mut file| {
            file.write_all(self.line().as_bytes())?;
            file.sync_all()
        });
        written.and_then(|()| fs::rename(&beside, &path)).inspect_err(|_| {
            // What stays behind is hidden and named after this process; the error says more.
            drop(fs::remove_file(&beside));
        })?;
        Ok(path)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn summary() -> Summary {
        Summary {
            p: "03".to_owned(),
            n: "01".to_owned(),
            title: "Add \"search\"".to_owned(),
            state: SummaryState::of(3, 4),
            at_ms: 1_794_711_787_000,
            tasks_completed: 3,
            tasks_total: 4,
            commits: vec!["1f3a9c0".to_owned()],
            files_modified: vec!["src/search.rs".to_owned()],
            deviations: vec!["T4: the gate\nwas red".to_owned()],
            built: vec!["search".to_owned()],
            tests: TestsSeen::RedGreen,
        }
    }

    const LINE: &str = concat!(
        r#"{"p":"03","n":"01","t":"Add \"search\"","s":"partial","dt":"2026-11-15","tc":3,"tt":4,"#,
        r#""ch":["1f3a9c0"],"fm":["src/search.rs"],"dv":["T4: the gate\nwas red"],"#,
        r#""built":["search"],"tst":"red_green"}"#,
        "\n"
    );

    #[test]
    fn a_summary_is_one_line_with_the_keys_of_the_plan_files() {
        assert_eq!(summary().line(), LINE);
        assert_eq!(summary().line().lines().count(), 1);
    }

    #[test]
    fn a_plan_is_complete_only_when_all_its_tasks_are() {
        for (completed, total, state) in [
            (4, 4, SummaryState::Complete),
            (3, 4, SummaryState::Partial),
            (0, 4, SummaryState::Failed),
        ] {
            assert_eq!(SummaryState::of(completed, total), state);
        }
    }

    #[test]
    fn a_summary_replaces_the_one_before_and_leaves_nothing_beside_it() {
        let folder = std::env::temp_dir().join(format!("shipmate-summary-{}", std::process::id()));
        fs::create_dir(&folder).unwrap();
        fs::write(folder.join("03-01.summary.jsonl"), "old\n").unwrap();
        let path = summary().write(&folder).unwrap();
        let files: Vec<_> = fs::read_dir(&folder).unwrap().map(|f| f.unwrap().path()).collect();
        let text = fs::read_to_string(&path).unwrap();
        let climbing = Summary { p: "../x".to_owned(), ..summary() }.write(&folder);
        let inside_a_file = summary().write(&path);
        let new_folder = summary().write(&folder.join("new/folder")).unwrap();
        assert_eq!(fs::read_to_string(&new_folder).unwrap(), LINE);
        fs::remove_dir_all(&folder).unwrap();
        assert_eq!(files, [path]);
        assert_eq!(text, LINE);
        assert_eq!(climbing.unwrap_err().to_string(), "\"../x-01\" is not the id of a plan");
        assert!(inside_a_file.is_err());
    }
}
