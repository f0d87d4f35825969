//! Units, and the first and the last results of each.
//!
//! A unit is a part number, a serial number and a program name. Its results are together in the
//! index of these and of the start, so one unit is known at a time.

/// What a unit is told by. A result without a serial number is a unit of its own.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct UnitKey<'a> {
    pub part_number: Option<&'a str>,
    /// Bytes that differ where serial numbers do; empty ones of an empty text.
    pub serial_number: Option<&'a [u8]>,
    pub program_name: &'a str,
}

/// The first and the last counted result of a unit.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Unit<T> {
    /// The first one, if it is selected.
    pub first: Option<T>,
    /// The last one that is selected.
    pub last: Option<T>,
}

/// Takes results in order of part number, serial number, program name, start and id.
#[derive(Debug)]
pub(crate) struct Units<T> {
    part_number: Option<String>,
    serial_number: Vec<u8>,
    program_name: String,
    /// Whether results with the serial number are of the open unit.
    is_open: bool,
    has_first: bool,
    unit: Unit<T>,
}

impl<T> Default for Units<T> {
    fn default() -> Self {
        Self {
            part_number: None,
            serial_number: Vec::new(),
            program_name: String::new(),
            is_open: false,
            has_first: false,
            unit: Unit { first: None, last: None },
        }
    }
}

impl<T: Clone> Units<T> {
    /// Says of which unit the next result is; returns the unit that is complete by that.
    pub(crate) fn next(&mut self, key: UnitKey<'_>) -> Option<Unit<T>> {
        let serial_number = key.serial_number.filter(|serial| !serial.is_empty());
        let is_same = self.is_open
            && serial_number == Some(self.serial_number.as_slice())
            && key.program_name == self.program_name
            && key.part_number == self.part_number.as_deref();
        if is_same {
            return None;
        }
        self.is_open = serial_number.is_some();
        self.serial_number.clear();
        self.serial_number.extend_from_slice(serial_number.unwrap_or_default());
        set(&mut self.program_name, key.program_name);
        match (&mut self.part_number, key.part_number) {
            (Some(known), Some(part_number)) => set(known, part_number),
            (known, part_number) => *known = part_number.map(str::to_owned),
        }
        self.end()
    }

    /// Adds a counted result to the unit: with its facts if it is selected. Tells whether it is the
    /// first one.
    pub(crate) fn count(&mut self, selected: Option<T>) -> bool {
        let is_first = !self.has_first;
        if is_first {
            self.has_first = true;
            self.unit.first.clone_from(&selected);
        }
        if selected.is_some() {
            self.unit.last = selected;
        }
        is_first
    }

    /// The unit that is open at the end.
    pub(crate) fn end(&mut self) -> Option<Unit<T>> {
        let unit = std::mem::replace(&mut self.unit, Unit { first: None, last: None });
        std::mem::take(&mut self.has_first).then_some(unit)
    }
}

fn set(known: &mut String, text: &str) {
    if known != text {
        known.clear();
        known.push_str(text);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The units of results: part, serial, program, and the number of a counted one.
    fn units(
        results: &[(Option<&str>, Option<&str>, &str, Option<u32>, bool)],
    ) -> Vec<(Option<u32>, Option<u32>)> {
        let mut units = Units::default();
        let mut ended = Vec::new();
        for (part_number, serial_number, program_name, number, is_selected) in results {
            let serial_number = serial_number.map(str::as_bytes);
            let key = UnitKey { part_number: *part_number, serial_number, program_name };
            ended.extend(units.next(key));
            if let Some(number) = number {
                units.count(is_selected.then_some(*number));
            }
        }
        ended.extend(units.end());
        ended.extend(units.end());
        ended.into_iter().map(|unit| (unit.first, unit.last)).collect()
    }

    #[test]
    fn a_unit_ends_where_one_of_its_keys_changes() {
        let found = units(&[
            (None, Some("1"), "p", Some(1), true),
            (Some(""), Some("1"), "p", Some(2), true),
            (Some("a"), Some("1"), "p", Some(3), true),
            (Some("a"), Some("1"), "p", Some(4), true),
            (Some("a"), Some("1"), "p", Some(5), true),
            (Some("a"), Some("1"), "q", Some(6), true),
            (Some("a"), Some("2"), "q", Some(7), true),
        ]);
        let same = |number| (Some(number), Some(number));
        assert_eq!(found, [same(1), same(2), (Some(3), Some(5)), same(6), same(7)]);
    }

    #[test]
    fn results_without_a_serial_number_are_units_of_their_own() {
        let found = units(&[
            (None, None, "p", Some(1), true),
            (None, None, "p", Some(2), true),
            (None, Some(""), "p", Some(3), true),
            (None, Some(""), "p", Some(4), false),
        ]);
        assert_eq!(
            found,
            [(Some(1), Some(1)), (Some(2), Some(2)), (Some(3), Some(3)), (None, None)]
        );
    }

    #[test]
    fn a_first_that_is_not_selected_is_none() {
        let found = units(&[
            (None, Some("1"), "p", None, true),
            (None, Some("1"), "p", Some(2), false),
            (None, Some("1"), "p", Some(3), true),
            (None, Some("1"), "p", Some(4), false),
            (None, Some("2"), "p", None, true),
        ]);
        assert_eq!(found, [(None, Some(3))]);
    }
}
