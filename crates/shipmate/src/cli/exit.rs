//! Exit codes: documented API, so that a script can branch without reading text.

use shipmate_protocol::{BadPlace, ClientFailure, Code, Refused};

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[repr(u8)]
pub(crate) enum Exit {
    Done = 0,
    Refused = 1,
    Usage = 2,
    NotFound = 3,
    NothingToDo = 4,
    Lost = 5,
    Unreachable = 6,
    Storage = 7,
    Undone = 8,
    Waits = 9,
    Bug = 70,
}

/// Each code with its word (the `code` of a JSON error that is no refusal) and its meaning.
pub(crate) const EXITS: [(Exit, &str, &str); 11] = [
    (Exit::Done, "Done", "Done. Also when the reader of the output went away, as `head` does."),
    (
        Exit::Refused,
        "Refused",
        "Refused: the request was understood and a fact stood in the way. Nothing was changed. \
         `shipmate doctor` also ends with it when it found a problem.",
    ),
    (
        Exit::Usage,
        "Usage",
        "The command line, a file it names or the configuration is wrong. Nothing was asked.",
    ),
    (
        Exit::NotFound,
        "NotFound",
        "A team, teammate, task, message, plan, question or playbook of that name does not exist.",
    ),
    (Exit::NothingToDo, "NothingToDo", "`task next`: no task is available for this teammate now."),
    (
        Exit::Lost,
        "Lost",
        "The claim or the life it needs is another's: `AlreadyClaimed`, `StaleClaim`, \
         `StaleTeammate`. Stop working on that task.",
    ),
    (
        Exit::Unreachable,
        "Unreachable",
        "The coordinator could not be reached or started, does not answer, or is of another version.",
    ),
    (
        Exit::Storage,
        "Storage",
        "The log is damaged, full or cannot be written, or a file of this command could not be.",
    ),
    (
        Exit::Undone,
        "Undone",
        "`run` ended and not every task is completed, `shutdown` and not everybody stopped \
         cleanly, or `resume` and nobody could go on. The report says what and why.",
    ),
    (
        Exit::Waits,
        "Waits",
        "`run` without a terminal: it can go on only by a person's word. The report names what waits \
         and the command that answers it; the team is paused, and `resume` goes on.",
    ),
    (Exit::Bug, "Bug", "A bug in shipmate. Please report what it printed."),
];

impl Exit {
    pub(crate) fn word(self) -> &'static str {
        EXITS.iter().find(|(exit, _, _)| *exit == self).map_or("Bug", |(_, word, _)| word)
    }
}

impl From<Exit> for std::process::ExitCode {
    fn from(exit: Exit) -> Self {
        std::process::ExitCode::from(exit as u8)
    }
}

/// Refusals that end with something else than 1.
pub(crate) fn of_refusal(refused: &Refused) -> Exit {
    match refused.code {
        Code::NothingAvailable | Code::QueueFull | Code::AccountElsewhere => Exit::NothingToDo,
        // A file that the run is about cannot be used, as a plan that has mistakes.
        Code::BadWork => Exit::Usage,
        Code::AlreadyClaimed | Code::StaleClaim | Code::StaleTeammate => Exit::Lost,
        // Another process has the log, or the server that keeps it is away.
        Code::HostSilent | Code::LogInUse | Code::LogUnavailable | Code::Version => {
            Exit::Unreachable
        }
        code if code.is_of_log() => Exit::Storage,
        code if code == Code::NoTeam || code.is_unknown() => Exit::NotFound,
        _ => Exit::Refused,
    }
}

pub(crate) fn of_client(failure: &ClientFailure) -> Exit {
    match failure {
        ClientFailure::Refused(refused) => of_refusal(refused),
        ClientFailure::Place(BadPlace::NoFolder(_) | BadPlace::Unreadable(..)) => Exit::Usage,
        ClientFailure::Version(_)
        | ClientFailure::Start(_)
        | ClientFailure::NotRunning(_)
        | ClientFailure::Connection(_)
        | ClientFailure::Silent(_)
        | ClientFailure::Token(_) => Exit::Unreachable,
        ClientFailure::Nonsense(_) => Exit::Bug,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_code_is_in_the_table_once() {
        let mut codes: Vec<u8> = EXITS.iter().map(|(exit, _, _)| *exit as u8).collect();
        codes.dedup();
        assert_eq!(codes, [0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 70]);
    }

    #[test]
    fn a_script_can_tell_refusals_apart() {
        for (code, exit) in [
            (Code::Blocked, 1),
            (Code::BadName, 1),
            (Code::BadWork, 2),
            (Code::UnknownTask, 3),
            (Code::UnknownTeammate, 3),
            (Code::UnknownPrice, 1),
            (Code::NothingAvailable, 4),
            (Code::AlreadyClaimed, 5),
            (Code::StaleClaim, 5),
            (Code::LogDamaged, 7),
        ] {
            let refused = Refused { code, message: String::new(), remedy: None };
            assert_eq!(of_refusal(&refused) as u8, exit, "{code}");
        }
    }
}
