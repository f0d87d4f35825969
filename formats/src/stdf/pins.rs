//! The names of pins: from the records of pins (PMR), groups (PGR) and lists (PLR).

use std::collections::BTreeMap;

use stationdb::{Error, Result};

use super::records::Record;

/// Pins that the groups of a file have in all.
const MEMBERS_MAX: usize = 1_000_000;
/// What a state that a pin returned is called without a list.
const STATES: [&str; 11] = [
    "0",
    "1",
    "M",
    "G",
    "undetermined",
    "failed low",
    "failed high",
    "failed between",
    "failed with a glitch",
    "open",
    "short",
];

/// How a list shows the states of a pin or group: the characters for each state, on the left and on
/// the right.
#[derive(Debug, Default)]
struct Shown {
    right: String,
    left: String,
}

/// The pins of a file.
#[derive(Debug, Default)]
pub(super) struct Pins {
    names: BTreeMap<u16, String>,
    /// The first group that has a pin, with its index.
    groups: BTreeMap<u16, (u16, String)>,
    shown: BTreeMap<u16, Shown>,
    members: usize,
}

fn index(number: u64) -> Option<u16> {
    u16::try_from(number).ok()
}

impl Pins {
    /// Takes a PMR.
    pub(super) fn pin(&mut self, record: &Record<'_>) -> Result<()> {
        let [pin, _, channel, physical, logical] = record.first()?;
        let name = [logical, physical, channel].into_iter().find_map(|name| name.given());
        if let (Some(pin), Some(name)) = (pin.unsigned().and_then(index), name) {
            // The same pin at another head or site has another channel.
            self.names.entry(pin).or_insert_with(|| name.into_owned());
        }
        Ok(())
    }

    /// Takes a PGR.
    pub(super) fn group(&mut self, record: &Record<'_>) -> Result<()> {
        let [group, name, count, pins] = record.first()?;
        self.members += count.unsigned().and_then(|count| usize::try_from(count).ok()).unwrap_or(0);
        if self.members > MEMBERS_MAX {
            return Err(Error::limit(format!(
                "the groups of pins of the STDF file have more than {MEMBERS_MAX} pins at byte {}",
                record.position()
            )));
        }
        let (Some(group), Some(name)) = (group.unsigned().and_then(index), name.given()) else {
            return Ok(());
        };
        for pin in pins.items().filter_map(|pin| pin.unsigned().and_then(index)) {
            self.groups.entry(pin).or_insert_with(|| (group, name.to_string()));
        }
        Ok(())
    }

    /// Takes a PLR.
    pub(super) fn list(&mut self, record: &Record<'_>) -> Result<()> {
        let [_, groups, _, _, _, right, _, left] = record.first()?;
        let texts = |list: super::value::Value<'_>| -> Vec<String> {
            list.items().map(|text| text.text().unwrap_or_default().into_owned()).collect()
        };
        let (right, left) = (texts(right), texts(left));
        for (at, group) in groups.items().enumerate() {
            if let Some(group) = group.unsigned().and_then(index) {
                let text = |texts: &[String]| texts.get(at).cloned().unwrap_or_default();
                self.shown.insert(group, Shown { right: text(&right), left: text(&left) });
            }
        }
        Ok(())
    }

    /// The name of a pin; its index if it has none.
    pub(super) fn name(&self, pin: u16) -> String {
        self.names.get(&pin).cloned().unwrap_or_else(|| format!("pin {pin}"))
    }

    /// The name of the group that has a pin.
    pub(super) fn group_of(&self, pin: u16) -> Option<&str> {
        self.groups.get(&pin).map(|(_, name)| name.as_str())
    }

    /// The state that a pin returned, as the lists of the file show it.
    pub(super) fn state(&self, pin: Option<u16>, state: u8) -> String {
        let group = pin.and_then(|pin| self.groups.get(&pin)).map(|(group, _)| *group);
        let shown = [pin, group].into_iter().flatten().find_map(|index| self.shown.get(&index));
        let letter = |letters: &str| {
            letters.chars().nth(usize::from(state)).filter(|letter| !letter.is_whitespace())
        };
        if let Some(right) = shown.and_then(|shown| letter(&shown.right)) {
            let left = shown.and_then(|shown| letter(&shown.left));
            return left.into_iter().chain([right]).collect();
        }
        STATES.get(usize::from(state)).map_or_else(|| state.to_string(), |text| (*text).to_owned())
    }
}
