//! The identity of assets: finds the stored asset that a request means if it has no id.
//!
//! An identity consists of the bus type, the model (name or number), the vendor (name or number),
//! and the serial number, or the system if there is no serial number. Models, and vendors, are
//! compared by number if both identities have one, otherwise by name. So "same" is not an
//! equivalence that one key could express. The store therefore keeps two indexes: a unique one on
//! the canonical key, which rejects most duplicates, and one on bus type and serial number, whose
//! few candidates are compared here.

use crate::error::{Error, Result};
use crate::value::key;
use crate::value::wire::record;

use crate::model::assets::parts::AssetBusType;

record! {
    /// The members that identify an asset.
    wire pub struct AssetIdentification new() {
        /// Name of the model.
        pub model_name: Option<String>,
        /// Number of the model.
        pub model_number: Option<u64>,
        /// Serial number.
        pub serial_number: Option<String>,
        /// Name of the vendor.
        pub vendor_name: Option<String>,
        /// Number of the vendor.
        pub vendor_number: Option<u64>,
        /// Bus type; `BUILT_IN_SYSTEM` when absent.
        pub bus_type: Option<AssetBusType>,
    }
}

/// The members of an identity.
pub(crate) struct IdentityMembers<'a> {
    /// Bus type; `BUILT_IN_SYSTEM` when absent.
    pub bus_type: Option<AssetBusType>,
    /// Name of the model.
    pub model_name: Option<&'a str>,
    /// Number of the model.
    pub model_number: Option<u64>,
    /// Name of the vendor.
    pub vendor_name: Option<&'a str>,
    /// Number of the vendor.
    pub vendor_number: Option<u64>,
    /// Serial number.
    pub serial_number: Option<&'a str>,
    /// The system, which replaces a missing serial number.
    pub system: Option<&'a str>,
}

/// An identity in comparable form, with blanks around texts removed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Identity<'a> {
    bus: AssetBusType,
    model: NameOrNumber<'a>,
    vendor: NameOrNumber<'a>,
    unit: Unit<'a>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct NameOrNumber<'a> {
    name: Option<&'a str>,
    number: Option<u64>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Unit<'a> {
    Serial(&'a str),
    System(&'a str),
}

fn trimmed(text: Option<&str>) -> Option<&str> {
    text.map(str::trim).filter(|text| !text.is_empty())
}

impl NameOrNumber<'_> {
    fn is_missing(self) -> bool {
        self.name.is_none() && self.number.is_none()
    }

    fn is_same(self, other: NameOrNumber<'_>) -> bool {
        match (self.number, other.number) {
            (Some(one), Some(other)) => one == other,
            _ => self.name.is_some() && self.name == other.name,
        }
    }

    fn push(self, out: &mut Vec<u8>) {
        match self.number {
            Some(number) => key::push_i64(out, number.cast_signed()),
            None => key::push_str(out, self.name.unwrap_or_default()),
        }
    }
}

impl<'a> Identity<'a> {
    /// The identity in `identification`; `system` replaces a missing serial number.
    ///
    /// # Errors
    /// `InvalidArgument` with the missing member.
    pub(crate) fn of(
        identification: &'a AssetIdentification,
        system: Option<&'a str>,
    ) -> Result<Self> {
        Self::new(IdentityMembers {
            bus_type: identification.bus_type,
            model_name: identification.model_name.as_deref(),
            model_number: identification.model_number,
            vendor_name: identification.vendor_name.as_deref(),
            vendor_number: identification.vendor_number,
            serial_number: identification.serial_number.as_deref(),
            system,
        })
    }

    /// The identity with these members.
    ///
    /// # Errors
    /// `InvalidArgument` with the missing member.
    pub(crate) fn new(members: IdentityMembers<'a>) -> Result<Self> {
        let missing = |what: &str, member: &str| {
            Error::invalid(format!("an asset cannot be identified without {what}"))
                .at_member(member)
        };
        let model =
            NameOrNumber { name: trimmed(members.model_name), number: members.model_number };
        if model.is_missing() {
            return Err(missing("a model name or model number", "modelName"));
        }
        let vendor =
            NameOrNumber { name: trimmed(members.vendor_name), number: members.vendor_number };
        if vendor.is_missing() {
            return Err(missing("a vendor name or vendor number", "vendorName"));
        }
        let unit = trimmed(members.serial_number)
            .map(Unit::Serial)
            .or(trimmed(members.system).map(Unit::System))
            .ok_or_else(|| missing("a serial number, or a system in its place", "serialNumber"))?;
        Ok(Self { bus: members.bus_type.unwrap_or_default(), model, vendor, unit })
    }

    /// Whether both identify the same asset. Texts are compared exactly, including letter case.
    #[must_use]
    pub(crate) fn is_same(&self, other: &Identity<'_>) -> bool {
        self.bus == other.bus
            && self.unit == other.unit
            && self.model.is_same(other.model)
            && self.vendor.is_same(other.vendor)
    }

    /// A key that all identities share that may be the same as this one: bus type and serial number
    /// or system.
    #[must_use]
    pub(crate) fn candidate_key(&self) -> Vec<u8> {
        let mut out = Vec::new();
        key::push_str(&mut out, self.bus.as_str());
        let (tag, text) = match self.unit {
            Unit::Serial(text) => (0, text),
            Unit::System(text) => (1, text),
        };
        key::push_i64(&mut out, tag);
        key::push_str(&mut out, text);
        out
    }

    /// A key that is equal only for identities that are the same. Identities that are the same may
    /// have different keys, if only one of them has a number.
    #[must_use]
    pub(crate) fn canonical_key(&self) -> Vec<u8> {
        let mut out = self.candidate_key();
        self.model.push(&mut out);
        self.vendor.push(&mut out);
        out
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn identification(
        model: &str,
        number: Option<u64>,
        vendor: &str,
        serial: &str,
    ) -> AssetIdentification {
        let text = |text: &str| (!text.is_empty()).then(|| text.to_owned());
        AssetIdentification {
            model_name: text(model),
            model_number: number,
            vendor_name: text(vendor),
            serial_number: text(serial),
            ..Default::default()
        }
    }

    #[test]
    fn numbers_decide_when_both_have_one_and_names_otherwise() {
        let same = |one: &AssetIdentification, other: &AssetIdentification| {
            let (one, other) =
                (Identity::of(one, None).unwrap(), Identity::of(other, None).unwrap());
            assert_eq!(one.is_same(&other), other.is_same(&one));
            if one.canonical_key() == other.canonical_key() {
                assert!(one.is_same(&other));
            }
            if one.is_same(&other) {
                assert_eq!(one.candidate_key(), other.candidate_key());
            }
            one.is_same(&other)
        };
        let named = identification("PXI-4071", None, "NI", "S1");
        let both = identification("PXI-4071", Some(7), "NI", "S1");
        let renamed = identification("DMM", Some(7), "NI", "S1");
        let other_number = identification("PXI-4071", Some(8), "NI", "S1");
        let numbered = identification("", Some(7), "NI", "S1");
        assert!(same(&named, &both));
        assert!(same(&both, &renamed));
        assert!(same(&both, &numbered));
        assert!(!same(&named, &renamed));
        assert!(!same(&named, &numbered));
        assert!(!same(&both, &other_number));
        assert!(same(&named, &identification(" PXI-4071 ", None, "NI ", " S1")));
        assert!(!same(&named, &identification("pxi-4071", None, "NI", "S1")));
        assert!(!same(&named, &identification("PXI-4071", None, "Acme", "S1")));
        assert!(!same(&named, &identification("PXI-4071", None, "NI", "s1")));
        let usb = AssetIdentification { bus_type: Some(AssetBusType::Usb), ..named.clone() };
        assert!(!same(&named, &usb));
        let built_in =
            AssetIdentification { bus_type: Some(AssetBusType::BuiltInSystem), ..named.clone() };
        assert!(same(&named, &built_in));
    }

    #[test]
    fn a_system_stands_in_for_a_missing_serial_number_and_is_no_serial_number() {
        let without = identification("M", None, "V", "");
        let with = identification("M", None, "V", "S1");
        let system = Identity::of(&without, Some("S1")).unwrap();
        assert!(!system.is_same(&Identity::of(&with, None).unwrap()));
        assert!(system.is_same(&Identity::of(&without, Some(" S1 ")).unwrap()));
        assert!(
            Identity::of(&with, Some("A"))
                .unwrap()
                .is_same(&Identity::of(&with, Some("B")).unwrap())
        );
    }

    #[test]
    fn incomplete_identities_name_what_is_missing() {
        for (incomplete, member) in [
            (identification("", None, "V", "S"), "modelName"),
            (identification(" ", None, "V", "S"), "modelName"),
            (identification("M", None, "", "S"), "vendorName"),
            (identification("M", None, "V", ""), "serialNumber"),
        ] {
            let error = Identity::of(&incomplete, Some(" ")).unwrap_err();
            assert_eq!(error.place(), Some(&crate::error::Place::Member(member.into())));
        }
    }
}
