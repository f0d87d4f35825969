//! Names of columns in one option.

/// The names of all these texts, in order: each has names with commas between them. A name that has
/// a comma is in double quotes, as in CSV, or is the whole text.
pub fn names(texts: &[String], is_column: impl Fn(&str) -> bool) -> Vec<String> {
    texts
        .iter()
        .flat_map(|text| if is_column(text) { vec![text.clone()] } else { split(text) })
        .collect()
}

fn split(text: &str) -> Vec<String> {
    let mut out = Vec::new();
    let (mut name, mut is_quoted, mut was_quoted) = (String::new(), false, false);
    let mut chars = text.chars().peekable();
    let end = |name: &mut String, was_quoted: &mut bool, out: &mut Vec<String>| {
        let whole = std::mem::take(name);
        // Blanks around a name are not of it, unless it is quoted.
        out.push(if std::mem::take(was_quoted) { whole } else { whole.trim().to_owned() });
    };
    while let Some(c) = chars.next() {
        match c {
            '"' if is_quoted => match chars.next_if_eq(&'"') {
                Some(_) => name.push('"'),
                None => is_quoted = false,
            },
            '"' if !was_quoted && name.trim().is_empty() => {
                name.clear();
                (is_quoted, was_quoted) = (true, true);
            }
            ',' if !is_quoted => end(&mut name, &mut was_quoted, &mut out),
            // Blanks behind a closing quote.
            c if was_quoted && !is_quoted && c.is_whitespace() => {}
            c => name.push(c),
        }
    }
    end(&mut name, &mut was_quoted, &mut out);
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_with_commas_are_quoted_or_are_the_whole_text() {
        for (text, expected) in [
            ("a", &["a"][..]),
            ("a,b", &["a", "b"]),
            ("a, b ", &["a", "b"]),
            ("\"Torque, Request\"", &["Torque, Request"]),
            ("t,\"Torque, Request\" , v", &["t", "Torque, Request", "v"]),
            ("\"say \"\"x\"\"\",v", &["say \"x\"", "v"]),
            ("\" a \"", &[" a "]),
            ("5\" pipe,v", &["5\" pipe", "v"]),
            ("a,", &["a", ""]),
        ] {
            assert_eq!(names(&[text.to_owned()], |_| false), expected, "{text}");
        }
        let texts = ["Torque, Request", "a,b"].map(str::to_owned);
        let found = names(&texts, |name| name == "Torque, Request");
        assert_eq!(found, ["Torque, Request", "a", "b"]);
    }
}
