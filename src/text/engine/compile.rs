//! Compiles the tree of a text query into an engine query that finds the same documents.

use std::cell::RefCell;
use std::collections::BTreeSet;
use std::ops::Bound;

use tantivy::query::{
    AllQuery, BooleanQuery, BoostQuery, ConstScoreQuery, EmptyQuery, InvertedIndexRangeQuery,
    Occur, PhrasePrefixQuery, PhraseQuery, Query, TermQuery, TermSetQuery,
};
use tantivy::schema::{Field, IndexRecordOption};
use tantivy::{Searcher, Term};

use super::known_statistics::Frequencies;
use super::schema::Fields;
use super::settled::SettledQuery;
use crate::error::{Error, Result};
use crate::text::document::{DocKey, Shape};
use crate::text::request::{Request, Scope};
use crate::text::tree::{Leaf, Node};
use crate::value::limits::TEXT_QUERY_EXPANSION;

/// The index that a query is compiled for.
pub(crate) struct Compiler<'c> {
    /// The searched state of the index.
    pub searcher: &'c Searcher,
    /// Its fields.
    pub fields: &'c Fields,
    /// Names and weights of the fields.
    pub shape: &'c Shape,
    /// Converts errors of the engine.
    pub failed: fn(tantivy::TantivyError) -> Error,
    /// The numbers of documents that were looked up, for the scores.
    pub frequencies: RefCell<Frequencies>,
}

type Part = (Occur, Box<dyn Query>);

fn filter(query: Box<dyn Query>) -> Box<dyn Query> {
    Box::new(ConstScoreQuery::new(query, 0.0))
}

fn everything() -> Box<dyn Query> {
    filter(Box::new(AllQuery))
}

impl Compiler<'_> {
    /// The query for the documents that a request finds in the index, without those in `hidden`.
    pub(crate) fn request(
        &self,
        request: &Request,
        hidden: &BTreeSet<DocKey>,
    ) -> Result<Box<dyn Query>> {
        let query = self.node(&request.query, request.fields.as_deref())?;
        let mut parts = Vec::new();
        if let Some(scopes) = &request.scopes {
            parts.push((Occur::Must, self.scopes(scopes)));
        }
        if !hidden.is_empty() {
            let terms =
                hidden.iter().map(|key| Term::from_field_bytes(self.fields.key, &key.to_bytes()));
            let hidden: Box<dyn Query> = Box::new(TermSetQuery::new(terms.collect::<Vec<_>>()));
            parts.push((Occur::MustNot, hidden));
        }
        if parts.is_empty() {
            // The engine skips blocks of a boosted term only if the term is part of a union.
            let is_boosted = query.downcast_ref::<BoostQuery>().is_some();
            return Ok(if is_boosted {
                Box::new(BooleanQuery::new(vec![(Occur::Should, query)]))
            } else {
                query
            });
        }
        parts.insert(0, (Occur::Must, query));
        Ok(Box::new(BooleanQuery::new(parts)))
    }

    fn scopes(&self, scopes: &[Scope]) -> Box<dyn Query> {
        let any = scopes.iter().map(|scope| {
            let kinds = scope
                .kinds
                .iter()
                .map(|&kind| Term::from_field_u64(self.fields.kind, u64::from(kind)));
            let kinds: Box<dyn Query> = Box::new(TermSetQuery::new(kinds.collect::<Vec<_>>()));
            let Some(workspaces) = &scope.workspaces else { return kinds };
            let workspaces =
                workspaces.iter().map(|id| Term::from_field_text(self.fields.workspace, id));
            let workspaces: Box<dyn Query> =
                Box::new(TermSetQuery::new(workspaces.collect::<Vec<_>>()));
            Box::new(BooleanQuery::new(vec![(Occur::Must, kinds), (Occur::Must, workspaces)]))
        });
        let parts: Vec<Part> = any.map(|query| (Occur::Should, query)).collect();
        if parts.is_empty() {
            return Box::new(EmptyQuery);
        }
        filter(Box::new(BooleanQuery::new(parts)))
    }

    fn node(&self, node: &Node, fields: Option<&[usize]>) -> Result<Box<dyn Query>> {
        Ok(match node {
            Node::All => everything(),
            Node::Leaf(leaf) => self.leaf(leaf, fields)?,
            Node::Not(inner) => {
                let inner = self.node(inner, fields)?;
                Box::new(BooleanQuery::new(vec![
                    (Occur::Must, everything()),
                    (Occur::MustNot, inner),
                ]))
            }
            Node::And(parts) => {
                let mut built: Vec<Part> = Vec::with_capacity(parts.len());
                for part in parts {
                    match part {
                        Node::Not(inner) => built.push((Occur::MustNot, self.node(inner, fields)?)),
                        part => built.push((Occur::Must, self.node(part, fields)?)),
                    }
                }
                // A query of exclusions only would find nothing.
                if built.iter().all(|(occur, _)| *occur == Occur::MustNot) {
                    built.push((Occur::Must, everything()));
                }
                Box::new(BooleanQuery::new(built))
            }
            Node::Or(parts) => {
                let parts: Result<Vec<Part>> = parts
                    .iter()
                    .map(|part| Ok((Occur::Should, self.node(part, fields)?)))
                    .collect();
                Box::new(BooleanQuery::new(parts?))
            }
        })
    }

    fn leaf(&self, leaf: &Leaf, fields: Option<&[usize]>) -> Result<Box<dyn Query>> {
        let (field, words, prefix) = match leaf {
            Leaf::Kind(_, code) => {
                let term = Term::from_field_u64(self.fields.kind, u64::from(*code));
                return Ok(filter(Box::new(TermQuery::new(term, IndexRecordOption::Basic))));
            }
            Leaf::Workspace(id) => {
                let term = Term::from_field_text(self.fields.workspace, id);
                return Ok(filter(Box::new(TermQuery::new(term, IndexRecordOption::Basic))));
            }
            Leaf::Text { field, words, prefix } => (field, words, *prefix),
        };
        let mut parts: Vec<Part> = Vec::new();
        for (at, (declared, &engine_field)) in
            self.shape.fields.iter().zip(&self.fields.texts).enumerate()
        {
            let is_asked = match field {
                Some((_, only)) => *only == at,
                None => fields.is_none_or(|fields| fields.contains(&at)),
            };
            if is_asked && let Some(query) = self.words(engine_field, words, prefix)? {
                let is_ordinary = declared.weight == 1.0;
                let query = if is_ordinary {
                    query
                } else {
                    Box::new(BoostQuery::new(query, declared.weight))
                };
                parts.push((Occur::Should, query));
            }
        }
        Ok(match parts.len() {
            0 => Box::new(EmptyQuery),
            1 => parts.swap_remove(0).1,
            _ => Box::new(BooleanQuery::new(parts)),
        })
    }

    /// The query for these words side by side in one field; `None` if the dictionary shows that no
    /// document has them.
    fn words(
        &self,
        field: Field,
        words: &[String],
        prefix: bool,
    ) -> Result<Option<Box<dyn Query>>> {
        let terms: Vec<Term> =
            words.iter().map(|word| Term::from_field_text(field, word)).collect();
        let (whole, last) = match terms.split_last() {
            Some((last, whole)) if prefix => (whole, Some(last)),
            _ => (terms.as_slice(), None),
        };
        for term in whole {
            let frequency = self.searcher.doc_freq(term).map_err(self.failed)?;
            if frequency == 0 {
                return Ok(None);
            }
            self.frequencies.borrow_mut().push((term.clone(), frequency));
        }
        if let (Some(_), Some(word)) = (last, words.last()) {
            // A phrase opens the postings of every word that the prefix matches at the same time,
            // so their number is bounded. A prefix alone needs one bit for each document of a
            // segment, however many words it matches.
            let most = if whole.is_empty() { None } else { Some(TEXT_QUERY_EXPANSION) };
            if !self.has_words(field, word, most)? {
                return Ok(None);
            }
            let query: Box<dyn Query> = if whole.is_empty() {
                let end = after(word).map_or(Bound::Unbounded, |end| {
                    let mut term = Term::from_field_text(field, "");
                    term.append_bytes(&end);
                    Bound::Excluded(term)
                });
                Box::new(InvertedIndexRangeQuery::new(
                    Bound::Included(Term::from_field_text(field, word)),
                    end,
                ))
            } else {
                let mut query = PhrasePrefixQuery::new(terms);
                query.set_max_expansions(u32::try_from(TEXT_QUERY_EXPANSION).unwrap_or(u32::MAX));
                Box::new(SettledQuery(Box::new(query)))
            };
            return Ok(Some(Box::new(ConstScoreQuery::new(query, 1.0))));
        }
        Ok(match whole {
            [] => None,
            [term] => Some(Box::new(TermQuery::new(term.clone(), IndexRecordOption::WithFreqs))),
            _ => Some(Box::new(SettledQuery(Box::new(PhraseQuery::new(terms))))),
        })
    }

    /// Whether any word of the field starts with `prefix`.
    ///
    /// # Errors
    /// `LimitExceeded` when more than `most` words do.
    fn has_words(&self, field: Field, prefix: &str, most: Option<usize>) -> Result<bool> {
        let mut found = BTreeSet::new();
        for reader in self.searcher.segment_readers() {
            let inverted = reader.inverted_index(field).map_err(self.failed)?;
            let mut range = inverted.terms().range().ge(prefix);
            if let Some(end) = after(prefix) {
                range = range.lt(end);
            }
            let mut stream = range.into_stream().map_err(|error| (self.failed)(error.into()))?;
            while let Some((word, _)) = stream.next() {
                let Some(most) = most else { return Ok(true) };
                found.insert(word.to_vec());
                if found.len() > most {
                    return Err(Error::limit(format!(
                        "more words start with {prefix:?} than TEXT_QUERY_EXPANSION allows at the \
                         end of a phrase ({most}); give more letters before `*`, or search for the \
                         words of the phrase separately"
                    )));
                }
            }
        }
        Ok(!found.is_empty())
    }
}

fn after(prefix: &str) -> Option<Vec<u8>> {
    crate::value::key::after_prefix(prefix.as_bytes())
}
