//! The index files of a feed, and the export of a feed as a directory that package managers accept.

use std::fmt::Write as _;
use std::path::Path;

use md5::{Digest, Md5};
use sha2::Sha256;

use crate::error::Result;
use crate::model::{Feed, PackageRecord};
use crate::packages::{RELATION_FIELDS, index_relations, is_relation_field};
use crate::services::content::{self, ExportDirectory};
use crate::services::feeds::lookup::{feed, packages};
use crate::session::{Access, View};
use crate::value::Control;
use crate::value::id::hex;

/// Fields that the index computes or leaves out, whatever the control file contains.
const OF_THE_INDEX: [&str; 8] =
    ["Filename", "Size", "MD5sum", "SHA1", "SHA256", "SHA256sum", "SHA512", "Description-md5"];
/// Fields that package managers look up with this letter case. Control files may have them in any
/// case.
const KNOWN: [&str; 8] = [
    "Description",
    "Essential",
    "Homepage",
    "Installed-Size",
    "Maintainer",
    "Priority",
    "Section",
    "Source",
];
/// Fields at the start of a stanza.
const FIRST: [&str; 3] = ["Package", "Version", "Architecture"];

/// The text of a `Packages` file: one stanza for each package, separated by blank lines.
pub(in crate::services) fn packages_text(records: &[PackageRecord]) -> String {
    let stanzas: Vec<String> = records.iter().map(stanza).collect();
    stanzas.join("\n")
}

fn stanza(record: &PackageRecord) -> String {
    let attributes = &record.package.metadata.attributes;
    let mut out = String::new();
    let first = FIRST
        .iter()
        .filter_map(|name| attributes.iter().find(|(key, _)| key.eq_ignore_ascii_case(name)));
    let is_one_of =
        |key: &str, names: &[&str]| names.iter().any(|name| name.eq_ignore_ascii_case(key));
    let rest = attributes
        .iter()
        .filter(|(key, _)| !is_one_of(key, &FIRST) && !is_one_of(key, &OF_THE_INDEX));
    for (key, value) in first.chain(rest) {
        let key = canonical(key);
        match is_relation_field(key).then(|| index_relations(value)) {
            None => field(&mut out, key, value),
            Some(Some(relations)) => field(&mut out, key, &relations),
            Some(None) => {}
        }
    }
    field(&mut out, "Filename", &record.package.file_name);
    field(&mut out, "Size", &record.content.size().to_string());
    field(&mut out, "MD5sum", &record.md5);
    field(&mut out, "SHA256", &record.sha256);
    // `opkg` looks for the same value under this name.
    if record.package.file_name.to_lowercase().ends_with(".ipk") {
        field(&mut out, "SHA256sum", &record.sha256);
    }
    out
}

/// The spelling of a field name that all package managers know.
fn canonical(key: &str) -> &str {
    let mut known = FIRST.iter().chain(&KNOWN).chain(&RELATION_FIELDS);
    known.find(|name| name.eq_ignore_ascii_case(key)).copied().unwrap_or(key)
}

/// Writes one field. A blank line inside a value would end the stanza, so it is written as the
/// format's empty line.
fn field(out: &mut String, key: &str, value: &str) {
    out.extend(key.chars().map(|c| if c.is_control() { ' ' } else { c }));
    out.push(':');
    for (position, line) in value.split('\n').enumerate() {
        let line = line.replace(|c: char| c.is_control() && c != '\t', " ");
        match (position, line.trim().is_empty()) {
            (0, true) => {}
            (0, false) => {
                out.push(' ');
                out.push_str(&line);
            }
            (_, true) => out.push_str("\n ."),
            (_, false) => {
                out.push_str("\n ");
                out.push_str(&line);
            }
        }
    }
    out.push('\n');
}

/// The text of a `Release` file over the index files.
fn release_text(
    feed: &Feed,
    records: &[PackageRecord],
    date: chrono::DateTime<chrono::Utc>,
    files: &[(&str, &[u8])],
) -> String {
    let mut architectures: Vec<&str> = records
        .iter()
        .filter_map(|record| record.package.metadata.architecture.as_deref())
        .collect();
    architectures.sort_unstable();
    architectures.dedup();
    let mut out = String::new();
    field(&mut out, "Origin", "stationdb");
    field(&mut out, "Label", &feed.name.replace('\n', " "));
    field(&mut out, "Date", &date.format("%a, %d %b %Y %H:%M:%S UTC").to_string());
    field(&mut out, "Architectures", &architectures.join(" "));
    let mut section = |name: &str, hash: fn(&[u8]) -> String| {
        let _ = writeln!(out, "{name}:");
        for (file, bytes) in files {
            let _ = writeln!(out, " {} {} {file}", hash(bytes), bytes.len());
        }
    };
    section("MD5Sum", |bytes| hex(&Md5::digest(bytes)));
    section("SHA256", |bytes| hex(&Sha256::digest(bytes)));
    out
}

pub(in crate::services) fn export<A: Access>(
    access: &A,
    feed_id: &str,
    directory: &Path,
    control: &Control,
) -> Result<u64> {
    let control = &access.context().control(control);
    // One view for the whole export: the index names exactly the packages that are written.
    access.read(|view| {
        let feed = feed(view, feed_id)?;
        let records = packages(view, &feed)?;
        let mut target =
            ExportDirectory::create(directory, "the feed", &access.context().engine.disk)?;
        write(&mut target, view, &feed, &records, control)?;
        target.finish();
        Ok(records.len() as u64)
    })
}

fn write(
    target: &mut ExportDirectory,
    view: &View<'_>,
    feed: &Feed,
    records: &[PackageRecord],
    control: &Control,
) -> Result<()> {
    let total = records.iter().map(|record| record.content.size()).fold(0, u64::saturating_add);
    let mut done = 0;
    for record in records {
        // Progress of the whole export is reported here. The single copy only checks for
        // cancellation and the deadline.
        done += target.write(&record.package.file_name, |file| {
            content::open(view, &record.content)?.copy_to(file, &control.without_progress())
        })?;
        control.report(done, Some(total), "bytes");
    }
    let text = packages_text(records);
    let compressed = crate::packages::gzip(text.as_bytes())?;
    let files = [("Packages", text.as_bytes()), ("Packages.gz", compressed.as_slice())];
    for (name, bytes) in files {
        target.write_all(name, bytes)?;
    }
    // `Release` is written last, so that an interrupted export has none. Its date is that of the
    // clock and not of the store: the store's time never runs backwards, so after a clock that was
    // once ahead it may lie in the future, and package managers reject such a date.
    let release = release_text(feed, records, view.context().settings().clock.now(), &files);
    target.write_all("Release", release.as_bytes())
}
