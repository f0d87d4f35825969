//! Documents that are not in the index yet, and the direct evaluation of a query over them.
//!
//! This also defines the query language: the index must find exactly the documents that
//! [`TokenizedDocument::score`] finds.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use super::document::{Change, DocKey, Document, Shape};
use super::folding::Folding;
use super::request::{Facets, Hit, Hits, Request, counted};
use super::tree::{Leaf, Node};
use super::words::words;

/// Statistics over the whole index, which scores depend on.
pub(crate) trait Statistics {
    /// Number of documents.
    fn document_count(&self) -> u64;
    /// Number of documents with this word in this field.
    fn document_frequency(&self, field: usize, word: &str) -> u64;
    /// Average number of words of this field in a document.
    fn average_length(&self, field: usize) -> f32;
}

/// A document split into words.
#[derive(Debug)]
pub(crate) struct TokenizedDocument {
    kind: u8,
    workspace: String,
    texts: Vec<(usize, Vec<String>)>,
}

impl TokenizedDocument {
    fn new(document: &Document, folding: Folding) -> Self {
        let split = |text: &str| words(text, folding).map(|word| word.text).collect();
        let texts = document.texts.iter().map(|(field, text)| (*field, split(text))).collect();
        Self { kind: document.key.kind, workspace: document.workspace.clone(), texts }
    }

    /// The score of the document; `None` if the query does not match it.
    pub(crate) fn score(
        &self,
        node: &Node,
        fields: Option<&[usize]>,
        shape: &Shape,
        about: &dyn Statistics,
    ) -> Option<f32> {
        match node {
            Node::All => Some(0.0),
            Node::Not(inner) => match self.score(inner, fields, shape, about) {
                Some(_) => None,
                None => Some(0.0),
            },
            Node::And(parts) => parts
                .iter()
                .try_fold(0.0, |sum, part| Some(sum + self.score(part, fields, shape, about)?)),
            Node::Or(parts) => parts
                .iter()
                .filter_map(|part| self.score(part, fields, shape, about))
                .fold(None, |sum: Option<f32>, score| Some(sum.unwrap_or(0.0) + score)),
            Node::Leaf(Leaf::Kind(_, code)) => (self.kind == *code).then_some(0.0),
            Node::Leaf(Leaf::Workspace(id)) => (self.workspace == *id).then_some(0.0),
            Node::Leaf(Leaf::Text { field, words, prefix }) => {
                let mut sum = None;
                for (at, declared) in shape.fields.iter().enumerate() {
                    let is_asked = match field {
                        Some((_, only)) => *only == at,
                        None => fields.is_none_or(|fields| fields.contains(&at)),
                    };
                    let count = if is_asked { self.count(at, words, *prefix) } else { 0 };
                    if count > 0 {
                        let score = if *prefix { 1.0 } else { self.bm25(at, words, count, about) };
                        sum = Some(sum.unwrap_or(0.0) + declared.weight * score);
                    }
                }
                sum
            }
        }
    }

    /// The number of places in the texts of a field where the words stand side by side.
    fn count(&self, field: usize, wanted: &[String], prefix: bool) -> usize {
        let is_here = |window: &[String]| {
            window.iter().zip(wanted).enumerate().all(|(at, (word, wanted_word))| {
                word == wanted_word
                    || (prefix && at + 1 == wanted.len() && word.starts_with(wanted_word.as_str()))
            })
        };
        self.texts
            .iter()
            .filter(|(at, _)| *at == field)
            .map(|(_, text)| {
                text.windows(wanted.len().max(1)).filter(|window| is_here(window)).count()
            })
            .sum()
    }

    /// The score of the engine: the same formula and constants, so that hits in memory and hits in
    /// the index can be ranked together.
    #[expect(clippy::cast_precision_loss, reason = "a score is an estimate")]
    fn bm25(&self, field: usize, words: &[String], count: usize, about: &dyn Statistics) -> f32 {
        const K1: f32 = 1.2;
        const B: f32 = 0.75;
        let total = about.document_count().max(1) as f32;
        let rarity: f32 = words
            .iter()
            .map(|word| {
                let found = (about.document_frequency(field, word).max(1) as f32).min(total);
                (1.0 + (total - found + 0.5) / (found + 0.5)).ln()
            })
            .sum();
        let length = self
            .texts
            .iter()
            .filter(|(at, _)| *at == field)
            .map(|(_, text)| text.len())
            .sum::<usize>() as f32;
        let average = about.average_length(field).max(1.0);
        let count = count as f32;
        rarity * (1.0 + K1) * count / (count + K1 * (1.0 - B + B * length / average))
    }
}

#[derive(Clone, Debug)]
struct Entry {
    held: Option<Arc<TokenizedDocument>>,
    is_new: bool,
}

/// The last state of some documents. An entry's `is_new` is that of the first change of the
/// document: if the index had no form of it then, it still has none.
#[derive(Clone, Debug, Default)]
pub(crate) struct Chunk {
    entries: BTreeMap<DocKey, Entry>,
}

impl Chunk {
    /// The state of the documents after these changes, in order.
    pub(crate) fn new<'c>(changes: impl IntoIterator<Item = &'c Change>, folding: Folding) -> Self {
        let mut chunk = Self::default();
        for change in changes {
            let held = change
                .document
                .as_ref()
                .map(|document| Arc::new(TokenizedDocument::new(document, folding)));
            let is_new =
                chunk.entries.get(&change.key).map_or(change.is_new, |earlier| earlier.is_new);
            chunk.entries.insert(change.key, Entry { held, is_new });
        }
        chunk
    }

    /// The number of documents.
    pub(crate) fn len(&self) -> usize {
        self.entries.len()
    }

    /// The state after this chunk, followed by `later`.
    fn then(&self, later: &Self) -> Self {
        let mut both = self.clone();
        for (key, entry) in &later.entries {
            let is_new = both.entries.get(key).map_or(entry.is_new, |earlier| earlier.is_new);
            both.entries.insert(*key, Entry { held: entry.held.clone(), is_new });
        }
        both
    }
}

/// Chunks, oldest first. Each is at least twice as long as the next, so their number is
/// logarithmic, and adding many chunks copies each entry only a logarithmic number of times.
#[derive(Clone, Debug, Default)]
pub(crate) struct Overlay {
    chunks: Vec<Arc<Chunk>>,
}

impl Overlay {
    /// Adds the newest chunk, and merges chunks until each is at least twice as long as the next.
    pub(crate) fn push(&mut self, chunk: Chunk) {
        let mut top = Arc::new(chunk);
        while let Some(below) = self.chunks.pop() {
            if below.len() >= top.len() * 2 {
                self.chunks.push(below);
                break;
            }
            top = Arc::new(below.then(&top));
        }
        self.chunks.push(top);
    }

    /// The number of documents; a document in several chunks is counted several times.
    pub(crate) fn len(&self) -> usize {
        self.chunks.iter().map(|chunk| chunk.len()).sum()
    }

    /// The documents of which the index may contain an earlier form, which searches must hide.
    pub(crate) fn hidden(&self) -> BTreeSet<DocKey> {
        let entries = self.chunks.iter().flat_map(|chunk| &chunk.entries);
        entries.filter(|(_, entry)| !entry.is_new).map(|(key, _)| *key).collect()
    }

    /// The documents that exist, after all chunks.
    pub(crate) fn keys(&self) -> BTreeSet<DocKey> {
        let mut keys = BTreeSet::new();
        for (key, entry) in self.chunks.iter().flat_map(|chunk| &chunk.entries) {
            match &entry.held {
                Some(_) => keys.insert(*key),
                None => keys.remove(key),
            };
        }
        keys
    }

    /// Adds the hits among these documents to `hits`, neither ordered nor cut to the page.
    pub(crate) fn search(
        &self,
        request: &Request,
        shape: &Shape,
        about: &dyn Statistics,
        hits: &mut Hits,
    ) {
        let mut seen = BTreeSet::new();
        for chunk in self.chunks.iter().rev() {
            for (key, entry) in &chunk.entries {
                if self.chunks.len() > 1 && !seen.insert(*key) {
                    continue;
                }
                let Some(held) = &entry.held else { continue };
                if !request.admits(held.kind, &held.workspace) {
                    continue;
                }
                let Some(score) =
                    held.score(&request.query, request.fields.as_deref(), shape, about)
                else {
                    continue;
                };
                if let Some(total) = &mut hits.total {
                    *total += 1;
                }
                if let Some(facets) = &mut hits.facets {
                    count(facets, held.kind, &held.workspace);
                }
                let hit = Hit { key: *key, score: counted(score) };
                if request.after.as_ref().is_none_or(|after| hit.is_behind(after)) {
                    hits.hits.push(hit);
                }
            }
        }
    }
}

fn count(facets: &mut Facets, kind: u8, workspace: &str) {
    *facets.kinds.entry(kind).or_default() += 1;
    match facets.workspaces.get_mut(workspace) {
        Some(count) => *count += 1,
        None => {
            facets.workspaces.insert(workspace.to_owned(), 1);
        }
    }
}
