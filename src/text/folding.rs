//! The characters that full-text search treats as equal.
//!
//! A character has the form of its compatible decomposition (NFKD) with the case folded, so that
//! canonical and compatible equivalents have one form: units, ligatures, full-width and half-width
//! letters. Characters that are ignorable by default have no form: they are invisible, and stand
//! inside of words. Without diacritics, combining marks of letters have none either, and the
//! letters of a table, which Unicode does not decompose, are those that they are read as.
//!
//! Several marks on one letter have the order of their combining classes, as Unicode orders them,
//! so that canonical equivalents have one form in whatever order they were typed. The dotless `ı`
//! is an `i`, since both are `I` in upper case: filters compare in either case, and the index must
//! find what they find.
//!
//! What must hold: the form of a text contains the [`Folding::inner_form`] of each of its parts. A
//! part may end among the marks of a letter, so those at its ends are left out.
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
    pub(super) use unicode_normalization::char::{
        canonical_combining_class, decompose_compatible, is_combining_mark,
    };
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

    pub(super) fn canonical_combining_class(_: char) -> u8 {
        0
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
    /// The folded form of a text.
    pub(crate) fn form(self, text: &str) -> String {
        let (mut form, mut cluster) = (String::with_capacity(text.len()), String::new());
        let mut rest = text;
        while !rest.is_empty() {
            let len = self.cluster(rest, &mut cluster);
            form.push_str(&cluster);
            rest = rest.get(len..).unwrap_or_default();
        }
        form
    }

    /// The folded form of a part of a text, without the marks at its ends: the letter that they
    /// belong to may have further ones in the text, and these may stand among them.
    pub(crate) fn inner_form(self, part: &str) -> String {
        let mut decomposed = String::with_capacity(part.len());
        part.chars().for_each(|c| decompose(c, |part| decomposed.push(part)));
        self.form(decomposed.trim_matches(|c| class(c) > 0))
    }

    /// Sets `form` to the form of the first character of `text` with the marks behind it, and
    /// returns their length in `text`. Forms of clusters do not depend on each other. A form is
    /// empty for invisible characters and for combining marks that are dropped, and may have
    /// several words for a unit or a fraction.
    pub(crate) fn cluster(self, text: &str, form: &mut String) -> usize {
        form.clear();
        let mut chars = text.chars();
        let Some(first) = chars.next() else { return 0 };
        let marks = chars.take_while(|c| only_marks(*c)).map(char::len_utf8).sum::<usize>();
        let len = first.len_utf8() + marks;
        if marks > 0 {
            let mut parts = Vec::new();
            let all = text.get(..len).unwrap_or_default().chars();
            all.for_each(|c| decompose(c, |part| parts.push((class(part), part))));
            let runs = parts.chunk_by_mut(|a, b| a.0 > 0 && b.0 > 0);
            runs.for_each(|run| run.sort_by_key(|(class, _)| *class));
            parts.iter().for_each(|(_, part)| self.push(*part, form));
        } else if first.is_ascii() {
            form.push(first.to_ascii_lowercase());
        } else {
            // What Unicode decomposes is in order.
            decompose(first, |part| self.push(part, form));
        }
        len
    }

    /// Appends the form of a character that is not decomposed further.
    fn push(self, part: char, folded: &mut String) {
        // The case that upper case has when it is lowered again folds more than lower case: `ς` is
        // `σ`, and `ß` is `ss`.
        let upper = part.to_lowercase().flat_map(char::to_uppercase);
        upper.flat_map(char::to_lowercase).for_each(|part| self.push_part(part, folded));
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

/// Passes on what a character is decomposed to, without what is invisible.
fn decompose(c: char, mut each: impl FnMut(char)) {
    decomposition::decompose_compatible(c, |part| {
        if !is_ignorable(part) {
            each(part);
        }
    });
}

/// The combining class; 0 for what marks are not moved across.
fn class(c: char) -> u8 {
    if c.is_ascii() { 0 } else { decomposition::canonical_combining_class(c) }
}

/// Whether a character is nothing but marks, which have an order among others, or invisible.
fn only_marks(c: char) -> bool {
    let mut only_marks = !c.is_ascii();
    if only_marks {
        decompose(c, |part| only_marks &= class(part) > 0);
    }
    only_marks
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
        folding.form(text)
    }

    proptest::proptest! {
        #[test]
        fn canonical_equivalents_have_one_form(
            text in "[eệαᾴ\u{345}א\u{fb2c}\u{fb2a}\u{5c1}\u{5bc}\u{651}\u{64e}\u{302}\u{323}\u{301}\u{327}か\u{3099} ]{0,20}",
        ) {
            let (composed, decomposed): (String, String) =
                (text.nfc().collect(), text.nfd().collect());
            for folding in [Folding::Case, Folding::Diacritics] {
                let one = form(&text, folding);
                for other in [&composed, &decomposed, &one] {
                    proptest::prop_assert_eq!(&form(other, folding), &one);
                }
            }
        }
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
