//! The merge policy: keeps the number of segments small, and rewrites each document rarely.
//!
//! A merge appends segments to each other, the one with the least keys first. If records are
//! created in key order, the documents of every segment are then in key order, which `collect` uses
//! to skip documents.

use std::convert::Infallible;
use std::sync::mpsc::Sender;

use tantivy::index::SegmentId;
use tantivy::indexer::{MergeCandidate, MergePolicy};
use tantivy::{Index, SegmentMeta, SegmentReader};

use super::failure::{failed, guarded};
use super::schema::{KeyNumbers, Keys};

/// Merges four segments of similar size at a time. Above [`MOST_SEGMENTS`] it merges the smallest
/// ones, whatever their size.
#[derive(Debug)]
pub(crate) struct BoundedMergePolicy {
    /// The index that is merged.
    pub index: Index,
    /// Disconnected when the policy is dropped, which is when the last thread of the writer ends.
    pub _working: Sender<Infallible>,
}

const MOST_SEGMENTS: usize = 10;
const AT_ONCE: usize = 4;
/// A segment with a greater share of deleted documents is rewritten alone.
const DELETED_SHARE: f64 = 0.3;
/// Larger segments are not merged: a merge uses about as much memory as it reads.
const MOST_DOCUMENTS: u32 = 250_000;
/// Most documents of all segments of one merge.
const MERGED_DOCUMENTS: u64 = 500_000;

impl MergePolicy for BoundedMergePolicy {
    fn compute_merge_candidates(&self, all: &[SegmentMeta]) -> Vec<MergeCandidate> {
        let mut segments: Vec<&SegmentMeta> =
            all.iter().filter(|segment| segment.max_doc() <= MOST_DOCUMENTS).collect();
        segments.sort_by_key(|segment| (segment.num_docs(), segment.id()));
        if segments.len() > MOST_SEGMENTS {
            let count = segments.len() - MOST_SEGMENTS + AT_ONCE;
            return vec![self.candidate(bounded(segments.get(..count).unwrap_or_default()))];
        }
        for like in segments.chunk_by(|a, b| level(a) == level(b)) {
            if like.len() >= AT_ONCE {
                return vec![self.candidate(bounded(like))];
            }
        }
        let is_hollow = |segment: &&SegmentMeta| {
            f64::from(segment.num_deleted_docs()) > f64::from(segment.max_doc()) * DELETED_SHARE
        };
        all.iter().find(is_hollow).map(|segment| self.candidate(&[segment])).into_iter().collect()
    }
}

impl BoundedMergePolicy {
    fn candidate(&self, segments: &[&SegmentMeta]) -> MergeCandidate {
        MergeCandidate(in_key_order(&self.index, segments))
    }
}

/// The ids of the segments, the one with the least keys first.
fn in_key_order(index: &Index, segments: &[&SegmentMeta]) -> Vec<SegmentId> {
    let mut segments: Vec<(Option<KeyNumbers>, SegmentId)> =
        segments.iter().map(|segment| (least_key(index, segment), segment.id())).collect();
    segments.sort_by_key(|(least, _)| *least);
    segments.into_iter().map(|(_, id)| id).collect()
}

/// The least key of a segment; `None` if it cannot be read. The merge then reports the error.
fn least_key(index: &Index, segment: &SegmentMeta) -> Option<KeyNumbers> {
    // Guarded: this runs on a thread of the engine, where a panic would end the process.
    let least = guarded("reading the keys of a segment", || {
        let reader = SegmentReader::open(&index.segment(segment.clone())).map_err(failed)?;
        Keys::of(&reader).map(|keys| keys.least()).map_err(failed)
    });
    least.ok()
}

/// As many of the segments, smallest first, as one merge may read; at least two.
fn bounded<'s, 'm>(segments: &'s [&'m SegmentMeta]) -> &'s [&'m SegmentMeta] {
    let mut total = 0;
    let fits = |segment: &&&SegmentMeta| {
        total += u64::from(segment.num_docs());
        total <= MERGED_DOCUMENTS
    };
    let count = segments.iter().take_while(fits).count().max(2);
    segments.get(..count).unwrap_or(segments)
}

/// The segments to merge into one during times without writes; `None` if no merge is worthwhile. A
/// segment that is more than eight times as large as all smaller ones together is left alone;
/// deleted documents do not count.
pub(crate) fn worth_settling(index: &Index, segments: &[SegmentMeta]) -> Option<Vec<SegmentId>> {
    const LARGER: u64 = 8;
    let mut segments: Vec<&SegmentMeta> =
        segments.iter().filter(|segment| segment.max_doc() <= MOST_DOCUMENTS).collect();
    segments.sort_by_key(|segment| (segment.num_docs(), segment.id()));
    let mut total = 0u64;
    let mut chosen = Vec::new();
    for segment in segments {
        let documents = u64::from(segment.num_docs());
        let is_much =
            total + documents > MERGED_DOCUMENTS || documents > total.saturating_mul(LARGER);
        if !chosen.is_empty() && is_much {
            break;
        }
        total += documents;
        chosen.push(segment);
    }
    (chosen.len() > 1).then(|| in_key_order(index, &chosen))
}

/// The size class of a segment: sizes within a factor of eight, all small ones in one class.
fn level(segment: &SegmentMeta) -> u32 {
    segment.num_docs().max(1_024).ilog2() / 3
}
