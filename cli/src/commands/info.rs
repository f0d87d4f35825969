//! `info`.

use std::path::Path;

use stationdb::VerifyLevel;
use stationdb::serde_json::{Map, Value, json};

use crate::desk::Desk;
use crate::failure::Outcome;
use crate::kinds::{KINDS, RecordsQuery};
use crate::output::{Output, OutputFormat};
use crate::pager::paged;
use crate::progress::Bar;

/// Names of the parts of the directory, and what they are.
const PARTS: &[(&str, &str)] = &[
    ("records.redb", "records"),
    ("tables", "rows"),
    ("files", "contents"),
    ("search", "textIndex"),
];

pub fn info(desk: &Desk, output: Output) -> Outcome {
    let session = desk.session();
    let (bar, control) = Bar::new(desk.interrupt.control(), "checking", None);
    let verified = desk.store.verify(VerifyLevel::Headers, &control)?;
    let mut counts = Map::new();
    let mut rows = 0;
    for kind in KINDS {
        if let Some(count) = kind.count(&session)? {
            counts.insert(kind.name.to_owned(), json!(count));
            continue;
        }
        let mut count = 0_u64;
        for record in kind.list(&session, &RecordsQuery::default())? {
            let record = record?;
            count += 1;
            if kind.name == "tables" {
                rows += record["rowCount"].as_i64().unwrap_or_default();
            }
            control.check()?;
        }
        counts.insert(kind.name.to_owned(), json!(count));
    }
    counts.insert("rows".to_owned(), json!(rows));
    drop(bar);
    let shown = |bytes: u64| match output.form {
        OutputFormat::Table => json!(for_people(bytes)),
        _ => json!(bytes),
    };
    let mut bytes = Map::new();
    for (name, part) in PARTS {
        bytes.insert((*part).to_owned(), shown(size(&desk.dir.join(name))));
    }
    bytes.insert("journal".to_owned(), shown(journal(&desk.dir)));
    // Copies of those who look are no part of the store, and this command may work on one.
    let all = size(&desk.dir).saturating_sub(size(&desk.dir.join("views")));
    bytes.insert("all".to_owned(), shown(all));
    let attention = desk.store.status()?.attention.len();
    let health = match (verified.is_sound(), attention) {
        (true, 0) => "no damage found; `verify` also checks the checksums".to_owned(),
        (true, count) => format!("{count} things need a person; `status` lists them"),
        (false, _) => {
            let count = verified.findings.len() as u64 + verified.findings_left_out;
            format!("{count} findings; `verify` lists them")
        }
    };
    let mut about = Map::new();
    about.insert("directory".to_owned(), json!(desk.dir.display().to_string()));
    about.insert("format".to_owned(), json!(verified.format));
    about.insert("commits".to_owned(), json!(session.position().0));
    about.insert("health".to_owned(), json!(health));
    about.insert("isSound".to_owned(), json!(verified.is_sound()));
    about.insert("bytes".to_owned(), Value::Object(bytes));
    about.insert("counts".to_owned(), Value::Object(counts));
    paged(output, &desk.interrupt, |out| output.object(out, &Value::Object(about)))
}

/// A number of bytes as people read it, in units of 1,024.
pub fn for_people(bytes: u64) -> String {
    const UNITS: [&str; 6] = ["KiB", "MiB", "GiB", "TiB", "PiB", "EiB"];
    if bytes < 1024 {
        return format!("{bytes} B");
    }
    let mut size = bytes as f64 / 1024.0;
    let mut units = UNITS.iter();
    let mut unit = units.next();
    // 1023.95 would be written as 1024.0.
    while size >= 1023.95 {
        let Some(next) = units.next() else { break };
        unit = Some(next);
        size /= 1024.0;
    }
    format!("{size:.1} {}", unit.unwrap_or(&"KiB"))
}

/// Bytes of the files of the journal, `journal.0` and so on.
fn journal(store: &Path) -> u64 {
    let entries = std::fs::read_dir(store).into_iter().flatten().flatten();
    let is_journal = |name: &str| name.starts_with("journal.");
    let files = entries.filter(|entry| entry.file_name().to_str().is_some_and(is_journal));
    files.map(|entry| size(&entry.path())).sum()
}

/// Bytes of a file, or of the files below a directory. Files may disappear meanwhile.
fn size(path: &Path) -> u64 {
    let Ok(metadata) = std::fs::symlink_metadata(path) else { return 0 };
    if !metadata.is_dir() {
        return metadata.len();
    }
    let entries = std::fs::read_dir(path).into_iter().flatten();
    entries.flatten().map(|entry| size(&entry.path())).sum()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bytes_are_written_in_the_unit_that_people_read() {
        for (bytes, text) in [
            (0, "0 B"),
            (1023, "1023 B"),
            (1024, "1.0 KiB"),
            (1536, "1.5 KiB"),
            ((1 << 20) - 1, "1.0 MiB"),
            (5 * (1 << 30) + (1 << 29), "5.5 GiB"),
            (u64::MAX, "16.0 EiB"),
        ] {
            assert_eq!(for_people(bytes), text, "{bytes}");
        }
    }
}
