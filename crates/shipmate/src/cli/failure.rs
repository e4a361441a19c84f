//! How a command can end other than well, and how that is said.
//!
//! A refusal is an answer and reads `refused: …`; everything else reads `error: …`. Both go to
//! standard error with the remedy on its own indented lines; with `--json` as one JSON line.

use shipmate_protocol::{BadPlace, ClientFailure, Code, Refused};

use crate::cli::exit::{self, Exit};
use crate::config::BadConfig;
use crate::plain::{hanging, plain, plain_lines};

#[derive(Debug)]
pub(crate) enum Failure {
    Client(ClientFailure),
    /// The command line, or a file it names, cannot be used. Text and remedy as they are shown.
    Usage(String),
    /// Whoever acts does not hold what it acts on.
    Lost(String),
    /// A file of this command could not be written.
    Storage(String),
    /// Everything was said already; only the exit code is left.
    Told(Exit),
    /// The reader of the output went away: nobody is left to tell, and nothing went wrong.
    PipeClosed,
    Bug(String),
}

impl From<ClientFailure> for Failure {
    fn from(failure: ClientFailure) -> Self {
        Failure::Client(failure)
    }
}

impl From<BadPlace> for Failure {
    fn from(bad: BadPlace) -> Self {
        Failure::Client(ClientFailure::Place(bad))
    }
}

impl From<BadConfig> for Failure {
    fn from(bad: BadConfig) -> Self {
        Failure::Usage(bad.to_string())
    }
}

/// The coordinator answered with something that does not belong to the question.
pub(crate) fn unexpected(wanted: &str) -> Failure {
    Failure::Bug(format!("the coordinator did not answer with {wanted}"))
}

impl Failure {
    /// The server that has the log is away, or the home: the team goes on, and what was asked can be asked
    /// again when it is back.
    pub(crate) fn is_away(&self) -> bool {
        let away = [Code::LogUnavailable, Code::HostSilent];
        self.refused().is_some_and(|refused| away.contains(&refused.code))
    }

    pub(crate) fn exit(&self) -> Exit {
        match self {
            Failure::Client(failure) => exit::of_client(failure),
            Failure::Usage(_) => Exit::Usage,
            Failure::Lost(_) => Exit::Lost,
            Failure::Storage(_) => Exit::Storage,
            Failure::Told(exit) => *exit,
            Failure::PipeClosed => Exit::Done,
            Failure::Bug(_) => Exit::Bug,
        }
    }

    pub(crate) fn refused(&self) -> Option<&Refused> {
        match self {
            Failure::Client(ClientFailure::Refused(refused)) => Some(refused),
            _ => None,
        }
    }

    fn text(&self) -> Option<String> {
        match self {
            Failure::Client(failure) => Some(failure.to_string()),
            Failure::Usage(text) | Failure::Lost(text) | Failure::Storage(text) => {
                Some(text.clone())
            }
            Failure::Bug(text) => Some(format!("{text}\n  this is a bug: please report it")),
            Failure::Told(_) | Failure::PipeClosed => None,
        }
    }

    /// What to print for a person; nothing when everything was said.
    pub(crate) fn for_people(&self) -> Option<String> {
        if let Some(refused) = self.refused() {
            let mut told = format!("refused: {}\n", hanging(&refused.message, 2));
            for line in refused.remedy.iter().flat_map(|remedy| remedy.lines()) {
                told.push_str(&format!("  {}\n", plain(line.trim())));
            }
            return Some(told);
        }
        self.text().map(|text| format!("error: {}\n", plain_lines(&text)))
    }

    /// The same for programs, as one line.
    pub(crate) fn for_programs(&self) -> Option<String> {
        if let Some(refused) = self.refused() {
            return Some(format!("{}\n", serde_json::json!({ "refused": refused })));
        }
        let text = self.text()?;
        let (message, remedy) = match text.split_once("\n  ") {
            Some((message, remedy)) => (message, Some(remedy)),
            None => (text.as_str(), None),
        };
        let failed = serde_json::json!({
            "failed": { "code": self.exit().word(), "message": message, "remedy": remedy }
        });
        Some(format!("{failed}\n"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_refusal_reads_as_a_fact_and_its_remedy() {
        let refused = Refused {
            code: shipmate_protocol::Code::AlreadyClaimed,
            message: "task 1 is claimed by ana@1".to_owned(),
            remedy: Some("take another task".to_owned()),
        };
        let failure = Failure::Client(ClientFailure::Refused(refused));
        assert_eq!(
            failure.for_people().unwrap(),
            "refused: task 1 is claimed by ana@1\n  take another task\n"
        );
        assert_eq!(
            failure.for_programs().unwrap(),
            "{\"refused\":{\"code\":\"AlreadyClaimed\",\"message\":\"task 1 is claimed by \
             ana@1\",\"remedy\":\"take another task\"}}\n"
        );
        assert_eq!(failure.exit(), Exit::Lost);
    }

    #[test]
    fn another_failure_gives_its_remedy_a_field_of_its_own() {
        let failure = Failure::Usage("there is no file x\n  name an existing file".to_owned());
        assert_eq!(
            failure.for_programs().unwrap(),
            "{\"failed\":{\"code\":\"Usage\",\"message\":\"there is no file x\",\"remedy\":\"name \
             an existing file\"}}\n"
        );
    }

    #[test]
    fn a_closed_pipe_is_no_error() {
        assert_eq!(Failure::PipeClosed.exit(), Exit::Done);
        assert_eq!(Failure::PipeClosed.for_people(), None);
    }
}
