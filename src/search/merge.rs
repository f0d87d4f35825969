//! When segments are merged: few segments always, and each document rewritten seldom.

use tantivy::SegmentMeta;
use tantivy::index::SegmentId;
use tantivy::indexer::{MergeCandidate, MergePolicy};

/// Segments of like size are merged four at a time; above [`MOST_SEGMENTS`] the smallest go first, whatever their size.
#[derive(Debug)]
pub struct Bounded;

const MOST_SEGMENTS: usize = 10;
const AT_ONCE: usize = 4;
/// A segment with this share of deleted documents is rewritten alone.
const DELETED_SHARE: f64 = 0.3;
/// Larger segments are left as they are.
const MOST_DOCUMENTS: u32 = 10_000_000;

impl MergePolicy for Bounded {
    fn compute_merge_candidates(&self, segments: &[SegmentMeta]) -> Vec<MergeCandidate> {
        let mut segments: Vec<&SegmentMeta> =
            segments.iter().filter(|segment| segment.max_doc() <= MOST_DOCUMENTS).collect();
        segments.sort_by_key(|segment| (segment.num_docs(), segment.id()));
        if segments.len() > MOST_SEGMENTS {
            let count = segments.len() - MOST_SEGMENTS + AT_ONCE;
            return vec![candidate(segments.get(..count).unwrap_or_default())];
        }
        for like in segments.chunk_by(|a, b| level(a) == level(b)) {
            if like.len() >= AT_ONCE {
                return vec![candidate(like)];
            }
        }
        let is_hollow = |segment: &&&SegmentMeta| {
            f64::from(segment.num_deleted_docs()) > f64::from(segment.max_doc()) * DELETED_SHARE
        };
        segments.iter().find(is_hollow).map(|segment| candidate(&[*segment])).into_iter().collect()
    }
}

/// The segments that are worth being merged into one while nothing else is to do; `None` when there is no need. A segment
/// that is much larger than all smaller ones stays as it is, unless many of its documents are gone.
pub fn worth_settling(segments: &[SegmentMeta]) -> Option<Vec<SegmentId>> {
    const LARGER: u64 = 8;
    let mut segments: Vec<&SegmentMeta> =
        segments.iter().filter(|segment| segment.max_doc() <= MOST_DOCUMENTS).collect();
    segments.sort_by_key(|segment| (segment.num_docs(), segment.id()));
    let mut total = 0u64;
    let mut chosen = Vec::new();
    for segment in segments {
        let documents = u64::from(segment.num_docs());
        if !chosen.is_empty() && documents > total.saturating_mul(LARGER) {
            break;
        }
        total += documents;
        chosen.push(segment.id());
    }
    (chosen.len() > 1).then_some(chosen)
}

/// Sizes within a factor of eight; everything small is alike.
fn level(segment: &SegmentMeta) -> u32 {
    segment.num_docs().max(1_024).ilog2() / 3
}

fn candidate(segments: &[&SegmentMeta]) -> MergeCandidate {
    MergeCandidate(segments.iter().map(|segment| segment.id()).collect())
}
