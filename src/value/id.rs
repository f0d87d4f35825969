//! Ids on the wire, their binary keys, and how they are generated.
//!
//! A generated id starts with a counter, so ids are never reused, and they sort in order of
//! creation whatever the clock says. Except in decimal ids, a hash of store seed and counter
//! follows, so ids of different stores differ.

use std::fmt;

use xxhash_rust::xxh3::xxh3_128_with_seed;

use super::access::Service;
use super::field::FieldType;

/// The form of the ids of a kind of resource.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum IdForm {
    /// A decimal number written as text.
    Decimal,
    /// 24 lowercase hexadecimal digits.
    Hex24,
    /// 24 hexadecimal digits, which callers may choose: read in any letter case, written in lower
    /// case.
    Hex24AnyCase,
    /// A GUID in lowercase with hyphens.
    Guid,
}

impl IdForm {
    /// The form in words, for messages.
    pub(crate) fn words(self) -> &'static str {
        match self {
            Self::Decimal => "which is a decimal number written as text, such as 1000",
            Self::Hex24 | Self::Hex24AnyCase => {
                "which is 24 hexadecimal digits, such as 65e0a1b2c3d4e5f607182930"
            }
            Self::Guid => {
                "which is a GUID with hyphens, such as 6f9619ff-8b86-4011-b42d-00c04fc964ff"
            }
        }
    }
}

/// A kind of resource; each resource type declares one constant.
#[derive(Clone, Copy, Debug)]
pub struct Kind {
    /// Stable number of the kind in keys and in the change log.
    pub code: u8,
    /// Name of the kind in `resourceType` of errors, for example `work item`.
    pub name: &'static str,
    /// The service it belongs to.
    pub service: Service,
    /// The form of its ids.
    pub id: IdForm,
}

impl Kind {
    /// The error of an id that no resource of this kind has. It says so when none can have it.
    pub(crate) fn absent(&self, id: &str) -> crate::error::Error {
        let error = crate::error::Error::not_found(self.name, id);
        if RecordKey::parse(self.id, id).is_some() {
            return error;
        }
        let kind = self.name;
        error.followed_by(format_args!(
            "; it does not have the form of a {kind} id, {}",
            self.id.words()
        ))
    }
}

impl Kind {
    /// Name of the kind in events of the change feed and in search hits: lower case, with spaces
    /// between words. For some resources the services use another name in `resourceType`.
    #[must_use]
    pub fn event_name(self) -> &'static str {
        match self.name {
            "Product" => "product",
            "TestResult" => "test result",
            "TestStep" => "test step",
            "Specification" => "specification",
            "Asset" => "asset",
            "AssetUtilization" => "asset utilization",
            name => name,
        }
    }
}

impl PartialEq for Kind {
    fn eq(&self, other: &Self) -> bool {
        self.code == other.code
    }
}

impl Eq for Kind {}

/// The binary form of an id. Its length is fixed for each form; keys sort as the ids do.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct RecordKey {
    bytes: [u8; 16],
    len: u8,
}

impl RecordKey {
    fn new(source: &[u8]) -> Self {
        let mut bytes = [0; 16];
        bytes[..source.len()].copy_from_slice(source);
        Self { bytes, len: source.len() as u8 }
    }

    /// The key bytes.
    #[must_use]
    pub fn as_bytes(&self) -> &[u8] {
        &self.bytes[..usize::from(self.len)]
    }

    /// Reads key bytes back; `None` when their length is not that of `form`.
    #[must_use]
    pub fn from_bytes(form: IdForm, bytes: &[u8]) -> Option<Self> {
        (bytes.len() == form.key_len()).then(|| Self::new(bytes))
    }

    /// The key of an id from a caller; `None` when the text does not have this form.
    ///
    /// Ids are compared exactly: the same digits in another letter case are another id, unless the
    /// form ignores letter case.
    #[must_use]
    pub fn parse(form: IdForm, id: &str) -> Option<Self> {
        match form {
            IdForm::Decimal => {
                let canonical = !id.is_empty()
                    && id.bytes().all(|byte| byte.is_ascii_digit())
                    && (id.len() == 1 || !id.starts_with('0'));
                canonical
                    .then(|| id.parse::<u64>().ok())
                    .flatten()
                    .map(|number| Self::new(&number.to_be_bytes()))
            }
            IdForm::Hex24 | IdForm::Hex24AnyCase => {
                let mut bytes = [0; 12];
                (id.len() == 24).then(|| unhex(id.as_bytes(), &mut bytes)).flatten()?;
                (form == IdForm::Hex24AnyCase || is_lower_case(id)).then(|| Self::new(&bytes))
            }
            IdForm::Guid => {
                let text: &[u8; GUID_LEN] = id.as_bytes().try_into().ok()?;
                if [8, 13, 18, 23].iter().any(|&at| text[at] != b'-') || !is_lower_case(id) {
                    return None;
                }
                let mut bytes = [0; 16];
                for (byte, at) in bytes.iter_mut().zip(GUID_DIGITS) {
                    *byte = digit(text[at])? << 4 | digit(text[at + 1])?;
                }
                Some(Self { bytes, len: 16 })
            }
        }
    }

    /// The id of the `number`th resource of a kind, in the store with this seed.
    #[must_use]
    pub fn generate(kind: Kind, number: u64, store_seed: u64) -> Self {
        let hash = || {
            let mut input = number.to_be_bytes().to_vec();
            input.push(kind.code);
            xxh3_128_with_seed(&input, store_seed).to_be_bytes()
        };
        let counter = &number.to_be_bytes()[2..];
        match kind.id {
            IdForm::Decimal => Self::new(&number.to_be_bytes()),
            IdForm::Hex24 | IdForm::Hex24AnyCase => {
                let mut bytes = [0; 12];
                bytes[..6].copy_from_slice(counter);
                bytes[6..].copy_from_slice(&hash()[..6]);
                Self::new(&bytes)
            }
            IdForm::Guid => {
                let mut bytes = hash();
                bytes[..6].copy_from_slice(counter);
                // Version 8 (custom layout) and the RFC 9562 variant.
                bytes[6] = (bytes[6] & 0x0f) | 0x80;
                bytes[8] = (bytes[8] & 0x3f) | 0x80;
                Self::new(&bytes)
            }
        }
    }

    /// The id on the wire.
    #[must_use]
    pub fn to_id(self, form: IdForm) -> String {
        let bytes = self.as_bytes();
        match form {
            IdForm::Decimal => {
                let number = bytes.iter().fold(0u64, |number, &byte| number << 8 | u64::from(byte));
                number.to_string()
            }
            IdForm::Hex24 | IdForm::Hex24AnyCase => hex(bytes),
            IdForm::Guid => {
                let mut text = [b'-'; GUID_LEN];
                for (byte, at) in bytes.iter().zip(GUID_DIGITS) {
                    text[at] = DIGITS[usize::from(byte >> 4)];
                    text[at + 1] = DIGITS[usize::from(byte & 15)];
                }
                String::from_utf8_lossy(&text).into_owned()
            }
        }
    }
}

impl fmt::Debug for RecordKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&hex(self.as_bytes()))
    }
}

impl IdForm {
    /// The length of the keys of this form, in bytes.
    #[must_use]
    pub fn key_len(self) -> usize {
        match self {
            Self::Decimal => 8,
            Self::Hex24 | Self::Hex24AnyCase => 12,
            Self::Guid => 16,
        }
    }
}

/// Lowercase hexadecimal digits.
#[must_use]
pub fn hex(bytes: &[u8]) -> String {
    let mut text = String::with_capacity(2 * bytes.len());
    bytes.iter().for_each(|byte| push_hex(&mut text, *byte));
    text
}

const DIGITS: &[u8; 16] = b"0123456789abcdef";

/// The length of an id of the form [`IdForm::Guid`], and where the two digits of each byte begin.
const GUID_LEN: usize = 36;
const GUID_DIGITS: [usize; 16] = [0, 2, 4, 6, 9, 11, 14, 16, 19, 21, 24, 26, 28, 30, 32, 34];

fn push_hex(text: &mut String, byte: u8) {
    text.push(DIGITS[usize::from(byte >> 4)] as char);
    text.push(DIGITS[usize::from(byte & 15)] as char);
}

fn is_lower_case(id: &str) -> bool {
    !id.bytes().any(|byte| byte.is_ascii_uppercase())
}

fn digit(byte: u8) -> Option<u8> {
    (byte as char).to_digit(16).map(|digit| digit as u8)
}

fn unhex(digits: &[u8], out: &mut [u8]) -> Option<()> {
    for (target, pair) in out.iter_mut().zip(digits.chunks_exact(2)) {
        *target = digit(pair[0])? << 4 | digit(pair[1])?;
    }
    Some(())
}

/// The bytes that [`hex`] wrote as `text`; `None` for any other text.
pub(crate) fn bytes_of_hex(text: &str) -> Option<Vec<u8>> {
    let mut bytes = vec![0; text.len() / 2];
    unhex(text.as_bytes(), &mut bytes)?;
    (hex(&bytes) == text).then_some(bytes)
}

/// The filter type of a field with ids of this form.
pub(crate) const fn field_type(form: IdForm) -> FieldType {
    match form {
        IdForm::Decimal => FieldType::DecimalId,
        IdForm::Hex24 | IdForm::Hex24AnyCase | IdForm::Guid => FieldType::String,
    }
}

/// Declares the newtype of a kind's ids: a string on the wire, checked by `parse`. `From` and serde
/// accept any text; the call that takes the id checks it.
macro_rules! id_type {
    ($(#[$meta:meta])* $name:ident, $form:expr) => {
        $(#[$meta])*
        #[derive(Clone, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
        #[derive(serde::Serialize, serde::Deserialize)]
        #[serde(transparent)]
        pub struct $name(String);

        $crate::value::argument::id_argument!($name);

        impl $name {
            /// Checks the form of `text`.
            ///
            /// # Errors
            /// `InvalidArgument` when the text does not have the form of these ids.
            pub fn parse(text: &str) -> $crate::error::Result<Self> {
                match $crate::value::RecordKey::parse($form, text) {
                    Some(key) => Ok(Self(key.to_id($form))),
                    None => Err($crate::error::Error::invalid(format!(
                        concat!("{:?} does not have the form of a ", stringify!($name), ", {}"),
                        text, $form.words()))),
                }
            }

            /// The id as text.
            #[must_use]
            pub fn as_str(&self) -> &str {
                &self.0
            }
        }

        impl std::str::FromStr for $name {
            type Err = $crate::error::Error;
            fn from_str(text: &str) -> $crate::error::Result<Self> {
                Self::parse(text)
            }
        }

        impl AsRef<str> for $name {
            fn as_ref(&self) -> &str {
                &self.0
            }
        }

        impl std::ops::Deref for $name {
            type Target = str;
            fn deref(&self) -> &str {
                &self.0
            }
        }

        impl std::fmt::Display for $name {
            fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                f.write_str(&self.0)
            }
        }

        impl From<$name> for String {
            fn from(id: $name) -> Self {
                id.0
            }
        }

        impl From<String> for $name {
            /// Takes the text unchecked. A call with an id that cannot exist fails in the same way
            /// as with an unknown id. [`Self::parse`] checks the form beforehand.
            fn from(text: String) -> Self {
                Self(text)
            }
        }

        impl From<&str> for $name {
            /// As from a `String`.
            fn from(text: &str) -> Self {
                Self(text.to_owned())
            }
        }

        impl From<&String> for $name {
            /// As from a `String`.
            fn from(text: &String) -> Self {
                Self(text.clone())
            }
        }

        impl From<$crate::value::RecordKey> for $name {
            fn from(key: $crate::value::RecordKey) -> Self {
                Self(key.to_id($form))
            }
        }

        impl $crate::value::Stored for $name {
            fn put(
                &self,
                out: &mut $crate::value::stored::Output<'_>,
            ) -> $crate::value::stored::EncodeResult {
                self.0.put(out)
            }
            fn take(
                input: &mut $crate::value::stored::Input<'_>,
            ) -> $crate::value::stored::DecodeResult<Self> {
                String::take(input).map(Self)
            }
            fn skip(
                input: &mut $crate::value::stored::Input<'_>,
            ) -> $crate::value::stored::DecodeResult<()> {
                String::skip(input)
            }
        }

        $crate::value::part::part!($name => $crate::value::id::field_type($form));

        impl<'a> From<&'a $name> for $crate::value::Val<'a> {
            fn from(id: &'a $name) -> Self {
                Self::from(id.as_str())
            }
        }
    };
}
pub(crate) use id_type;

#[cfg(test)]
mod tests {
    use super::*;

    fn kind(id: IdForm) -> Kind {
        Kind { code: 1, name: "test", service: Service::FILES, id }
    }

    #[test]
    fn generated_ids_read_back_and_are_in_order_of_creation() {
        for form in [IdForm::Decimal, IdForm::Hex24, IdForm::Hex24AnyCase, IdForm::Guid] {
            let mut previous = None;
            for number in [1, 255, 256, 70_000] {
                let key = RecordKey::generate(kind(form), number, 42);
                let id = key.to_id(form);
                assert_eq!(RecordKey::parse(form, &id), Some(key));
                let in_upper_case = RecordKey::parse(form, &id.to_uppercase());
                let is_exact = matches!(form, IdForm::Hex24 | IdForm::Guid);
                assert_eq!(in_upper_case, (!is_exact).then_some(key), "{form:?}");
                assert_eq!(RecordKey::from_bytes(form, key.as_bytes()), Some(key));
                assert!(previous < Some(key));
                previous = Some(key);
            }
        }
    }

    #[test]
    fn ids_of_the_wrong_form_are_refused() {
        for (form, bad) in [
            (IdForm::Decimal, vec!["", "-1", "+1", "01", "1.0", "18446744073709551616", "x"]),
            (
                IdForm::Hex24,
                vec![
                    "",
                    "0123456789abcdef0123456",
                    "0123456789abcdef0123456g",
                    "0123456789abcdef0123456ä",
                ],
            ),
            (
                IdForm::Guid,
                vec![
                    "",
                    "00000000000000000000000000000000",
                    "00000000-0000-0000-0000-00000000000g",
                ],
            ),
        ] {
            for id in bad {
                assert_eq!(RecordKey::parse(form, id), None, "{id}");
            }
        }
    }
}
