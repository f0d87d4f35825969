//! Whether a store is sound, and what its status says.

use stationdb::chrono::{DateTime, SecondsFormat, Utc};
use stationdb::status::{ActivityStatus, StoreStatus};
use stationdb::{Control, Result, Store, VerifyLevel};

use crate::html::{escaped, isolated, table};
use crate::number::grouped;

/// The part of the page of a store about its health.
pub(crate) fn health(store: &Store, control: &Control) -> Result<String> {
    let report = store.verify(VerifyLevel::Headers, control)?;
    let status = store.status()?;
    let mut out = String::from("<section><h2>Health</h2>\n");
    if report.is_sound() {
        out.push_str(
            "<p class=\"status good\">✓ No damage was found. Checksums were not read; \
             <code>verify</code> reads them.</p>",
        );
    } else {
        let found: Vec<Vec<String>> = report
            .findings
            .iter()
            .map(|finding| {
                [&finding.file, &finding.place, &finding.problem, &finding.action]
                    .map(|text| isolated(text))
                    .to_vec()
            })
            .collect();
        let count = report.findings.len() as u64 + report.findings_left_out;
        out.push_str(&format!(
            "<p class=\"status bad\">✗ {} findings</p>{}",
            grouped(count),
            table("Damage", &["File", "Place", "Problem", "What to do"], &found)
        ));
    }
    if status.attention.is_empty() {
        out.push_str("<p class=\"status good\">✓ Nothing needs you.</p>");
    }
    for item in &status.attention {
        out.push_str(&format!(
            "<p class=\"status bad\">✗ {}: {}</p>",
            escaped(&item.problem),
            escaped(&item.action)
        ));
    }
    let mut rows = vec![
        row("Files checked", grouped(report.files)),
        row("Bytes of files", grouped(report.file_bytes)),
    ];
    rows.extend(of_status(&status));
    out.push_str(&table("Status", &["What", "State"], &rows));
    Ok(out + "</section>\n")
}

fn row(name: &str, text: String) -> Vec<String> {
    vec![escaped(name), isolated(&text)]
}

fn of_status(status: &StoreStatus) -> Vec<Vec<String>> {
    let (writes, journal, disk) = (&status.writes, &status.journal, &status.disk);
    let latency = &writes.commit_latency;
    let maintenance = &status.maintenance;
    vec![
        row("Read at", text_of(&status.time)),
        row("Store", status.id.clone()),
        row("Opened at", text_of(&status.opened_at)),
        row("Opened as", if status.is_view { "a view" } else { "the owner" }.to_owned()),
        row("Written by", status.versions.build.clone()),
        row("Number of the format", status.versions.format.to_string()),
        row("Commits", grouped(writes.sequence)),
        row("Writes", if writes.are_taken { "taken" } else { "refused" }.to_owned()),
        row(
            "99 % of the commits since it was opened",
            if latency.count == 0 {
                "–".to_owned()
            } else {
                format!(
                    "within {} µs of {} commits",
                    grouped(latency.p99_us),
                    grouped(latency.count)
                )
            },
        ),
        row("Bytes of the journal", grouped(journal.file_bytes)),
        row("Commits that wait for a checkpoint", grouped(journal.lag_commits)),
        row("Commits that the text index lacks", grouped(status.indexes.text_lag_commits)),
        row(
            "Free bytes of the disk",
            disk.free_bytes.map_or_else(|| "unknown".to_owned(), grouped),
        ),
        row(
            "Days until the disk is full",
            disk.full_in_days.map_or_else(|| "–".to_owned(), grouped),
        ),
        row(
            "Passes of maintenance since it was opened",
            if maintenance.is_enabled {
                let (all, failed) =
                    (grouped(maintenance.passes), grouped(maintenance.failed_passes));
                format!("{all}, {failed} of them failed")
            } else {
                "no thread".to_owned()
            },
        ),
        row("Last verification with checksums", activity(&status.verify)),
        row("Last backup", activity(&status.backup)),
        row("Last scrub", activity(&status.scrub)),
    ]
}

fn text_of(time: &DateTime<Utc>) -> String {
    time.to_rfc3339_opts(SecondsFormat::Secs, true)
}

fn activity(activity: &ActivityStatus) -> String {
    let Some(last) = &activity.last else { return "never".to_owned() };
    let ended = last.ended_at.as_ref().map(text_of).unwrap_or_default();
    format!("{} at {ended}: {}", last.result, last.message)
}
