//! A query wrapper whose scorer moves only by plain seeks.
//!
//! In an exclusion, the engine may ask its phrase scorers to seek to a document before their
//! current one, against its own contract. The default implementation of that probe never does so.
//! The scorer here keeps the default, so phrases are wrapped in it.

use std::fmt;

use tantivy::query::{EnableScoring, Explanation, Query, Scorer, Weight};
use tantivy::{DocId, DocSet, Score, SegmentReader, Term};

/// See the module documentation.
pub(crate) struct SettledQuery(pub Box<dyn Query>);

struct SettledWeight(Box<dyn Weight>);

struct SettledScorer(Box<dyn Scorer>);

impl Clone for SettledQuery {
    fn clone(&self) -> Self {
        Self(self.0.box_clone())
    }
}

impl fmt::Debug for SettledQuery {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

impl Query for SettledQuery {
    fn weight(&self, scoring: EnableScoring<'_>) -> tantivy::Result<Box<dyn Weight>> {
        Ok(Box::new(SettledWeight(self.0.weight(scoring)?)))
    }

    fn query_terms<'a>(&'a self, visitor: &mut dyn FnMut(&'a Term, bool)) {
        self.0.query_terms(visitor);
    }
}

impl Weight for SettledWeight {
    fn scorer(&self, reader: &SegmentReader, boost: Score) -> tantivy::Result<Box<dyn Scorer>> {
        Ok(Box::new(SettledScorer(self.0.scorer(reader, boost)?)))
    }

    fn explain(&self, reader: &SegmentReader, document: DocId) -> tantivy::Result<Explanation> {
        self.0.explain(reader, document)
    }
}

impl DocSet for SettledScorer {
    fn advance(&mut self) -> DocId {
        self.0.advance()
    }

    fn seek(&mut self, target: DocId) -> DocId {
        self.0.seek(target)
    }

    fn doc(&self) -> DocId {
        self.0.doc()
    }

    fn size_hint(&self) -> u32 {
        self.0.size_hint()
    }

    fn cost(&self) -> u64 {
        self.0.cost()
    }
}

impl Scorer for SettledScorer {
    fn score(&mut self) -> Score {
        self.0.score()
    }
}
