//! `shipmate serve`.

use std::net::{Ipv4Addr, SocketAddr};
use std::sync::Arc;

use serde_json::json;
use tokio::net::TcpListener;
use tokio::signal::unix::{SignalKind, signal};

use crate::cli::failure::Failure;
use crate::cli::screen::Screen;
use crate::cli::session::{Globals, Session, launch};
use crate::mcp::{Caller, Hub, http};

/// Serve the team's tools to MCP clients over HTTP, on this machine only
///
/// Every request needs a token: the printed one, with which a session is enrolled as a new member,
/// or the token of a teammate. The headers shipmate-team, shipmate-seat and shipmate-seat-lead say
/// what SHIPMATE_TEAM, SHIPMATE_SEAT and SHIPMATE_SEAT_LEAD say to `shipmate mcp`. It ends with
/// Ctrl-C; sessions that are open then leave the team.
#[derive(clap::Args, Debug)]
#[command(after_help = "\
Examples:
  shipmate serve
  shipmate serve --port 7070 --json")]
pub(crate) struct ServeArgs {
    /// The port to listen on; 0 takes any that is free
    #[arg(long, value_name = "N", default_value_t = 0)]
    port: u16,
}

pub(crate) fn run(args: &ServeArgs, globals: &Globals) -> Result<(), Failure> {
    let mut session = Session::open(globals)?;
    // The coordinator writes the person's token at its first start.
    session.client.welcome()?;
    let token = std::fs::read_to_string(session.place.person_token())
        .map_err(|e| Failure::Usage(format!("the person's token cannot be read: {e}")))?;
    let config = session.config()?.config;
    let place = session.place.clone();
    let hub = Arc::new(Hub::new(place.clone(), launch(&place)?, config, Caller::Person));
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .map_err(|e| Failure::Storage(format!("no threads to serve with: {e}")))?;
    let served = runtime.block_on(serve(args.port, token.trim(), &hub, &session.screen));
    // A request that nobody waits for any more may still block a thread.
    runtime.shutdown_background();
    served
}

async fn serve(port: u16, token: &str, hub: &Arc<Hub>, screen: &Screen) -> Result<(), Failure> {
    let at = SocketAddr::from((Ipv4Addr::LOCALHOST, port));
    let failed = |e: std::io::Error| {
        Failure::Usage(format!("{at} cannot be listened on: {e}\n  choose another with --port"))
    };
    let listener = TcpListener::bind(at).await.map_err(failed)?;
    let port = listener.local_addr().map_err(failed)?.port();
    let (mcp, stop) = http::routes(hub, port);
    let url = format!("http://127.0.0.1:{port}/mcp");
    if screen.json {
        screen.json(&json!({ "mcp": url, "token": token }))?;
    } else {
        screen.line(&format!(
            "MCP: {url}\ntoken: {token}\nfor example: claude mcp add --transport http shipmate {url} \
             --header \"Authorization: Bearer {token}\"\nserving until Ctrl-C"
        ))?;
    }
    let mut terminated = signal(SignalKind::terminate()).map_err(failed)?;
    let mut interrupted = signal(SignalKind::interrupt()).map_err(failed)?;
    let ended = async {
        tokio::select! {
            _ = terminated.recv() => {}
            _ = interrupted.recv() => {}
        }
    };
    tokio::select! {
        served = axum::serve(listener, mcp) => served.map_err(failed)?,
        () = ended => stop(),
    }
    hub.close_all().await;
    Ok(())
}
