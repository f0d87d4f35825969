//! Relationship lists: the packages that a package depends on, breaks or provides.

/// Control fields with a relationship list.
pub(crate) const RELATION_FIELDS: [&str; 9] = [
    "Depends",
    "Pre-Depends",
    "Recommends",
    "Suggests",
    "Enhances",
    "Breaks",
    "Conflicts",
    "Replaces",
    "Provides",
];

/// Whether the control field of this name has a relationship list.
#[must_use]
pub(crate) fn is_relation_field(name: &str) -> bool {
    RELATION_FIELDS.iter().any(|field| field.eq_ignore_ascii_case(name))
}

/// Splits a relationship list at commas outside parentheses. Blanks inside an element collapse to
/// one.
#[must_use]
pub(crate) fn relations(text: &str) -> Vec<String> {
    let mut depth = 0usize;
    text.split(|c: char| {
        match c {
            '(' => depth += 1,
            ')' => depth = depth.saturating_sub(1),
            _ => {}
        }
        c == ',' && depth == 0
    })
    .map(|piece| piece.split_whitespace().collect::<Vec<_>>().join(" "))
    .filter(|piece| !piece.is_empty())
    .collect()
}

/// The list in the form in which package managers parse it in an index. One list that they cannot
/// parse makes them reject the whole index, so this is `None` for such a list. The package itself
/// cannot be installed then either.
#[must_use]
pub(crate) fn index_relations(text: &str) -> Option<String> {
    let list = relations(text);
    let is_sound = |element: &String| element.split('|').all(is_alternative);
    list.iter().all(is_sound).then(|| list.join(", "))
}

/// Whether the text is a name, optionally followed by a version in parentheses.
fn is_alternative(text: &str) -> bool {
    let is_plain = |text: &str| {
        !text.is_empty() && !text.contains(['(', ')', '[', ']', '<', '>', '|', ',', ' '])
    };
    match text.trim().split_once('(') {
        None => is_plain(text.trim()),
        Some((name, rest)) => {
            let version = rest
                .strip_suffix(')')
                .map(|version| version.trim_start_matches(['<', '>', '=', '!']).trim());
            is_plain(name.trim()) && version.is_some_and(is_plain)
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lists_for_an_index_are_tidy_or_none() {
        for (text, expected) in [
            ("", Some("")),
            ("a (>=1),, b:any |\n c(<< 2~rc1) ,", Some("a (>=1), b:any | c(<< 2~rc1)")),
            ("a (!= 1:2-3+b1), lib.so_6 (1.0)", Some("a (!= 1:2-3+b1), lib.so_6 (1.0)")),
            ("a (>= )", None),
            ("a ()", None),
            ("a (= 1", None),
            ("a )", None),
            ("a (= 1) b", None),
            ("a (= 1)(= 2)", None),
            ("a b", None),
            ("a |", None),
            ("| a", None),
            ("a || b", None),
            ("(= 1)", None),
            ("a [amd64]", None),
            ("a <!check>", None),
        ] {
            assert_eq!(index_relations(text).as_deref(), expected, "{text}");
        }
    }
}
