//! A step as it is stored, and the ids of steps.

use std::collections::BTreeMap;

use crate::value::id::IdForm;
use crate::value::wire::record;
use crate::value::{RecordKey, time};

/// Memory that an entry of a list or map takes in addition to its texts, about.
const ENTRY_BYTES: usize = 48;

record! {
    /// A parameter of a step: the well-known keys as members, so that they become columns, and all
    /// others.
    pub struct StoredParameter {
        /// Name of the measurement.
        pub name: Option<String>,
        /// The measurement as a number, if its text is one.
        pub value: Option<f64>,
        /// The text of the measurement; absent if it is the shortest text of `value`.
        pub text: Option<String>,
        /// Unit.
        pub units: Option<String>,
        /// Low limit, as text.
        pub low_limit: Option<String>,
        /// High limit, as text.
        pub high_limit: Option<String>,
        /// Nominal value, as text.
        pub nominal_value: Option<String>,
        /// How the value is compared with the limits.
        pub comparison: Option<String>,
        /// Status of the measurement.
        pub status: Option<String>,
        /// Id of the specification.
        pub spec_id: Option<String>,
        /// All other keys.
        pub extra: BTreeMap<String, String>,
    }

    /// The data of a step.
    pub struct StoredData {
        /// Text.
        pub text: Option<String>,
        /// The parameters in the order in which they were sent.
        pub parameters: Option<Vec<StoredParameter>>,
    }

    /// A step of a result. The key of its row has the result, and `seq` of the step.
    pub struct StoredStep {
        /// How many steps the result had got before this one.
        pub seq: u64,
        /// The id that the caller chose; absent if the store generated it, see [`generated_id`].
        pub step_id: Option<String>,
        /// Id of the parent.
        pub parent_id: Option<String>,
        /// Name.
        pub name: String,
        /// Type.
        pub step_type: Option<String>,
        /// Type of the status.
        pub status_type: Option<String>,
        /// Display name of the status.
        pub status_name: Option<String>,
        /// Start, in milliseconds since 1970 UTC.
        pub started_at_ms: i64,
        /// Time of creation or of the last update, in milliseconds since 1970 UTC.
        pub updated_at_ms: i64,
        /// Duration in seconds.
        pub total_time: f64,
        /// Text and parameters.
        pub data: Option<StoredData>,
        /// Name of the model of `data`.
        pub data_model: Option<String>,
        /// The inputs as a JSON array; absent if there are none.
        pub inputs: Option<String>,
        /// The outputs as a JSON array; absent if there are none.
        pub outputs: Option<String>,
        /// Keywords.
        pub keywords: Vec<String>,
        /// Properties.
        pub properties: BTreeMap<String, String>,
        /// The names of the ancestors and of the step, joined by line feeds.
        pub path: String,
        /// The ids of the ancestors, root first.
        pub ancestor_ids: Vec<String>,
        /// Whether a step of the result has this one as its parent.
        pub has_children: bool,
    }

    /// Steps of one result that are not sealed yet, in order of `seq`.
    pub struct StepChunk {
        /// The steps.
        pub steps: Vec<StoredStep>,
    }
}

impl StepChunk {
    /// The rows that its steps are.
    #[must_use]
    pub(crate) fn row_count(&self) -> u64 {
        self.steps.iter().map(StoredStep::row_count).sum()
    }
}

impl StoredParameter {
    /// Whether the parameter is a measurement: it has a name and a value, and is not said to be
    /// something else.
    #[must_use]
    pub(crate) fn is_measurement(&self) -> bool {
        self.name.is_some()
            && (self.text.is_some() || self.value.is_some())
            && !says_additional(&self.extra)
    }
}

/// Whether the other keys of a parameter say that it is no measurement.
fn says_additional(extra: &BTreeMap<String, String>) -> bool {
    extra.get("nitmParameterType").map(String::as_str) == Some("ADDITIONAL_RESULTS")
}

/// As [`says_additional`], of the keys as JSON text.
#[must_use]
pub(crate) fn is_additional(extra: &str) -> bool {
    // Most texts need not be parsed.
    extra.contains("ADDITIONAL_RESULTS")
        && serde_json::from_str(extra).is_ok_and(|extra| says_additional(&extra))
}

impl StoredStep {
    /// The id of the step in the result with this key.
    #[must_use]
    pub(crate) fn id(&self, result: RecordKey) -> String {
        self.step_id.clone().unwrap_or_else(|| generated_id(result, self.seq))
    }

    /// Gives the step the path and the ancestors that follow from its parent, a step of the result
    /// with this key; `None` if there is no such step.
    pub(crate) fn place_below(&mut self, parent: Option<&Self>, result: RecordKey) {
        match parent {
            Some(parent) => {
                self.path = format!("{}\n{}", parent.path, self.name);
                self.ancestor_ids.clone_from(&parent.ancestor_ids);
                self.ancestor_ids.push(parent.id(result));
            }
            // A parent that is not there is all that is known of the ancestors.
            None => {
                self.path.clone_from(&self.name);
                self.ancestor_ids = self.parent_id.iter().cloned().collect();
            }
        }
    }

    /// The rows that the step is: one for each parameter, and at least one.
    #[must_use]
    pub(crate) fn row_count(&self) -> u64 {
        self.parameters().len().max(1) as u64
    }

    /// Memory that the step takes, about.
    #[must_use]
    pub(crate) fn memory_bytes(&self) -> usize {
        let of = |text: &Option<String>| text.as_ref().map_or(0, String::len);
        let pairs = |map: &BTreeMap<String, String>| -> usize {
            map.iter().map(|(key, text)| ENTRY_BYTES + key.len() + text.len()).sum()
        };
        let lists = [&self.keywords, &self.ancestor_ids].into_iter().flatten();
        let parameter = |parameter: &StoredParameter| {
            let texts = [&parameter.name, &parameter.text, &parameter.units];
            let more = [&parameter.low_limit, &parameter.high_limit, &parameter.nominal_value];
            let last = [&parameter.comparison, &parameter.status, &parameter.spec_id];
            let texts = texts.into_iter().chain(more).chain(last).map(of).sum::<usize>();
            size_of::<StoredParameter>() + texts + pairs(&parameter.extra)
        };
        size_of::<Self>()
            + self.name.len()
            + self.path.len()
            + [&self.step_id, &self.parent_id, &self.inputs, &self.outputs]
                .into_iter()
                .chain([&self.step_type, &self.status_name, &self.data_model])
                .chain(self.data.as_ref().map(|data| &data.text))
                .map(of)
                .sum::<usize>()
            + lists.map(|text| ENTRY_BYTES + text.len()).sum::<usize>()
            + pairs(&self.properties)
            + self.parameters().iter().map(parameter).sum::<usize>()
    }

    /// Whether the step has this id.
    #[must_use]
    pub(crate) fn has_id(&self, result: RecordKey, id: &str) -> bool {
        match &self.step_id {
            Some(own) => own == id,
            None => generated_seq(result, id) == Some(self.seq),
        }
    }

    /// The parameters.
    #[must_use]
    pub(crate) fn parameters(&self) -> &[StoredParameter] {
        self.data.as_ref().and_then(|data| data.parameters.as_deref()).unwrap_or_default()
    }
}

/// The first half of the key of a result, as the index of the table of steps has it: the order of
/// the numbers is that of the keys.
#[must_use]
pub(crate) fn index_of(result: RecordKey) -> i64 {
    index_of_half(half(result, 0))
}

/// The index value of the results whose keys have this first half.
#[must_use]
pub(crate) fn index_of_half(half: u64) -> i64 {
    (half ^ (1 << 63)).cast_signed()
}

/// The second half of the key of a result.
#[must_use]
pub(crate) fn rest_of(result: RecordKey) -> i64 {
    half(result, 8).cast_signed()
}

fn half(result: RecordKey, from: usize) -> u64 {
    let bytes = result.as_bytes().get(from..from + 8).and_then(|half| half.try_into().ok());
    bytes.map_or(0, u64::from_be_bytes)
}

/// The key of the result with these halves, see [`index_of`] and [`rest_of`].
#[must_use]
pub(crate) fn result_key(index: i64, rest: i64) -> Option<RecordKey> {
    let first = index.cast_unsigned() ^ (1 << 63);
    key_of(first, rest.cast_unsigned())
}

/// The key with these halves.
fn key_of(first: u64, rest: u64) -> Option<RecordKey> {
    let bytes = (u128::from(first) << u64::BITS | u128::from(rest)).to_be_bytes();
    RecordKey::from_bytes(IdForm::Guid, &bytes)
}

/// Marks the second half of a generated id; RFC 9562 asks for these two bits.
const VARIANT: u64 = 1 << 63;

/// The generated id of the step `seq` of a result. It begins as the id of the result does, and ends
/// with `seq`, so it takes no place in the store.
#[must_use]
pub(crate) fn generated_id(result: RecordKey, seq: u64) -> String {
    let last = VARIANT | (seq & (VARIANT >> 1).wrapping_sub(1));
    key_of(half(result, 0), last).map(|key| key.to_id(IdForm::Guid)).unwrap_or_default()
}

/// The number of the step of a result whose generated id this is.
#[must_use]
pub(crate) fn generated_seq(result: RecordKey, id: &str) -> Option<u64> {
    split_generated(id).filter(|(first, _)| *first == half(result, 0)).map(|(_, seq)| seq)
}

/// The first half of the key of the result, and the number of the step, that a generated id has.
#[must_use]
pub(crate) fn split_generated(id: &str) -> Option<(u64, u64)> {
    let key = RecordKey::parse(IdForm::Guid, id)?;
    let last = half(key, 8);
    let is_generated = last >> 62 == VARIANT >> 62;
    is_generated.then_some((half(key, 0), last & (VARIANT >> 1).wrapping_sub(1)))
}

/// A time in the milliseconds that steps have.
#[must_use]
pub(crate) fn millis(at: chrono::DateTime<chrono::Utc>) -> i64 {
    at.timestamp_millis().clamp(time::MIN_MS, time::MAX_MS)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn key(bytes: [u8; 16]) -> RecordKey {
        RecordKey::from_bytes(IdForm::Guid, &bytes).unwrap()
    }

    #[test]
    fn generated_ids_name_the_step() {
        let result = key([0, 0, 0, 0, 3, 232, 0x8a, 0xbc, 0x9d, 1, 2, 3, 4, 5, 6, 7]);
        let other = key([0, 0, 0, 0, 3, 233, 0x8a, 0xbc, 0x9d, 1, 2, 3, 4, 5, 6, 7]);
        assert_eq!(generated_id(result, 7), "00000000-03e8-8abc-8000-000000000007");
        for seq in [0, 1, 7, 1 << 40, (1 << 62) - 1] {
            let id = generated_id(result, seq);
            assert_eq!(generated_seq(result, &id), Some(seq));
            assert_eq!(generated_seq(other, &id), None);
            assert_eq!(generated_seq(result, &id.to_uppercase()).is_none(), seq != u64::MAX);
        }
        assert_eq!(generated_seq(result, "step"), None);
        assert_eq!(
            generated_seq(result, &result.to_id(IdForm::Guid)),
            Some(half(result, 8) & !(3 << 62))
        );
        let step = StoredStep { step_id: Some("a".to_owned()), seq: 7, ..Default::default() };
        assert!(step.has_id(result, "a") && !step.has_id(result, &generated_id(result, 7)));
    }

    #[test]
    fn halves_keep_the_order_of_keys() {
        let keys = [[0; 16], [1; 16], [127; 16], [128; 16], [255; 16]].map(key);
        let halves: Vec<(i64, i64)> =
            keys.iter().map(|key| (index_of(*key), rest_of(*key))).collect();
        assert!(halves.is_sorted_by_key(|(index, _)| *index));
        for (key, (index, rest)) in keys.iter().zip(halves) {
            assert_eq!(result_key(index, rest), Some(*key));
        }
    }
}
