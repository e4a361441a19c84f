//! Every limit of the core, in one place, so that a refusal can name it.
//!
//! Nothing a client sends may grow the state without bound: each list, text and
//! queue below has a ceiling, and passing it is a refusal, never a truncation.

/// Longest name of a team, teammate, role or group, in bytes.
pub const NAME_BYTES_MAX: usize = 64;
/// Longest alias of a task (`03-01/T3`), in bytes.
pub const ALIAS_BYTES_MAX: usize = 128;
/// Longest subject of a task or one-line summary, in bytes.
pub const SUBJECT_BYTES_MAX: usize = 512;
/// Longest free text: a task's description, a message, a plan, a reason.
pub const TEXT_BYTES_MAX: usize = 64 * 1024;
/// Most that a handoff says, in bytes, and in how many entries.
pub const HANDOFF_BYTES_MAX: usize = 16 * 1024;
pub const HANDOFF_ENTRIES_MAX: usize = 100;
/// Longest note, in bytes: a scratchpad is read at a glance.
pub const NOTE_BYTES_MAX: usize = 2 * 1024;
/// Notes that stay in the state; older ones are still in the log.
pub const NOTES_KEPT: usize = 10_000;
/// Longest file pattern, in bytes.
pub const PATTERN_BYTES_MAX: usize = 1024;
/// Most file patterns of one task or scope.
pub const PATTERNS_MAX: usize = 256;
/// Most bytes in all file patterns of one task or scope: comparing two lists costs the
/// product of their lengths, and everybody waits for it.
pub const PATTERNS_BYTES_MAX: usize = 16 * 1024;
/// Most dependencies of one task. A group stands for more (one edge each).
pub const DEPENDENCIES_MAX: usize = 1024;
/// Most metadata entries of one task.
pub const METADATA_MAX: usize = 64;
/// Most tasks created by one command.
pub const TASKS_PER_COMMAND_MAX: usize = 10_000;
/// Most tasks in one tree of teams.
pub const TASKS_MAX: usize = 1_000_000;
/// Most teammates in one tree of teams.
pub const TEAMMATES_MAX: usize = 10_000;
/// Most teams in one tree.
pub const TEAMS_MAX: usize = 1_000;
/// Machines of a tree of teams, and labels and programs of one.
pub const HOSTS_MAX: usize = 1_000;
/// Most unread messages in one inbox.
pub const INBOX_MAX: usize = 10_000;
/// Most undecided plans, open questions and open reservations, each.
pub const OPEN_MAX: usize = 10_000;
/// Decided plans, answered questions and ended shutdowns that stay in the state.
/// Older ones are still in the log.
pub const CLOSED_KEPT: usize = 200;
/// Clients whose last request is remembered, so that it can be asked again.
pub const CLIENTS_KEPT: usize = 10_000;
/// Most tasks a teammate may hold at once.
pub const HELD_MAX: u32 = 64;
/// How far a new dependency raises the critical path of what came before it.
///
/// Beyond this many tasks the rank of far ancestors is left as it is: a chain of
/// 100,000 tasks must not cost 100,000 steps for each link, and a task with
/// hundreds of levels behind it is urgent either way.
pub const PATH_STEPS_MAX: usize = 512;

/// The length a task counts for when its plan gives none.
pub const DURATION_DEFAULT_MS: u64 = 60_000;
/// The order of a task that was given none; lower is sooner.
pub const PRIORITY_DEFAULT: i32 = 100;
/// Submissions that may wait for their gate before no further task is handed out: so many for
/// each teammate, and in a small team so many in all.
pub const WAITING_PER_TEAMMATE_MAX: usize = 2;
pub const WAITING_MAX_LEAST: usize = 8;
/// How often a task may come back before it counts as failed.
pub const RETRIES_DEFAULT: u32 = 3;
/// How long a claim holds without a renewal when its claimer has no supervisor and
/// asked for no lease.
pub const LEASE_DEFAULT_MS: u64 = 10 * 60 * 1000;
/// The longest lease: a claimer that is silent for a day is not working.
pub const LEASE_MAX_MS: u64 = 24 * 60 * 60 * 1000;
/// Disappearances that open a team's circuit breaker.
pub const STRIKES_MAX: usize = 2;
/// How long a disappearance counts against the breaker.
pub const STRIKE_MS: u64 = 5 * 60 * 1000;
/// How long a breaker stays open before one probe is let through.
pub const OPEN_MS: u64 = 2 * 60 * 1000;
/// How long a probe has to answer.
pub const PROBE_MS: u64 = 60 * 1000;
/// How long a teammate with a task may show no sign of progress.
pub const STALL_DEFAULT_MS: u64 = 10 * 60 * 1000;
/// How long a supervisor has to answer.
pub const ANSWER_DEFAULT_MS: u64 = 60 * 1000;
/// How long a teammate has to stop when it is asked to.
pub const SHUTDOWN_DEFAULT_MS: u64 = 30 * 1000;
/// How long a gate may run.
pub const GATE_DEFAULT_MS: u64 = 30 * 60 * 1000;
/// Most tasks of a plan that a lead hands in: their order is weighed as a whole.
pub const PLANNED_TASKS_MAX: usize = 200;
/// Most teammates of such a plan.
pub const PLANNED_TEAMMATES_MAX: usize = 16;
/// Most files of all its tasks together: each is compared with each.
pub const PLANNED_FILES_MAX: usize = 1_000;
/// Problems of such a plan that are told at once.
pub const PROBLEMS_TOLD_MAX: usize = 20;
/// How long the runtime waits before it tries again to start a supervisor; it doubles each time.
pub const SPAWN_FIRST_MS: u64 = 250;
/// How often it tries: about a minute in all.
pub const SPAWN_TRIES_MAX: u32 = 8;
/// Lives in a row that may prove unable to work before the runtime starts no further one
/// by itself.
pub const BARREN_MAX: u32 = 3;
/// How long an account is left alone whose provider does not say when it has room again; it doubles
/// each time it refuses anew, up to the longest.
pub const ACCOUNT_AGAIN_FIRST_MS: u64 = 60 * 1000;
pub const ACCOUNT_AGAIN_MAX_MS: u64 = 60 * 60 * 1000;
/// A reset that is further off is not believed: the longest windows are a month.
pub const ACCOUNT_RESET_MAX_MS: u64 = 35 * 24 * 60 * 60 * 1000;
/// Most windows of one account, and the longest name of one.
pub const WINDOWS_MAX: usize = 8;
pub const WINDOW_NAME_BYTES_MAX: usize = 40;
