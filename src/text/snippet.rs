//! Snippets: the part of a text that shows why it was found.

use std::ops::Range;

use super::folding::Folding;
use super::tree::{Leaf, Node};
use super::words::{Word, words};
use crate::model::search::{SearchHighlight, SearchSnippet};

/// Approximate bytes of a snippet, which starts and ends between words.
const SNIPPET_BYTES: usize = 160;
/// Bytes at the start of a text that are searched for a snippet.
const SNIPPET_SOURCE_BYTES: usize = 256 * 1024;

/// The best snippet of `text`, a text of `field`; `None` if it has no word that adds to the score.
/// `fields` are those that words without a field search, `None` for all. `folding` is that of the
/// query. The snippet and its ranges are those of the original text; its field has no name yet.
pub(crate) fn highlight(
    query: &Node,
    fields: Option<&[usize]>,
    field: usize,
    text: &str,
    folding: Folding,
) -> Option<SearchSnippet> {
    let text = cut(text, SNIPPET_SOURCE_BYTES).trim_end();
    let all: Vec<Word> = words(text, folding).collect();
    let mut found = vec![false; all.len()];
    let is_default = fields.is_none_or(|fields| fields.contains(&field));
    query.each_positive(&mut |leaf| mark(leaf, field, is_default, &all, &mut found));
    let marked: Vec<&Word> =
        all.iter().zip(&found).filter(|(_, found)| **found).map(|(word, _)| word).collect();

    // The window with the most matches starts at a match.
    let mut best: Option<(usize, &Word)> = None;
    for (at, first) in marked.iter().copied().enumerate() {
        let inside = marked
            .iter()
            .skip(at)
            .take_while(|word| word.end <= first.start + SNIPPET_BYTES / 2)
            .count();
        if best.is_none_or(|(most, _)| inside > most) {
            best = Some((inside, first));
        }
    }
    let (_, anchor) = best?;
    let lead = anchor.start.saturating_sub(SNIPPET_BYTES / 4);
    let start = if lead == 0 {
        0
    } else {
        all.iter()
            .find(|word| word.start >= lead)
            .map_or(anchor.start, |word| word.start)
            .min(anchor.start)
    };
    let end = all
        .iter()
        .filter(|word| word.start >= start)
        .take_while(|word| word.end <= start + SNIPPET_BYTES)
        .last()
        .map_or(anchor.end, |word| word.end)
        .max(anchor.end);
    let end = if text.len() - end < 8 { text.len() } else { end };
    let mut highlights: Vec<Range<usize>> = Vec::new();
    for word in marked.iter().filter(|word| word.start >= start && word.end <= end) {
        match highlights.last_mut() {
            // Words of one character, such as a fraction.
            Some(last) if last.end > word.start - start => last.end = word.end - start,
            _ => highlights.push(word.start - start..word.end - start),
        }
    }
    let part = text.get(start..end)?;
    let characters = |end: usize| part.get(..end).map_or(0, |before| before.chars().count()) as u64;
    let highlights = highlights
        .iter()
        .map(|range| SearchHighlight { start: characters(range.start), end: characters(range.end) })
        .collect();
    Some(SearchSnippet {
        field: String::new(),
        text: part.to_owned(),
        highlights,
        is_cut_before: start > 0,
        is_cut_after: end < text.len(),
    })
}

fn mark(leaf: &Leaf, field: usize, is_default: bool, all: &[Word], found: &mut [bool]) {
    let Leaf::Text { field: only, words: wanted, prefix } = leaf else { return };
    if !only.as_ref().map_or(is_default, |(_, only)| *only == field) {
        return;
    }
    for (at, window) in all.windows(wanted.len().max(1)).enumerate() {
        let is_here = window.iter().zip(wanted).enumerate().all(|(place, (word, wanted_word))| {
            word.text == *wanted_word
                || (*prefix
                    && place + 1 == wanted.len()
                    && word.text.starts_with(wanted_word.as_str()))
        });
        if is_here {
            found.iter_mut().skip(at).take(wanted.len()).for_each(|found| *found = true);
        }
    }
}

fn cut(text: &str, len: usize) -> &str {
    let mut end = len.min(text.len());
    while !text.is_char_boundary(end) {
        end -= 1;
    }
    text.get(..end).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn text(words: &[&str], prefix: bool) -> Node {
        Node::Leaf(Leaf::Text {
            field: None,
            words: words.iter().map(|&word| word.to_owned()).collect(),
            prefix,
        })
    }

    fn marked(snippet: &SearchSnippet) -> Vec<String> {
        let of = |range: &SearchHighlight| {
            let (start, end) = (range.start as usize, range.end as usize);
            snippet.text.chars().skip(start).take(end - start).collect()
        };
        snippet.highlights.iter().map(of).collect()
    }

    fn shown(query: &Node, source: &str) -> Vec<String> {
        marked(&highlight(query, None, 0, source, Folding::Case).unwrap())
    }

    #[test]
    fn words_phrases_and_prefixes_are_marked() {
        let source = "Amplifier DMM-4065, a fine amplifier";
        assert_eq!(shown(&text(&["amplifier"], false), source), ["Amplifier", "amplifier"]);
        assert_eq!(shown(&text(&["dmm", "4065"], false), source), ["DMM", "4065"]);
        assert_eq!(shown(&text(&["fi"], true), source), ["fine"]);
        assert_eq!(highlight(&text(&["absent"], false), None, 0, source, Folding::Case), None);
        assert_eq!(
            highlight(&Node::Not(Box::new(text(&["fine"], false))), None, 0, source, Folding::Case),
            None
        );
    }

    #[test]
    fn words_with_a_field_are_marked_there_and_others_in_the_fields_that_are_asked() {
        let named = Node::Leaf(Leaf::Text {
            field: Some(("b".to_owned(), 1)),
            words: vec!["one".to_owned()],
            prefix: false,
        });
        let query = Node::And(vec![named, text(&["two"], false)]);
        let found = |fields: Option<&[usize]>, field: usize| {
            Some(marked(&highlight(&query, fields, field, "one two", Folding::Case)?))
        };
        assert_eq!(found(None, 0), Some(vec!["two".to_owned()]));
        assert_eq!(found(None, 1), Some(vec!["one".to_owned(), "two".to_owned()]));
        assert_eq!(found(Some(&[0]), 0), Some(vec!["two".to_owned()]));
        assert_eq!(found(Some(&[0]), 1), Some(vec!["one".to_owned()]));
        assert_eq!(found(Some(&[0]), 2), None);
    }

    #[test]
    fn the_original_text_is_shown_and_marked() {
        let source = "Die Größe, re\u{301}sume\u{301} und ŒUVRE: GROSSE";
        let shown = |words: &[&str], prefix| {
            let snippet =
                highlight(&text(words, prefix), None, 0, source, Folding::Diacritics).unwrap();
            assert_eq!(snippet.text, source);
            marked(&snippet)
        };
        assert_eq!(shown(&["grosse"], false), ["Größe", "GROSSE"]);
        assert_eq!(shown(&["res"], true), ["re\u{301}sume\u{301}"]);
        assert_eq!(shown(&["und", "oeuvre"], false), ["und", "ŒUVRE"]);
        assert_eq!(shown(&["gros"], true), ["Größe", "GROSSE"]);
    }

    #[test]
    fn what_ends_a_text_is_not_shown() {
        let snippet =
            highlight(&text(&["fine"], false), None, 0, "A fine amplifier\n", Folding::Case)
                .unwrap();
        assert_eq!((snippet.text.as_str(), snippet.is_cut_after), ("A fine amplifier", false));
    }

    #[test]
    fn a_long_text_is_cut_around_the_densest_hits() {
        let source = format!(
            "{} one {} two one two {}",
            "x ".repeat(300),
            "y ".repeat(300),
            "z ".repeat(300)
        );
        let query = Node::Or(vec![text(&["one"], false), text(&["two"], false)]);
        let snippet = highlight(&query, None, 0, &source, Folding::Case).unwrap();
        assert_eq!(snippet.highlights.len(), 3);
        assert!(snippet.is_cut_before && snippet.is_cut_after);
        assert!(snippet.text.len() <= SNIPPET_BYTES + 8, "{}", snippet.text.len());
    }
}
