//! What a hook reads on its standard input: the fields that Claude Code sends, by its names, and
//! two of our own (`reason`, `plan`). A field without a value is left out, never null.

use serde::{Deserialize, Serialize};

use super::HookEvent;

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Payload {
    pub session_id: String,
    pub transcript_path: String,
    pub cwd: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub permission_mode: Option<String>,
    pub hook_event_name: HookEvent,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub agent_id: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub agent_type: Option<String>,
    /// A number, as text: that is how Claude Code sends it and how existing hooks read it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub task_id: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub task_subject: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub task_description: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub teammate_name: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub team_name: Option<String>,
    /// Why a teammate is idle or disappeared, or a team shuts down.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
    /// The text of a submitted plan.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub plan: Option<String>,
}

impl Payload {
    pub fn new(event: HookEvent, session_id: &str, cwd: &str) -> Self {
        Self {
            session_id: session_id.to_owned(),
            transcript_path: String::new(),
            cwd: cwd.to_owned(),
            permission_mode: None,
            hook_event_name: event,
            agent_id: None,
            agent_type: None,
            task_id: None,
            task_subject: None,
            task_description: None,
            teammate_name: None,
            team_name: None,
            reason: None,
            plan: None,
        }
    }

    /// What such an event could look like, to try hooks with.
    pub fn sample(event: HookEvent, cwd: &str) -> Self {
        let some = |text: &str| Some(text.to_owned());
        let mut sample = Self::new(event, "sample-session", cwd);
        sample.team_name = some("sample-team");
        if event != HookEvent::TeamShutdown {
            sample.teammate_name = some("ana");
            sample.agent_id = some("ana@1");
            sample.agent_type = some("ana");
        }
        match event {
            HookEvent::TaskCreated | HookEvent::TaskCompleted => {
                sample.task_id = some("1");
                sample.task_subject = some("A sample task");
                sample.task_description = some("It exists only to try this hook.");
            }
            HookEvent::PlanSubmitted => sample.plan = some("1. Read.\n2. Write.\n3. Test."),
            HookEvent::TeammateIdle => sample.reason = some("no task is available"),
            HookEvent::TeammateDisappeared => sample.reason = some("its process ended"),
            HookEvent::TeamShutdown => sample.reason = some("all tasks are completed"),
            HookEvent::TeammateStarted => {}
        }
        sample
    }
}
