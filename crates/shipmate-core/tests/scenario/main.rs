//! Every rule of the core as text: commands on the left, what comes of them on the
//! right. `play` says how the lines are read.

#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

/// Named scenarios: each is a test, and all together are a list for the tests that
/// ask whether every act, event and refusal occurs in some scenario.
macro_rules! scenarios {
    ($($name:ident: $text:literal,)*) => {
        $(
            #[test]
            fn $name() {
                crate::play::check($text);
            }
        )*
        pub(crate) const ALL: &[(&str, &str)] = &[$((stringify!($name), $text)),*];
    };
}

mod accounts;
mod alone;
mod breaker;
mod commands;
mod counts;
mod dependencies;
mod drafts;
mod escalations;
mod every;
mod expect;
mod fallbacks;
mod files;
mod goals;
mod golden;
mod hosts;
mod led_phases;
mod messages;
mod notes;
mod observations;
mod observer;
mod pauses;
mod phases;
mod plans;
mod play;
mod playbooks;
mod repairs;
mod requests;
mod room;
mod routes;
mod scope;
mod shutdown;
mod staff;
mod stalls;
mod stories;
mod tasks;
mod teammates;
mod teams;
mod unchanged;
mod usage;
mod words;
