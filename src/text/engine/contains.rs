//! Candidates for filters: the documents that may contain a piece of text in a field, found by the
//! words of the index.
//!
//! The piece is tokenised and folded like text. A word inside the piece must be a word of the
//! document. A word at an open end of the piece is the end, the start or the inside of a word of
//! the document; the dictionary finds these words without reading a document. So the candidates are
//! a superset of the documents that contain the piece, ignoring case, and the caller must test
//! them.
//!
//! Folding keeps this true, because the form of a letter with its marks does not depend on its
//! neighbours: the form of a text contains the form of each of its parts, without the marks at the
//! ends of the part. It only adds candidates.

use std::ops::ControlFlow;

use tantivy::postings::TermInfo;
use tantivy::schema::{Field, IndexRecordOption};
use tantivy::{DocSet, InvertedIndexReader, SegmentReader, TERMINATED};

use super::word_list::WordLists;
use crate::text::folding::Folding;
#[cfg(test)]
use crate::text::words::WORD_CHARS;
use crate::text::words::{is_long, is_word_char, words};

/// The requirement on one word of the document.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Part {
    /// It equals this word.
    Is(String),
    /// It starts with this.
    Starts(String),
    /// It ends with this.
    Ends(String),
    /// It contains this.
    Has(String),
}

/// The parts of a piece of text. `None` if the piece has no letter or digit, or a word so long that
/// the tokeniser may split it elsewhere in a document.
pub(crate) fn parts(piece: &str, folding: Folding) -> Option<Vec<Part>> {
    let form = folding.inner_form(piece);
    let is_open_before = form.chars().next().is_some_and(is_word_char);
    let is_open_after = form.chars().next_back().is_some_and(is_word_char);
    let words: Vec<String> = words(&form, folding).map(|word| word.text).collect();
    if words.iter().any(|word| is_long(word)) {
        return None;
    }
    let last = words.len().checked_sub(1)?;
    let part = |(at, word): (usize, String)| match (
        at == 0 && is_open_before,
        at == last && is_open_after,
    ) {
        (true, true) => Part::Has(word),
        (true, false) => Part::Ends(word),
        (false, true) => Part::Starts(word),
        (false, false) => Part::Is(word),
    };
    Some(words.into_iter().enumerate().map(part).collect())
}

impl Part {
    fn fits(&self, word: &[u8]) -> bool {
        match self {
            Self::Is(text) => word == text.as_bytes(),
            Self::Starts(text) => word.starts_with(text.as_bytes()),
            Self::Ends(text) => word.ends_with(text.as_bytes()),
            Self::Has(text) => memchr::memmem::find(word, text.as_bytes()).is_some(),
        }
    }
}

/// The documents of one segment that have a word for each part in the field, ascending. `None` if
/// there would be more than `most`, or if a long word makes the answer uncertain.
pub(crate) fn candidates(
    reader: &SegmentReader,
    field: Field,
    parts: &[Part],
    most: usize,
    lists: &WordLists,
) -> tantivy::Result<Option<Vec<u32>>> {
    let inverted = reader.inverted_index(field)?;
    let mut found: Option<Vec<u32>> = None;
    for part in parts {
        if let Some(fitting) = by_list(reader, field, part, lists)? {
            let Fitting::Words(fitting) = fitting else { return Ok(None) };
            let count: usize = fitting.iter().map(|info| info.doc_freq as usize).sum();
            if count > most {
                return Ok(None);
            }
            let documents = documents(&inverted, &fitting)?;
            found = Some(common(found, documents));
            continue;
        }
        let range = match part {
            Part::Is(text) => inverted.terms().range().ge(text).le(text),
            Part::Starts(text) => match crate::value::key::after_prefix(text.as_bytes()) {
                Some(end) => inverted.terms().range().ge(text).lt(end),
                None => inverted.terms().range().ge(text),
            },
            Part::Ends(_) | Part::Has(_) => inverted.terms().range(),
        };
        let mut stream = range.into_stream()?;
        let mut fitting = Vec::new();
        let mut count = 0usize;
        let scan = loop {
            let Some((word, info)) = stream.next() else { break ControlFlow::Continue(()) };
            if part.fits(word) {
                count += info.doc_freq as usize;
                fitting.push(info.clone());
            } else if std::str::from_utf8(word).is_ok_and(is_long) {
                // A run of this length continues in the next word, and the piece may cross the
                // split.
                break ControlFlow::Break(());
            }
            if count > most {
                break ControlFlow::Break(());
            }
        };
        if scan.is_break() {
            return Ok(None);
        }
        found = Some(common(found, documents(&inverted, &fitting)?));
    }
    let alive = reader.alive_bitset();
    Ok(found.map(|mut found| {
        found.retain(|document| alive.is_none_or(|alive| alive.is_alive(*document)));
        found
    }))
}

/// The words of a segment that match a part.
enum Fitting {
    /// Their dictionary entries.
    Words(Vec<TermInfo>),
    /// Unknown, since a long word may continue in the next one.
    Unknown,
}

/// The words with the part inside or at the end, from the word list of the segment. `None` if there
/// is no list, or if a range of the dictionary gives the answer.
fn by_list(
    reader: &SegmentReader,
    field: Field,
    part: &Part,
    lists: &WordLists,
) -> tantivy::Result<Option<Fitting>> {
    let (text, at_end) = match part {
        Part::Has(text) => (text, false),
        Part::Ends(text) => (text, true),
        Part::Is(_) | Part::Starts(_) => return Ok(None),
    };
    let Some(list) = lists.of(reader, field)? else { return Ok(None) };
    if list.has_long() {
        return Ok(Some(Fitting::Unknown));
    }
    let inverted = reader.inverted_index(field)?;
    let mut fitting = Vec::new();
    for word in list.with_part(text, at_end) {
        fitting.extend(inverted.terms().get(word)?);
    }
    Ok(Some(Fitting::Words(fitting)))
}

/// The documents that contain one of these words, ascending.
fn documents(inverted: &InvertedIndexReader, fitting: &[TermInfo]) -> tantivy::Result<Vec<u32>> {
    let mut documents = Vec::new();
    for info in fitting {
        let mut postings = inverted.read_postings_from_terminfo(info, IndexRecordOption::Basic)?;
        while postings.doc() != TERMINATED {
            documents.push(postings.doc());
            postings.advance();
        }
    }
    documents.sort_unstable();
    documents.dedup();
    Ok(documents)
}

fn common(known: Option<Vec<u32>>, documents: Vec<u32>) -> Vec<u32> {
    match known {
        None => documents,
        Some(mut known) => {
            known.retain(|document| documents.binary_search(document).is_ok());
            known
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_piece_is_cut_into_parts_with_open_ends() {
        assert_eq!(parts("Plif", Folding::Case), Some(vec![Part::Has("plif".into())]));
        assert_eq!(
            parts("er DMM 40", Folding::Case),
            Some(vec![Part::Ends("er".into()), Part::Is("dmm".into()), Part::Starts("40".into())])
        );
        assert_eq!(parts("-er-", Folding::Case), Some(vec![Part::Is("er".into())]));
        assert_eq!(parts(" er", Folding::Case), Some(vec![Part::Starts("er".into())]));
        assert_eq!(parts(" - ", Folding::Case), None);
        // Marks that are dropped leave the piece open: the text may have a letter before them.
        assert_eq!(
            parts("\u{301}Größe\u{301}", Folding::Diacritics),
            Some(vec![Part::Has("grosse".into())])
        );
        assert_eq!(
            parts("\u{ad}er ℃", Folding::Diacritics),
            Some(vec![Part::Ends("er".into()), Part::Starts("c".into())])
        );
        assert_eq!(
            parts("\u{301} Größe \u{301}", Folding::Diacritics),
            Some(vec![Part::Is("grosse".into())])
        );
        assert_eq!(parts("\u{301}", Folding::Diacritics), None);
        // The letter may have a mark that stands before this one.
        assert_eq!(parts("\u{301}\u{e9}", Folding::Case), Some(vec![Part::Has("e".into())]));
        assert_eq!(
            parts("\u{e9} e", Folding::Case),
            Some(vec![Part::Ends("e\u{301}".into()), Part::Starts("e".into())])
        );
        assert_eq!(parts(&"a".repeat(WORD_CHARS), Folding::Case), None);
    }
}
