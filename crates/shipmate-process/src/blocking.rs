//! Work that blocks, such as git, off the thread that serves everybody.

/// Runs it on a thread of its own: signals and output must not wait for it.
pub async fn blocking<T: Send + 'static>(
    work: impl FnOnce() -> Result<T, String> + Send + 'static,
) -> Result<T, String> {
    let done = tokio::task::spawn_blocking(work).await;
    done.unwrap_or_else(|e| Err(format!("a thread failed: {e}")))
}
