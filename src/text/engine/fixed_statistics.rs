//! Fixed statistics for scores, which do not depend on the contents of the index.

use tantivy::Term;
use tantivy::query::Bm25StatisticsProvider;
use tantivy::schema::Field;

use crate::text::overlay::Statistics;

/// With these statistics every word is equally rare, and the average document has as many words as
/// a typical name and description. So scores of two indexes are comparable, and reveal nothing
/// about other documents.
pub(super) struct FixedStatistics;

impl FixedStatistics {
    const DOCUMENTS: u64 = 1_000;
    const DOCUMENTS_WITH_WORD: u64 = 10;
    const WORDS: u64 = 8;
}

impl Bm25StatisticsProvider for FixedStatistics {
    fn total_num_tokens(&self, _field: Field) -> tantivy::Result<u64> {
        Ok(Self::DOCUMENTS * Self::WORDS)
    }

    fn total_num_docs(&self) -> tantivy::Result<u64> {
        Ok(Self::DOCUMENTS)
    }

    fn doc_freq(&self, _term: &Term) -> tantivy::Result<u64> {
        Ok(Self::DOCUMENTS_WITH_WORD)
    }
}

impl Statistics for FixedStatistics {
    fn document_count(&self) -> u64 {
        Self::DOCUMENTS
    }

    fn document_frequency(&self, _field: usize, _word: &str) -> u64 {
        Self::DOCUMENTS_WITH_WORD
    }

    #[expect(clippy::cast_precision_loss, reason = "a score is an estimate")]
    fn average_length(&self, _field: usize) -> f32 {
        Self::WORDS as f32
    }
}
