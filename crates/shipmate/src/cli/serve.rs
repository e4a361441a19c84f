//! `shipmate serve`: the page for people and the tools for MCP clients, on one port of loopback.

use std::io::Write;
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::Arc;

use axum::Router;
use serde_json::json;
use shipmate_protocol::place::read_token;
use tokio::signal::unix::{SignalKind, signal};

use crate::cli::failure::Failure;
use crate::cli::screen::Screen;
use crate::cli::session::{Globals, Session, launch};
use crate::mcp::{Caller, Hub, http};
use crate::web;

/// Show the team in a browser, and serve its tools to MCP clients over HTTP, on this machine only
///
/// The printed link opens the page. Whoever has it acts as you, for as long as this command runs:
/// it is made anew each time. MCP clients use the other token: with it a session joins a team as a
/// new member, and nothing else can be done. The token of a teammate works too. The headers
/// shipmate-team, shipmate-seat and shipmate-seat-lead say what SHIPMATE_TEAM, SHIPMATE_SEAT and
/// SHIPMATE_SEAT_LEAD say to `shipmate mcp`; to lead takes your own token. A member leaves with its
/// session; one that has mail or a task waiting keeps its seat. It ends with Ctrl-C, and with it all
/// sessions.
#[derive(clap::Args, Debug)]
#[command(after_help = "\
Examples:
  shipmate serve
  shipmate serve --open
  shipmate serve --port 7070 --json")]
pub(crate) struct ServeArgs {
    /// The port to listen on; 0 takes any that is free
    #[arg(long, value_name = "N", default_value_t = 0)]
    port: u16,

    /// Open the page in the browser
    #[arg(long)]
    open: bool,
}

pub(crate) fn run(args: &ServeArgs, globals: &Globals) -> Result<(), Failure> {
    let mut session = Session::open(globals)?;
    // The coordinator writes the tokens at its start: to serve is more than to look.
    session.client.without_state = None;
    session.client.welcome()?;
    let token = session.place.enrol_token();
    let token = read_token(&token).map_err(|e| {
        let remedy = "`shipmate coordinator stop`: the next coordinator writes it";
        Failure::Usage(format!("{}: {e}\n  {remedy}", token.display()))
    })?;
    let config = session.config()?.config;
    let place = session.place.clone();
    let listener = web::bind(args.port).map_err(|e| unbound(args.port, &e))?;
    let port = listener.local_addr().map_err(|e| unbound(args.port, &e))?.port();
    let hub = Arc::new(Hub::new(place.clone(), launch(&place)?, config, Caller::Person));
    let (page, link) = web::routes(place.clone(), launch(&place)?, port);
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .map_err(|e| Failure::Storage(format!("no threads to serve with: {e}")))?;
    tell(&session.screen, &link, port, &token)?;
    let opened = args.open.then(|| Opened::begin(&place.state(), &link));
    let served = runtime.block_on(serve(listener, page, &hub, port));
    drop(opened);
    // A request that nobody waits for any more may still block a thread.
    runtime.shutdown_background();
    served
}

fn unbound(port: u16, e: &std::io::Error) -> Failure {
    let text = format!("127.0.0.1:{port} cannot be listened on: {e}\n  choose another with --port");
    Failure::Usage(text)
}

fn tell(screen: &Screen, link: &str, port: u16, token: &str) -> Result<(), Failure> {
    let mcp = format!("http://127.0.0.1:{port}/mcp");
    if screen.json {
        return screen.json(&json!({ "page": link, "mcp": mcp, "token": token }));
    }
    screen.line(&format!(
        "page: {link}\nMCP: {mcp}\ntoken: {token}\nfor example: claude mcp add --transport http \
         shipmate {mcp} --header \"Authorization: Bearer {token}\"\nserving until Ctrl-C"
    ))
}

async fn serve(
    listener: std::net::TcpListener,
    page: Router,
    hub: &Arc<Hub>,
    port: u16,
) -> Result<(), Failure> {
    let failed = |e: std::io::Error| unbound(port, &e);
    let (mcp, stop) = http::routes(hub, port);
    let mut terminated = signal(SignalKind::terminate()).map_err(failed)?;
    let mut interrupted = signal(SignalKind::interrupt()).map_err(failed)?;
    let ended = async {
        tokio::select! {
            _ = terminated.recv() => {}
            _ = interrupted.recv() => {}
        }
    };
    tokio::select! {
        served = web::serve(listener, page.merge(mcp)) => served.map_err(failed)?,
        () = ended => stop(),
    }
    hub.close_all().await;
    Ok(())
}

/// The browser gets a file that only its owner can read and that leads to the page: the arguments
/// of a program are there to be read by everybody on a machine.
struct Opened(PathBuf);

impl Opened {
    fn begin(state: &Path, link: &str) -> Opened {
        let path = state.join(format!("page-{}.html", std::process::id()));
        if let Err(e) = show(&path, link) {
            eprintln!("the page could not be opened: {e}\n  open the link above");
        }
        Opened(path)
    }
}

impl Drop for Opened {
    fn drop(&mut self) {
        // Without it nothing is lost; what is left of it leads nowhere.
        drop(std::fs::remove_file(&self.0));
    }
}

fn show(path: &Path, link: &str) -> std::io::Result<()> {
    let mut options = std::fs::OpenOptions::new();
    let mut file = options.write(true).create_new(true).mode(0o600).open(path)?;
    writeln!(
        file,
        "<!doctype html><meta charset=\"utf-8\"><title>shipmate</title>\
         <meta http-equiv=\"refresh\" content=\"0;url={link}\"><a href=\"{link}\">shipmate</a>"
    )?;
    let quiet = |program: &str| {
        let mut command = Command::new(program);
        command.arg(path).stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
        command.spawn()
    };
    let mut child = quiet("xdg-open").or_else(|_| quiet("open"))?;
    // Whoever opens it may be the browser itself; it is waited for so that it can be gone.
    std::thread::spawn(move || child.wait());
    Ok(())
}
