//! What an agent asks leave for, decided by the table or by whoever must be asked.
//!
//! The mode is looked up each time: it may be changed while the agent works. A question
//! that nobody answers in time is withdrawn, and the answer is no.

use std::path::{Path, PathBuf};

use shipmate_model::event::Mode;
use shipmate_model::files::{FileSet, Pattern};
use shipmate_process::Fence;
use shipmate_programs::fence::{self, Fenced, Yard};
use shipmate_protocol::verbs::QuestionKind;
use shipmate_protocol::{Place, answers, verbs};
use tokio::sync::oneshot;

use super::desk::{Desk, May};
use crate::permission::{self, Bounds, Kind, Request, Rule};

impl Desk {
    /// Whether the agent may do what it asks for. Waits for whoever must be asked.
    pub(crate) async fn may(&self, request: Request) -> May {
        let mode = self.mode_now().await;
        if self.is_closed() && request.kind != Kind::TeamTool {
            return May::No(permission::not_of_role(&request, &self.order().tools));
        }
        let definition = self.order().definition.as_deref();
        if let Some(text) = definition.and_then(|one| permission::kept_by(one, &request)) {
            return May::No(text);
        }
        let verdict = permission::judge(mode, self.is_approved(), &request, &self.bounds());
        let (kind, whom) = match verdict.rule {
            Rule::Allow => return May::Yes,
            // Nobody is asked twice about a tool that a person's servers bring.
            Rule::AskLead | Rule::AskPerson if self.knows_tool(&request) => return May::Yes,
            Rule::Deny => return May::No(permission::words(&verdict, &request)),
            Rule::AskLead => (QuestionKind::Scope, "the lead"),
            Rule::AskPerson => (QuestionKind::Permission, "a person"),
        };
        let text = permission::words(&verdict, &request);
        let text = format!("{text}\nAnswer \"allow\"; anything else is a refusal and its reason.");
        let asked = self.carry(verbs::Question { kind, text, options: Vec::new() }).await;
        let id = match asked {
            Ok(answers::Opened { id }) => id,
            Err(refused) => {
                return May::No(permission::refused(&request, whom, &refused.message));
            }
        };
        match self.answer_to(id).await {
            Some(answer) if permission::is_granted(&answer) => {
                self.grant(&request.paths);
                self.remember_tool(&request);
                May::Yes
            }
            Some(answer) => May::No(permission::refused(&request, whom, &answer)),
            None => May::No(permission::unanswered(&request, self.order().patience())),
        }
    }

    /// It was allowed before, in this life.
    fn knows_tool(&self, request: &Request) -> bool {
        is_servers(request) && self.allowed_tools().borrow().contains(&request.tool)
    }

    fn remember_tool(&self, request: &Request) {
        if is_servers(request) {
            self.allowed_tools().borrow_mut().insert(request.tool.clone());
        }
    }

    /// The answer, or none when the question was open for too long.
    async fn answer_to(&self, question: u64) -> Option<String> {
        let until = tokio::time::Instant::now() + self.order().patience();
        loop {
            let (tell, told) = oneshot::channel();
            self.expect_answer(question, tell);
            if let Some(answer) = self.found_answer(question).await {
                return Some(answer);
            }
            if tokio::time::timeout_at(until, told).await.is_err() {
                let reason = "nobody answered in time".to_owned();
                drop(self.carry(verbs::QuestionWithdraw { question, reason }).await);
                // Answered in the last moment is answered.
                return self.found_answer(question).await;
            }
        }
    }

    async fn found_answer(&self, question: u64) -> Option<String> {
        let all = self.carry(verbs::Questions { all: true }).await.ok()?;
        all.into_iter().find(|asked| asked.id == question)?.answer
    }

    /// Looks up what mode it is in now.
    pub(super) async fn look_at_mode(&self) {
        let name = self.order().name.clone();
        if let Ok(view) = self.carry(verbs::TeammateShow { name }).await {
            self.set_mode(view.mode);
        }
    }

    async fn mode_now(&self) -> Mode {
        self.look_at_mode().await;
        self.mode()
    }

    /// Its program's own folders, and temporary ones.
    fn free(&self) -> Vec<PathBuf> {
        let order = self.order();
        let mut free = order.own.clone();
        free.push(order.grounds.temp());
        let real = |path: PathBuf| path.canonicalize().unwrap_or(path);
        let temp = real(std::env::temp_dir());
        if !real(order.workspace.clone()).starts_with(&temp) {
            free.push(temp);
        }
        free
    }

    /// What the program is started behind: while nothing may be written in its tree, nothing can
    /// be. The text says why a fence that is required cannot be had.
    pub(crate) fn fence(&self, tree: &Path, more: &[PathBuf]) -> Result<Option<Fence>, String> {
        let order = self.order();
        let place = Place { workspace: order.workspace.clone() };
        let mut own = order.own.clone();
        own.extend(more.iter().cloned());
        let (tree, writes) = (tree.to_owned(), !self.is_read_only());
        let yard = Yard { tree, writes, own, is_closed: self.is_closed(), ..Yard::default() };
        let fence = fence::around(&order.grounds, &place, yard)?;
        self.stands_behind(Fenced::by(fence.as_ref(), order.grounds.level));
        Ok(fence)
    }

    fn bounds(&self) -> Bounds {
        let order = self.order();
        Bounds {
            tree: self.tree(),
            scope: patterns(&order.scope),
            files: patterns(&self.files()),
            granted: patterns(&self.granted()),
            protected: patterns(&order.protected),
            may: patterns(&order.may),
            free: self.free(),
            notes: order.native.iter().map(|native| native.folder.join("scratch")).collect(),
            sealed: vec![Place { workspace: order.workspace.clone() }.state()],
        }
    }

    /// Remembers what was granted for as long as the task is in hand.
    fn grant(&self, paths: &[PathBuf]) {
        let tree = self.tree();
        let inside = |path: &PathBuf| -> Option<String> {
            let path = path.strip_prefix(&tree).unwrap_or(path);
            (!path.is_absolute()).then(|| path.display().to_string())
        };
        self.add_granted(paths.iter().filter_map(inside));
    }
}

/// A tool of a server that the person has set up, about no file.
fn is_servers(request: &Request) -> bool {
    request.kind == Kind::Other && request.paths.is_empty()
}

/// What cannot be a pattern grants nothing.
fn patterns(texts: &[String]) -> FileSet {
    FileSet::new(texts.iter().filter_map(|text| text.parse::<Pattern>().ok()).collect())
}
