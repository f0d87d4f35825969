//! The members that a JSON object did not have.

use crate::value::Stored;
use crate::value::stored::{DecodeResult, EncodeResult, Input, Output};

/// The members that the JSON of a record did not have, so that a failed entry of a batch can be
/// echoed without them.
///
/// A record has it beside members that are no options, of which absent and empty are one value. It
/// is neither stored nor written, and all values are equal. A record that a caller builds has none.
#[derive(Clone, Debug, Default)]
pub struct Absent(Vec<&'static str>);

impl Absent {
    /// These members, in camelCase.
    pub(in crate::value) fn new(names: Vec<&'static str>) -> Self {
        Self(names)
    }

    /// Whether the JSON did not have the member, or had null.
    pub(crate) fn has(&self, name: &str) -> bool {
        self.0.contains(&name)
    }
}

impl PartialEq for Absent {
    fn eq(&self, _: &Self) -> bool {
        true
    }
}

impl Eq for Absent {}

impl Stored for Absent {
    fn put(&self, _: &mut Output<'_>) -> EncodeResult {
        Ok(())
    }

    fn take(_: &mut Input<'_>) -> DecodeResult<Self> {
        Ok(Self::default())
    }
}
