//! `backup`, `restore`, `verify` and `compact`.

use std::path::Path;

use stationdb::serde_json::{Value, json, to_value};
use stationdb::{BackupReport, Finding, Store, VerifyLevel};

use crate::args::OutputFlags;
use crate::desk::Desk;
use crate::failure::{Code, Failure, Outcome};
use crate::interrupt::Interrupt;
use crate::output::{Output, OutputFormat};
use crate::pager::paged;
use crate::progress::Bar;

pub fn backup(desk: &Desk, output: Output, target: &Path) -> Outcome {
    let (bar, control) = Bar::new(desk.interrupt.control(), "backing up", None);
    let report = desk.store.backup(target, &control)?;
    drop(bar);
    copied(output, "backed up to", target, &report)
}

pub fn restore(look: &OutputFlags, backup: &Path, dir: &Path, interrupt: &Interrupt) -> Outcome {
    let output = Output::new(look);
    let (bar, control) = Bar::new(interrupt.control(), "restoring", None);
    let report = Store::restore(backup, dir, &control)?;
    drop(bar);
    copied(output, "restored to", dir, &report)
}

pub fn salvage(look: &OutputFlags, damaged: &Path, dir: &Path, interrupt: &Interrupt) -> Outcome {
    let output = Output::new(look);
    let (bar, control) = Bar::new(interrupt.control(), "salvaging", None);
    let report = Store::salvage(damaged, dir, &control)?;
    drop(bar);
    let unproven = report.unproven.len() as u64 + report.unproven_left_out;
    let lost = report.lost.len() as u64 + report.lost_left_out;
    if output.form != OutputFormat::Table || report.is_complete() {
        let message = format!(
            "salvaged to {}: {} records, {} rows, {} files with {} bytes; nothing is lost",
            dir.display(),
            report.records,
            report.rows,
            report.files,
            report.bytes
        );
        output.report(&message, &to_value(&report).unwrap_or_default())?;
    } else {
        let columns = ["kind", "place", "file", "reason"].map(str::to_owned);
        let entries = report.lost.iter().chain(&report.unproven);
        let mut entries = entries.map(|entry| Ok(to_value(entry).unwrap_or_default()));
        paged(output, interrupt, |out| output.records(out, &columns, false, &mut entries))?;
    }
    if lost + unproven == 0 {
        return Ok(());
    }
    Err(Failure::new(
        Code::Damaged,
        format!(
            "{} has {} records and {} rows; entries that are lost: {lost}, that may be earlier \
             versions: {unproven}",
            dir.display(),
            report.records,
            report.rows
        ),
    ))
}

pub fn copied(output: Output, what: &str, to: &Path, report: &BackupReport) -> Outcome {
    let message = format!(
        "{what} {}: {} keys, {} files, {} bytes; {} files were there already",
        to.display(),
        report.keys,
        report.files,
        report.file_bytes,
        report.files_kept
    );
    output.report(&message, &to_value(report).unwrap_or_default())?;
    judge(&report.findings, 0)
}

/// Damage decides the exit code.
pub fn judge(findings: &[Finding], left_out: u64) -> Outcome {
    let Some(first) = findings.first() else { return Ok(()) };
    let count = findings.len() as u64 + left_out;
    Err(Failure::new(Code::Damaged, format!("{count} findings, first {first}")))
}

pub fn verify(desk: &mut Desk, output: Output, is_quick: bool, has_pages: bool) -> Outcome {
    let (bar, control) = Bar::new(desk.interrupt.control(), "verifying", None);
    let level = if is_quick { VerifyLevel::Headers } else { VerifyLevel::Checksums };
    let report = if has_pages {
        desk.store.verify_pages(&control)?
    } else {
        desk.store.verify(level, &control)?
    };
    drop(bar);
    let message = format!(
        "no damage found: format {}, {} records, {} index entries, {} changes, {} files with {} \
         bytes",
        report.format,
        report.records,
        report.index_entries,
        report.log_entries,
        report.files,
        report.file_bytes
    );
    let value = to_value(&report).unwrap_or_default();
    tell(output, &desk.interrupt, &message, &value, &report.findings)?;
    judge(&report.findings, report.findings_left_out)
}

/// Tells that a verification found nothing, or lists what it found.
pub fn tell(
    output: Output,
    interrupt: &Interrupt,
    message: &str,
    report: &Value,
    findings: &[Finding],
) -> Outcome {
    if findings.is_empty() || output.form != OutputFormat::Table {
        return output.report(message, report);
    }
    let columns = ["file", "place", "problem", "action"].map(str::to_owned);
    let mut findings = findings.iter().map(|finding| Ok(to_value(finding).unwrap_or_default()));
    paged(output, interrupt, |out| output.records(out, &columns, false, &mut findings))
}

pub fn compact(desk: &mut Desk, output: Output, takes_present_clock: bool) -> Outcome {
    if takes_present_clock {
        desk.store.take_present_time()?;
    }
    let (bar, control) = Bar::new(desk.interrupt.control(), "maintaining", None);
    let maintained = desk.store.maintain(&control)?;
    let compacted = desk.store.compact()?;
    drop(bar);
    let time_ahead = maintained.time_ahead.map(|time| {
        let time = time.to_rfc3339_opts(stationdb::chrono::SecondsFormat::Millis, true);
        format!(
            "; the clock once said {time}, and rows go by their age only after that: use compact \
             --present-clock if the clock is right now"
        )
    });
    let message = format!(
        "records.redb: {} bytes before, {} after; {} segments written without {} deleted rows, {} \
         files removed{}",
        compacted.bytes_before,
        compacted.bytes_after,
        maintained.segments_written,
        maintained.deleted_rows_removed,
        maintained.files_removed,
        time_ahead.as_deref().unwrap_or_default()
    );
    let report: Value = json!({
        "bytesBefore": compacted.bytes_before,
        "bytesAfter": compacted.bytes_after,
        "segmentsWritten": maintained.segments_written,
        "deletedRowsRemoved": maintained.deleted_rows_removed,
        "filesRemoved": maintained.files_removed,
        "timeAhead": maintained.time_ahead,
    });
    output.report(&message, &report)
}
