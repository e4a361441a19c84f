//! This machine as a host: one of several that share the logs of their teams.
//!
//! It keeps itself on record in every team, says on the line that it is there, hears the others, and
//! reaches the store that carries commits between them.

mod join;
mod line;
mod moving;
mod outliving;
mod printing;
mod question;
mod server;
mod tunnel;

use std::cell::RefCell;
use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::rc::Rc;
use std::time::Duration;

use shipmate_log::{Line, Packs};
use shipmate_model::Name;
use shipmate_model::host::HostSpec;
use shipmate_programs::programs;

use crate::open;
use crate::secret::Secrets;
use crate::settings::{HostFile, Settings, Store};

pub use join::{Invitation, Wanted, begin, check, has_not_moved, join, leave, part};
pub use line::fresh_id;
pub(crate) use line::{Moved, Printed, Unheard};
pub(crate) use moving::{settle, was_moved};
pub(crate) use outliving::{end_forsaken, end_of};
pub(crate) use printing::Printing;
pub(crate) use question::{Forwarded, Question, Told};
pub use server::OwnServer;
pub use shipmate_playbook::fill::quoted;
pub(crate) use tunnel::keep_up;
pub use tunnel::{PORT_TAKEN, SSH_OPTIONS, Tunnel, describe_unreached};

/// This machine, for as long as its coordinator runs.
pub(crate) struct Here {
    pub(crate) file: HostFile,
    pub(crate) line: Line,
    packs: tokio::sync::OnceCell<Packs>,
    /// Known once its programs were looked for.
    spec: RefCell<Option<HostSpec>>,
    pub(crate) lease: Duration,
    boot: String,
    key: Vec<u8>,
    /// The hosts of each root team, as this machine knows them.
    pub(crate) of_teams: RefCell<BTreeMap<Name, BTreeSet<Name>>>,
    /// Those that have given a sign, whichever teams they know.
    pub(crate) heard_of: RefCell<BTreeSet<Name>>,
    /// When each boot of another host gave its last sign, by the clock of that boot.
    signs: RefCell<BTreeMap<(Name, String), u64>>,
}

impl std::fmt::Debug for Here {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Here").field("name", &self.file.name).finish_non_exhaustive()
    }
}

impl Here {
    pub(crate) async fn begin(
        settings: &Settings,
        secrets: &Secrets,
    ) -> Result<Option<Rc<Here>>, String> {
        let Some(file) = settings.host.clone() else { return Ok(None) };
        let options = open::options(&file.server, "");
        let line = Line::open(&options).await.map_err(|e| e.to_string())?;
        Ok(Some(Rc::new(Here {
            line,
            packs: tokio::sync::OnceCell::new(),
            spec: RefCell::new(None),
            lease: Duration::from_secs(file.lease_seconds),
            boot: boot()?,
            key: secrets.line_key(),
            of_teams: RefCell::default(),
            heard_of: RefCell::default(),
            signs: RefCell::default(),
            file,
        })))
    }

    /// Looks for the programs of this machine.
    pub(crate) async fn survey(&self, settings: &Settings) {
        let views = programs::here(&settings.place, &settings.agents).await;
        let works = views.into_iter().filter(|view| view.state == "ready").map(|view| view.name);
        *self.spec.borrow_mut() = Some(HostSpec {
            boot: self.boot.clone(),
            place: self.file.id.clone(),
            slots: self.file.slots,
            labels: self.file.labels.clone(),
            programs: works.collect(),
            hooks: BTreeSet::new(),
            lacks: BTreeSet::new(),
            release: env!("CARGO_PKG_VERSION").to_owned(),
            invitation: self.file.invitation.clone(),
        });
    }

    /// What it says of itself in any team; nothing before its programs were looked for.
    pub(crate) fn spec(&self) -> Option<HostSpec> {
        self.spec.borrow().clone()
    }

    pub(crate) async fn packs(&self) -> Result<&Packs, String> {
        let open = || async {
            let options = open::options(&self.file.server, "");
            Packs::open(&options).await.map_err(|e| e.to_string())
        };
        self.packs.get_or_try_init(open).await
    }
}

/// Has a server of ours run before anything is asked of it, wherever it listens now, and has what is
/// written to any server sealed.
pub(crate) async fn ready(settings: &mut Settings, secrets: &Secrets) -> Result<(), String> {
    let Some(file) = &mut settings.host else { return Ok(()) };
    if let Some(mut server) = OwnServer::of(&settings.place)? {
        let server = shipmate_process::blocking(move || server.ensure().map(|()| server)).await?;
        if file.server.url != server.url() {
            file.server.url = server.url();
            file.write(&settings.place).map_err(|e| e.to_string())?;
            // Lines that run lead to the old port, where another program is.
            Tunnel::end_all(&settings.place);
        }
    }
    if file.first && file.server.sealed_after.is_none() {
        // Nobody else of this workspace writes while this one has its lock.
        let end = join::stream_end(&file.server).await.map_err(|refused| refused.one_line())?;
        file.server.sealed_after = Some(end);
        file.write(&settings.place).map_err(|e| e.to_string())?;
    }
    file.server.key = Some(secrets.record_key());
    settings.store = Store::Nats(Box::new(file.server.clone()));
    Ok(())
}

/// Another one means that everything that ran here has ended.
fn boot() -> Result<String, String> {
    let path = "/proc/sys/kernel/random/boot_id";
    let id = fs::read_to_string(path).map_err(|e| format!("{path}: {e}"))?;
    Ok(id.trim().to_owned())
}
