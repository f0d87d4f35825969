//! The characters that full-text search treats as equal.
//!
//! A character has the form of its compatible decomposition (NFKD) with the case folded, so that
//! canonical and compatible equivalents have one form: units, ligatures, full-width and half-width
//! letters. Characters that are ignorable by default have no form: they are invisible, and stand
//! inside of words. Without diacritics, combining marks of letters have none either, and the
//! letters of a table, which Unicode does not decompose, are those that they are read as.
//!
//! The order of several marks on one letter is that of the text. The dotless `ı` is an `i`, since
//! both are `I` in upper case: filters compare in either case, and the index must find what they
//! find.
//!
//! The text index contains folded words. A change of the table must raise the version of the
//! content in [`super::document`]; the versions of Unicode are in the fingerprint already.

use std::sync::LazyLock;

/// How words are made comparable.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum Folding {
    /// Compatible characters and letter case.
    Case,
    /// These and diacritics: `Größe` becomes `grosse`.
    #[default]
    Diacritics,
}

/// The versions of Unicode that the forms of characters follow: for letter case and decomposition.
pub(crate) fn unicode_versions() -> String {
    format!("{:?} {:?}", char::UNICODE_VERSION, decomposition::VERSION)
}

#[cfg(feature = "search")]
mod decomposition {
    pub(super) use unicode_normalization::UNICODE_VERSION as VERSION;
    pub(super) use unicode_normalization::char::{decompose_compatible, is_combining_mark};
}

/// Nothing is searched without the feature.
#[cfg(not(feature = "search"))]
mod decomposition {
    pub(super) const VERSION: (u8, u8, u8) = (0, 0, 0);

    pub(super) fn decompose_compatible(c: char, mut part: impl FnMut(char)) {
        part(c);
    }

    pub(super) fn is_combining_mark(_: char) -> bool {
        false
    }
}

/// The folded form of every key of [`TABLE`], by key.
static FOLDED: LazyLock<Vec<(char, &'static str)>> = LazyLock::new(|| {
    let letters =
        TABLE.iter().flat_map(|(folded, letters)| letters.chars().map(|letter| (letter, *folded)));
    let mut all: Vec<(char, &'static str)> = letters.collect();
    all.sort_unstable();
    all
});

impl Folding {
    /// Appends the folded form of `c`. It depends on `c` alone, so the form of a part of a text is
    /// a part of the form of the text. It is empty for an invisible character and for a combining
    /// mark that is dropped, and may have several words for a unit or a fraction.
    pub(crate) fn push(self, c: char, folded: &mut String) {
        if c.is_ascii() {
            folded.push(c.to_ascii_lowercase());
            return;
        }
        decomposition::decompose_compatible(c, |part| {
            if is_ignorable(part) {
                return;
            }
            // The case that upper case has when it is lowered again folds more than lower case:
            // `ς` is `σ`, and `ß` is `ss`.
            let upper = part.to_lowercase().flat_map(char::to_uppercase);
            upper.flat_map(char::to_lowercase).for_each(|part| self.push_part(part, folded));
        });
    }

    fn push_part(self, part: char, folded: &mut String) {
        if self == Self::Diacritics && !part.is_ascii() {
            if is_diacritic(part) {
                return;
            }
            if let Ok(at) = FOLDED.binary_search_by_key(&part, |(letter, _)| *letter) {
                folded.push_str(FOLDED.get(at).map_or("", |(_, letters)| letters));
                return;
            }
        }
        folded.push(part);
    }
}

/// Whether a character is a combining mark that belongs to the letter before it.
pub(crate) fn is_mark(c: char) -> bool {
    !c.is_ascii() && decomposition::is_combining_mark(c)
}

/// Whether a mark changes a letter and is no part of it, as the voice of a kana is.
fn is_diacritic(c: char) -> bool {
    matches!(c, '\u{300}'..='\u{36f}' | '\u{1ab0}'..='\u{1aff}' | '\u{1dc0}'..='\u{1dff}'
        | '\u{20d0}'..='\u{20ff}' | '\u{fe20}'..='\u{fe2f}')
}

/// Whether a character is ignorable by default: the property `Default_Ignorable_Code_Point`, of
/// which Unicode has reserved what it may add.
#[rustfmt::skip]
fn is_ignorable(c: char) -> bool {
    matches!(c, '\u{ad}' | '\u{34f}' | '\u{61c}' | '\u{115f}'..='\u{1160}'
        | '\u{17b4}'..='\u{17b5}' | '\u{180b}'..='\u{180f}' | '\u{200b}'..='\u{200f}'
        | '\u{202a}'..='\u{202e}' | '\u{2060}'..='\u{206f}' | '\u{3164}'
        | '\u{fe00}'..='\u{fe0f}' | '\u{feff}' | '\u{ffa0}' | '\u{fff0}'..='\u{fff8}'
        | '\u{1bca0}'..='\u{1bca3}' | '\u{1d173}'..='\u{1d17a}' | '\u{e0000}'..='\u{e0fff}')
}

/// Folded letters, and the letters that fold to them.
#[rustfmt::skip]
const TABLE: &[(&str, &str)] = &[
    ("0", "⓿"),
    ("1", "⓵❶➀➊"),
    ("2", "⓶❷➁➋"),
    ("3", "⓷❸➂➌"),
    ("4", "⓸❹➃➍"),
    ("5", "⓹❺➄➎"),
    ("6", "⓺❻➅➏"),
    ("7", "⓻❼➆➐"),
    ("8", "⓼❽➇➑"),
    ("9", "⓽❾➈➒"),
    ("a", "ɐəɚᴀᶏᶕⱥ"),
    ("b", "ƀƃɓʙᴃᵬᶀ"),
    ("c", "ƈȼɕʗᴄↄꜿ"),
    ("d", "ðđƌȡɖɗᴅᴆᵭᶁᶑꝺ"),
    ("e", "ǝɇɘɛɜɝɞʚᴇᴈᶒᶓᶔⱸⱻ"),
    ("f", "ƒᵮᶂꜰꝼꟻ"),
    ("g", "ǥɠɡɢʛᵷᵹᶃꝿ"),
    ("h", "ħɥɦʜʮʯⱨⱶ"),
    ("i", "ɩɨɪᴉᵻᵼᶖꟾ"),
    ("j", "ȷɉɟʄʝᴊ"),
    ("k", "ƙʞᴋᶄⱪꝁꝃꝅ"),
    ("l", "łƚȴɫɬɭʟᴌᶅⱡꝇꝉꞁ"),
    ("m", "ɯɰɱᴍᵯᶆꟽꟿ"),
    ("n", "ŋƞȵɲɳɴᴎᵰᶇ"),
    ("o", "øɔɵᴏᴐᴖᴗᶗⱺꝋꝍ"),
    ("p", "ƥᴘᵱᵽᶈꝑꝓꝕꟼ"),
    ("q", "ĸɋʠꝗꝙ"),
    ("r", "ɍɼɽɾɿʀʁᴙᴚᵲᵳᶉꝛꞃ"),
    ("s", "ȿʂᵴᶊẜẝꜱꞅ"),
    ("t", "ꞇŧƫƭȶʇʈᴛᵵⱦ"),
    ("u", "ʉᴜᵾᶙ"),
    ("v", "ỽꝩʋʌᴠᶌⱱⱴꝟ"),
    ("w", "ƿʍᴡⱳ"),
    ("x", "ᶍ"),
    ("y", "ƴɏʎʏỿ"),
    ("z", "ƶȝȥɀʐʑᴢᵶᶎⱬꝣ"),
    ("10", "⓾❿➉➓"),
    ("11", "⓫"),
    ("12", "⓬"),
    ("13", "⓭"),
    ("14", "⓮"),
    ("15", "⓯"),
    ("16", "⓰"),
    ("17", "⓱"),
    ("18", "⓲"),
    ("19", "⓳"),
    ("20", "⓴"),
    ("aa", "ꜳ"),
    ("ae", "æᴁᴂ"),
    ("ao", "ꜵ"),
    ("au", "ꜷ"),
    ("av", "ꜹꜻ"),
    ("ay", "ꜽ"),
    ("db", "ȸ"),
    ("dz", "ʣʥ"),
    ("hv", "ƕ"),
    ("ll", "ỻ"),
    ("ls", "ʪ"),
    ("lz", "ʫ"),
    ("oe", "œɶᴔ"),
    ("oo", "ꝏ"),
    ("ou", "ȣᴕ"),
    ("qp", "ȹ"),
    ("tc", "ʨ"),
    ("th", "þᵺꝧ"),
    ("ts", "ʦ"),
    ("tz", "ꜩ"),
    ("ue", "ᵫ"),
    ("vy", "ꝡ"),
];

#[cfg(all(test, feature = "search"))]
mod tests {
    use unicode_normalization::UnicodeNormalization as _;

    use super::*;

    fn form(text: &str, folding: Folding) -> String {
        let mut folded = String::new();
        text.chars().for_each(|c| folding.push(c, &mut folded));
        folded
    }

    fn folded(text: &str) -> String {
        form(text, Folding::Diacritics)
    }

    #[test]
    fn letters_with_marks_and_ligatures_fold_to_plain_letters() {
        for (text, plain) in [
            ("Größe GRÖẞE", "grosse grosse"),
            ("Résumé re\u{301}sume\u{301}", "resume resume"),
            ("Œuvre Ærø Łódź Đorđe Þór", "oeuvre aero lodz dorde thor"),
            ("İstanbul ılık", "istanbul ilik"),
            ("Ångström A\u{30a}ngstro\u{308}m \u{212b}", "angstrom angstrom a"),
            ("ΟΔΌΣ οδός", "οδοσ οδοσ"),
            ("Ёлка е\u{308}лка", "елка елка"),
            ("m² Ｆｕｌｌ ①", "m2 full 1"),
            ("漢字 が", "漢字 か\u{3099}"),
            ("ﬃ ﬅ ĳ ŉ", "ffi st ij ʼn"),
            ("㎒ ㎡ kΩ k\u{2126} µm μm ℃ ㏀", "mhz m2 kω kω μm μm °c kω"),
            ("ｶﾞｽ ガス", "カ\u{3099}ス カ\u{3099}ス"),
            ("hy\u{ad}phen zero\u{200b}\u{200d}\u{feff}width", "hyphen zerowidth"),
            ("𝐁𝕠𝗅𝚍 ⁴⁰ ½", "bold 40 1⁄2"),
        ] {
            assert_eq!(folded(text), plain, "{text}");
        }
        assert_eq!(form("GRÖẞE e\u{301} é", Folding::Case), "gro\u{308}sse e\u{301} e\u{301}");
    }

    /// All planes of which the standard's table has characters.
    #[test]
    fn compatible_characters_and_both_cases_of_each_have_one_form() {
        let mut changed = 0;
        for c in ('\u{0}'..='\u{3ffff}').chain('\u{e0000}'..='\u{e0fff}') {
            let text = c.to_string();
            let is_plain = c.to_uppercase().eq([c])
                && c.to_lowercase().eq([c])
                && text.nfkd().eq([c])
                && text.nfkc().eq([c]);
            if is_plain {
                assert!(is_ignorable(c) || form(&text, Folding::Case) == text, "{}", u32::from(c));
                continue;
            }
            changed += 1;
            let (upper, lower) = (text.to_uppercase(), c.to_lowercase().to_string());
            let (composed, decomposed): (String, String) =
                (text.nfkc().collect(), text.nfkd().collect());
            let canonical: String = text.nfc().collect();
            for folding in [Folding::Case, Folding::Diacritics] {
                let one = form(&text, folding);
                for other in [&upper, &lower, &composed, &decomposed, &canonical, &one] {
                    assert_eq!(form(other, folding), one, "U+{:04X} {folding:?}", u32::from(c));
                }
            }
        }
        assert!(changed > 17_000, "{changed}");
        assert!(decomposition::VERSION >= (15, 0, 0), "{:?}", decomposition::VERSION);
    }

    #[test]
    fn each_letter_stands_once_and_folding_twice_changes_nothing() {
        let sorted = FOLDED.windows(2).all(|pair| pair[0].0 < pair[1].0);
        assert!(sorted, "a letter stands twice");
        for (letter, plain) in FOLDED.iter() {
            assert_eq!(form(&letter.to_string(), Folding::Case), letter.to_string());
            assert!(!plain.is_empty() && plain.chars().all(char::is_alphanumeric), "{letter}");
            assert_eq!(folded(plain), *plain, "{letter}");
        }
    }

    /// Where Unicode decomposes nothing. The engine's filter also has symbols.
    #[test]
    fn what_the_filter_of_the_engine_folds_is_folded_alike() {
        use tantivy::tokenizer::{AsciiFoldingFilter, RawTokenizer, TextAnalyzer, TokenStream};
        let mut filter =
            TextAnalyzer::builder(RawTokenizer::default()).filter(AsciiFoldingFilter).build();
        let mut compared = 0;
        let plain = |text: &str| -> String {
            text.chars()
                .filter(char::is_ascii_alphanumeric)
                .map(|c| c.to_ascii_lowercase())
                .collect()
        };
        for c in ('\u{80}'..='\u{ffff}').filter(|c| c.is_alphanumeric()) {
            let text = c.to_string();
            let mut stream = filter.token_stream(&text);
            assert!(stream.advance());
            let wanted = &stream.token().text;
            if *wanted == text || text.nfkd().ne([c]) {
                continue;
            }
            assert_eq!(plain(&folded(&text)), plain(wanted), "{c} U+{:04X}", u32::from(c));
            compared += 1;
        }
        assert!(compared > 300, "{compared}");
    }
}
