//! Lives are placed where there is room, and nobody is taken for a life of another boot.

use shipmate_model::event::{Event, Record, Supervision};

use super::{Check, hold};
use crate::simulation::model::Model;

/// A supervised life is placed on a host that is there, takes it and has a free slot.
pub(super) fn a_life_has_a_place(model: &Model, record: &Record) -> Check {
    let Event::TeammateStarted { who, supervision, host, .. } = &record.event else {
        return Ok(());
    };
    if *supervision == Supervision::None {
        let known = host.as_ref().is_none_or(|host| model.hosts.all.contains_key(host));
        return hold("hosts", known, || format!("{who} sits on {host:?}"));
    }
    let none = model.hosts.all.is_empty();
    hold("hosts", none == host.is_none(), || format!("{who} is placed on {host:?}"))?;
    let Some(host) = host else { return Ok(()) };
    hold("hosts", model.takes(host, &who.address), || format!("{host} cannot take {who}"))
}

/// A host comes back only when nobody is on record there, so that no life of before is ever taken
/// for one of now; and a loss is of the boot that is on record.
pub(super) fn g5_a_boot_is_one_time(model: &Model, record: &Record) -> Check {
    match &record.event {
        Event::HostJoined { host, spec } => {
            let Some(before) = model.hosts.all.get(host) else { return Ok(()) };
            let same = before.there && before.spec.boot == spec.boot;
            hold("G5", same || model.is_empty(host), || {
                format!("{host} came back with lives of before")
            })
        }
        Event::HostLost { host, boot, .. } => {
            let lost = model.hosts.all.get(host).filter(|host| host.there);
            hold("G5", lost.is_some_and(|facts| facts.spec.boot == *boot), || {
                format!("{host} is lost with boot {boot}, which was not there")
            })
        }
        _ => Ok(()),
    }
}
