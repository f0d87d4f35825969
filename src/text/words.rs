//! The tokeniser: one definition of words for index, overlay, queries and snippets.
//!
//! A word is a run of letters, digits and combining marks, in lower case. `DMM-4065/2` gives the
//! words `dmm`, `4065`, `2`. It is found by each of them, and as a whole because a query for it
//! requires the words side by side. A run longer than [`WORD_CHARS`] continues as the next word, so
//! no text is lost and the length of a word is bounded.

/// Most characters of one word.
pub(crate) const WORD_CHARS: usize = 64;

/// A word and its position.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Word {
    /// The word in lower case.
    pub text: String,
    /// Position of its first byte in the text.
    pub start: usize,
    /// Position after its last byte.
    pub end: usize,
}

/// The words of a text, in order.
#[derive(Clone, Debug)]
pub(crate) struct Words<'t> {
    text: &'t str,
    at: usize,
}

/// Splits `text` into words.
pub(crate) fn words(text: &str) -> Words<'_> {
    Words { text, at: 0 }
}

/// Whether a character belongs to a word.
pub(crate) fn is_word_char(c: char) -> bool {
    c.is_alphanumeric() || is_mark(c)
}

/// Whether a word may be a part of a longer run that continues in the next word.
pub(crate) fn is_long(word: &str) -> bool {
    word.len() >= WORD_CHARS && word.chars().count() >= WORD_CHARS
}

fn is_mark(c: char) -> bool {
    matches!(c, '\u{300}'..='\u{36f}')
}

impl Words<'_> {
    /// Fills `word` with the next word; returns false at the end.
    pub(crate) fn next_into(&mut self, word: &mut Word) -> bool {
        word.text.clear();
        let mut count = 0;
        let rest = self.text.get(self.at..).unwrap_or_default();
        for (offset, c) in rest.char_indices() {
            let inside = is_word_char(c);
            if count == 0 && inside {
                word.start = self.at + offset;
            }
            if count > 0 && (!inside || count == WORD_CHARS) {
                word.end = self.at + offset;
                self.at = word.end;
                return true;
            }
            if inside {
                count += 1;
                if c.is_ascii() {
                    word.text.push(c.to_ascii_lowercase());
                } else {
                    word.text.extend(c.to_lowercase());
                }
            }
        }
        self.at = self.text.len();
        word.end = self.at;
        count > 0
    }
}

impl Iterator for Words<'_> {
    type Item = Word;

    fn next(&mut self) -> Option<Word> {
        let mut word = Word { text: String::new(), start: 0, end: 0 };
        self.next_into(&mut word).then_some(word)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn list(text: &str) -> Vec<String> {
        words(text).map(|word| word.text).collect()
    }

    #[test]
    fn part_numbers_split_at_punctuation_and_letters_stay_with_digits() {
        assert_eq!(list("DMM-4065/2 (Rev.B)"), ["dmm", "4065", "2", "rev", "b"]);
        assert_eq!(list("  "), Vec::<String>::new());
        assert_eq!(list("Größe_ΑΒΓ 漢字"), ["größe", "αβγ", "漢字"]);
    }

    #[test]
    fn words_know_where_they_stand() {
        let text = "é Über-x";
        let found: Vec<&str> = words(text).map(|word| &text[word.start..word.end]).collect();
        assert_eq!(found, ["é", "Über", "x"]);
    }

    #[test]
    fn a_long_run_continues_as_the_next_word() {
        let text = "a".repeat(WORD_CHARS + 3);
        assert_eq!(list(&text), ["a".repeat(WORD_CHARS), "aaa".to_owned()]);
    }
}
