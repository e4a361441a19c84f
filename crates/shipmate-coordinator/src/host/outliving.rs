//! What outlives a coordinator, its server and its lines, ends when the workspace is gone.

use std::time::Duration;

use shipmate_process::{Marker, Pid, Signal, Watched, forsaken, marked};

/// How long one of them may take to end by itself.
const GRACE: Duration = Duration::from_secs(5);

/// Those of a workspace that is gone.
pub(crate) async fn end_of(digest: &str) {
    end(marked(digest)).await;
}

/// Those of any workspace that was removed while no coordinator was there to see it.
pub(crate) async fn end_forsaken() {
    end(forsaken()).await;
}

async fn end(found: Vec<(Pid, Marker)>) {
    let outlives = |(_, marker): &(Pid, Marker)| matches!(marker.kind(), "server" | "line");
    for (pid, marker) in found.into_iter().filter(outlives) {
        let Some(watched) = Watched::carrying(pid, &marker) else { continue };
        tracing::info!(%marker, "its workspace is gone");
        for signal in [Signal::TERM, Signal::KILL] {
            // One that has ended meanwhile needs no signal.
            let _ = watched.signal(signal);
            if tokio::time::timeout(GRACE, watched.gone()).await.is_ok() {
                break;
            }
        }
    }
}
