//! The page beside a run: served where somebody is there to open it, and kept after the run has
//! ended for as long as somebody looks at it.

use std::io::IsTerminal;
use std::sync::mpsc::channel;

use serde::Serialize;

use super::RunArgs;
use super::report::{NextStep, Outcome, Report};
use super::watch::{News, interrupts, read_line};
use crate::cli::failure::Failure;
use crate::cli::screen::{Screen, columns};
use crate::cli::session::{Session, launch};
use crate::web;

/// Columns of the live table's line with the link, beside the link.
const LABEL: usize = "page   ".len();

/// The page. Its link is told above everything else where the table has no room for it. A run does
/// not fail for want of a page.
pub(super) fn begin(args: &RunArgs, session: &Session) -> Result<Option<web::Beside>, Failure> {
    let width = session.screen.width.filter(|_| !session.screen.json);
    let Some(width) = width else { return Ok(None) };
    if args.no_page || !session.config()?.config.page {
        return Ok(None);
    }
    match web::beside(session.place.clone(), launch(&session.place)?) {
        Ok(page) => {
            if columns(page.link()) + LABEL > width {
                session.screen.line(&format!("page: {}", page.link()))?;
            }
            Ok(Some(page))
        }
        Err(e) => {
            session.screen.line(&format!("note: the page cannot be served: {e}"))?;
            Ok(None)
        }
    }
}

/// How a run ended, as the page is told.
#[derive(Debug, Serialize)]
struct Ended {
    outcome: Outcome,
    text: String,
    /// How to go on from there.
    next: Vec<NextStep>,
}

/// Shows on the page how the run ended, and serves it until the person leaves: by Enter, by Ctrl-C
/// or by closing its last tab.
pub(super) fn stay(page: &web::Beside, report: &Report, screen: &Screen) -> Result<(), Failure> {
    let (outcome, text) = (report.outcome, report.in_short());
    page.ended(&Ended { outcome, text, next: report.next() });
    if !page.is_open() || !std::io::stdin().is_terminal() {
        return Ok(());
    }
    screen.line("the page stays open; press Enter to leave it, or close its tab")?;
    let (tell, news) = channel();
    interrupts(tell.clone());
    read_line(tell.clone());
    page.when_left(move || drop(tell.send(News::PageLeft)));
    // Whatever comes first.
    drop(news.recv());
    Ok(())
}
