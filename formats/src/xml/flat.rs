//! Elements as pairs of a path and a text, for what has no member of its own.

use std::collections::BTreeMap;

use super::tree::Element;
use crate::limits::PATH_BYTES;

/// Attributes that say how the XML is written, not what was tested.
const NOTATION: [&str; 5] = ["type", "schemaLocation", "noNamespaceSchemaLocation", "nil", "flags"];

/// Gives the texts and attributes of an element and of those below it: `A.B` for the element `B` in
/// `A`, `A.b` for its attribute `b`. An attribute `value` has the path of its element. Repeated
/// elements are numbered: `A.B`, `A.B.1`, `A.B.2`. Returns whether all paths were short enough.
pub(crate) fn flatten(
    element: Element<'_>,
    path: &str,
    put: &mut impl FnMut(String, String),
) -> bool {
    if path.len() > PATH_BYTES {
        return false;
    }
    for (name, value) in element.attributes() {
        if name.starts_with("xmlns") || NOTATION.contains(&name) || value.trim().is_empty() {
            continue;
        }
        let is_value = name == "value" && element.text().trim().is_empty();
        let path = if is_value { path.to_owned() } else { format!("{path}.{name}") };
        put(path, value.to_owned());
    }
    let text = element.text().trim();
    if !text.is_empty() {
        put(path.to_owned(), text.to_owned());
    }
    let mut seen: BTreeMap<&str, usize> = BTreeMap::new();
    let mut is_whole = true;
    for child in element.children() {
        let count = seen.entry(child.name()).or_default();
        let number = if *count == 0 { String::new() } else { format!(".{count}") };
        *count += 1;
        is_whole &= flatten(child, &format!("{path}.{}{number}", child.name()), put);
    }
    is_whole
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn paths_and_numbers() {
        let text = "<r xmlns:x='u' x:type='t' a='1'><b value='2'/><b> 3 </b><c d=' '>\n<e/></c>\
                    <b f='4'>5</b></r>";
        let document = crate::xml::read(text.as_bytes()).unwrap();
        let mut pairs = Vec::new();
        let put = &mut |path, text| pairs.push(format!("{path}={text}"));
        assert!(flatten(document.root(), "R", put));
        assert!(!flatten(document.root(), &"R".repeat(PATH_BYTES + 1), put));
        assert_eq!(pairs.join(" "), "R.a=1 R.b=2 R.b.1=3 R.b.2.f=4 R.b.2=5");
    }
}
