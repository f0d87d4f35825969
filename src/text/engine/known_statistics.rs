//! The statistics of the index, of which a search has looked up a part already.

use tantivy::query::Bm25StatisticsProvider;
use tantivy::schema::Field;
use tantivy::{Searcher, Term};

/// Terms, and the number of documents that have each.
pub(super) type Frequencies = Vec<(Term, u64)>;

/// The statistics of a searcher. The engine asks for the words of a query once more when it makes
/// the scores; each question is a lookup in the dictionary of each segment.
pub(super) struct KnownStatistics<'s> {
    pub searcher: &'s Searcher,
    pub frequencies: &'s [(Term, u64)],
}

impl Bm25StatisticsProvider for KnownStatistics<'_> {
    fn total_num_tokens(&self, field: Field) -> tantivy::Result<u64> {
        Bm25StatisticsProvider::total_num_tokens(self.searcher, field)
    }

    fn total_num_docs(&self) -> tantivy::Result<u64> {
        Bm25StatisticsProvider::total_num_docs(self.searcher)
    }

    fn doc_freq(&self, term: &Term) -> tantivy::Result<u64> {
        match self.frequencies.iter().find(|(known, _)| known == term) {
            Some((_, frequency)) => Ok(*frequency),
            None => self.searcher.doc_freq(term),
        }
    }
}
