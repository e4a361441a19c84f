//! `shipmate resume`: a team goes on, and each teammate's part in it is told.

use std::rc::Rc;

use shipmate_core::state::Life;
use shipmate_core::{Act, Actor, Name, TeammateRef};
use shipmate_protocol::view::Resumed;

use crate::crew::Crew;

/// Lets a paused team go on, and says what became of each teammate.
pub(super) async fn resume(crew: &Rc<Crew>, by: &Actor) -> Vec<Resumed> {
    let board = &crew.board;
    board.settled().await;
    let paused: Vec<Name> = board.with_state(|state| {
        let paused = state.teams.iter().filter(|(_, team)| team.paused.is_some());
        paused.map(|(name, _)| name.clone()).collect()
    });
    for team in paused {
        board.tell_as(by.clone(), Act::ContinueTeam { team });
    }
    board.settled().await;
    let adopted = crew.adopted.borrow().clone();
    board.with_state(|state| {
        let present = state.teammates.iter().filter(|(_, mate)| mate.life != Life::Removed);
        let views = present.map(|(address, mate)| {
            let who = TeammateRef { address: address.clone(), epoch: mate.epoch };
            let session = match mate.session.as_str() {
                "" => String::new(),
                session => format!(", session {session}"),
            };
            let (how, why) = match &mate.life {
                Life::Running if adopted.contains(&who) => {
                    ("resumed", "its process went on without interruption".to_owned())
                }
                Life::Running if mate.epoch > 1 => {
                    ("restarted", format!("as epoch {}, in its old tree{session}", mate.epoch))
                }
                Life::Running => ("resumed", "it runs".to_owned()),
                Life::Added => ("waits", "not started yet: there is no task for it".to_owned()),
                Life::Disappeared { reason } if mate.profile.command.is_empty() => {
                    ("lost", format!("{reason}; start it by hand"))
                }
                Life::Disappeared { .. } => ("waits", "there is no task for it now".to_owned()),
                Life::Stopped { .. } if !mate.profile.command.is_empty() && !mate.dismissed => {
                    ("waits", "it had stopped; it starts when there is a task for it".to_owned())
                }
                _ => {
                    let name = &address.name;
                    ("lost", format!("it was stopped; `shipmate teammate start {name}` starts it"))
                }
            };
            Resumed { name: address.to_string(), how: how.to_owned(), why }
        });
        views.collect()
    })
}
