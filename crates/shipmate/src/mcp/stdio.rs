//! A server on standard input and output, for one session: from its first line to the end of the
//! input or a signal.

use std::sync::Arc;

use rmcp::service::{RequestContext, ServiceExt};
use rmcp::{ErrorData, RoleServer};
use shipmate_protocol::Place;
use shipmate_protocol::client::Launch;
use tokio::signal::unix::{SignalKind, signal};

use crate::config::Config;
use crate::mcp::hub::{Caller, Hub};
use crate::mcp::server::{Server, Sessions};
use crate::mcp::session::{Session, Wish};

struct Only(Arc<Session>);

impl Sessions for Only {
    fn of(&self, _: &RequestContext<RoleServer>) -> Result<Arc<Session>, ErrorData> {
        Ok(Arc::clone(&self.0))
    }
}

/// Serves until the input ends. The session has left when this returns.
pub(crate) fn serve(
    place: Place,
    launch: Launch,
    config: Config,
    caller: Caller,
    wish: Wish,
    is_inside: bool,
) -> std::io::Result<()> {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    let served = runtime.block_on(async {
        let mut hub = Hub::new(place, launch, config, caller.clone());
        hub.is_inside = is_inside;
        let hub = Arc::new(hub);
        let session = Session::open(&hub, caller, wish);
        let server = Server::new(hub, Only(Arc::clone(&session)));
        let mut terminated = signal(SignalKind::terminate())?;
        let mut interrupted = signal(SignalKind::interrupt())?;
        let serving = async {
            // An input that ends before the first request is a session all the same.
            if let Ok(running) = server.serve(rmcp::transport::io::stdio_pipes()).await {
                drop(running.waiting().await);
            }
        };
        tokio::select! {
            () = serving => {}
            _ = terminated.recv() => {}
            _ = interrupted.recv() => {}
        }
        session.leave().await;
        Ok(())
    });
    // A request that nobody waits for any more, or a read of the input, may still block a thread.
    runtime.shutdown_background();
    served
}
