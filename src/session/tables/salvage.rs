//! Copies the table rows of a damaged store into a new store.
//!
//! Each table is rebuilt from its pieces, in order of append: sealed segments, and batches of the
//! buffer. An undamaged piece is copied byte by byte. So is a segment with single wrong bits, which
//! are corrected in the copy. A segment with other damage is rewritten: its readable rows go into a
//! new segment. A row is readable if, in each column, the 16 KiB blocks that it needs match their
//! checksums.
//!
//! Rows keep their append ordinals. What must hold afterwards: an ordinal below the next one is
//! that of a row or that of a deleted row, because the next append starts at the sum of their
//! counts. So the ordinals of lost rows count as deleted.

use std::collections::{BTreeMap, BTreeSet};
use std::ops::Range;
use std::sync::Arc;

use super::buffer::{entry_key, number_of};
use super::check::check_file;
use super::deleted::Deleted;
use super::state::{TableState, directory};
use super::{columns, deleted};
use crate::columnar::{
    Patch, Segment, SegmentMeta, SegmentWriter, TableSchema, batch_revision, batch_row_count,
    data_name, decode_batch, summary_name, wrong_bits,
};
use crate::disk::{Mode, SharedDisk, copy_file};
use crate::error::{Error, ErrorKind, Result};
use crate::model::Resource;
use crate::model::tables::retention::RetentionPolicy;
use crate::model::tables::store_table::StoreTable;
use crate::model::tables::table::TableMetadata;
use crate::records::keys::record_key;
use crate::records::{Change, ReadSource, RecordFile, Space, envelope};
use crate::value::ranges::{self, RangeSet};
use crate::value::{Control, RecordKey, stored};

/// Number of rows that are tried together first: a page of each column.
const TRY_ROWS: usize = 4_096;
/// Fewest rows that are given up together if they cannot be read.
const LEAST_ROWS: usize = 64;

/// Rows of a table that are lost.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct LostRows {
    /// Id of the table.
    pub(crate) table: String,
    /// Append ordinals, from 0.
    pub(crate) ordinals: Range<u64>,
    /// The damaged file, or `records.redb`.
    pub(crate) file: String,
    /// The reason of the loss.
    pub(crate) reason: String,
}

/// Counts of what was copied.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct SalvagedRows {
    pub(crate) rows: u64,
    pub(crate) files: u64,
    pub(crate) bytes: u64,
}

/// Copies the tables of the store in `from`. `records` already contains their rows of the record
/// file.
pub(crate) struct TableSalvage<'s> {
    pub(crate) from: &'s SharedDisk,
    pub(crate) into: &'s SharedDisk,
    pub(crate) records: &'s RecordFile,
    /// Keys of manifest entries that are trusted only if the files match them.
    pub(crate) unproven: &'s BTreeSet<Vec<u8>>,
    /// The retentions of tables, by the keys of the tables.
    pub(crate) retentions: &'s BTreeMap<Vec<u8>, RetentionPolicy>,
    /// The number of the next new segment.
    pub(crate) next_segment: u64,
    pub(crate) control: &'s Control,
    pub(crate) lost: &'s mut dyn FnMut(LostRows),
    /// The ordinals of deleted rows of the table that is being copied.
    pub(crate) deleted: RangeSet,
}

/// Rows of a table with consecutive ordinals, of which those of deleted rows may be missing.
struct Piece {
    /// The key of its entry in the record file.
    key: Vec<u8>,
    first: u64,
    /// Number of ordinals.
    rows: u64,
    what: SegmentSource,
}

enum SegmentSource {
    Segment(Box<SegmentMeta>),
    /// A batch of the buffer.
    Batch(Vec<u8>),
}

/// The result for a segment: its manifest entry in the new store with the ordinals of its rows, if
/// it has any rows there, and the lost ordinals.
type SegmentResult = (Option<(SegmentMeta, RangeSet)>, Vec<Range<u64>>);

/// Rows and bytes of the chunks of a table of the store.
fn chunk_counts(source: ReadSource<'_>, table: &StoreTable, key: RecordKey) -> Result<(u64, u64)> {
    let (mut rows, mut bytes) = (0, 0);
    let end = crate::value::key::after_prefix(key.as_bytes());
    let mut cursor = source.cursor(Space::RowChunks, key.as_bytes(), end.as_deref())?;
    while let Some((key, row)) = cursor.next()? {
        // One that is damaged is reported with the other entries of the record file.
        let count = envelope::open(&key, 0, &row).and_then(|payload| (table.row_count)(payload));
        rows += count.unwrap_or_default();
        bytes += row.len() as u64;
    }
    Ok((rows, bytes))
}

fn is_damage(error: &Error) -> bool {
    matches!(
        error.kind(),
        ErrorKind::Corrupt | ErrorKind::Io | ErrorKind::NotFound | ErrorKind::NewerFormat
    )
}

impl TableSalvage<'_> {
    /// Copies all tables.
    ///
    /// # Errors
    /// Errors of the target, and those of `control`. Damage in the source is reported through
    /// `lost` and is no error.
    pub(crate) fn run(&mut self) -> Result<SalvagedRows> {
        let kind = TableMetadata::KIND;
        let snapshot = self.records.snapshot(0)?;
        let source = ReadSource::Snapshot(&snapshot);
        let mut tables = BTreeSet::new();
        for (space, skip) in [
            (Space::Records, 1),
            (Space::Segments, 0),
            (Space::TableBuffer, 0),
            (Space::RowChunks, 0),
        ] {
            let from = if skip == 1 { vec![kind.code] } else { Vec::new() };
            let mut cursor = source.cursor(space, &from, None)?;
            while let Some(key) = cursor.visit(false, |key, _| key.to_vec())? {
                if skip == 1 && key.first() != Some(&kind.code) {
                    break;
                }
                let table = key.get(skip..skip + kind.id.key_len());
                tables.extend(table.and_then(|table| RecordKey::from_bytes(kind.id, table)));
            }
        }
        drop(snapshot);
        let mut total = SalvagedRows::default();
        for table in tables {
            self.control.check()?;
            let done = self.table(table)?;
            total.rows += done.rows;
            total.files += done.files;
            total.bytes += done.bytes;
            self.control.report(total.rows, None, "rows");
        }
        Ok(total)
    }

    fn lose(&mut self, id: &str, ordinals: Range<u64>, file: &str, reason: impl Into<String>) {
        let reason = reason.into();
        // Deleted rows are no loss.
        for ordinals in RangeSet::new(vec![ordinals]).minus(&self.deleted).ranges() {
            let (table, file, reason) = (id.to_owned(), file.to_owned(), reason.clone());
            (self.lost)(LostRows { table, ordinals: ordinals.clone(), file, reason });
        }
    }

    /// Reports rows as lost that no entry contains or names; nothing if the range is empty.
    fn lose_unnamed(&mut self, id: &str, ordinals: Range<u64>) {
        if !ordinals.is_empty() {
            self.lose(
                id,
                ordinals,
                "records.redb",
                "the entry that contains or names them is lost",
            );
        }
    }

    /// Rebuilds one table: walks its pieces in append order, and reports the ordinals that are
    /// lost. All changes of the table are one commit.
    fn table(&mut self, key: RecordKey) -> Result<SalvagedRows> {
        let id = key.to_id(TableMetadata::KIND.id);
        let full_key = record_key(TableMetadata::KIND, key);
        let snapshot = self.records.snapshot(0)?;
        let source = ReadSource::Snapshot(&snapshot);
        let kind = TableMetadata::KIND.code;
        let row = source.get(Space::Records, &full_key)?;
        let payload = row.as_deref().and_then(|row| envelope::open(&full_key, kind, row).ok());
        let record = payload.and_then(|payload| stored::read::<TableMetadata>(payload).ok());
        // A table of the store has no record that could be lost.
        let store_table = StoreTable::by_key(key);
        let record = store_table.map(|table| table.metadata(0)).or(record);
        let chunks = match store_table {
            Some(table) => chunk_counts(source, table, key)?,
            None => (0, 0),
        };
        let state = source.get(Space::RecordState, &full_key)?;
        let (mut pieces, strays) = pieces(source, key.as_bytes())?;
        let deleted_before = rows_of(source, Space::DeletedRows, key.as_bytes())?;
        // A part that is damaged is reported with the other entries of the record file.
        let mut listed = Deleted::default();
        for row in &deleted_before {
            let part = deleted::from_some_rows(key.as_bytes(), std::slice::from_ref(row));
            let part = part.unwrap_or_default();
            listed.by_retention = listed.by_retention.union(&part.by_retention);
            listed.all = listed.all.union(&part.all);
        }
        // What went by the retention was deleted, also where the part that lists it so is lost.
        self.deleted = listed.all.union(&listed.by_retention);
        let history = source.get(Space::ColumnHistory, key.as_bytes())?;
        let counts = source.get(Space::TableState, key.as_bytes())?;
        let counts: Option<TableState> =
            counts.and_then(|row| envelope::from_row(key.as_bytes(), &row).ok());
        drop(snapshot);
        let mut changes: Vec<Change> =
            strays.into_iter().map(|(space, key)| Change::Delete { space, key }).collect();
        let known = record.and_then(|table| {
            let revision = counts.as_ref().map(|counts| counts.columns_revision);
            let stored = pieces.iter().map(Piece::columns_revision).max().unwrap_or_default();
            let row = history.as_deref();
            let known = columns::salvaged(&table, key.as_bytes(), revision, stored, row).ok();
            known.map(|(layouts, row)| (table, layouts, row))
        });
        let Some((mut table, layouts, new_history)) = known else {
            for piece in pieces {
                let reason = "the record of the table with its columns is lost";
                self.lose(
                    &id,
                    piece.first..piece.first.saturating_add(piece.rows),
                    "records.redb",
                    reason,
                );
                changes.push(Change::Delete { space: piece.space(), key: piece.key });
            }
            changes.push(Change::Delete { space: Space::RecordState, key: full_key });
            changes.extend(deleted::changes_to(&deleted_before, Vec::new()));
            if history.is_some() {
                let (space, key) = (Space::ColumnHistory, key.as_bytes().to_vec());
                changes.push(Change::Delete { space, key });
            }
            self.records.write(|turn| turn.apply(changes))?;
            return Ok(SalvagedRows::default());
        };
        let is_state_known = match (store_table, &counts) {
            (Some(_), Some(counts)) => {
                table.row_count = i64::try_from(counts.sealed_rows).ok();
                true
            }
            _ => state.is_some_and(|row| {
                let payload = envelope::open(&full_key, kind, &row);
                payload.and_then(|payload| table.set_state(payload)).is_ok()
            }),
        };
        pieces.sort_by_key(|piece| piece.first);
        // A proven entry wins against each unproven one, wherever that one sorts.
        let proven = pieces.iter().filter(|piece| !self.unproven.contains(&piece.key));
        let proven = RangeSet::new(proven.map(Piece::ordinals).collect());
        let mut done = SalvagedRows::default();
        let columns_revision = layouts.table().revision();
        let mut buffer = TableState { merge_due: true, columns_revision, ..TableState::default() };
        if new_history != history
            && let Some(value) = new_history
        {
            let (space, key) = (Space::ColumnHistory, key.as_bytes().to_vec());
            changes.push(Change::Put { space, key, value });
        }
        // The ordinals of the rows that are taken over, and the number of these rows.
        let (mut kept, mut stored) = (Vec::new(), 0);
        // The ordinal up to which rows are taken over or reported as lost, and the one up to which
        // any entry names rows.
        let (mut reached, mut named) = (0, 0);
        for piece in pieces {
            self.control.check()?;
            let end = piece.first.saturating_add(piece.rows);
            let is_unproven = self.unproven.contains(&piece.key);
            if is_unproven && proven.meets(&piece.ordinals()) {
                // Not a loss: the rows at this place are those of the proven entry.
                changes.push(Change::Delete { space: piece.space(), key: piece.key });
                continue;
            }
            named = named.max(end);
            if piece.first < reached {
                // Two pieces cannot have the same ordinals: one of the two entries is wrong.
                self.lose(
                    &id,
                    reached.min(end)..end,
                    "records.redb",
                    "another piece of the table has the same rows",
                );
                changes.push(Change::Delete { space: piece.space(), key: piece.key });
                continue;
            }
            match piece.what {
                SegmentSource::Batch(bytes) => {
                    self.lose_unnamed(&id, reached..piece.first);
                    reached = end;
                    let layout = layouts.at(batch_revision(&bytes));
                    if layout.and_then(|layout| decode_batch(&layout.stored, &bytes)).is_err() {
                        let space = Space::TableBuffer;
                        changes.push(Change::Delete { space, key: piece.key });
                        let reason = "the buffered append does not have the columns of its table";
                        self.lose(&id, piece.first..end, "records.redb", reason);
                        continue;
                    }
                    buffer.buffered_rows += piece.rows;
                    buffer.buffered_bytes += bytes.len() as u64;
                    kept.push(piece.first..end);
                    stored += piece.rows;
                }
                SegmentSource::Segment(meta) => {
                    let file = format!("{}/{}", directory(&id), data_name(meta.id));
                    changes.push(Change::Delete { space: Space::Segments, key: piece.key });
                    let Ok(layout) = layouts.at(meta.columns_revision) else {
                        let reason = "the history of the table's columns is lost";
                        self.lose_unnamed(&id, reached..piece.first);
                        reached = end;
                        self.lose(&id, piece.first..end, "records.redb", reason);
                        continue;
                    };
                    let (taken, lost) = self.segment(&id, &layout.stored, *meta, is_unproven)?;
                    if is_unproven && taken.is_none() {
                        // Only its files could have shown that the entry says the truth, so
                        // another entry may still have the place.
                        continue;
                    }
                    self.lose_unnamed(&id, reached..piece.first);
                    reached = end;
                    let reason = match self.from.exists(&file) {
                        Ok(false) => "the file is missing",
                        _ => "the file does not match its checksum",
                    };
                    for ordinals in lost {
                        self.lose(&id, ordinals, &file, reason);
                    }
                    let Some((meta, ordinals)) = taken else { continue };
                    kept.extend_from_slice(ordinals.ranges());
                    stored += meta.row_count;
                    done.files += 2;
                    done.bytes += meta.data_bytes + meta.summary_bytes;
                    let (space, key) = (Space::Segments, entry_key(key.as_bytes(), meta.id));
                    let value = envelope::to_row(&key, &meta)?;
                    changes.push(Change::Put { space, key, value });
                }
            }
        }
        let counted = table.row_count.unwrap_or_default().unsigned_abs();
        let gone = counts.map_or_else(|| self.deleted.count(), |counts| counts.deleted_rows);
        let counted = if is_state_known { counted.saturating_add(gone) } else { named };
        self.lose_unnamed(&id, reached..counted);
        let next = reached.max(counted);
        let whole = RangeSet::of_range(0..next);
        let live = RangeSet::new(kept).minus(&self.deleted);
        let deleted = whole.minus(&live);
        done.rows = live.count();
        buffer.deleted_rows = deleted.count();
        // A policy that is lost keeps rows: that of another table must never be guessed.
        buffer.retention = self.retentions.get(key.as_bytes()).cloned();
        buffer.deleted_stored = stored - done.rows;
        // Only what the list says was deleted by a caller. A lake keeps the others, and may have
        // the only copy of what is lost here.
        let by_retention = deleted.minus(&listed.by_caller());
        let rows = deleted::to_rows(key.as_bytes(), &Deleted::new(deleted, by_retention))?;
        changes.extend(deleted::changes_to(&deleted_before, rows));
        if !is_state_known {
            // Whether it was closed is unknown, so it stays open for appends.
            (table.rows_modified_at, table.supports_append) = (None, Some(true));
        }
        if store_table.is_some() {
            buffer.sealed_rows = done.rows;
            (buffer.buffered_rows, buffer.buffered_bytes) = chunks;
            done.rows += chunks.0;
        } else {
            table.row_count = Some(i64::try_from(done.rows).unwrap_or(i64::MAX));
            let value = envelope::seal(&full_key, kind, &table.state()?);
            changes.push(Change::Put { space: Space::RecordState, key: full_key, value });
        }
        let (space, key) = (Space::TableState, key.as_bytes().to_vec());
        let value = envelope::to_row(&key, &buffer)?;
        changes.push(Change::Put { space, key, value });
        self.records.write(|turn| turn.apply(changes))?;
        Ok(done)
    }

    /// Copies a segment.
    fn segment(
        &mut self,
        id: &str,
        schema: &Arc<TableSchema>,
        meta: SegmentMeta,
        is_unproven: bool,
    ) -> Result<SegmentResult> {
        let dir = directory(id);
        let whole = meta.ordinals();
        match self.copy(&dir, schema, &meta)? {
            Some(true) => {
                let ordinals = self.ordinals_in_copy(&dir, schema, &meta)?;
                let lost = RangeSet::new(vec![whole]).minus(&ordinals).ranges().to_vec();
                return Ok((Some((meta, ordinals)), lost));
            }
            Some(false) => return Ok((None, vec![whole])),
            None => {}
        }
        if is_unproven {
            return Ok((None, vec![whole]));
        }
        let opened = match Segment::open(self.from, &dir, meta.clone(), schema.clone()) {
            // Without the summary nothing tells which of the rows are the deleted ones.
            Err(error) if is_damage(&error) && self.deleted.count_within(whole.clone()) > 0 => {
                return Ok((None, vec![whole]));
            }
            Err(error) if is_damage(&error) => {
                Segment::open_data(self.from, &dir, meta.clone(), schema.clone(), self.control)
            }
            other => other,
        };
        match opened {
            Ok(segment) => self.rewrite(&dir, schema, &segment),
            Err(error) if is_damage(&error) => Ok((None, vec![whole])),
            Err(error) => Err(error),
        }
    }

    /// The ordinals of the rows of a segment that was copied.
    fn ordinals_in_copy(
        &self,
        dir: &str,
        schema: &Arc<TableSchema>,
        meta: &SegmentMeta,
    ) -> Result<RangeSet> {
        let whole = RangeSet::new(vec![meta.ordinals()]);
        let missing = whole.count() - meta.row_count;
        if self.deleted.count_within(meta.ordinals()) >= missing {
            // The ordinals without rows are among the deleted ones.
            return Ok(whole);
        }
        let segment = Segment::open(self.into, dir, meta.clone(), schema.clone())?;
        let row_count = usize::try_from(meta.row_count).unwrap_or(usize::MAX);
        let found = segment.ordinals(0..row_count)?;
        let ordinal = |offset: u32| meta.first_ordinal.saturating_add(u64::from(offset));
        let ranges = found.into_iter().map(|offset| ordinal(offset)..ordinal(offset) + 1);
        Ok(RangeSet::new(ranges.collect()))
    }

    /// Copies the files of a segment if they match their checksums, or if the copy does after
    /// single wrong bits are corrected in it. Returns `Some(true)` then. Returns `None`, without a
    /// copy, if the segment must be rewritten, and `Some(false)`, without a copy, if none of its
    /// rows can be trusted.
    fn copy(
        &self,
        dir: &str,
        schema: &Arc<TableSchema>,
        meta: &SegmentMeta,
    ) -> Result<Option<bool>> {
        let is_whole = self.is_whole(self.from, dir, meta)?;
        let found = if is_whole {
            Ok(Some(Vec::new()))
        } else {
            wrong_bits(self.from, dir, meta, self.control)
        };
        let patches = match found {
            Ok(Some(patches)) => patches,
            Ok(None) => return Ok(None),
            Err(error) if is_damage(&error) => return Ok(None),
            Err(error) => return Err(error),
        };
        self.prepare(dir)?;
        for name in [data_name(meta.id), summary_name(meta.id)] {
            let path = format!("{dir}/{name}");
            copy_file(&**self.from, &**self.into, &path, |_| self.control.check())?;
        }
        for Patch { name, at, bytes } in &patches {
            let path = format!("{dir}/{name}");
            let file = self.into.open(&path, Mode::ReadWrite);
            let written =
                file.and_then(|file| file.write_all_at(bytes, *at).and_then(|()| file.sync_all()));
            written.map_err(|error| {
                Error::io(format!("correcting bits in the copy of {path}"), error)
            })?;
        }
        // The hash of the whole file decides, since a CRC-32 matches other damage by chance. If
        // every block of the damaged file matches its CRC-32, nothing shows which block is the
        // damaged one, and no row can be trusted.
        if !is_whole && !self.is_whole(self.into, dir, meta)? {
            self.forget(dir, meta.id)?;
            return Ok(patches.is_empty().then_some(false));
        }
        match Segment::open(self.into, dir, meta.clone(), schema.clone()) {
            Ok(_) => Ok(Some(true)),
            Err(error) if is_damage(&error) => self.forget(dir, meta.id).map(|()| Some(false)),
            Err(error) => Err(error),
        }
    }

    /// Whether both files of a segment match their checksums.
    fn is_whole(&self, disk: &SharedDisk, dir: &str, meta: &SegmentMeta) -> Result<bool> {
        for (name, len, hash) in [
            (data_name(meta.id), meta.data_bytes, &meta.data_hash),
            (summary_name(meta.id), meta.summary_bytes, &meta.summary_hash),
        ] {
            match check_file(&**disk, &format!("{dir}/{name}"), len, Some(hash), self.control) {
                Ok(()) => {}
                Err(error) if is_damage(&error) => return Ok(false),
                Err(error) => return Err(error),
            }
        }
        Ok(true)
    }

    fn prepare(&self, dir: &str) -> Result<()> {
        let attempt = |error| Error::io(format_args!("creating the directory {dir}"), error);
        self.into.create_dir_all(dir).map_err(attempt)?;
        self.into.sync_dir("tables").map_err(attempt)?;
        self.into.sync_dir("").map_err(attempt)
    }

    fn forget(&self, dir: &str, id: u64) -> Result<()> {
        for name in [data_name(id), summary_name(id)] {
            let path = format!("{dir}/{name}");
            match self.into.remove_file(&path) {
                Err(error) if error.kind() != std::io::ErrorKind::NotFound => {
                    return Err(Error::io(format!("removing {path}"), error));
                }
                _ => {}
            }
        }
        Ok(())
    }

    /// Writes the readable rows into a new segment.
    fn rewrite(
        &mut self,
        dir: &str,
        schema: &Arc<TableSchema>,
        segment: &Segment,
    ) -> Result<SegmentResult> {
        let meta = segment.meta();
        let columns: Vec<usize> = (0..schema.len()).collect();
        let row_count = usize::try_from(meta.row_count).unwrap_or(usize::MAX);
        let mut kept = Vec::new();
        let mut from = 0;
        while from < row_count {
            let to = from.saturating_add(TRY_ROWS).min(row_count);
            self.readable(segment, &columns, from..to, &mut kept)?;
            from = to;
        }
        let kept: Vec<Range<usize>> = kept;
        if kept.is_empty() {
            return Ok((None, vec![meta.ordinals()]));
        }
        let ordinal_count = meta.ordinals().end - meta.first_ordinal;
        // If the append order cannot be read, the rows count as appended in the order in which they
        // are stored.
        let ordinals = Ordinals::read(segment, &kept, ordinal_count as usize)?;
        if ordinals.is_none() && self.deleted.count_within(meta.ordinals()) > 0 {
            return Ok((None, vec![meta.ordinals()]));
        }
        self.prepare(dir)?;
        let number = self.next_segment;
        self.next_segment += 1;
        let (into, first) = (self.into.clone(), meta.first_ordinal);
        let mut writer = SegmentWriter::new(into, dir, number, schema.clone(), first)?;
        for rows in &kept {
            self.control.check()?;
            let batch = segment.read(&columns, std::slice::from_ref(rows))?;
            match &ordinals {
                Some(_) => writer.write(&batch, Some(&segment.ordinals(rows.clone())?))?,
                None => writer.write(&batch, None)?,
            }
        }
        let written = SegmentMeta { ordinal_count, ..writer.finish()? };
        let taken = match &ordinals {
            Some(ordinals) => RangeSet::new(ordinals.kept(first)),
            None => RangeSet::of_range(first..first.saturating_add(written.row_count)),
        };
        let lost = match &ordinals {
            Some(_) => RangeSet::new(vec![meta.ordinals()]).minus(&taken).ranges().to_vec(),
            // The number of lost rows is known, but not which ordinals they had: report the whole
            // range.
            None if kept.iter().map(ExactSizeIterator::len).sum::<usize>() < row_count => {
                vec![meta.ordinals()]
            }
            None => Vec::new(),
        };
        Ok((Some((written, taken)), lost))
    }

    /// Adds the readable rows of a range to `kept`: the whole range, or else those of its two
    /// halves.
    fn readable(
        &self,
        segment: &Segment,
        columns: &[usize],
        rows: Range<usize>,
        kept: &mut Vec<Range<usize>>,
    ) -> Result<()> {
        self.control.check()?;
        match segment.read(columns, std::slice::from_ref(&rows)) {
            Ok(_) => {
                match kept.last_mut() {
                    Some(last) if last.end == rows.start && last.len() < TRY_ROWS => {
                        last.end = rows.end;
                    }
                    _ => kept.push(rows),
                }
                Ok(())
            }
            Err(error) if is_damage(&error) => {
                if rows.len() > LEAST_ROWS {
                    let middle = rows.start + rows.len() / 2;
                    self.readable(segment, columns, rows.start..middle, kept)?;
                    self.readable(segment, columns, middle..rows.end, kept)?;
                }
                Ok(())
            }
            Err(error) => Err(error),
        }
    }
}

impl Piece {
    /// The revision of the columns with which its rows were written.
    fn columns_revision(&self) -> u64 {
        match &self.what {
            SegmentSource::Segment(meta) => meta.columns_revision,
            SegmentSource::Batch(bytes) => batch_revision(bytes),
        }
    }

    fn ordinals(&self) -> Range<u64> {
        self.first..self.first.saturating_add(self.rows)
    }

    fn space(&self) -> Space {
        match self.what {
            SegmentSource::Segment(_) => Space::Segments,
            SegmentSource::Batch(_) => Space::TableBuffer,
        }
    }
}

/// The rows of a table in a space.
fn rows_of(source: ReadSource<'_>, space: Space, table: &[u8]) -> Result<Vec<(Vec<u8>, Vec<u8>)>> {
    let to = crate::value::key::after_prefix(table);
    let mut cursor = source.cursor(space, table, to.as_deref())?;
    let mut rows = Vec::new();
    while let Some(row) = cursor.next()? {
        rows.push(row);
    }
    Ok(rows)
}

/// The pieces of a table, and the entries of the record file that are unreadable.
#[expect(clippy::type_complexity, reason = "spaces and keys of rows that are deleted")]
fn pieces(source: ReadSource<'_>, table: &[u8]) -> Result<(Vec<Piece>, Vec<(Space, Vec<u8>)>)> {
    let (mut pieces, mut strays) = (Vec::new(), Vec::new());
    for space in [Space::Segments, Space::TableBuffer] {
        let to = crate::value::key::after_prefix(table);
        let mut cursor = source.cursor(space, table, to.as_deref())?;
        while let Some((key, value)) = cursor.next()? {
            if space == Space::TableBuffer {
                let (first, rows) = (number_of(&key), batch_row_count(&value));
                pieces.push(Piece { key, first, rows, what: SegmentSource::Batch(value) });
                continue;
            }
            match envelope::from_row::<SegmentMeta>(&key, &value) {
                Ok(meta) => {
                    let first = meta.first_ordinal;
                    let rows = meta.ordinals().end - first;
                    pieces.push(Piece {
                        key,
                        first,
                        rows,
                        what: SegmentSource::Segment(Box::new(meta)),
                    });
                }
                Err(_) => strays.push((space, key)),
            }
        }
    }
    Ok((pieces, strays))
}

/// The ordinals of a segment that are kept, as offsets from its first: one bit for each.
struct Ordinals {
    bits: Vec<u64>,
}

impl Ordinals {
    /// The ordinals of the rows in `kept`; `None` if they cannot be read, if one is not below
    /// `count`, or if one occurs twice.
    fn read(segment: &Segment, kept: &[Range<usize>], count: usize) -> Result<Option<Self>> {
        let mut bits = vec![0u64; count.div_ceil(64)];
        for range in kept {
            let ordinals = match segment.ordinals(range.clone()) {
                Ok(ordinals) => ordinals,
                Err(error) if is_damage(&error) => return Ok(None),
                Err(error) => return Err(error),
            };
            for ordinal in ordinals {
                let bit = 1 << (ordinal % 64);
                match bits.get_mut(ordinal as usize / 64) {
                    Some(word) if *word & bit == 0 && (ordinal as usize) < count => *word |= bit,
                    _ => return Ok(None),
                }
            }
        }
        Ok(Some(Self { bits }))
    }

    /// The ordinals, of a segment whose first ordinal is `first`.
    fn kept(&self, first: u64) -> Vec<Range<u64>> {
        let set = self.bits.iter().zip((0u64..).step_by(64)).flat_map(|(word, at)| {
            (0..64u64).filter(move |bit| *word >> bit & 1 == 1).map(move |bit| at + bit)
        });
        ranges::of_numbers(set.map(|offset| first.saturating_add(offset)))
    }
}

/// The largest segment number among the files of a store and the entries of its manifest.
pub(crate) fn largest_segment(disk: &SharedDisk, records: &RecordFile) -> Result<u64> {
    let mut largest = 0;
    for (path, _) in crate::disk::walk(&**disk, "tables").unwrap_or_default() {
        let name = path.rsplit('/').next().and_then(|name| name.split('.').next());
        let number = name
            .filter(|name| name.len() == 16)
            .and_then(|name| u64::from_str_radix(name, 16).ok());
        largest = largest.max(number.unwrap_or(0));
    }
    let snapshot = records.snapshot(0)?;
    let mut cursor = ReadSource::Snapshot(&snapshot).cursor(Space::Segments, &[], None)?;
    while let Some(number) = cursor.visit(false, |key, _| number_of(key))? {
        largest = largest.max(number);
    }
    Ok(largest)
}
