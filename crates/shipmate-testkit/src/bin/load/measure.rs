//! Clocks, percentiles, and what the system knows about a process.

use std::fs;
use std::io::Write;
use std::sync::mpsc;
use std::time::Duration;

use rustix::time::{ClockId, clock_gettime};
use serde_json::{Value, json};

use crate::arguments::Arguments;

/// Nanoseconds of the machine's monotonic clock: comparable between processes, which an
/// `Instant` is not.
pub(crate) fn now_ns() -> u64 {
    let now = clock_gettime(ClockId::Monotonic);
    now.tv_sec as u64 * 1_000_000_000 + now.tv_nsec as u64
}

/// How long `action` takes, in nanoseconds, with what it returned.
pub(crate) fn timed<T>(action: impl FnOnce() -> T) -> (u64, T) {
    let start = now_ns();
    let result = action();
    (now_ns() - start, result)
}

/// Lets time pass, for a pace: nothing is waited for here that could be waited for otherwise.
pub(crate) fn pass(time: Duration) {
    let (_nobody_tells, told) = mpsc::channel::<()>();
    // Only the timeout can come: the other end says nothing.
    let _elapsed = told.recv_timeout(time);
}

/// Percentiles of samples in nanoseconds, shown in microseconds.
pub(crate) fn micros(samples: &[u64]) -> Value {
    let mut sorted = samples.to_vec();
    sorted.sort_unstable();
    let at = |part: f64| match sorted.len() {
        0 => Value::Null,
        n => {
            let index = ((n as f64 * part) as usize).min(n - 1);
            json!((sorted[index] as f64 / 100.0).round() / 10.0)
        }
    };
    json!({ "p50": at(0.5), "p99": at(0.99), "max": at(1.0), "samples": sorted.len() })
}

/// One sample, in milliseconds.
pub(crate) fn millis(ns: u64) -> f64 {
    (ns as f64 / 1e4).round() / 100.0
}

pub(crate) fn rate(count: usize, ns: u64) -> f64 {
    (count as f64 / (ns as f64 / 1e9) * 10.0).round() / 10.0
}

/// What one process has used so far, all of its threads together.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Used {
    pub(crate) cpu_ns: u64,
    pub(crate) switches: u64,
    pub(crate) rss_kib: u64,
}

pub(crate) fn used(pid: u32) -> Result<Used, String> {
    let named = |path: &str, e: std::io::Error| format!("{path}: {e}");
    let mut used = Used::default();
    let folder = format!("/proc/{pid}/task");
    for entry in fs::read_dir(&folder).map_err(|e| named(&folder, e))?.flatten() {
        let thread = entry.path();
        let read = |name: &str| fs::read_to_string(thread.join(name)).unwrap_or_default();
        // The first field is time on a processor, in nanoseconds; `stat` counts in hundredths.
        used.cpu_ns += first_number(&read("schedstat"));
        let status = read("status");
        let switches = status.lines().filter(|line| line.contains("ctxt_switches"));
        used.switches +=
            switches.map(|line| first_number(line.rsplit(':').next().unwrap_or(""))).sum::<u64>();
    }
    let path = format!("/proc/{pid}/status");
    let status = fs::read_to_string(&path).map_err(|e| named(&path, e))?;
    let rss = status.lines().find_map(|line| line.strip_prefix("VmRSS:"));
    used.rss_kib = first_number(rss.unwrap_or_default());
    Ok(used)
}

fn first_number(text: &str) -> u64 {
    text.split_whitespace().next().and_then(|word| word.parse().ok()).unwrap_or(0)
}

/// What one `fdatasync` of a small append costs on this disk now: the floor of a durable answer.
pub(crate) fn sync(mut arguments: Arguments) -> Result<(), String> {
    let folder = arguments.path("folder")?;
    arguments.finish()?;
    fs::create_dir_all(&folder).map_err(|e| e.to_string())?;
    let path = folder.join("appended");
    let mut file = fs::File::create(&path).map_err(|e| e.to_string())?;
    let mut samples = Vec::new();
    for _ in 0..300 {
        file.write_all(&[b'a'; 200]).map_err(|e| e.to_string())?;
        let (took, synced) = timed(|| file.sync_data());
        synced.map_err(|e| e.to_string())?;
        samples.push(took);
    }
    fs::remove_dir_all(&folder).map_err(|e| e.to_string())?;
    println!("{}", json!({ "workload": "sync", "fdatasync_us": micros(&samples) }));
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn percentiles_are_of_the_sorted_samples() {
        let samples: Vec<u64> = (1..=100).rev().map(|n| n * 1000).collect();
        let told = micros(&samples);
        assert_eq!(told, json!({ "p50": 51.0, "p99": 100.0, "max": 100.0, "samples": 100 }));
        assert_eq!(micros(&[])["p50"], Value::Null);
    }

    #[test]
    fn a_process_that_runs_uses_memory_and_time() {
        let used = used(std::process::id()).unwrap();
        assert!(used.rss_kib > 0 && used.switches > 0, "{used:?}");
    }
}
