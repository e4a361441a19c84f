//! The formats of files that a playbook may have written.

/// Their names, as an artifact's `format` says them.
pub const FORMATS: [&str; 17] = [
    "checkpoint",
    "inboxes",
    "mailbox-002",
    "features",
    "decisions",
    "handoff",
    "tasks-001",
    "tasks-002",
    "team-config",
    "summary",
    "department-result",
    "owner-signoff",
    "dept-status",
    "execution-state",
    "orchestration",
    "agent-health",
    "agent-health-map",
];
