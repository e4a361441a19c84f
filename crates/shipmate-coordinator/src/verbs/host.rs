//! Hosts: the machines that share a team.

use shipmate_model::Act;
use shipmate_protocol::Refused;
use shipmate_protocol::verbs::{HostDrain, HostHome, HostRemove, Hosts};
use shipmate_protocol::view::HostView;

use super::{Beside, Decides, Looks};
use crate::scene::{Scene, name};
use crate::views;

impl Looks for Hosts {
    fn look(&self, scene: &Scene<'_>, beside: &Beside<'_>) -> Result<Vec<HostView>, Refused> {
        Ok(views::hosts(scene.state, scene.here, beside.signs))
    }
}

impl Decides for HostDrain {
    fn act(&self, _: &Scene<'_>) -> Result<Act, Refused> {
        Ok(Act::DrainHost { host: name(&self.host)?, draining: self.draining })
    }
}

impl Decides for HostRemove {
    fn act(&self, _: &Scene<'_>) -> Result<Act, Refused> {
        Ok(Act::LeaveHost { host: name(&self.host)?, now: self.now })
    }
}

impl Decides for HostHome {
    fn act(&self, _: &Scene<'_>) -> Result<Act, Refused> {
        Ok(Act::MoveHome { host: name(&self.host)? })
    }
}
