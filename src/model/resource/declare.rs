//! Short forms for the field tables of resources.

use serde::{Serialize, Serializer};

use crate::error::{Error, Result};
use crate::model::resource::{Field, Index};
use crate::value::{Env, FieldDecl, Val};

/// One line of a field table.
pub const fn field<R: 'static>(decl: FieldDecl, get: for<'a> fn(&'a R, &Env) -> Val<'a>) -> Field<R> {
    Field { decl, get }
}

/// An index on the values of `fields`.
pub const fn index<R: 'static>(number: u8, fields: &'static [&'static str]) -> Index<R> {
    Index { number, since: 1, fields, unique: false, include: &[], on: None }
}

/// An index on the values of `fields` in which no entry occurs twice.
pub const fn unique_index<R: 'static>(number: u8, fields: &'static [&'static str]) -> Index<R> {
    Index { number, since: 1, fields, unique: true, include: &[], on: None }
}

/// Appends words of a text field, apart from those that stand before them.
pub fn add_text(out: &mut String, text: Option<&str>) {
    if let Some(text) = text.filter(|text| !text.is_empty()) {
        if !out.is_empty() {
            out.push('\n');
        }
        out.push_str(text);
    }
}

/// Appends keywords, one a line.
pub fn add_keywords(out: &mut String, keywords: Option<&Vec<String>>) {
    for keyword in keywords.into_iter().flatten() {
        add_text(out, Some(keyword));
    }
}

/// Appends the keys and values of a property map.
pub fn add_properties(out: &mut String, properties: Option<&std::collections::BTreeMap<String, String>>) {
    for (key, value) in properties.into_iter().flatten() {
        add_text(out, Some(key));
        add_text(out, Some(value));
    }
}

/// Refuses a property without a key.
///
/// # Errors
/// `InvalidArgument` naming the member.
pub fn check_property_keys(properties: Option<&std::collections::BTreeMap<String, String>>) -> Result<()> {
    match properties.is_some_and(|properties| properties.contains_key("")) {
        true => Err(Error::invalid("a property needs a key that is not empty").at_member("properties")),
        false => Ok(()),
    }
}

/// Makes a list or map that is not there an empty one, for answers of which it is a part.
pub fn fill<T: Default>(members: &mut Option<T>) {
    members.get_or_insert_default();
}

/// For `#[serde(serialize_with = "…")]` on a list that is part of every answer: one that is not there is written empty.
pub fn written_list<T: Serialize, S: Serializer>(list: &Option<Vec<T>>, serializer: S) -> Result<S::Ok, S::Error> {
    list.as_deref().unwrap_or_default().serialize(serializer)
}

/// The list without the entries that equal an earlier one.
pub fn without_repeats(list: Vec<String>) -> Vec<String> {
    let mut seen = std::collections::HashSet::new();
    list.into_iter().filter(|entry| seen.insert(entry.clone())).collect()
}

/// The stored list followed by the new entries that it lacks.
pub fn union(stored: Option<Vec<String>>, added: Vec<String>) -> Vec<String> {
    let mut all = stored.unwrap_or_default();
    all.extend(added);
    without_repeats(all)
}

/// The texts of a wire enumeration as the type of a filter field, without further spellings.
macro_rules! enum_type {
    ($ty:ty) => {{
        const COUNT: usize = <$ty>::ALL.len();
        const TEXTS: [(&str, &[&str]); COUNT] = {
            let mut texts: [(&str, &[&str]); COUNT] = [("", &[]); COUNT];
            let mut at = 0;
            while at < COUNT {
                texts[at] = (<$ty>::ALL[at].as_str(), &[]);
                at += 1;
            }
            texts
        };
        $crate::value::FieldType::Enum(&TEXTS)
    }};
}
pub(crate) use enum_type;
