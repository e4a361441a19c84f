//! What can be counted on a page: findings of accessibility, memory, first paint and frames.

use std::collections::BTreeMap;

use serde::Deserialize;
use serde_json::{Value, json};

use super::page::Page;
use super::{AXE, variable};

/// A rule of accessibility that the page breaks.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
pub struct Finding {
    pub rule: String,
    /// `minor`, `moderate`, `serious` or `critical`.
    pub impact: String,
    pub help: String,
    /// What breaks it, and how.
    pub nodes: Vec<String>,
}

impl Finding {
    #[must_use]
    pub fn is_serious(&self) -> bool {
        ["serious", "critical"].contains(&self.impact.as_str())
    }
}

#[derive(Clone, Copy, Debug)]
pub struct Metrics {
    /// Bytes in use after all rubbish was collected.
    pub heap_bytes: u64,
    /// Elements and texts, shown or not.
    pub nodes: u64,
    /// From the start of the navigation.
    pub first_contentful_paint_ms: f64,
}

/// What the compositor did over a while.
#[derive(Clone, Copy, Debug)]
pub struct Frames {
    pub drawn: usize,
    pub dropped: usize,
    /// The longest time between two that were drawn.
    pub longest_ms: f64,
}

const RUN_AXE: &str = r"axe.run(document, {resultTypes: ['violations']}).then((all) =>
  all.violations.map((v) => ({
    rule: v.id, impact: v.impact ?? 'minor', help: v.help,
    nodes: v.nodes.map((n) => `${n.target.join(' ')}: ${n.failureSummary}`),
  })))";

const FIRST_PAINT: &str = r"new Promise((found) => {
  new PerformanceObserver((list) => {
    for (const e of list.getEntriesByName('first-contentful-paint')) found(e.startTime);
  }).observe({type: 'paint', buffered: true});
})";

impl Page {
    /// What axe-core has against the page as it is now.
    #[track_caller]
    #[must_use]
    pub fn axe(&self) -> Vec<Finding> {
        if !self.eval::<bool>("'axe' in window") {
            let path = variable(AXE);
            let source = std::fs::read_to_string(&path)
                .unwrap_or_else(|e| panic!("{} cannot be read: {e}", path.display()));
            self.call("Runtime.evaluate", &json!({"expression": source}));
        }
        self.eval(RUN_AXE)
    }

    #[track_caller]
    #[must_use]
    pub fn metrics(&self) -> Metrics {
        let first_contentful_paint_ms = self.eval(FIRST_PAINT);
        self.call("HeapProfiler.collectGarbage", &json!({}));
        let told = self.call("Performance.getMetrics", &json!({}));
        let named = |name: &str| {
            let all = told["metrics"].as_array().into_iter().flatten();
            let one = all.filter(|one| one["name"] == name).find_map(|one| one["value"].as_f64());
            one.unwrap_or_default() as u64
        };
        Metrics {
            heap_bytes: named("JSHeapUsedSize"),
            nodes: named("Nodes"),
            first_contentful_paint_ms,
        }
    }

    /// What became of the frames while `body` ran.
    #[track_caller]
    pub fn frames(&self, body: impl FnOnce(&Page)) -> Frames {
        let categories = ["disabled-by-default-devtools.timeline.frame"];
        self.call(
            "Tracing.start",
            &json!({
                "transferMode": "ReportEvents",
                "traceConfig": {"includedCategories": categories},
            }),
        );
        body(self);
        self.hear();
        self.call("Tracing.end", &json!({}));
        let mut times: BTreeMap<String, Vec<f64>> = BTreeMap::new();
        loop {
            let news = self.next_news();
            match news["method"].as_str() {
                Some("Tracing.tracingComplete") => break,
                Some("Tracing.dataCollected") => note(&news["params"]["value"], &mut times),
                _ => {}
            }
        }
        let drawn = times.remove("DrawFrame").unwrap_or_default();
        let gaps = drawn.windows(2).map(|two| two[1] - two[0]);
        Frames {
            drawn: drawn.len(),
            dropped: times.get("DroppedFrame").map_or(0, Vec::len),
            longest_ms: gaps.fold(0.0, f64::max) / 1000.0,
        }
    }
}

fn note(events: &Value, times: &mut BTreeMap<String, Vec<f64>>) {
    for event in events.as_array().into_iter().flatten() {
        let name = event["name"].as_str().unwrap_or_default().to_owned();
        times.entry(name).or_default().push(event["ts"].as_f64().unwrap_or_default());
    }
}
