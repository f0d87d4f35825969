//! The letters that full-text search treats as equal: each with the letters that stand for it.
//!
//! The table has the Latin letters and digits that `AsciiFoldingFilter` of tantivy and Lucene
//! folds, and the Greek and Cyrillic letters with accents. Keys are in lower case, and no letter of
//! a result is a key, so folding twice changes nothing.
//!
//! The text index contains folded words. A change of the table must raise the version of the
//! content in [`super::document`].

use std::sync::LazyLock;

/// How words are made comparable.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum Folding {
    /// Lower case.
    Case,
    /// Lower case, without diacritics: `Größe` becomes `grosse`.
    #[default]
    Diacritics,
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
    /// a part of the form of the text. It is empty for a combining mark that is dropped.
    pub(crate) fn push(self, c: char, folded: &mut String) {
        if c.is_ascii() {
            folded.push(c.to_ascii_lowercase());
            return;
        }
        for lower in c.to_lowercase() {
            match self {
                Self::Diacritics if is_mark(lower) => {}
                Self::Diacritics => {
                    match FOLDED.binary_search_by_key(&lower, |(letter, _)| *letter) {
                        Ok(at) => {
                            folded.push_str(FOLDED.get(at).map_or("", |(_, letters)| letters));
                        }
                        Err(_) => folded.push(lower),
                    }
                }
                Self::Case => folded.push(lower),
            }
        }
    }
}

/// Whether a character is a combining mark that belongs to the letter before it.
pub(crate) fn is_mark(c: char) -> bool {
    matches!(c, '\u{300}'..='\u{36f}')
}

/// Folded letters, and the letters that fold to them.
#[rustfmt::skip]
const TABLE: &[(&str, &str)] = &[
    ("0", "⁰₀⓪⓿０"),
    ("1", "¹₁①⑴⒈⓵❶➀➊１"),
    ("2", "²₂②⑵⒉⓶❷➁➋２"),
    ("3", "³₃③⑶⒊⓷❸➂➌３"),
    ("4", "⁴₄④⑷⒋⓸❹➃➍４"),
    ("5", "⁵₅⑤⑸⒌⓹❺➄➎５"),
    ("6", "⁶₆⑥⑹⒍⓺❻➅➏６"),
    ("7", "⁷₇⑦⑺⒎⓻❼➆➐７"),
    ("8", "⁸₈⑧⑻⒏⓼❽➇➑８"),
    ("9", "⁹₉⑨⑼⒐⓽❾➈➒９"),
    ("a", "àáâãäåāăąǎǟǡǻȁȃȧɐəɚᴀᶏᶕḁẚạảấầẩẫậắằẳẵặₐₔⓐⱥａ"),
    ("b", "ƀƃɓʙᴃᵬᶀḃḅḇⓑｂ"),
    ("c", "çćĉċčƈȼɕʗᴄḉↄⓒꜿｃ"),
    ("d", "ðďđƌȡɖɗᴅᴆᵭᶁᶑḋḍḏḑḓⓓꝺｄ"),
    ("e", "èéêëēĕėęěǝȅȇȩɇɘɛɜɝɞʚᴇᴈᶒᶓᶔḕḗḙḛḝẹẻẽếềểễệₑⓔⱸⱻｅ"),
    ("f", "ƒᵮᶂḟẛⓕꜰꝼꟻｆ"),
    ("g", "ĝğġģǥǧǵɠɡɢʛᵷᵹᶃḡⓖꝿｇ"),
    ("h", "ĥħȟɥɦʜʮʯḣḥḧḩḫẖⓗⱨⱶｈ"),
    ("i", "ɩìíîïĩīĭįıǐȉȋɨɪᴉᵢᵻᵼᶖḭḯỉịⁱⓘꟾｉ"),
    ("j", "ĵǰȷɉɟʄʝᴊⓙⱼｊ"),
    ("k", "ķƙǩʞᴋᶄḱḳḵⓚⱪꝁꝃꝅｋ"),
    ("l", "ĺļľŀłƚȴɫɬɭʟᴌᶅḷḹḻḽⓛⱡꝇꝉꞁｌ"),
    ("m", "ɯɰɱᴍᵯᶆḿṁṃⓜꟽꟿｍ"),
    ("n", "ñńņňŉŋƞǹȵɲɳɴᴎᵰᶇṅṇṉṋⁿⓝｎ"),
    ("o", "òóôõöøōŏőơǒǫǭǿȍȏȫȭȯȱɔɵᴏᴐᴖᴗᶗṍṏṑṓọỏốồổỗộớờởỡợₒⓞⱺꝋꝍｏ"),
    ("p", "ƥᴘᵱᵽᶈṕṗⓟꝑꝓꝕꟼｐ"),
    ("q", "ĸɋʠⓠꝗꝙｑ"),
    ("r", "ŕŗřȑȓɍɼɽɾɿʀʁᴙᴚᵣᵲᵳᶉṙṛṝṟⓡꝛꞃｒ"),
    ("s", "śŝşšſșȿʂᵴᶊṡṣṥṧṩẜẝⓢꜱꞅｓ"),
    ("t", "ꞇţťŧƫƭțȶʇʈᴛᵵṫṭṯṱẗⓣⱦｔ"),
    ("u", "ùúûüũūŭůűųưǔǖǘǚǜȕȗʉᴜᵤᵾᶙṳṵṷṹṻụủứừửữựⓤｕ"),
    ("v", "ỽꝩʋʌᴠᵥᶌṽṿⓥⱱⱴꝟｖ"),
    ("w", "ŵƿʍᴡẁẃẅẇẉẘⓦⱳｗ"),
    ("x", "ᶍẋẍₓⓧｘ"),
    ("y", "ýÿŷƴȳɏʎʏẏẙỳỵỷỹỿⓨｙ"),
    ("z", "źżžƶȝȥɀʐʑᴢᵶᶎẑẓẕⓩⱬꝣｚ"),
    ("ʒ", "ǯ"),
    ("α", "άἀἁἂἃἄἅἆἇὰάᾀᾁᾂᾃᾄᾅᾆᾇᾰᾱᾲᾳᾴᾶᾷ"),
    ("ε", "έἐἑἒἓἔἕὲέ"),
    ("η", "ήἠἡἢἣἤἥἦἧὴήᾐᾑᾒᾓᾔᾕᾖᾗῂῃῄῆῇ"),
    ("ι", "ΐίϊἰἱἲἳἴἵἶἷὶίῐῑῒΐῖῗ"),
    ("ο", "όὀὁὂὃὄὅὸό"),
    ("ρ", "ῤῥ"),
    ("σ", "ς"),
    ("υ", "ΰϋύὐὑὒὓὔὕὖὗὺύῠῡῢΰῦῧ"),
    ("ω", "ώὠὡὢὣὤὥὦὧὼώᾠᾡᾢᾣᾤᾥᾦᾧῲῳῴῶῷ"),
    ("ϒ", "ϓϔ"),
    ("а", "ӑӓ"),
    ("г", "ѓ"),
    ("е", "ѐёӗ"),
    ("ж", "ӂӝ"),
    ("з", "ӟ"),
    ("и", "йѝӣӥ"),
    ("к", "ќ"),
    ("о", "ӧ"),
    ("у", "ўӯӱӳ"),
    ("ч", "ӵ"),
    ("ы", "ӹ"),
    ("э", "ӭ"),
    ("і", "ї"),
    ("ѵ", "ѷ"),
    ("ә", "ӛ"),
    ("ө", "ӫ"),
    ("10", "⑩⑽⒑⓾❿➉➓"),
    ("11", "⑪⑾⒒⓫"),
    ("12", "⑫⑿⒓⓬"),
    ("13", "⑬⒀⒔⓭"),
    ("14", "⑭⒁⒕⓮"),
    ("15", "⑮⒂⒖⓯"),
    ("16", "⑯⒃⒗⓰"),
    ("17", "⑰⒄⒘⓱"),
    ("18", "⑱⒅⒙⓲"),
    ("19", "⑲⒆⒚⓳"),
    ("20", "⑳⒇⒛⓴"),
    ("aa", "ꜳ"),
    ("ae", "æǣǽᴁᴂ"),
    ("ao", "ꜵ"),
    ("au", "ꜷ"),
    ("av", "ꜹꜻ"),
    ("ay", "ꜽ"),
    ("db", "ȸ"),
    ("dz", "ǆǳʣʥ"),
    ("ff", "ﬀ"),
    ("ffi", "ﬃ"),
    ("ffl", "ﬄ"),
    ("fi", "ﬁ"),
    ("fl", "ﬂ"),
    ("hv", "ƕ"),
    ("ij", "ĳ"),
    ("lj", "ǉ"),
    ("ll", "ỻ"),
    ("ls", "ʪ"),
    ("lz", "ʫ"),
    ("nj", "ǌ"),
    ("oe", "œɶᴔ"),
    ("oo", "ꝏ"),
    ("ou", "ȣᴕ"),
    ("qp", "ȹ"),
    ("ss", "ß"),
    ("st", "ﬆ"),
    ("tc", "ʨ"),
    ("th", "þᵺꝧ"),
    ("ts", "ʦ"),
    ("tz", "ꜩ"),
    ("ue", "ᵫ"),
    ("vy", "ꝡ"),
];

#[cfg(test)]
mod tests {
    use super::*;

    fn folded(text: &str) -> String {
        let mut folded = String::new();
        text.chars().for_each(|c| Folding::Diacritics.push(c, &mut folded));
        folded
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
            ("漢字 が", "漢字 が"),
        ] {
            assert_eq!(folded(text), plain, "{text}");
        }
        let mut lower = String::new();
        "GRÖẞE e\u{301}".chars().for_each(|c| Folding::Case.push(c, &mut lower));
        assert_eq!(lower, "größe e\u{301}");
    }

    #[test]
    fn each_letter_stands_once_and_folding_twice_changes_nothing() {
        let sorted = FOLDED.windows(2).all(|pair| pair[0].0 < pair[1].0);
        assert!(sorted, "a letter stands twice");
        for (letter, plain) in FOLDED.iter() {
            assert_eq!(letter.to_lowercase().collect::<String>(), letter.to_string());
            assert!(!plain.is_empty() && plain.chars().all(char::is_alphanumeric), "{letter}");
            assert_eq!(folded(plain), *plain, "{letter}");
        }
    }

    /// The engine's filter also has symbols, and puts punctuation around some numbers.
    #[cfg(feature = "search")]
    #[test]
    fn what_the_filter_of_the_engine_folds_is_folded_alike() {
        use tantivy::tokenizer::{AsciiFoldingFilter, RawTokenizer, TextAnalyzer, TokenStream};
        let mut filter =
            TextAnalyzer::builder(RawTokenizer::default()).filter(AsciiFoldingFilter).build();
        let mut compared = 0;
        for c in ('\u{80}'..='\u{ffff}').filter(|c| c.is_alphanumeric()) {
            let text = c.to_string();
            let mut stream = filter.token_stream(&text);
            assert!(stream.advance());
            let wanted = &stream.token().text;
            if *wanted == text {
                continue;
            }
            let wanted: String = wanted
                .chars()
                .filter(char::is_ascii_alphanumeric)
                .map(|c| c.to_ascii_lowercase())
                .collect();
            assert_eq!(folded(&text), wanted, "{c} U+{:04X}", u32::from(c));
            compared += 1;
        }
        assert!(compared > 1_000, "{compared}");
    }
}
