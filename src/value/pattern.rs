//! Texts with wildcards, and the folding of letter case that they are compared after.

/// The text in lower case, letter by letter: the form of a letter does not depend on its
/// neighbours, so the form of a part of a text is a part of the form of the text.
#[must_use]
pub(crate) fn lower_case(text: &str) -> String {
    text.chars().flat_map(char::to_lowercase).collect()
}

/// A text with wildcards: the pieces between the stars, one more than there are stars. A star
/// stands for any characters, and for none.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Pattern(Vec<String>);

impl Pattern {
    /// The pattern with these pieces. No piece means the empty text.
    #[must_use]
    pub(crate) fn new(pieces: Vec<String>) -> Self {
        Self(if pieces.is_empty() { vec![String::new()] } else { pieces })
    }

    /// The text that fits, if there is only one: the pattern has no star.
    #[must_use]
    pub(crate) fn whole(&self) -> Option<&str> {
        match self.0.as_slice() {
            [whole] => Some(whole),
            _ => None,
        }
    }

    /// The start of every text that fits.
    #[must_use]
    pub(crate) fn prefix(&self) -> &str {
        self.0.first().map_or("", String::as_str)
    }

    /// Whether every text with the prefix fits.
    #[must_use]
    pub(crate) fn is_prefix(&self) -> bool {
        self.0.len() > 1 && self.0.iter().skip(1).all(String::is_empty)
    }

    /// The longest piece of ASCII characters; every text that fits contains it.
    #[must_use]
    pub(crate) fn ascii_piece(&self) -> Option<&str> {
        let pieces = self.0.iter().map(String::as_str);
        pieces.filter(|piece| piece.is_ascii() && !piece.is_empty()).max_by_key(|piece| piece.len())
    }

    /// Whether all of `text` consists of the pieces in order, with anything between them.
    #[must_use]
    pub(crate) fn fits(&self, text: &str) -> bool {
        match self.0.as_slice() {
            [] => false,
            [whole] => text == whole,
            [first, middle @ .., last] => {
                let inner = text
                    .strip_prefix(first.as_str())
                    .and_then(|text| text.strip_suffix(last.as_str()));
                // The first occurrence of each piece leaves the most text for the following pieces,
                // so a greedy search needs no backtracking.
                middle
                    .iter()
                    .fold(inner, |inner, piece| Some(inner?.split_once(piece.as_str())?.1))
                    .is_some()
            }
        }
    }
}

/// The pattern with `*` for a star, and `\` before a star or backslash of the text.
impl std::fmt::Display for Pattern {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        for (at, piece) in self.0.iter().enumerate() {
            if at > 0 {
                f.write_str("*")?;
            }
            f.write_str(&piece.replace('\\', "\\\\").replace('*', "\\*"))?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn pattern(text: &str) -> Pattern {
        Pattern::new(text.split('*').map(str::to_owned).collect())
    }

    #[test]
    fn a_star_stands_for_any_characters() {
        for (text, fits, not) in [
            ("abc", vec!["abc"], vec!["", "ab", "abcd"]),
            ("a*", vec!["a", "ab"], vec!["", "ba"]),
            ("*b", vec!["b", "ab"], vec!["ba"]),
            ("aa*aa", vec!["aaaa", "aabaa"], vec!["aa", "aaa"]),
            ("*a*a*", vec!["aa", "xaxax"], vec!["a"]),
            ("*", vec!["", "x"], vec![]),
        ] {
            let made = pattern(text);
            assert!(fits.iter().all(|one| made.fits(one)), "{text}");
            assert!(!not.iter().any(|one| made.fits(one)), "{text}");
            assert_eq!(made.to_string(), text);
        }
        assert_eq!(Pattern::new(vec!["a*\\".to_owned()]).to_string(), "a\\*\\\\");
    }

    #[test]
    fn a_pattern_tells_what_an_index_can_use() {
        let told = |text: &str| {
            let made = pattern(text);
            let whole = made.whole().is_some();
            (whole, made.prefix().to_owned(), made.is_prefix(), made.ascii_piece().map(str::len))
        };
        assert_eq!(told("abc"), (true, "abc".to_owned(), false, Some(3)));
        assert_eq!(told("ab**"), (false, "ab".to_owned(), true, Some(2)));
        assert_eq!(told("ab*c"), (false, "ab".to_owned(), false, Some(2)));
        assert_eq!(told("*ä*"), (false, String::new(), false, None));
        assert_eq!(told("*"), (false, String::new(), true, None));
    }
}
