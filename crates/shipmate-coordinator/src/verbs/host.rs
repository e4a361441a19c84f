//! Hosts: the machines that share a team.

use shipmate_core::lives_on;
use shipmate_model::Act;
use shipmate_protocol::Refused;
use shipmate_protocol::verbs::{HostDrain, HostHome, HostRemove, Hosts};
use shipmate_protocol::view::HostView;

use super::{Beside, Decides, Looks};
use crate::scene::{Scene, name};

impl Looks for Hosts {
    fn look(&self, scene: &Scene<'_>, beside: &Beside<'_>) -> Result<Vec<HostView>, Refused> {
        let texts = |names: &mut dyn Iterator<Item = String>| names.collect();
        let views = scene.state.hosts.iter().map(|(name, host)| HostView {
            name: name.to_string(),
            state: host.state,
            home: scene.state.home.as_ref() == Some(name),
            here: scene.here == Some(name),
            slots: host.spec.slots,
            teammates: texts(&mut lives_on(scene.state, name).map(|(who, _)| who.to_string())),
            labels: texts(&mut host.spec.labels.iter().map(ToString::to_string)),
            programs: host.spec.programs.iter().cloned().collect(),
            release: host.spec.release.clone(),
            lacks: host.spec.lacks.iter().cloned().collect(),
            silent_ms: beside.signs.silence_ms(name),
        });
        Ok(views.collect())
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
