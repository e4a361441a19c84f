//! How teams leave: what they leave is listed, their folders are put away, and whoever waits for
//! that is told.

use std::rc::Rc;

use shipmate_core::state::TeamPhase;
use shipmate_model::Name;
use shipmate_process::blocking;
use shipmate_protocol::refused;
use shipmate_protocol::view::Leftover;
use shipmate_protocol::{Code, Refused, verbs};

use super::Coordinator;
use super::tear_down;
use crate::board::Board;
use crate::errand::{self, Cleaning};
use crate::open;
use crate::put_away::{Made, put_away};
use crate::scene;
use crate::verbs::Left;

impl Coordinator {
    /// What is left over: of everything here, or of a team once it is gone.
    pub(super) async fn left(
        self: &Rc<Self>,
        team: Option<&str>,
        left: Left<'_>,
    ) -> Result<Vec<Leftover>, Refused> {
        if let Left::Over(verbs::Leftovers { remove, force }) = left {
            let boards = self.all_boards().await?;
            let cleaning = Cleaning { remove: *remove, force };
            let crews: Vec<_> = boards.iter().filter_map(|board| self.crew(&board.root)).collect();
            return errand::leftovers(&self.settings, &boards, &crews, cleaning).await;
        }
        let team = scene::name(team.unwrap_or_default())?;
        let department_of = self.gone(&team).await?;
        let mut boards = Vec::new();
        for root in self.roots()? {
            // That of another team that cannot be opened is no trouble of this one's.
            boards.extend(self.board(&root).await.ok().flatten());
        }
        let Some(board) = department_of else {
            let mut left = errand::left_of(&self.settings, &boards, &team).await?;
            let failed = self.not_torn_down.borrow_mut().remove(&team).unwrap_or_default();
            left.extend(failed.into_iter().map(|(name, why)| Leftover {
                kind: "teardown".to_owned(),
                team: team.to_string(),
                name,
                why,
                ..Leftover::default()
            }));
            return Ok(left);
        };
        errand::left_of_department(&self.settings, &boards, &board, &team).await
    }

    /// Waits until a team that is being deleted is gone, with its folder if it is a root; the board
    /// of the tree of teams that goes on without it if it is none.
    async fn gone(self: &Rc<Self>, team: &Name) -> Result<Option<Rc<Board>>, Refused> {
        loop {
            let board = match self.board_of(team).await {
                Err(refused) if refused.code == Code::UnknownTeam => return Ok(None),
                board => board?,
            };
            if board.is_closed() {
                // It may have been put away while it was opened.
                let is_there = |found: &Rc<Board>| Rc::ptr_eq(found, &board);
                if self.boards.borrow().get(&board.root).is_some_and(is_there) {
                    self.put_away.notified().await;
                }
                let failed = self.not_put_away.borrow().get(&board.root).cloned();
                match failed {
                    // Tried again here it would be for ever.
                    Some(reason) => return Err(not_put_away(&board.root, &reason)),
                    None => continue,
                }
            }
            // A folder with a log that nothing was ever recorded in, or not since it was deleted elsewhere.
            if board.with_state(|state| state.position == 0) {
                board.end_if_empty();
                return Ok(None);
            }
            let phase = board.with_state(|state| state.teams.get(team).map(|team| team.phase));
            match phase {
                Some(TeamPhase::Active) => {
                    let text = format!("team {team} is not being deleted");
                    let remedy = format!("`shipmate team delete {team}` does it");
                    return Err(refused(Code::TeamActive, text, &remedy));
                }
                Some(TeamPhase::Deleted) if board.root != *team => {
                    if let Some(crew) = self.crew(&board.root) {
                        crew.all_rescued().await;
                    }
                    return Ok(Some(board));
                }
                _ => board.turned().await,
            }
        }
    }

    async fn all_boards(self: &Rc<Self>) -> Result<Vec<Rc<Board>>, Refused> {
        let mut boards = Vec::new();
        for root in self.roots()? {
            boards.extend(self.board(&root).await?);
        }
        Ok(boards)
    }

    pub(super) fn discard(&self, root: &Name) {
        let folder = open::folder(&self.settings, root.as_str());
        // A log that is new may lie in a folder that is not.
        if folder.join("trees").exists() {
            return;
        }
        if let Err(e) = shipmate_process::remove_folder(&folder) {
            tracing::warn!(?folder, failure = %e, "a new log was not removed");
        }
    }

    /// A deleted team's log is kept, out of the way: it says what happened. Until that is done its
    /// name is taken.
    pub(super) async fn put_away(&self, board: &Rc<Board>) {
        let root = board.root.clone();
        let text =
            format!("team {root} is being deleted: what its teammates left is brought to safety");
        let remedy = format!("wait for it: `shipmate team delete {root}` says when it is done");
        board.close(refused(Code::TeamGone, text, &remedy));
        self.not_put_away.borrow_mut().remove(&root);
        if let Some(crew) = self.crew(&root) {
            crew.all_gone().await;
        }
        let wanted = board.with_state(tear_down::wanted);
        let failed = tear_down::run(&self.settings, root.as_str(), wanted).await;
        if !failed.is_empty() {
            self.not_torn_down.borrow_mut().insert(root.clone(), failed);
        }
        let (place, made) = (self.settings.place.clone(), board.with_state(Made::of));
        let name = root.clone();
        let work = move || put_away(&place, name.as_str(), &made);
        if let Err(reason) = blocking(work).await {
            tracing::warn!(%root, ?reason, "a deleted team was not put away");
            self.not_put_away.borrow_mut().insert(root, reason);
        }
    }
}

fn not_put_away(root: &Name, reason: &str) -> Refused {
    let text = format!("team {root} has ended, but its folder cannot be put away: {reason}");
    let remedy = format!("mend that, then `shipmate team delete {root}` again");
    refused(Code::NotPutAway, text, &remedy)
}
