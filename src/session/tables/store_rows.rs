//! The rows of the tables that the store keeps itself: chunks by record, and sealed segments.
//!
//! A row is in a chunk until maintenance seals it. Chunks are found and changed by the key of their
//! record; a sealed row is changed by deleting it and writing it into a chunk.
//!
//! What must hold:
//! - A row is in one chunk or in one segment, never in both: the commit that names a segment
//!   removes exactly the chunks that went into it, and only if they are still what was read.
//! - The row count in the state of the table counts the sealed rows.
//! - The rows of a record that were written together stay together, in their order: segments have
//!   the order of the index, and rows with one index value the order of append.

use std::ops::Range;
use std::sync::{Arc, OnceLock};

use xxhash_rust::xxh3::xxh3_64;

use super::append::add_segments;
use super::deleted::{Cause, add_deleted, dead_rows, delete_ordinals};
use super::open::open_rows;
use super::sink::{SORT_ROWS, SegmentSink};
use super::state::key_of;
use super::state::{
    TableState, directory, forget_files, manifest, put_table_state, seal_thresholds, state,
    state_in,
};
use crate::arrow::array::RecordBatch;
use crate::columnar::{
    IndexPick, IndexRows, Layouts, Narrow, PickedRows, SegmentMeta, TableSchema, TableView,
    index_rows, picked_rows,
};
use crate::error::{Error, ErrorKind, Result};
use crate::model::Resource;
use crate::model::tables::store_table::{STORE_TABLES, StoreTable};
use crate::model::tables::table::TableMetadata;
use crate::records::{Space, envelope};
use crate::session::access::sessions::{Access, Session};
use crate::session::lock::lock;
use crate::session::view::View;
use crate::session::write::draft::Draft;
use crate::value::ranges::RangeSet;
use crate::value::stored::{self, Payload};
use crate::value::{Control, RecordKey, limits, trace};

/// Segments that one pass of sealing writes at most.
const SEGMENTS: usize = 64;
/// Chunks that become rows together.
const CHUNKS_TOGETHER: usize = 64;
/// After a seal, this share of the threshold is left in chunks: rows of the newest records, which
/// are the most likely to change.
const LEFT_SHARE: u64 = 4;

/// The metadata of a table with this key: of a table that the store keeps itself, or a record.
pub(super) fn table_in(view: &View<'_>, key: RecordKey) -> Result<Option<TableMetadata>> {
    match StoreTable::by_key(key) {
        Some(table) => Ok(Some(table.metadata(state_in(view, key.as_bytes())?.sealed_rows))),
        None => view.any_by_key(key),
    }
}

/// [`table_in`], with the changes of a draft.
pub(super) fn table_in_draft(draft: &Draft<'_>, key: RecordKey) -> Result<Option<TableMetadata>> {
    match StoreTable::by_key(key) {
        Some(table) => Ok(Some(table.metadata(state(draft, key)?.sealed_rows))),
        None => draft.any_by_key(key),
    }
}

fn prefix_of(table: &StoreTable, record: RecordKey) -> Result<Vec<u8>> {
    let mut key = key_of(table.id)?.as_bytes().to_vec();
    key.extend_from_slice(record.as_bytes());
    Ok(key)
}

/// A chunk as it is stored.
#[derive(Clone, Debug)]
pub(crate) struct RowChunk {
    /// The number of its first row.
    pub(crate) first: u64,
    /// Its envelope.
    pub(crate) row: Vec<u8>,
    key: Vec<u8>,
}

impl RowChunk {
    fn of((key, row): (Vec<u8>, Vec<u8>)) -> Self {
        let first = key.last_chunk::<8>().map_or(0, |first| u64::from_be_bytes(*first));
        Self { first, row, key }
    }

    /// What is in the envelope.
    ///
    /// # Errors
    /// `Corrupt`.
    pub(crate) fn payload(&self) -> Result<Payload<'_>> {
        envelope::open(&self.key, 0, &self.row)
    }

    /// The value in the envelope.
    ///
    /// # Errors
    /// `Corrupt`.
    pub(crate) fn value<T: crate::value::Stored>(&self) -> Result<T> {
        stored::read(self.payload()?)
    }
}

/// The chunks of a record, by their first rows.
pub(crate) fn chunks(
    view: &View<'_>,
    table: &StoreTable,
    record: RecordKey,
) -> Result<Vec<RowChunk>> {
    let rows = view.raw_prefix(Space::RowChunks, &prefix_of(table, record)?)?;
    Ok(rows.into_iter().map(RowChunk::of).collect())
}

/// The chunk of a record that this row is in, if it is in any.
pub(crate) fn chunk_around(
    view: &View<'_>,
    table: &StoreTable,
    record: RecordKey,
    row: u64,
) -> Result<Option<RowChunk>> {
    let from = prefix_of(table, record)?;
    let to = [&from[..], &row.to_be_bytes(), &[0]].concat();
    let mut cursor = view.source().cursor(Space::RowChunks, &from, Some(&to))?;
    cursor.visit(true, |key, row| RowChunk::of((key.to_vec(), row.to_vec())))
}

/// The chunk of a record that begins with this row, with the changes of a draft.
pub(crate) fn chunk_at(
    draft: &Draft<'_>,
    table: &StoreTable,
    record: RecordKey,
    first: u64,
) -> Result<Option<RowChunk>> {
    let mut key = prefix_of(table, record)?;
    key.extend_from_slice(&first.to_be_bytes());
    let row = draft.raw(Space::RowChunks, &key)?;
    Ok(row.map(|row| RowChunk::of((key, row))))
}

/// The chunks of all records from `from` on, a record and the number of a first row, each with its
/// record, in order of the records.
pub(crate) fn all_chunks<'v>(
    view: &View<'v>,
    table: &StoreTable,
    from: Option<(RecordKey, u64)>,
) -> Result<impl Iterator<Item = Result<(RecordKey, RowChunk)>> + use<'v>> {
    let table_key = key_of(table.id)?;
    let prefix = table_key.as_bytes().to_vec();
    let mut start = prefix.clone();
    if let Some((record, first)) = from {
        start.extend_from_slice(record.as_bytes());
        start.extend_from_slice(&first.to_be_bytes());
    }
    let end = crate::value::key::after_prefix(&prefix);
    let mut cursor = view.source().cursor(Space::RowChunks, &start, end.as_deref())?;
    let mut next = move || -> Result<Option<(RecordKey, RowChunk)>> {
        let Some((key, row)) = cursor.next()? else { return Ok(None) };
        Ok(Some((record_of(&key)?, RowChunk::of((key, row)))))
    };
    Ok(std::iter::from_fn(move || next().transpose()))
}

/// The record that a chunk belongs to, from the key of its row.
fn record_of(key: &[u8]) -> Result<RecordKey> {
    let table_len = TableMetadata::KIND.id.key_len();
    key.get(table_len..key.len().saturating_sub(8))
        .and_then(|record| RecordKey::from_bytes(crate::value::IdForm::Guid, record))
        .ok_or_else(|| Error::corrupt("records.redb: the key of a row chunk is damaged"))
}

/// A change of the chunks of one record.
#[derive(Debug)]
pub(crate) struct ChunkChange<T> {
    /// The number of the first row.
    pub(crate) first: u64,
    /// Rows and bytes of the chunk before; zeros if there was none.
    pub(crate) before: (u64, u64),
    /// Rows and value of the chunk from now on; `None` to remove it.
    pub(crate) after: Option<(u64, T)>,
}

/// Drafts changes of the chunks of a record.
///
/// # Errors
/// `LimitExceeded` for a value that is too large.
pub(crate) fn change_chunks<T: crate::value::Stored>(
    draft: &mut Draft<'_>,
    table: &StoreTable,
    record: RecordKey,
    changes: Vec<ChunkChange<T>>,
) -> Result<()> {
    if changes.is_empty() {
        return Ok(());
    }
    let table_key = key_of(table.id)?;
    let mut state = state(draft, table_key)?;
    for change in changes {
        let mut key = prefix_of(table, record)?;
        key.extend_from_slice(&change.first.to_be_bytes());
        let (rows, bytes) = change.before;
        state.buffered_rows = state.buffered_rows.saturating_sub(rows);
        state.buffered_bytes = state.buffered_bytes.saturating_sub(bytes);
        match change.after {
            None => draft.delete_raw(Space::RowChunks, key),
            Some((rows, value)) => {
                let row = envelope::to_row(&key, &value)?;
                state.buffered_rows += rows;
                state.buffered_bytes += row.len() as u64;
                draft.put_raw(Space::RowChunks, key, row);
            }
        }
    }
    put_table_state(draft, table_key, &state)
}

/// The sealed rows of the table; `None` if there are none.
pub(crate) fn sealed(view: &View<'_>, table: &StoreTable) -> Result<Option<Arc<TableView>>> {
    let key = key_of(table.id)?;
    let state = state_in(view, key.as_bytes())?;
    if state.sealed_rows == 0 {
        return Ok(None);
    }
    // A state that no commit has is not known by a sequence number.
    let sequence = view.source().sequence();
    let tables = &view.context().engine.tables;
    if let Some(known) = sequence.and_then(|sequence| tables.opened(table.id, sequence)) {
        return Ok(Some(known));
    }
    let layouts = Layouts::unchanged(schema(table)?);
    let opened = open_rows(view, table.id, &layouts, state.sealed_rows)?;
    if let Some(sequence) = sequence {
        tables.keep_opened(table.id, sequence, &opened);
    }
    Ok(Some(opened))
}

/// The columns of a table that the store keeps itself, which never change.
fn schema(table: &StoreTable) -> Result<Arc<TableSchema>> {
    static SCHEMAS: [OnceLock<Arc<TableSchema>>; STORE_TABLES.len()] =
        [const { OnceLock::new() }; STORE_TABLES.len()];
    let make = || super::schema_of(&table.metadata(0));
    let at = STORE_TABLES.iter().position(|known| known.id == table.id);
    let Some(slot) = at.and_then(|at| SCHEMAS.get(at)) else { return make() };
    match slot.get() {
        Some(known) => Ok(known.clone()),
        None => make().map(|made| slot.get_or_init(|| made).clone()),
    }
}

/// The sealed rows with the index value of a record, and their append ordinals.
pub(crate) fn sealed_rows(
    view: &View<'_>,
    table: &StoreTable,
    record: RecordKey,
) -> Result<Vec<IndexRows>> {
    match sealed(view, table)? {
        Some(rows) => index_rows(&rows, (table.index_of)(record), None),
        None => Ok(Vec::new()),
    }
}

/// The sealed rows that `pick` picks by these columns from those with the index value of a record,
/// with all columns, and their append ordinals; from one run only. The first of them has the number
/// of `narrow` in a column.
pub(crate) fn sealed_pick(
    view: &View<'_>,
    table: &StoreTable,
    record: RecordKey,
    narrow: Narrow,
    columns: &[usize],
    pick: &IndexPick<'_>,
) -> Result<Option<PickedRows>> {
    match sealed(view, table)? {
        Some(rows) => picked_rows(&rows, (table.index_of)(record), narrow, columns, pick),
        None => Ok(None),
    }
}

/// Drafts the removal of all chunks of a record, and returns the ordinals of its sealed rows. The
/// rows themselves are not decoded.
///
/// [`delete_sealed`] deletes those. It is called once for the records of one commit, because it
/// reads and writes the list of all deleted rows of the table.
///
/// # Errors
/// `Corrupt`, `Io`.
pub(crate) fn drop_chunks(
    draft: &mut Draft<'_>,
    table: &StoreTable,
    record: RecordKey,
) -> Result<Vec<Range<u64>>> {
    let table_key = key_of(table.id)?;
    let mut state = state(draft, table_key)?;
    let found = draft.raw_prefix(Space::RowChunks, &prefix_of(table, record)?)?;
    for chunk in found.into_iter().map(RowChunk::of) {
        let rows = (table.row_count)(chunk.payload()?)?;
        state.buffered_rows = state.buffered_rows.saturating_sub(rows);
        state.buffered_bytes = state.buffered_bytes.saturating_sub(chunk.row.len() as u64);
        draft.delete_raw(Space::RowChunks, chunk.key);
    }
    put_table_state(draft, table_key, &state)?;
    let mut gone = Vec::new();
    if let Some(sealed) = sealed(draft.view(), table)? {
        for rows in index_rows(&sealed, (table.index_of)(record), Some(table.key_columns))? {
            let own = rows.ordinals.iter().enumerate();
            let own = own.filter(|(row, _)| (table.is_of)(record, &rows.batch, *row));
            gone.extend(own.map(|(_, ordinal)| *ordinal..*ordinal + 1));
        }
    }
    Ok(gone)
}

/// Drafts the deletion of sealed rows.
///
/// # Errors
/// `LimitExceeded` for more deleted rows apart from each other than a table may have; then
/// maintenance has to rewrite segments first. `Corrupt`, `Io`.
pub(crate) fn delete_sealed(
    draft: &mut Draft<'_>,
    table: &StoreTable,
    ordinals: &RangeSet,
) -> Result<()> {
    if ordinals.is_empty() {
        return Ok(());
    }
    let key = key_of(table.id)?;
    let metadata = table.metadata(state(draft, key)?.sealed_rows);
    let gone = delete_ordinals(draft, &metadata, ordinals, Cause::Caller).map_err(awaits_merge)?;
    let gone = gone.count();
    let state = state(draft, key)?;
    let sealed_rows = state.sealed_rows.saturating_sub(gone);
    put_table_state(draft, key, &TableState { sealed_rows, ..state })
}

/// The error about too many deleted rows, of a table that callers do not know.
fn awaits_merge(error: Error) -> Error {
    if error.kind() != ErrorKind::LimitExceeded {
        return error;
    }
    Error::limit(format!(
        "changing or deleting sealed steps: more than {} ranges of their rows would wait to be \
         rewritten; run the maintenance of the store, which rewrites them, and try again",
        limits::DELETED_RANGES
    ))
}

/// Chunks that go into one segment.
#[derive(Debug, Default)]
struct Batch {
    chunks: Vec<(RecordKey, RowChunk)>,
}

/// Seals chunks of a table, those of the records with the least keys first. Returns the number of
/// segments.
///
/// The segments are written without the write turn. The commit that names them checks that each
/// chunk is still as it was read; if one is not, nothing is sealed, and the next pass tries again.
pub(super) fn seal_chunks(session: &Session, table: &StoreTable, control: &Control) -> Result<u64> {
    let engine = session.context().engine.clone();
    let _turn = lock(&engine.tables.turn);
    let key = key_of(table.id)?;
    let thresholds = seal_thresholds(session.context().settings(), key);
    let (left_rows, left_bytes) = (thresholds.rows / LEFT_SHARE, thresholds.bytes / LEFT_SHARE);
    let found = session.read(|view| {
        let state = state_in(view, key.as_bytes())?;
        let (mut rows, mut bytes) = (state.buffered_rows, state.buffered_bytes);
        let ranges: Vec<Range<i64>> = manifest(view, key.as_bytes())?
            .iter()
            .map(|meta: &SegmentMeta| meta.min_index..meta.max_index.saturating_add(1))
            .collect();
        let mut cursor = view.cursor(Space::RowChunks, key.as_bytes())?;
        let mut batches: Vec<(Option<usize>, Batch)> = Vec::new();
        let mut taken = 0;
        while (rows > left_rows || bytes > left_bytes) && taken < SORT_ROWS as u64 {
            control.check()?;
            let Some((chunk_key, row)) = cursor.next()? else { break };
            let record = record_of(&chunk_key)?;
            let chunk = RowChunk::of((chunk_key, row));
            // The number of rows is known when they are made; their bytes stand for them here.
            let share = state.buffered_rows.saturating_mul(chunk.row.len() as u64)
                / state.buffered_bytes.max(1);
            rows = rows.saturating_sub(share.max(1));
            bytes = bytes.saturating_sub(chunk.row.len() as u64);
            taken += share.max(1);
            // Rows of old records get segments of their own, so that a segment of new records does
            // not reach over all others.
            let index = (table.index_of)(record);
            let within = ranges.iter().position(|range| range.contains(&index));
            let fits = batches.last().is_some_and(|(last, _)| *last == within);
            if !fits && batches.len() < SEGMENTS {
                batches.push((within, Batch::default()));
            }
            if let Some((_, batch)) = batches.last_mut() {
                batch.chunks.push((record, chunk));
            }
        }
        Ok(batches.into_iter().map(|(_, batch)| batch).collect::<Vec<_>>())
    })?;
    if found.is_empty() {
        return Ok(0);
    }
    let _span = trace::span!("seal", table = table.id, batches = found.len());
    let schema = schema(table)?;
    let mut sink = SegmentSink::new(session, table.id, schema.clone());
    for batch in &found {
        let payloads = batch
            .chunks
            .iter()
            .map(|(record, chunk)| Ok((*record, chunk.payload()?)))
            .collect::<Result<Vec<_>>>()?;
        // Texts of a record stand on each of its rows, so rows are made of few chunks at a time.
        for part in payloads.chunks(CHUNKS_TOGETHER) {
            let arrays = (table.arrays)(part)?;
            let rows = RecordBatch::try_new(schema.arrow().clone(), arrays).map_err(|error| {
                Error::corrupt(
                    "internal error: rows of the store do not fit their table; report it",
                )
                .with_source(error)
            })?;
            sink.push(rows)?;
        }
        sink.end_segment()?;
    }
    let files = sink.finish()?;
    let metas = files.metas().to_vec();
    let written = metas.len() as u64;
    let chunks: Vec<(Vec<u8>, u64, u64)> = found
        .into_iter()
        .flat_map(|batch| batch.chunks)
        .map(|(_, chunk)| (chunk.key, xxh3_64(&chunk.row), chunk.row.len() as u64))
        .collect();
    let dir = directory(table.id);
    let metadata = table.metadata(0);
    let sealed = session.write(move |draft| {
        for (key, hash, _) in &chunks {
            if draft.raw(Space::RowChunks, key)?.map(|row| xxh3_64(&row)) != Some(*hash) {
                for meta in &metas {
                    forget_files(draft, &dir, meta.id);
                }
                return Ok(0);
            }
        }
        let rows: u64 = metas.iter().map(|meta| meta.row_count).sum();
        let before = state(draft, key)?;
        let known = TableMetadata { row_count: i64::try_from(before.sealed_rows).ok(), ..metadata };
        add_segments(draft, &known, metas)?;
        let mut state = state(draft, key)?;
        state.sealed_rows += rows;
        state.buffered_rows = state.buffered_rows.saturating_sub(rows);
        for (key, _, bytes) in chunks {
            state.buffered_bytes = state.buffered_bytes.saturating_sub(bytes);
            draft.delete_raw(Space::RowChunks, key);
        }
        put_table_state(draft, key, &state)?;
        Ok(written)
    });
    files.settle(sealed)
}

/// Whether the store keeps this table itself.
pub(super) fn is_store_table(table: &TableMetadata) -> bool {
    key_of(table.id()).is_ok_and(|key| StoreTable::by_key(key).is_some())
}

/// A segment is merged with the smaller ones that overlap it when these have at least one in so
/// many of its rows, or when there are so many of them.
const OVERLAP_SHARE: u64 = 16;
const OVERLAPS: usize = 8;
/// Segments of fewer rows are small; so many of them in a row are merged.
const SMALL_ROWS: u64 = 1024 * 1024;
const SMALL_SEGMENTS: usize = 16;
/// A segment is rewritten when at least one in so many of its rows is deleted.
const DELETED_SHARE: u64 = 4;
/// With more ranges of deleted rows, segments with fewer deleted rows are rewritten too: their
/// ordinals become one range, and the list never gets as long as it may be.
const RANGES: usize = limits::DELETED_RANGES / 2;

/// The segments to merge next; none if nothing is due.
///
/// The rows of a merged segment get new ordinals, so any segments can be merged. Those are chosen
/// that reads of one record would have to look into together.
pub(super) fn due_group(metas: &[SegmentMeta], deleted: &RangeSet) -> Vec<SegmentMeta> {
    let overlap =
        |a: &SegmentMeta, b: &SegmentMeta| a.min_index <= b.max_index && b.min_index <= a.max_index;
    for (at, large) in metas.iter().enumerate() {
        let is_smaller = |(other, meta): &(usize, &SegmentMeta)| {
            (meta.row_count, *other) < (large.row_count, at) && overlap(large, meta)
        };
        let others: Vec<&SegmentMeta> =
            metas.iter().enumerate().filter(is_smaller).map(|(_, meta)| meta).collect();
        let rows: u64 = others.iter().map(|meta| meta.row_count).sum();
        let is_worth = rows.saturating_mul(OVERLAP_SHARE) >= large.row_count;
        let fits = rows + large.row_count < super::SEGMENT_ROWS;
        if !others.is_empty() && fits && (is_worth || others.len() >= OVERLAPS) {
            return std::iter::once(large).chain(others).cloned().collect();
        }
    }
    let mut by_index: Vec<&SegmentMeta> = metas.iter().collect();
    by_index.sort_by_key(|meta| (meta.min_index, meta.first_ordinal));
    let small = by_index.chunk_by(|a, b| a.row_count.max(b.row_count) < SMALL_ROWS);
    if let Some(small) = small.into_iter().find(|small| small.len() >= SMALL_SEGMENTS) {
        return small.iter().map(|meta| (*meta).clone()).collect();
    }
    let is_dead = |meta: &&SegmentMeta| {
        let dead = dead_rows(meta, deleted);
        dead > 0 && dead.saturating_mul(DELETED_SHARE) >= meta.row_count
    };
    let dead = metas.iter().find(is_dead);
    dead.or_else(|| most_ranges(metas, deleted, RANGES)).cloned().into_iter().collect()
}

/// The segment with the most ranges of deleted rows, if there are more than `most` in all.
fn most_ranges<'m>(
    metas: &'m [SegmentMeta],
    deleted: &RangeSet,
    most: usize,
) -> Option<&'m SegmentMeta> {
    if deleted.ranges().len() <= most {
        return None;
    }
    let is_left = |meta: &&SegmentMeta| dead_rows(meta, deleted) > 0;
    metas.iter().filter(is_left).max_by_key(|meta| deleted.within(meta.ordinals()).count())
}

/// Drafts that the rows of merged segments have new ordinals: the old ones are never used again.
/// Returns the first new ordinal. `row_count` is the number of rows that the segments have left.
pub(super) fn retire_ordinals(
    draft: &mut Draft<'_>,
    key: RecordKey,
    group: &[SegmentMeta],
    row_count: u64,
) -> Result<u64> {
    let before = state(draft, key)?;
    let first = before.sealed_rows.saturating_add(before.deleted_rows);
    let old = RangeSet::new(group.iter().map(SegmentMeta::ordinals).collect());
    add_deleted(draft, key, &old)?;
    let deleted_rows = before.deleted_rows.saturating_add(row_count);
    put_table_state(draft, key, &TableState { deleted_rows, ..before })?;
    Ok(first)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn many_ranges_of_deleted_rows_make_their_segment_due() {
        let meta = |id, first_ordinal| SegmentMeta {
            id,
            first_ordinal,
            row_count: 1000,
            ordinal_count: 1000,
            min_index: id as i64,
            max_index: id as i64,
            ..SegmentMeta::default()
        };
        let metas = [meta(0, 0), meta(1, 1000), meta(2, 2000)];
        // Far fewer than one of four rows.
        let apart =
            |from: u64, count: u64| (0..count).map(move |at| from + 3 * at..from + 3 * at + 1);
        let deleted = RangeSet::new(apart(0, 5).chain(apart(1000, 30)).collect());
        assert_eq!(due_group(&metas, &deleted), []);
        let due = |most| most_ranges(&metas, &deleted, most).map(|meta| meta.id);
        assert_eq!((due(35), due(34)), (None, Some(1)));
        // The ordinals of a rewritten segment are one range, and the next one is due.
        let merged = deleted.union(&RangeSet::of_range(1000..2000));
        let left = [meta(0, 0), meta(2, 2000)];
        assert_eq!(most_ranges(&left, &merged, 4).map(|meta| meta.id), Some(0));
        // Ranges without stored rows make nothing due.
        assert_eq!(most_ranges(&left[1..], &merged, 0), None);
    }
}
