//! The vendor's prefix in the spellings of the vendor flag.
//!
//! Rust callers see `is_vendor_asset`. On the wire the member is `is<V>Asset`, the projection `IS_<V>_ASSET`, the filter
//! property `Is<V>Asset`, where `<V>` is the prefix that the store was opened with. Serde writes the default prefix;
//! a store with another one runs JSON and filters through this.

use std::borrow::Cow;

use serde_json::Value;

use crate::error::{Error, Place, Result};

/// The prefix of the vendor, `NI` unless the store says otherwise.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct VendorPrefix(String);

impl Default for VendorPrefix {
    fn default() -> Self {
        Self(Self::DEFAULT.to_owned())
    }
}

impl VendorPrefix {
    /// The prefix of a store that was opened without one.
    pub const DEFAULT: &'static str = "NI";
    const DEFAULT_MEMBER: &'static str = "isNIAsset";
    const NEUTRAL_MEMBER: &'static str = "isVendorAsset";
    const NEUTRAL_PROJECTION: &'static str = "IS_VENDOR_ASSET";

    /// Checks a prefix.
    ///
    /// # Errors
    /// `InvalidArgument` when it is empty, starts with a digit, or has other characters than ASCII letters and digits.
    pub fn new(prefix: &str) -> Result<Self> {
        let is_name = prefix.bytes().all(|byte| byte.is_ascii_alphanumeric())
            && prefix.bytes().next().is_some_and(|byte| byte.is_ascii_alphabetic());
        if !is_name {
            return Err(Error::invalid(format!(
                "{prefix:?} cannot be a vendor prefix: use ASCII letters and digits, a letter first"
            ))
            .at_member("vendorPrefix"));
        }
        Ok(Self(prefix.to_owned()))
    }

    /// The prefix itself.
    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// The member of an asset record: `isNIAsset`.
    #[must_use]
    pub fn member(&self) -> String {
        format!("is{}Asset", self.0)
    }

    /// The projection: `IS_NI_ASSET`.
    #[must_use]
    pub fn projection(&self) -> String {
        format!("IS_{}_ASSET", self.0.to_ascii_uppercase())
    }

    /// The filter property: `IsNIAsset`.
    #[must_use]
    pub fn property(&self) -> String {
        format!("Is{}Asset", self.0)
    }

    fn is_default(&self) -> bool {
        self.0 == Self::DEFAULT
    }

    /// Renames the vendor member in the JSON of requests, at any depth but not inside `properties`, to the spelling
    /// that serde reads, and the projection likewise.
    #[must_use]
    pub fn read(&self, mut json: Value) -> Value {
        if !self.is_default() {
            let snake = format!("is_{}_asset", self.0.to_ascii_lowercase());
            let projection = self.projection();
            walk(&mut json, &mut |value| {
                let Value::Object(members) = value else { return };
                for name in [self.member(), snake.clone()] {
                    if let Some(flag) = members.remove(&name) {
                        members.entry(Self::NEUTRAL_MEMBER).or_insert(flag);
                    }
                }
                if let Some(Value::Array(names)) = members.get_mut("projection") {
                    for name in names.iter_mut().filter(|name| name.as_str() == Some(&projection)) {
                        *name = Self::NEUTRAL_PROJECTION.into();
                    }
                }
            });
        }
        json
    }

    /// Renames the vendor member in the JSON that serde wrote, at any depth but not inside `properties`.
    #[must_use]
    pub fn write(&self, mut json: Value) -> Value {
        if !self.is_default() {
            walk(&mut json, &mut |value| {
                if let Value::Object(members) = value
                    && let Some(flag) = members.remove(Self::DEFAULT_MEMBER)
                {
                    members.insert(self.member(), flag);
                }
            });
        }
        json
    }

    /// The filter with the vendor property in the spelling that every store reads.
    #[must_use]
    pub fn filter<'f>(&self, filter: &'f str) -> Filter<'f> {
        let mut result = Filter { text: Cow::Borrowed(filter), renamed_at: Vec::new(), growth: 0 };
        if self.is_default() {
            return result;
        }
        let property = self.property();
        let mut out = String::new();
        let mut chars = 0;
        for token in tokens(filter) {
            if token.eq_ignore_ascii_case(&property) {
                result.renamed_at.push(chars);
                out.push_str(Self::NEUTRAL_MEMBER);
            } else {
                out.push_str(token);
            }
            chars += token.chars().count();
        }
        if !result.renamed_at.is_empty() {
            result.growth = Self::NEUTRAL_MEMBER.len().cast_signed() - property.len().cast_signed();
            result.text = Cow::Owned(out);
        }
        result
    }
}

/// A filter whose vendor property was renamed, and how its positions map back.
#[derive(Debug)]
pub struct Filter<'f> {
    /// The text to compile.
    pub text: Cow<'f, str>,
    /// Character offsets of the renamed names in the caller's text.
    renamed_at: Vec<usize>,
    growth: isize,
}

impl Filter<'_> {
    /// An error about [`Filter::text`] as one about the caller's text.
    #[must_use]
    pub fn map_error(&self, error: Error) -> Error {
        let Some(&Place::Offset(offset)) = error.place() else { return error };
        let mut shift = 0;
        for start in &self.renamed_at {
            let renamed = start.saturating_add_signed(shift);
            if offset < renamed {
                break;
            }
            if offset < renamed + VendorPrefix::NEUTRAL_MEMBER.len() {
                return error.at(Place::Offset(*start));
            }
            shift += self.growth;
        }
        error.at(Place::Offset(offset.saturating_add_signed(-shift)))
    }
}

fn walk(value: &mut Value, visit: &mut impl FnMut(&mut Value)) {
    visit(value);
    match value {
        Value::Object(members) => {
            members.iter_mut().filter(|(name, _)| *name != "properties").for_each(|(_, value)| walk(value, visit));
        }
        Value::Array(items) => items.iter_mut().for_each(|item| walk(item, visit)),
        _ => {}
    }
}

/// The text in pieces: names, quoted strings with their quotes, and single other characters.
fn tokens(text: &str) -> impl Iterator<Item = &str> {
    let mut rest = text;
    std::iter::from_fn(move || {
        let first = rest.chars().next()?;
        let len = if first == '"' || first == '\'' {
            let mut escaped = false;
            let body = rest.char_indices().skip(1).find(|(_, c)| {
                let ends = *c == first && !escaped;
                escaped = *c == '\\' && !escaped;
                ends
            });
            body.map_or(rest.len(), |(at, c)| at + c.len_utf8())
        } else if first.is_alphanumeric() || first == '_' {
            rest.find(|c: char| !(c.is_alphanumeric() || c == '_')).unwrap_or(rest.len())
        } else {
            first.len_utf8()
        };
        let (token, tail) = rest.split_at(len);
        rest = tail;
        Some(token)
    })
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::model::asset::Asset;
    use crate::model::asset_requests::{AssetField, QueryAssetsRequest};

    #[test]
    fn the_default_prefix_changes_nothing() {
        let vendor = VendorPrefix::default();
        assert_eq!((vendor.member(), vendor.projection()), ("isNIAsset".into(), "IS_NI_ASSET".into()));
        let value = json!({"isNIAsset": true});
        assert_eq!(vendor.write(value.clone()), value);
        assert_eq!(vendor.read(value.clone()), value);
        assert!(matches!(vendor.filter("IsNIAsset = true").text, Cow::Borrowed(_)));
    }

    #[test]
    fn every_spelling_of_the_member_is_read_and_the_prefixed_one_is_written() {
        for name in ["isNIAsset", "is_ni_asset", "isVendorAsset", "is_vendor_asset"] {
            let asset: Asset = serde_json::from_value(json!({name: true})).unwrap();
            assert_eq!(asset.is_vendor_asset, Some(true), "{name}");
            assert_eq!(serde_json::to_value(asset).unwrap(), json!({"isNIAsset": true}));
        }
    }

    #[test]
    fn another_prefix_shapes_member_projection_and_property() {
        let vendor = VendorPrefix::new("Acme").unwrap();
        let answer = json!({"assets": [{"isNIAsset": false, "properties": {"isNIAsset": "kept"}}]});
        let written = json!({"assets": [{"isAcmeAsset": false, "properties": {"isNIAsset": "kept"}}]});
        assert_eq!(vendor.write(answer), written);
        for name in ["isAcmeAsset", "is_acme_asset", "isVendorAsset"] {
            let asset: Asset = serde_json::from_value(vendor.read(json!({name: true}))).unwrap();
            assert_eq!(asset.is_vendor_asset, Some(true), "{name}");
        }
        let query: QueryAssetsRequest =
            serde_json::from_value(vendor.read(json!({"projection": ["IS_ACME_ASSET", "ID"]}))).unwrap();
        assert_eq!(query.projection, Some(vec![AssetField::IsVendorAsset, AssetField::Id]));
        for bad in ["", "1A", "A-B", "Ä"] {
            assert!(VendorPrefix::new(bad).is_err());
        }
    }

    #[test]
    fn filters_are_renamed_outside_quotes_and_errors_point_into_the_original() {
        let vendor = VendorPrefix::new("Acme").unwrap();
        let original = r#"name = "ä \" IsAcmeAsset" and isacmeasset = true or IsAcmeAsset = fault"#;
        let filter = vendor.filter(original);
        assert_eq!(
            filter.text,
            r#"name = "ä \" IsAcmeAsset" and isVendorAsset = true or isVendorAsset = fault"#
        );
        let offset = |text: &str, word: &str| text[..text.rfind(word).unwrap()].chars().count();
        for word in ["true", "fault", "name", "and"] {
            let error = filter.map_error(Error::invalid("x").at(Place::Offset(offset(&filter.text, word))));
            assert_eq!(error.place(), Some(&Place::Offset(offset(original, word))), "{word}");
        }
        let error = filter.map_error(Error::invalid("x").at(Place::Offset(offset(&filter.text, "isVendorAsset"))));
        assert_eq!(error.place(), Some(&Place::Offset(offset(original, "IsAcmeAsset"))));
    }
}
