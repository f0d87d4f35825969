//! What is known of each test, and the steps that its records become.
//!
//! What must hold: the first record of a test says what later ones leave out, whatever their head
//! and site.

use std::collections::{BTreeMap, HashMap};

use stationdb::results::StatusType;
use stationdb::{Error, Result};

use super::records::Record;
use super::setting::{Limit, Numbers, Setting, Texts};
use super::value::Value;

/// Tests of a file.
const TESTS_MAX: usize = 200_000;
/// Bits of `TEST_FLG`.
const ALARM: u64 = 1;
const INVALID: u64 = 1 << 1;
const UNRELIABLE: u64 = 1 << 2;
const TIMEOUT: u64 = 1 << 3;
const NOT_EXECUTED: u64 = 1 << 4;
const ABORTED: u64 = 1 << 5;
const NO_VERDICT: u64 = 1 << 6;
const FAILED: u64 = 1 << 7;
/// Bits of `PARM_FLG` that say how the result came about.
const PARM_NOTES: [(u64, &str); 4] = [
    (1, "scaleError"),
    (1 << 1, "driftError"),
    (1 << 2, "oscillation"),
    (1 << 5, "alternateLimits"),
];
/// Bits of `PARM_FLG`: a result that equals the limit passes.
const LOW_PASSES: u64 = 1 << 6;
const HIGH_PASSES: u64 = 1 << 7;

/// The bit of `OPT_FLAG` that says that there is no input.
const NO_INPUT: u64 = 1 << 1;

/// What the first record of a test says.
#[derive(Debug)]
pub(super) struct Test {
    pub(super) name: String,
    /// The text from which the name comes.
    text: Option<String>,
    pub(super) setting: Setting,
    /// The pins of a record that names none.
    pub(super) pins: Vec<u16>,
}

/// The test of a record.
pub(super) struct Found<'t> {
    pub(super) test: &'t Test,
    /// The name that this record gives it, if it is not that of the first one.
    name: Option<String>,
    /// What holds for this record alone, if that is not what the first one says.
    own: Option<Setting>,
}

impl Found<'_> {
    pub(super) fn name(&self) -> &str {
        self.name.as_deref().unwrap_or(&self.test.name)
    }

    pub(super) fn setting(&self) -> &Setting {
        self.own.as_ref().unwrap_or(&self.test.setting)
    }
}

/// The tests of a file.
#[derive(Debug, Default)]
pub(super) struct Tests {
    /// By the kind of record and the number of the test.
    known: HashMap<(u8, u32), Test>,
    /// Which test has a text.
    names: HashMap<String, u32>,
}

/// The place and the flags of a record of a test.
#[derive(Clone, Copy, Debug)]
pub(super) struct Executed {
    pub(super) number: u32,
    pub(super) site: (u8, u8),
    flags: u64,
}

impl Executed {
    /// Reads what the records of all tests begin with.
    ///
    /// # Errors
    /// `InvalidArgument` for a record without the number of its test.
    pub(super) fn new(record: &Record<'_>) -> Result<Self> {
        let [number, head, site, flags] = record.first()?;
        let number = number.unsigned().and_then(|number| u32::try_from(number).ok());
        let number = number.ok_or_else(|| {
            let name = record.record_type().map_or("record", |known| known.name);
            Error::invalid(format!(
                "reading STDF: the {name} at byte {} has no TEST_NUM",
                record.position()
            ))
        })?;
        Ok(Self { number, site: (byte(head), byte(site)), flags: flags.unsigned().unwrap_or(0) })
    }

    pub(super) fn has_run(&self) -> bool {
        self.flags & NOT_EXECUTED == 0
    }

    pub(super) fn has_failed(&self) -> bool {
        self.has_run() && self.flags & (FAILED | NO_VERDICT) == FAILED
    }

    /// Whether there is a result.
    pub(super) fn is_valid(&self) -> bool {
        self.has_run() && self.flags & INVALID == 0
    }

    pub(super) fn status(&self) -> StatusType {
        let states = [
            (NOT_EXECUTED, StatusType::Skipped),
            (ABORTED, StatusType::Terminated),
            (TIMEOUT, StatusType::TimedOut),
            (NO_VERDICT, StatusType::Done),
            (FAILED, StatusType::Failed),
        ];
        let state = states.into_iter().find(|(bit, _)| self.flags & bit != 0);
        state.map_or(StatusType::Passed, |(_, state)| state)
    }

    /// The properties of the step that the flags tell.
    pub(super) fn notes(&self, alarm: Value<'_>, properties: &mut BTreeMap<String, String>) {
        properties.insert("TEST_NUM".to_owned(), self.number.to_string());
        let alarm = alarm.given();
        if self.flags & ALARM != 0 || alarm.is_some() {
            let name = alarm.map_or_else(|| "true".to_owned(), std::borrow::Cow::into_owned);
            properties.insert("alarm".to_owned(), name);
        }
        if self.flags & UNRELIABLE != 0 {
            properties.insert("unreliable".to_owned(), "true".to_owned());
        }
    }
}

/// A head or site; 1 where a record ends before it.
pub(super) fn byte(value: Value<'_>) -> u8 {
    value.unsigned().and_then(|number| u8::try_from(number).ok()).unwrap_or(1)
}

/// The status of a measurement.
pub(super) fn status_text(status: StatusType) -> &'static str {
    match status {
        StatusType::Skipped => "Skipped",
        StatusType::Terminated => "Terminated",
        StatusType::TimedOut => "TimedOut",
        StatusType::Done => "Done",
        StatusType::Failed => "Failed",
        _ => "Passed",
    }
}

/// The properties that `PARM_FLG` tells.
pub(super) fn parm_notes(flags: u64, properties: &mut BTreeMap<String, String>) {
    for (bit, name) in PARM_NOTES {
        if flags & bit != 0 {
            properties.insert(name.to_owned(), "true".to_owned());
        }
    }
}

/// How a result is compared with the limits that there are.
pub(super) fn comparison(flags: u64, numbers: &Numbers) -> &'static str {
    let (low, high) = (flags & LOW_PASSES != 0, flags & HIGH_PASSES != 0);
    match (numbers.low, numbers.high) {
        (Some(_), Some(_)) => match (low, high) {
            (true, true) => "GELE",
            (true, false) => "GELT",
            (false, true) => "GTLE",
            (false, false) => "GTLT",
        },
        (Some(_), None) => {
            if low {
                "GE"
            } else {
                "GT"
            }
        }
        (None, Some(_)) => {
            if high {
                "LE"
            } else {
                "LT"
            }
        }
        (None, None) => "LOG",
    }
}

/// Whether a value is within limits, compared as [`comparison`] says.
pub(super) fn is_within(value: f32, flags: u64, numbers: &Numbers) -> bool {
    let above =
        numbers.low.is_none_or(|low| value > low || (flags & LOW_PASSES != 0 && value >= low));
    let below =
        numbers.high.is_none_or(|high| value < high || (flags & HIGH_PASSES != 0 && value <= high));
    above && below
}

/// What a record with limits says of them, without what the first record of its test says.
#[derive(Clone, Copy)]
pub(super) struct Told<'r> {
    pub(super) options: Value<'r>,
    pub(super) scales: [Value<'r>; 3],
    pub(super) limits: [Value<'r>; 2],
    pub(super) specs: [Value<'r>; 2],
    /// The start and the increment of the input.
    pub(super) inputs: [Value<'r>; 2],
    /// The unit, the formats of result, low limit and high limit, and the unit of the input.
    pub(super) texts: [Value<'r>; 5],
}

impl<'r> Told<'r> {
    /// The scale of the result and the limits, as far as they are told.
    fn limit(&self, at: usize, scale: usize, default: u64, none: u64) -> Limit {
        let (Some(options), Some(limit)) =
            (self.options.unsigned(), self.limits.get(at).and_then(|limit| limit.single()))
        else {
            return Limit::Untold;
        };
        if options & none != 0 || limit.is_nan() {
            return Limit::None;
        }
        if options & default != 0 {
            return Limit::Untold;
        }
        let scale = self.scales.get(scale).and_then(|scale| scale.integer());
        Limit::At(limit, scale.unwrap_or(0))
    }

    /// The numbers over those of the first record.
    fn numbers(&self, first: &Numbers) -> Numbers {
        let mut numbers = *first;
        let options = self.options.unsigned();
        if let (Some(options), [Value::Signed(scale), ..]) = (options, self.scales)
            && options & 1 == 0
        {
            numbers.scale = scale;
        }
        for (limit, into, scale) in [
            (self.limit(0, 1, 1 << 4, 1 << 6), &mut numbers.low, &mut numbers.low_scale),
            (self.limit(1, 2, 1 << 5, 1 << 7), &mut numbers.high, &mut numbers.high_scale),
        ] {
            match limit {
                Limit::Untold => {}
                Limit::None => *into = None,
                Limit::At(limit, power) => (*into, *scale) = (Some(limit), power),
            }
        }
        let specs = [(&mut numbers.low_spec, 1 << 2), (&mut numbers.high_spec, 1 << 3)];
        for ((into, none), spec) in specs.into_iter().zip(self.specs) {
            if let (Some(options), Some(spec)) = (options, spec.single()) {
                *into = Some(spec).filter(|spec| options & none == 0 && !spec.is_nan());
            }
        }
        let [start, increment] = self.inputs;
        match options {
            Some(options) if options & NO_INPUT != 0 => numbers.input = None,
            Some(_) => numbers.input = start.single().zip(increment.single()).or(numbers.input),
            None => {}
        }
        numbers
    }

    /// The texts that differ from those of the first record, over them.
    fn texts(&self, first: &Texts) -> Option<Texts> {
        let told = || self.texts.iter().zip(first.all());
        let differs = |(told, first): (&Value<'r>, &String)| {
            told.given().is_some_and(|told| *told != **first)
        };
        if !told().any(differs) {
            return None;
        }
        let mut all = told().map(|(told, first)| {
            told.given().map_or_else(|| first.clone(), std::borrow::Cow::into_owned)
        });
        let mut next = || all.next().unwrap_or_default();
        Some(Texts::new([next(), next(), next(), next(), next()]))
    }
}

impl Tests {
    /// What is known of the test of a record, by this record if it is the first one.
    ///
    /// # Errors
    /// `LimitExceeded` for too many tests.
    pub(super) fn of(
        &mut self,
        record: &Record<'_>,
        executed: &Executed,
        text: Value<'_>,
        pins: Value<'_>,
        told: &Told<'_>,
    ) -> Result<Found<'_>> {
        let key = (record.number().1, executed.number);
        let given = text.given();
        if !self.known.contains_key(&key) {
            self.check_room(self.known.len(), record)?;
            let name = self.name(executed.number, given.as_deref(), record)?;
            let numbers = told.numbers(&Numbers::default());
            let texts = told.texts(&Texts::default()).unwrap_or_default();
            let pins = pins.items().filter_map(|pin| pin.unsigned());
            let pins = pins.filter_map(|pin| u16::try_from(pin).ok()).collect();
            let setting = Setting::new(numbers, texts);
            let text = given.as_deref().map(str::to_owned);
            self.known.insert(key, Test { name, text, setting, pins });
        }
        let first = self.known.get(&key).and_then(|test| test.text.as_deref());
        let name = match given.as_deref() {
            Some(given) if first != Some(given) => {
                Some(self.name(executed.number, Some(given), record)?)
            }
            _ => None,
        };
        let Some(test) = self.known.get(&key) else {
            return Err(Error::corrupt(
                "internal error: a test of an STDF file is lost; report it",
            ));
        };
        let numbers = told.numbers(&test.setting.numbers);
        let texts = told.texts(&test.setting.texts);
        let own = (numbers != test.setting.numbers || texts.is_some())
            .then(|| Setting::new(numbers, texts.unwrap_or_else(|| test.setting.texts.clone())));
        Ok(Found { test, name, own })
    }

    fn check_room(&self, count: usize, record: &Record<'_>) -> Result<()> {
        if count < TESTS_MAX {
            return Ok(());
        }
        Err(Error::limit(format!(
            "the STDF file has more than {TESTS_MAX} tests at byte {}; split it",
            record.position()
        )))
    }

    /// The name of a test, which no test with another number has.
    fn name(&mut self, number: u32, text: Option<&str>, record: &Record<'_>) -> Result<String> {
        let Some(text) = text else { return Ok(format!("test {number}")) };
        let owner = match self.names.get(text) {
            Some(owner) => *owner,
            None => {
                self.check_room(self.names.len(), record)?;
                self.names.insert(text.to_owned(), number);
                number
            }
        };
        Ok(if owner == number { text.to_owned() } else { format!("{text} (test {number})") })
    }
}
