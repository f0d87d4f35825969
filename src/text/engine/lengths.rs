//! By how much a document can score above the bound of its block.
//!
//! With each block of postings the engine stores the document that scored best when the segment was
//! written, by the average length of the texts of that segment. A search uses the average of the
//! whole index, by which another document of the block may score more.
//!
//! The score of a word that a document has `n` times is its weight times `n / (n + k)`, where `k`
//! is a constant and a part in proportion to the length of the text by the average (BM25). Averages
//! that differ by a factor `r` change `k`, and so the score, by a factor between 1 and `r`, in the
//! same direction for all documents. So no document scores more than `r` times the bound of its
//! block.

use tantivy::index::SegmentId;
use tantivy::query::Query;
use tantivy::schema::Field;
use tantivy::{Searcher, SegmentReader};

use super::segment_cache::{OfSegment, SegmentCache};

/// More than the rounding of two averages and of the scores of one word, as a part of them.
const ROUNDING: f32 = 1e-5;

/// How many words the text fields of a segment have.
pub(crate) struct Lengths(Vec<(Field, u64)>);

impl OfSegment for Lengths {
    fn read(reader: &SegmentReader) -> tantivy::Result<Self> {
        let fields = reader.schema().fields().filter(|(_, entry)| entry.has_fieldnorms());
        let of = |(field, _)| Ok((field, reader.inverted_index(field)?.total_num_tokens()));
        fields.map(of).collect::<tantivy::Result<_>>().map(Self)
    }

    fn holds(&self, _: &SegmentReader) -> bool {
        true
    }
}

impl Lengths {
    fn of(&self, field: Field) -> u64 {
        self.0.iter().find(|(known, _)| *known == field).map_or(0, |(_, words)| *words)
    }
}

/// For each segment the factor by which a document can score above the bound of its block; 1 where
/// the bounds hold.
pub(super) fn factors(
    searcher: &Searcher,
    query: &dyn Query,
    known: &SegmentCache<Lengths>,
) -> tantivy::Result<Vec<(SegmentId, f32)>> {
    let readers = searcher.segment_readers();
    if readers.len() < 2 {
        return Ok(Vec::new());
    }
    let mut fields = Vec::new();
    query.query_terms(&mut |term, _| {
        if !fields.contains(&term.field()) {
            fields.push(term.field());
        }
    });
    let of = |reader| known.of(searcher, reader);
    let lengths = readers.iter().map(of).collect::<tantivy::Result<Vec<_>>>()?;
    let documents: u64 = readers.iter().map(|reader| u64::from(reader.max_doc())).sum();
    let mut factors: Vec<_> = readers.iter().map(|reader| (reader.segment_id(), 1.0)).collect();
    for field in fields {
        let words: u64 = lengths.iter().map(|lengths| lengths.of(field)).sum();
        for ((reader, lengths), (_, factor)) in readers.iter().zip(&lengths).zip(&mut factors) {
            // Without a word in the field, the segment has no block of it.
            if lengths.of(field) > 0 {
                let here = average(lengths.of(field), u64::from(reader.max_doc()));
                let all = average(words, documents);
                *factor = f32::max(*factor, (here / all).max(all / here));
            }
        }
    }
    let exact = |factor: f32| if factor == 1.0 { factor } else { factor * (1.0 + ROUNDING) };
    Ok(factors.into_iter().map(|(segment, factor)| (segment, exact(factor))).collect())
}

#[expect(clippy::cast_precision_loss, reason = "as the engine computes it")]
fn average(words: u64, documents: u64) -> f32 {
    words as f32 / documents as f32
}
