//! `status`.

use std::io::{self, Write};
use std::time::{Duration, Instant};

use stationdb::chrono::{DateTime, SecondsFormat, Utc};
use stationdb::serde_json::{Value, json, to_value};
use stationdb::status::{ActivityStatus, LatencyStatus, StoreStatus};

use super::info::for_people;
use crate::desk::Desk;
use crate::failure::Outcome;
use crate::output::{Output, OutputFormat, failed, printable};
use crate::pager::paged;

/// How often a watched status is read.
const PERIOD: Duration = Duration::from_secs(2);
/// How often it is looked whether Ctrl-C was pressed.
const GLANCE: Duration = Duration::from_millis(100);

pub fn status(desk: &mut Desk, output: Output, is_watching: bool) -> Outcome {
    if !is_watching {
        let status = desk.store.status()?;
        let look = Look::of(desk);
        return paged(output, &desk.interrupt, |out| tell(output, out, &status, &look, false));
    }
    let mut out = io::stdout().lock();
    desk.interrupt.watch();
    loop {
        desk.interrupt.check()?;
        tell(output, &mut out, &desk.store.status()?, &Look::of(desk), true)?;
        out.flush().map_err(failed)?;
        let until = Instant::now() + PERIOD;
        while Instant::now() < until {
            desk.interrupt.check()?;
            std::thread::sleep(GLANCE);
        }
        desk.refresh()?;
    }
}

/// Whether the status is that of a look at a store, and which process has the store.
struct Look {
    is_view: bool,
    owner: Option<String>,
}

impl Look {
    fn of(desk: &Desk) -> Self {
        Self { is_view: desk.is_view, owner: desk.owner.clone() }
    }

    fn who_writes(&self) -> String {
        let owner = self.owner.as_deref().unwrap_or("its owner alone");
        format!("by {owner}; this is a look at the last commit")
    }
}

fn tell(
    output: Output,
    out: &mut dyn Write,
    status: &StoreStatus,
    look: &Look,
    is_watching: bool,
) -> Outcome {
    let value = to_value(status).unwrap_or_default();
    match output.form {
        // One status is one line, so that a reader knows where it ends.
        OutputFormat::Json if is_watching => writeln!(out, "{value}").map_err(failed),
        OutputFormat::Json | OutputFormat::JsonLines => output.object(out, &value),
        OutputFormat::Csv | OutputFormat::Table => {
            let lines = lines(status, look).into_iter().map(|(name, text)| (name, json!(text)));
            output.object(out, &Value::Object(lines.collect()))?;
            if output.form == OutputFormat::Table {
                for item in &status.attention {
                    let line = format!("\n{}: {}\n  {}", item.code, item.problem, item.action);
                    for line in line.lines() {
                        writeln!(out, "{}", printable(line)).map_err(failed)?;
                    }
                }
                if is_watching {
                    writeln!(out).map_err(failed)?;
                }
            }
            Ok(())
        }
    }
}

/// What people read of a status: names and texts. Of what the owner does, a look knows nothing.
fn lines(status: &StoreStatus, look: &Look) -> Vec<(String, String)> {
    let mut lines = Vec::new();
    let mut line = |name: &str, text: String| lines.push((name.to_owned(), text));
    line(
        "attention",
        match status.attention.len() {
            0 if look.is_view => "nothing that a look can see needs you".to_owned(),
            0 => "nothing needs you".to_owned(),
            count => format!("{count} things need you"),
        },
    );
    let taken = if status.writes.are_taken { "taken" } else { "refused" };
    line("writes", if look.is_view { look.who_writes() } else { taken.to_owned() });
    line("lastCommit", status.writes.sequence.to_string());
    if !look.is_view {
        line("commits", latency(&status.writes.commit_latency));
        line("syncs", latency(&status.writes.sync_latency));
    }
    let journal = &status.journal;
    line(
        "journal",
        format!(
            "{}, {} commits wait for a checkpoint",
            for_people(journal.file_bytes),
            journal.lag_commits
        ),
    );
    if !look.is_view {
        line(
            "oldestReader",
            status.oldest_reader.as_ref().map_or_else(
                || "none".to_owned(),
                |reader| format!("{}, {} commits ago", reader.who, reader.lag_commits),
            ),
        );
    }
    line("textIndex", format!("{} commits behind", status.indexes.text_lag_commits));
    let disk = &status.disk;
    let free = disk.free_bytes.map_or_else(|| "unknown".to_owned(), for_people);
    let full = disk.full_in_days.map(|days| format!(", full in {days} days at this rate"));
    line("diskFree", free + full.as_deref().unwrap_or_default());
    let maintenance = &status.maintenance;
    let maintenance_told = match (maintenance.is_enabled, maintenance.last_errors.first()) {
        (_, Some(error)) => format!("failed: {}", error.message.as_deref().unwrap_or_default()),
        (true, None) => format!("{} passes", maintenance.passes),
        (false, None) => "no thread".to_owned(),
    };
    if !look.is_view {
        line("maintenance", maintenance_told);
    }
    line("verify", activity(&status.verify));
    line("backup", activity(&status.backup));
    line("scrub", activity(&status.scrub));
    let scrubbing = &status.scrubbing;
    line(
        "scrubbing",
        match (&scrubbing.progress, scrubbing.due_at) {
            (Some(progress), _) => {
                let read = for_people(progress.bytes);
                format!("{}, {read} read, {} damages found", progress.part, progress.findings)
            }
            (None, Some(due)) => format!("due at {}", text_of(&due)),
            (None, None) => "not due".to_owned(),
        },
    );
    line("build", status.versions.build.clone());
    lines
}

fn text_of(time: &DateTime<Utc>) -> String {
    time.to_rfc3339_opts(SecondsFormat::Secs, true)
}

fn latency(latency: &LatencyStatus) -> String {
    let ms = |us: u64| format!("{:.1} ms", us as f64 / 1_000.0);
    format!(
        "{}, half within {}, 99 % within {}, 99.99 % within {}, the longest {}",
        latency.count,
        ms(latency.p50_us),
        ms(latency.p99_us),
        ms(latency.p9999_us),
        ms(latency.max_us)
    )
}

fn activity(activity: &ActivityStatus) -> String {
    let Some(last) = &activity.last else { return "never".to_owned() };
    let ended = last.ended_at.as_ref().map(text_of).unwrap_or_default();
    format!("{} at {ended}: {}", last.result, last.message)
}
