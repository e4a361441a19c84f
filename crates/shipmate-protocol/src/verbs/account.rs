//! What is asked and told of accounts.

use serde::{Deserialize, Serialize};
use shipmate_model::account::Window;

/// What the provider of a teammate's account tells of its windows.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct AccountTold {
    pub windows: Vec<Window>,
}

/// The provider of a teammate's account refuses.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct AccountRefused {
    /// Wall clock in milliseconds, where it says when.
    pub until: Option<u64>,
    pub reason: String,
}

/// A person knows that an account has room again.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct AccountResume {
    pub account: String,
}
