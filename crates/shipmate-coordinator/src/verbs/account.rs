//! Accounts: what their providers tell, and a person's word that one has room again.

use shipmate_model::Act;
use shipmate_protocol::Refused;
use shipmate_protocol::verbs::{AccountRefused, AccountResume, AccountTold, Accounts};
use shipmate_protocol::view::AccountView;

use super::{Beside, Decides, Looks};
use crate::clock::wall_ms;
use crate::scene::{Scene, name};
use crate::views;

impl Looks for Accounts {
    fn look(&self, scene: &Scene<'_>, _: &Beside<'_>) -> Result<Vec<AccountView>, Refused> {
        Ok(views::accounts(scene.state))
    }
}

impl Decides for AccountTold {
    fn act(&self, _: &Scene<'_>) -> Result<Act, Refused> {
        let (windows, at) = (self.windows.clone(), wall_ms());
        Ok(Act::ReportWindows { account: None, windows, at })
    }
}

impl Decides for AccountRefused {
    fn act(&self, _: &Scene<'_>) -> Result<Act, Refused> {
        let (until, reason, at) = (self.until, self.reason.clone(), wall_ms());
        Ok(Act::ParkAccount { account: None, until, reason, at })
    }
}

impl Decides for AccountResume {
    fn act(&self, _: &Scene<'_>) -> Result<Act, Refused> {
        Ok(Act::ResumeAccount { account: name(&self.account)?, parked: None })
    }
}
