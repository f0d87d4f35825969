//! The tokeniser: one definition of words for index, overlay, queries and snippets.
//!
//! A word is a run of letters, digits and combining marks in the form that [`Folding`] gives the
//! text. `DMM-4065/2` gives the words `dmm`, `4065`, `2`. It is found by each of them, and as a
//! whole because a query for it requires the words side by side. `10℃` has the words of `10°C`. A
//! run whose form is longer than [`WORD_CHARS`] continues as the next word, so no text is lost and
//! the length of a word is bounded.
//!
//! The characters of the form decide and are counted, not those of the text. So the words of a text
//! are those of its folded form (`ß` and `ss` are cut alike), and a word that continues has exactly
//! [`WORD_CHARS`] characters, which [`is_long`] relies on. No word begins with a mark.

use super::folding::{Folding, is_mark};

/// Most characters of one word.
pub(crate) const WORD_CHARS: usize = 64;

/// A word and its position.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Word {
    /// The folded form of the word.
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
    folding: Folding,
    /// Position of the next character.
    at: usize,
    /// How many characters of its form, with its marks, are in the previous word.
    taken: usize,
    /// The form of one character with its marks.
    form: String,
}

/// Splits `text` into words.
pub(crate) fn words(text: &str, folding: Folding) -> Words<'_> {
    Words { text, folding, at: 0, taken: 0, form: String::new() }
}

/// Whether a character of a form belongs to a word.
pub(crate) fn is_word_char(c: char) -> bool {
    c.is_alphanumeric() || is_mark(c)
}

/// Whether a word may be a part of a longer run that continues in the next word.
pub(crate) fn is_long(word: &str) -> bool {
    word.len() >= WORD_CHARS && word.chars().count() >= WORD_CHARS
}

impl Words<'_> {
    /// Fills `word` with the next word; returns false at the end.
    pub(crate) fn next_into(&mut self, word: &mut Word) -> bool {
        word.text.clear();
        let mut count = 0;
        let mut next = self.at;
        while let Some(rest) = self.text.get(next..).filter(|rest| !rest.is_empty()) {
            let (at, before) = (next, count);
            next += self.folding.cluster(rest, &mut self.form);
            let taken = std::mem::take(&mut self.taken);
            for (number, c) in self.form.chars().enumerate().skip(taken) {
                let is_in_word = is_word_char(c) && (count > 0 || c.is_alphanumeric());
                if !is_in_word && count == 0 {
                    continue;
                }
                if !is_in_word || count == WORD_CHARS {
                    // A character whose form a word ends in belongs to it. One whose form is cut
                    // counts as a part of the second word.
                    let ends_in_form = !is_in_word && count > before;
                    word.end = if ends_in_form { next } else { at };
                    self.at = at;
                    self.taken = number;
                    return true;
                }
                if count == 0 {
                    word.start = at;
                }
                word.text.push(c);
                count += 1;
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
        words(text, Folding::Case).map(|word| word.text).collect()
    }

    fn folded(text: &str) -> Vec<String> {
        words(text, Folding::Diacritics).map(|word| word.text).collect()
    }

    #[test]
    fn part_numbers_split_at_punctuation_and_letters_stay_with_digits() {
        assert_eq!(list("DMM-4065/2 (Rev.B)"), ["dmm", "4065", "2", "rev", "b"]);
        assert_eq!(list("  "), Vec::<String>::new());
        assert_eq!(list("Größe_ΑΒΓ 漢字"), ["gro\u{308}sse", "αβγ", "漢字"]);
    }

    #[test]
    fn words_know_where_they_stand() {
        let text = "é Über-x";
        let found: Vec<&str> =
            words(text, Folding::Case).map(|word| &text[word.start..word.end]).collect();
        assert_eq!(found, ["é", "Über", "x"]);
    }

    #[test]
    fn units_and_fractions_have_the_words_of_what_they_are_compatible_with() {
        for (text, same) in [
            ("10℃", "10°C"),
            ("½x", "1⁄2x"),
            ("㎒-⑴", "MHz-(1)"),
            ("ﷺ", "صلى الله عليه وسلم"),
            ("ｶﾞ Ａ１", "ガ a1"),
            ("hy\u{ad}phen \u{ad} \u{200d}x", "hyphen x"),
            ("क्षण", "क्षण"),
        ] {
            assert_eq!(folded(text), folded(same), "{text}");
            assert_eq!(list(text), list(same), "{text}");
        }
        assert_eq!(folded("क्षण"), ["क्षण"]);
        let found: Vec<&str> =
            words("10℃ a½b", Folding::Case).map(|word| &"10℃ a½b"[word.start..word.end]).collect();
        assert_eq!(found, ["10", "℃", "a½", "½b"]);
    }

    /// Texts that Unicode calls canonically equivalent had different words.
    #[test]
    fn marks_in_any_order_give_the_same_words() {
        for (text, same) in [
            // Shadda and fatha.
            ("\u{628}\u{651}\u{64e}x", "\u{628}\u{64e}\u{651}x"),
            // Shin with a dot, and with a dagesh.
            ("\u{fb2c}a", "\u{5e9}\u{5c1}\u{5bc}a"),
            ("\u{fb2c}a", "\u{fb49}\u{5c1}a"),
            ("\u{fb2a}\u{5bc}", "\u{5e9}\u{5bc}\u{200d}\u{5c1}"),
            ("tie\u{302}\u{323}n", "ti\u{1ec7}n"),
            ("ti\u{ea}\u{323}n", "ti\u{1eb9}\u{302}n"),
            ("\u{30f}\u{327}x c\u{327}", "x \u{e7}"),
        ] {
            assert_eq!(list(text), list(same), "{text}");
            assert_eq!(folded(text), folded(same), "{text}");
        }
        assert_eq!(list("tie\u{302}\u{323}n"), ["tie\u{323}\u{302}n"]);
        // Two marks of one class have an order, and letters between marks, too.
        assert_ne!(list("a\u{301}\u{308}"), list("a\u{308}\u{301}"));
        assert_ne!(list("a\u{301}a\u{323}"), list("a\u{323}a\u{301}"));
        // A cut does not depend on the order.
        for before in WORD_CHARS - 4..=WORD_CHARS {
            let before = "a".repeat(before);
            let (text, same) = (format!("{before}e\u{302}\u{323}x"), format!("{before}\u{1ec7}x"));
            assert_eq!(list(&text), list(&same));
        }
    }

    #[test]
    fn a_long_run_continues_as_the_next_word() {
        let text = "a".repeat(WORD_CHARS + 3);
        assert_eq!(list(&text), ["a".repeat(WORD_CHARS), "aaa".to_owned()]);
    }

    #[test]
    fn folded_words_are_cut_by_the_characters_of_their_form() {
        assert_eq!(folded("Größe-Œuvre e\u{301} \u{301} ø"), ["grosse", "oeuvre", "e", "o"]);
        let text = format!("{}ße\u{301}x", "a".repeat(WORD_CHARS - 1));
        let found: Vec<(String, &str)> = words(&text, Folding::Diacritics)
            .map(|word| (word.text.clone(), &text[word.start..word.end]))
            .collect();
        let (first, rest) = text.split_at(WORD_CHARS - 1);
        assert_eq!(found, [(format!("{first}s"), first), ("sex".to_owned(), rest)]);
        let marked = "e\u{301}".repeat(WORD_CHARS);
        assert_eq!(folded(&marked), ["e".repeat(WORD_CHARS)]);
        assert_eq!(
            words(&marked, Folding::Diacritics).next().map(|word| word.end),
            Some(marked.len())
        );
    }

    proptest::proptest! {
        #[test]
        fn words_are_those_of_the_folded_text_and_stand_apart(
            text in "[aßœIİ①⑴½℃ｶﾞ\u{ad}\u{301}ệ\u{302}\u{323}ﬃ -]{0,300}",
            dense in "[aßﬃ㎒\u{301}]{60,140}",
        ) {
            for text in [text, dense] {
                for folding in [Folding::Case, Folding::Diacritics] {
                    let form = folding.form(&text);
                    let found: Vec<Word> = words(&text, folding).collect();
                    let of_form = words(&form, folding).map(|word| word.text);
                    let of_form: Vec<String> = of_form.collect();
                    let texts: Vec<String> = found.iter().map(|word| word.text.clone()).collect();
                    proptest::prop_assert_eq!(texts, of_form);
                    for word in &found {
                        proptest::prop_assert!(!word.text.is_empty());
                        let part = text.get(word.start..word.end);
                        proptest::prop_assert!(part.is_some_and(|part| !part.is_empty()));
                    }
                    for pair in found.windows(2) {
                        // Words of the form of one character share it.
                        proptest::prop_assert!(pair[0].start <= pair[1].start);
                        proptest::prop_assert!(pair[0].end <= pair[1].end);
                    }
                }
            }
        }
    }
}
