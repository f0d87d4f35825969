//! Texts of the store in HTML and JSON: whatever they contain, the page shows them as text.

use stationdb::serde_json::Value;

/// Characters that are shown of one text; names of megabytes hide everything else.
const SHOWN_MAX: usize = 10_000;

/// Whether a character changes how its neighbours are shown, or is not shown at all.
fn is_hidden(c: char) -> bool {
    let breaks_line = matches!(c, '\n' | '\t');
    let is_control = c.is_control() && !breaks_line;
    is_control
        || matches!(
            c,
            '\u{ad}' | '\u{61c}' | '\u{180e}' | '\u{200b}'..='\u{200f}' | '\u{2028}'..='\u{202e}'
                | '\u{2060}'..='\u{206f}' | '\u{feff}' | '\u{fff9}'..='\u{fffb}'
                | '\u{e0000}'..='\u{e007f}'
        )
}

/// The text with its invisible characters written as `\u{202e}`, cut where it is too long to be
/// shown.
pub(crate) fn visible(text: &str) -> String {
    let mut shown = String::with_capacity(text.len().min(SHOWN_MAX));
    for (at, c) in text.chars().enumerate() {
        if at == SHOWN_MAX {
            let count = text.chars().count();
            shown.push_str(&format!("… (the first {SHOWN_MAX} of {count} characters)"));
            break;
        }
        if is_hidden(c) {
            shown.extend(c.escape_unicode());
        } else {
            shown.push(c);
        }
    }
    shown
}

/// The text for HTML, in elements and in quoted attributes.
pub(crate) fn escaped(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for c in visible(text).chars() {
        match c {
            '<' => out.push_str("&lt;"),
            '>' => out.push_str("&gt;"),
            '&' => out.push_str("&amp;"),
            '"' => out.push_str("&quot;"),
            '\'' => out.push_str("&#39;"),
            _ => out.push(c),
        }
    }
    out
}

/// The text as an element of its own, so that its direction does not reach its neighbours.
pub(crate) fn isolated(text: &str) -> String {
    format!("<bdi>{}</bdi>", escaped(text))
}

/// The text as [`isolated`] has it; nothing where there is none.
pub(crate) fn isolated_some(text: Option<&str>) -> String {
    text.filter(|text| !text.is_empty()).map(isolated).unwrap_or_default()
}

/// JSON for an element `script` of a type that browsers do not run: nothing in it ends the element.
pub(crate) fn json(value: &Value) -> String {
    let mut out = String::new();
    for c in value.to_string().chars() {
        match c {
            '<' | '>' | '&' | '\u{2028}' | '\u{2029}' => {
                out.push_str(&format!("\\u{:04x}", u32::from(c)));
            }
            _ => out.push(c),
        }
    }
    out
}

/// A table of texts. The first row has the names of the columns; cells are HTML.
pub(crate) fn table(caption: &str, head: &[&str], rows: &[Vec<String>]) -> String {
    let mut out =
        format!("<div class=\"wide\"><table><caption>{}</caption><thead><tr>", escaped(caption));
    for name in head {
        out.push_str(&format!("<th scope=\"col\">{}</th>", escaped(name)));
    }
    out.push_str("</tr></thead><tbody>");
    for row in rows {
        out.push_str("<tr>");
        for cell in row {
            out.push_str(&format!("<td>{cell}</td>"));
        }
        out.push_str("</tr>\n");
    }
    out.push_str("</tbody></table></div>");
    out
}

/// The same numbers as a chart, to be opened.
pub(crate) fn folded_table(caption: &str, head: &[&str], rows: &[Vec<String>]) -> String {
    format!(
        "<details><summary>{}</summary>{}</details>",
        escaped(caption),
        table(caption, head, rows)
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn hostile_texts_are_text() {
        for (text, shown) in [
            ("a<b", "a&lt;b"),
            (
                "</script><script>alert(1)</script>",
                "&lt;/script&gt;&lt;script&gt;alert(1)&lt;/script&gt;",
            ),
            ("\" onload='x'", "&quot; onload=&#39;x&#39;"),
            ("a\u{202e}b", "a\\u{202e}b"),
            ("\0\u{7}", "\\u{0}\\u{7}"),
            ("\u{2028}", "\\u{2028}"),
            ("&amp;", "&amp;amp;"),
            ("Ω µ 電圧 😀", "Ω µ 電圧 😀"),
        ] {
            assert_eq!(escaped(text), shown);
        }
        assert_eq!(escaped("x\ny"), "x\ny");
    }

    #[test]
    fn long_texts_say_how_long_they_are() {
        let shown = visible(&"é".repeat(1 << 20));
        assert!(shown.ends_with("… (the first 10000 of 1048576 characters)"), "{}", shown.len());
        assert_eq!(visible(&"é".repeat(10_000)), "é".repeat(10_000));
    }

    #[test]
    fn json_ends_no_element() {
        let value = stationdb::serde_json::json!({"</script>": "<!--&\u{2028}\u{2029}"});
        let text = json(&value);
        assert!(!text.contains(['<', '>', '&', '\u{2028}', '\u{2029}']), "{text}");
        assert_eq!(stationdb::serde_json::from_str::<Value>(&text).unwrap(), value);
    }
}
