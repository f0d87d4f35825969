//! The vendor's prefix in the names of the vendor flag.
//!
//! In Rust the member is `is_vendor_asset`. On the wire the member is `is<V>Asset`, the projection
//! `IS_<V>_ASSET` and the filter property `Is<V>Asset`, where `<V>` is the prefix that the store
//! was opened with. Serde writes the default prefix. A store with another prefix converts JSON with
//! this type, and adds the property's name to the filter.

use serde_json::Value;

use crate::error::{Error, Result};

/// The prefix of the vendor; `NI` by default.
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

    /// Validates a prefix.
    ///
    /// # Errors
    /// `InvalidArgument` if it is empty, starts with a digit, or contains other characters than
    /// ASCII letters and digits.
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

    /// Renames the vendor member and the projection in the JSON of requests to the names that serde
    /// reads, at any depth except inside `properties`.
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
                match members.get_mut("projection") {
                    Some(Value::Array(names)) => {
                        for name in
                            names.iter_mut().filter(|name| name.as_str() == Some(&projection))
                        {
                            *name = Self::NEUTRAL_PROJECTION.into();
                        }
                    }
                    Some(Value::String(text)) => {
                        *text = text.replace(&projection, Self::NEUTRAL_PROJECTION);
                    }
                    _ => {}
                }
            });
        }
        json
    }

    /// Renames the vendor member in JSON that serde wrote, at any depth except inside `properties`.
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
}

fn walk(value: &mut Value, visit: &mut impl FnMut(&mut Value)) {
    visit(value);
    match value {
        Value::Object(members) => {
            members
                .iter_mut()
                .filter(|(name, _)| *name != "properties")
                .for_each(|(_, value)| walk(value, visit));
        }
        Value::Array(items) => items.iter_mut().for_each(|item| walk(item, visit)),
        _ => {}
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::model::assets::asset::Asset;
    use crate::model::assets::asset::AssetField;
    use crate::model::assets::requests::QueryAssetsRequest;

    #[test]
    fn the_default_prefix_changes_nothing() {
        let vendor = VendorPrefix::default();
        assert_eq!(
            (vendor.member(), vendor.projection()),
            ("isNIAsset".into(), "IS_NI_ASSET".into())
        );
        let value = json!({"isNIAsset": true});
        assert_eq!(vendor.write(value.clone()), value);
        assert_eq!(vendor.read(value.clone()), value);
    }

    #[test]
    fn every_spelling_of_the_member_is_read_and_the_prefixed_one_is_written() {
        for name in ["isNIAsset", "is_ni_asset", "isVendorAsset", "is_vendor_asset"] {
            let asset: Asset = serde_json::from_value(json!({name: true})).unwrap();
            assert_eq!(asset.is_vendor_asset, Some(true), "{name}");
            assert_eq!(serde_json::to_value(asset).unwrap(), json!({"isNIAsset": true}));
            let both: Asset =
                serde_json::from_value(json!({name: true, "isNIAsset": false})).unwrap();
            assert_eq!(
                both.is_vendor_asset,
                Some(false),
                "{name} beside the canonical spelling, which wins"
            );
        }
    }

    #[test]
    fn another_prefix_shapes_member_projection_and_property() {
        let vendor = VendorPrefix::new("Acme").unwrap();
        let answer = json!({"assets": [{"isNIAsset": false, "properties": {"isNIAsset": "kept"}}]});
        let written =
            json!({"assets": [{"isAcmeAsset": false, "properties": {"isNIAsset": "kept"}}]});
        assert_eq!(vendor.write(answer), written);
        for name in ["isAcmeAsset", "is_acme_asset", "isVendorAsset"] {
            let asset: Asset = serde_json::from_value(vendor.read(json!({name: true}))).unwrap();
            assert_eq!(asset.is_vendor_asset, Some(true), "{name}");
        }
        let query: QueryAssetsRequest =
            serde_json::from_value(vendor.read(json!({"projection": ["IS_ACME_ASSET", "ID"]})))
                .unwrap();
        assert_eq!(query.projection, Some(vec![AssetField::IsVendorAsset, AssetField::Id]));
        let text: QueryAssetsRequest =
            serde_json::from_value(vendor.read(json!({"projection": "new(IS_ACME_ASSET,ID)"})))
                .unwrap();
        assert_eq!(text.projection, query.projection);
        for bad in ["", "1A", "A-B", "Ä"] {
            assert!(VendorPrefix::new(bad).is_err());
        }
    }
}
