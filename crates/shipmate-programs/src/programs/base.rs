//! Where a path of a program begins.

/// Where a path begins.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Base {
    Home,
    Config,
    Data,
    State,
    /// The folder that a variable names, else one below the home folder.
    Named {
        variable: &'static str,
        below_home: &'static str,
    },
    /// The folder that a variable names, if it does.
    Variable(&'static str),
}
