//! The status of the store: a page for people, JSON, and metrics for collectors.

use std::fmt::Write as _;
use std::sync::Arc;

use axum::Router;
use axum::extract::State;
use axum::http::header;
use axum::response::{IntoResponse, Response};
use axum::routing::get;
use stationdb::Result;
use stationdb::serde_json::{Value, to_value};
use stationdb::status::{ActivityStatus, AttentionCode, LatencyStatus, OutcomeResult, StoreStatus};

use crate::bridge::{App, failure};

/// The content type of the text format of Prometheus.
const METRICS: &str = "text/plain; version=0.0.4; charset=utf-8";

/// A router with the paths of the status alone.
pub fn router() -> Router<Arc<App>> {
    Router::new()
        .route("/status", get(async |State(app)| told(app, "text/html; charset=utf-8", page).await))
        .route("/status.json", get(async |State(app)| told(app, "application/json", json).await))
        .route("/metrics", get(async |State(app)| told(app, METRICS, metrics).await))
}

async fn told(app: Arc<App>, kind: &'static str, write: fn(&StoreStatus) -> String) -> Response {
    // It asks the disk, so it runs where calls may block.
    let read = move || -> Result<String> { Ok(write(&app.store.status()?)) };
    match crate::bridge::blocking(read).await {
        Ok(text) => ([(header::CONTENT_TYPE, kind)], text).into_response(),
        Err(error) => failure(&error),
    }
}

fn json(status: &StoreStatus) -> String {
    to_value(status).unwrap_or_default().to_string()
}

fn escaped(text: &str) -> String {
    let replace = |c: char| match c {
        '&' => "&amp;".to_owned(),
        '<' => "&lt;".to_owned(),
        '>' => "&gt;".to_owned(),
        '"' => "&quot;".to_owned(),
        c => c.to_string(),
    };
    text.chars().map(replace).collect()
}

fn page(status: &StoreStatus) -> String {
    let mut page = "<!doctype html><html lang=\"en\"><meta charset=\"utf-8\">\
                    <title>Status</title><h1>Status</h1>"
        .to_owned();
    if status.attention.is_empty() {
        page.push_str("<p>Nothing needs you.</p>");
    }
    for item in &status.attention {
        let (problem, action) = (escaped(&item.problem), escaped(&item.action));
        let _ = write!(page, "<h2>{}</h2><p>{problem}</p><p><b>{action}</b></p>", item.code);
    }
    page.push_str("<table>");
    rows("", &to_value(status).unwrap_or_default(), &mut page);
    page + "</table></html>\n"
}

/// A row for each value, by its path.
fn rows(path: &str, value: &Value, page: &mut String) {
    let inner = |name: &str| match path {
        "" => name.to_owned(),
        path => format!("{path}.{name}"),
    };
    match value {
        Value::Object(members) => {
            members.iter().for_each(|(name, value)| rows(&inner(name), value, page));
        }
        Value::Array(items) => {
            let numbered = items.iter().enumerate();
            numbered.for_each(|(at, value)| rows(&inner(&at.to_string()), value, page));
        }
        value => {
            let text = value.as_str().map_or_else(|| value.to_string(), str::to_owned);
            let (path, text) = (escaped(path), escaped(&text));
            let _ = write!(page, "<tr><th scope=\"row\">{path}</th><td>{text}</td></tr>");
        }
    }
}

/// Metrics in their text form.
struct Metrics(String);

impl Metrics {
    fn begin(&mut self, name: &str, kind: &str, help: &str) {
        let _ = writeln!(self.0, "# HELP stationdb_{name} {help}\n# TYPE stationdb_{name} {kind}");
    }

    fn one(&mut self, name: &str, kind: &str, help: &str, value: u64) {
        self.begin(name, kind, help);
        let _ = writeln!(self.0, "stationdb_{name} {value}");
    }

    /// Percentiles and the number of calls.
    fn latency(&mut self, name: &str, help: &str, latency: &LatencyStatus) {
        let seconds = format!("{name}_seconds");
        self.begin(&seconds, "gauge", help);
        let parts = [
            ("0.5", latency.p50_us),
            ("0.99", latency.p99_us),
            ("0.9999", latency.p9999_us),
            ("1", latency.max_us),
        ];
        for (part, us) in parts {
            let value = us as f64 / 1e6;
            let _ = writeln!(self.0, "stationdb_{seconds}{{quantile=\"{part}\"}} {value}");
        }
        self.one(&format!("{name}s_total"), "counter", help, latency.count);
    }

    fn activity(&mut self, name: &str, activity: &ActivityStatus) {
        let seconds = activity.last_success.map(|at| at.timestamp());
        if let Some(seconds) = seconds.and_then(|seconds| u64::try_from(seconds).ok()) {
            let help = format!("When the last {name} ended that succeeded, in seconds since 1970.");
            self.one(&format!("{name}_last_success_seconds"), "gauge", &help, seconds);
        }
        if let Some(last) = &activity.last {
            let failed = last.result != OutcomeResult::Succeeded;
            let help = format!("Whether the last {name} found damage, failed or was cancelled.");
            self.one(&format!("{name}_failed"), "gauge", &help, failed.into());
        }
    }
}

fn metrics(status: &StoreStatus) -> String {
    let mut out = Metrics(String::new());
    out.begin("attention", "gauge", "Whether this needs a person.");
    for code in AttentionCode::ALL {
        let is_there = status.attention.iter().any(|item| item.code == *code);
        let _ = writeln!(out.0, "stationdb_attention{{code=\"{code}\"}} {}", u8::from(is_there));
    }
    let writes = &status.writes;
    out.one("writes_taken", "gauge", "Whether writes are taken.", writes.are_taken.into());
    out.one("sequence", "counter", "The number of the last commit.", writes.sequence);
    out.latency(
        "commit",
        "Writes and commits, from the call to the answer.",
        &writes.commit_latency,
    );
    out.latency("sync", "Syncs of the journal.", &writes.sync_latency);
    let journal = &status.journal;
    out.one("journal_bytes", "gauge", "Bytes of the journal.", journal.file_bytes);
    let help = "Commits that wait for a checkpoint.";
    out.one("checkpoint_lag_commits", "gauge", help, journal.lag_commits);
    let lag = status.oldest_reader.as_ref().map_or(0, |reader| reader.lag_commits);
    out.one("oldest_reader_lag_commits", "gauge", "Commits since the oldest state in use.", lag);
    let lag = status.indexes.text_lag_commits;
    out.one("text_index_lag_commits", "gauge", "Commits that the text index lacks.", lag);
    if let Some(free) = status.disk.free_bytes {
        out.one("disk_free_bytes", "gauge", "Free bytes of the disk.", free);
    }
    if let Some(days) = status.disk.full_in_days {
        out.one("disk_full_days", "gauge", "Days until the disk is full at this rate.", days);
    }
    let maintenance = &status.maintenance;
    out.one("maintenance_passes_total", "counter", "Passes of maintenance.", maintenance.passes);
    let failed = maintenance.failed_passes;
    out.one("maintenance_failed_passes_total", "counter", "Passes with an error.", failed);
    out.activity("verify", &status.verify);
    out.activity("backup", &status.backup);
    out.activity("scrub", &status.scrub);
    out.0
}
