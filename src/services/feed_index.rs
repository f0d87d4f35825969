//! The index files of a feed, and the feed as a directory that package managers accept.

use std::fmt::Write;
use std::path::Path;

use md5::{Digest, Md5};
use sha2::Sha256;

use super::content::{self, DiskWriter};
use super::feeds::{feed, packages};
use crate::disk::{Disk, Mode, RealDisk, write_new_file};
use crate::error::{Error, Result};
use crate::model::{Feed, PackageRecord};
use crate::session::Access;
use crate::value::Control;
use crate::value::id::hex;

/// Fields of a stanza that are measured, whatever the control file says.
const MEASURED: [&str; 7] = ["Filename", "Size", "MD5sum", "SHA1", "SHA256", "SHA256sum", "SHA512"];
/// Fields that come first in a stanza.
const FIRST: [&str; 3] = ["Package", "Version", "Architecture"];

/// The text of a `Packages` file: one stanza a package, a blank line between them.
pub(super) fn packages_text(records: &[PackageRecord]) -> String {
    let stanzas: Vec<String> = records.iter().map(stanza).collect();
    stanzas.join("\n")
}

fn stanza(record: &PackageRecord) -> String {
    let attributes = &record.package.metadata.attributes;
    let mut out = String::new();
    let first = FIRST.iter().filter_map(|name| attributes.iter().find(|(key, _)| key.eq_ignore_ascii_case(name)));
    let is_one_of = |key: &str, names: &[&str]| names.iter().any(|name| name.eq_ignore_ascii_case(key));
    let rest = attributes.iter().filter(|(key, _)| !is_one_of(key, &FIRST) && !is_one_of(key, &MEASURED));
    for (key, value) in first.chain(rest) {
        field(&mut out, key, value);
    }
    field(&mut out, "Filename", &record.package.file_name);
    field(&mut out, "Size", &record.content.size().to_string());
    field(&mut out, "MD5sum", &record.md5);
    field(&mut out, "SHA256", &record.sha256);
    // The name under which `opkg` looks for the same.
    if record.package.file_name.to_lowercase().ends_with(".ipk") {
        field(&mut out, "SHA256sum", &record.sha256);
    }
    out
}

/// One field. What would end the stanza inside a value is written as the format writes an empty line.
fn field(out: &mut String, key: &str, value: &str) {
    out.push_str(key);
    out.push(':');
    for (position, line) in value.split('\n').enumerate() {
        let line = line.replace('\r', " ");
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
    let mut architectures: Vec<&str> =
        records.iter().filter_map(|record| record.package.metadata.architecture.as_deref()).collect();
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

pub(super) fn export<A: Access>(access: &A, feed_id: &str, directory: &Path, control: &Control) -> Result<u64> {
    // One view for all of it: the index names exactly the packages that are written.
    access.read(|view| {
        let feed = feed(view, feed_id)?;
        let records = packages(view, &feed)?;
        let attempt = |error| Error::io(format_args!("exporting the feed into {}", directory.display()), error);
        let disk = RealDisk::create(directory).map_err(attempt)?;
        if !disk.list("").map_err(attempt)?.is_empty() {
            return Err(Error::conflict(format!(
                "{} is not empty; export the feed into a directory that is missing or empty",
                directory.display()
            )));
        }
        let total = records.iter().map(|record| record.content.size()).fold(0, u64::saturating_add);
        let mut done = 0;
        for record in &records {
            let file = disk.open(&record.package.file_name, Mode::CreateNew).map_err(attempt)?;
            let mut target = DiskWriter { file, at: 0 };
            // The progress of the whole is reported here; the part only listens to the end of the work.
            done += content::open(view, &record.content)?.copy_to(&mut target, &control.without_progress())?;
            target.file.sync_all().map_err(attempt)?;
            control.report(done, Some(total), "bytes");
        }
        let text = packages_text(&records);
        let compressed = crate::packages::gzip(text.as_bytes())?;
        let files = [("Packages", text.as_bytes()), ("Packages.gz", compressed.as_slice())];
        for (name, bytes) in files {
            write_new_file(&*disk, name, bytes).map_err(attempt)?;
        }
        // Last, so that an export that was cut off has none.
        let release = release_text(&feed, &records, view.now(), &files);
        write_new_file(&*disk, "Release", release.as_bytes()).map_err(attempt)?;
        Ok(records.len() as u64)
    })
}
