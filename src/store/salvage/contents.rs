//! Copies the contents of files, packages and upload chunks into the new store. A content is copied
//! if all its bytes match the hash in its record.

use std::collections::BTreeSet;

use xxhash_rust::xxh3::xxh3_128;

use super::names::key_text;
use super::report::SalvageReport;
use crate::blobs::{self, BlobInfo, BlobStore};
use crate::disk::{SharedDisk, parent};
use crate::error::{Error, ErrorKind, Result};
use crate::model::{
    FileRecord, PackageRecord, Resource, StoredContent, UploadChunk, UploadSessionRecord,
};
use crate::records::{Change, ReadSource, RecordFile, Space, envelope};
use crate::store::backup::copy_one;
use crate::store::findings::RECORD_FILE;
use crate::store::scrub_indexes::index_entries;
use crate::value::{Control, stored};

/// Number of entries that are read at once.
const STEP: usize = 1_000;

/// A content, and the row of the record file that references it.
struct NamedContent {
    space: Space,
    key: Vec<u8>,
    value: Vec<u8>,
    kind: &'static str,
    place: String,
    content: StoredContent,
}

/// Copies all contents that the records in `records` reference. If a content is damaged, its record
/// is removed too.
pub(super) fn salvage(
    source: &SharedDisk,
    target: &SharedDisk,
    records: &RecordFile,
    control: &Control,
    report: &mut SalvageReport,
) -> Result<()> {
    let mut named_small = BTreeSet::new();
    let sources = [
        (Space::Records, vec![FileRecord::KIND.code]),
        (Space::Records, vec![PackageRecord::KIND.code]),
    ];
    for (space, prefix) in sources.into_iter().chain([(Space::UploadChunks, Vec::new())]) {
        let mut from = prefix.clone();
        loop {
            let (found, next) = step(records, space, &prefix, &from)?;
            for named in found {
                control.check()?;
                take(source, target, records, named, &mut named_small, control, report)?;
            }
            let Some(next) = next else { break };
            from = next;
        }
    }
    drop_unnamed(records, &named_small, report)
}

/// The contents of up to [`STEP`] entries from `from` on, and the key to continue at.
fn step(
    records: &RecordFile,
    space: Space,
    prefix: &[u8],
    from: &[u8],
) -> Result<(Vec<NamedContent>, Option<Vec<u8>>)> {
    let snapshot = records.snapshot(0)?;
    let source = ReadSource::Snapshot(&snapshot);
    let mut cursor =
        source.cursor(space, from, crate::value::key::after_prefix(prefix).as_deref())?;
    let mut found = Vec::new();
    while found.len() < STEP {
        let Some((key, value)) = cursor.next()? else { return Ok((found, None)) };
        let kind =
            if space == Space::Records { key.first().copied().unwrap_or_default() } else { 0 };
        let payload = envelope::open(&key, kind, &value)?;
        let (kind, place, content) = if space == Space::UploadChunks {
            let (session, chunk) = key.split_at(key.len().saturating_sub(4));
            let full_key = [&[UploadSessionRecord::KIND.code], session].concat();
            let number = chunk.iter().fold(0u32, |number, byte| number << 8 | u32::from(*byte));
            let session = key_text(Space::Records, &full_key);
            let chunk = stored::read::<UploadChunk>(payload)?;
            // Without its session, no caller can reach the chunk.
            let is_wanted = source.get(Space::Records, &full_key)?.is_some();
            let content = if is_wanted {
                chunk.content
            } else {
                StoredContent { parts: Vec::new(), small: true }
            };
            ("upload chunk", format!("chunk {number} of the upload session {session}"), content)
        } else if kind == FileRecord::KIND.code {
            let file = stored::read::<FileRecord>(payload)?;
            let place = format!("{}, named {:?}", file.id, file.name());
            (FileRecord::KIND.name, place, file.content)
        } else {
            let package = stored::read::<PackageRecord>(payload)?;
            let place = format!("{}, named {:?}", package.id(), package.name());
            (PackageRecord::KIND.name, place, package.content)
        };
        found.push(NamedContent { space, key, value, kind, place, content });
    }
    let next = found.last().map(|last| [last.key.as_slice(), &[0]].concat());
    Ok((found, next))
}

/// Copies one content, or removes the row that references it.
fn take(
    source: &SharedDisk,
    target: &SharedDisk,
    records: &RecordFile,
    named: NamedContent,
    named_small: &mut BTreeSet<u64>,
    control: &Control,
    report: &mut SalvageReport,
) -> Result<()> {
    let mut changes = Vec::new();
    let problem = match problem(source, records, &named.content, control)? {
        None if named.space == Space::UploadChunks && named.content.parts.is_empty() => {
            Some((RECORD_FILE.to_owned(), "its upload session is lost".to_owned()))
        }
        problem => problem,
    };
    if let Some((file, problem)) = problem {
        if named.space == Space::Records {
            let entries = index_entries(&named.key, &named.value).into_iter();
            changes.extend(entries.map(|(key, _)| Change::Delete { space: Space::Index, key }));
        }
        changes.push(Change::Delete { space: named.space, key: named.key });
        report.lose(named.kind, named.place, &file, problem);
        return records.write(|turn| turn.apply(changes));
    }
    report.files += 1;
    report.bytes += named.content.size();
    control.report(report.bytes, None, "bytes");
    for part in &named.content.parts {
        if named.content.small {
            named_small.insert(part.blob);
            continue;
        }
        let path = blobs::path(part.blob);
        let attempt = |error| Error::io(format_args!("creating the directory of {path}"), error);
        target.create_dir_all(parent(&path)).map_err(attempt)?;
        copy_one(&**source, &**target, &path, 0, None, &control.without_progress())?;
        let (key, value) = (part.blob.to_be_bytes().to_vec(), part.size.to_be_bytes().to_vec());
        changes.push(Change::Put { space: Space::Blobs, key, value });
    }
    if changes.is_empty() { Ok(()) } else { records.write(|turn| turn.apply(changes)) }
}

/// The damage of a content: the damaged file and the problem; `None` if it is undamaged.
fn problem(
    source: &SharedDisk,
    records: &RecordFile,
    content: &StoredContent,
    control: &Control,
) -> Result<Option<(String, String)>> {
    for part in &content.parts {
        if content.small {
            let snapshot = records.snapshot(0)?;
            let hash = |bytes: &[u8]| (bytes.len() as u64, xxh3_128(bytes));
            let row = ReadSource::Snapshot(&snapshot).read(
                Space::SmallBlobs,
                &part.blob.to_be_bytes(),
                hash,
            )?;
            if row != Some((part.size, part.hash())) {
                return Ok(Some((
                    RECORD_FILE.to_owned(),
                    "its content is missing or differs from what was written".to_owned(),
                )));
            }
            continue;
        }
        let info = BlobInfo { id: part.blob, len: part.size, hash: part.hash() };
        match BlobStore::check_on(source, &info, &control.without_progress()) {
            Ok(()) => {}
            Err(error)
                if matches!(
                    error.kind(),
                    ErrorKind::NotFound | ErrorKind::Corrupt | ErrorKind::Io
                ) =>
            {
                return Ok(Some((blobs::path(part.blob), error.message().to_owned())));
            }
            Err(error) => return Err(error),
        }
    }
    Ok(None)
}

/// Removes the small contents that no record references: those of lost records.
fn drop_unnamed(
    records: &RecordFile,
    named: &BTreeSet<u64>,
    report: &mut SalvageReport,
) -> Result<()> {
    let snapshot = records.snapshot(0)?;
    let mut cursor = ReadSource::Snapshot(&snapshot).cursor(Space::SmallBlobs, &[], None)?;
    let mut changes = Vec::new();
    while let Some(key) = cursor.visit(false, |key, _| key.to_vec())? {
        let id = <[u8; 8]>::try_from(key.as_slice()).map(u64::from_be_bytes).unwrap_or_default();
        if !named.contains(&id) {
            report.lose(
                "small content",
                id.to_string(),
                RECORD_FILE,
                "the record that names it is lost",
            );
            changes.push(Change::Delete { space: Space::SmallBlobs, key });
        }
    }
    drop(cursor);
    drop(snapshot);
    if changes.is_empty() { Ok(()) } else { records.write(|turn| turn.apply(changes)) }
}
