//! The results that are the first or the last ones of their units.

use std::collections::HashSet;

use super::units::{Unit, UnitKey, Units};
use crate::model::results::figures::{RetestScope, SeriesPass};

/// Bytes of the id of a result.
type Id = [u8; 16];

/// Takes results in order of part number, serial number, program name, start and id.
#[derive(Debug)]
pub(crate) struct Passes {
    pass: SeriesPass,
    scope: RetestScope,
    units: Units<Id>,
    ids: HashSet<Id>,
}

impl Passes {
    /// The results that take part: with `ALL` the selected ones, whatever their status.
    pub(crate) fn new(pass: SeriesPass, scope: RetestScope) -> Self {
        Self { pass, scope, units: Units::default(), ids: HashSet::new() }
    }

    /// Adds the next result.
    pub(crate) fn add(&mut self, unit: UnitKey<'_>, id: Id, is_counted: bool, is_selected: bool) {
        if self.pass == SeriesPass::All {
            if is_selected {
                self.ids.insert(id);
            }
            return;
        }
        if !is_selected && self.scope == RetestScope::Selection {
            return;
        }
        if let Some(unit) = self.units.next(unit) {
            self.keep(&unit);
        }
        if is_counted {
            self.units.count(is_selected.then_some(id));
        }
    }

    fn keep(&mut self, unit: &Unit<Id>) {
        let id = match self.pass {
            SeriesPass::First => unit.first,
            SeriesPass::All | SeriesPass::Last => unit.last,
        };
        self.ids.extend(id);
    }

    /// The ids of the results that take part.
    pub(crate) fn finish(mut self) -> HashSet<Id> {
        if let Some(unit) = self.units.end() {
            self.keep(&unit);
        }
        self.ids
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn results_take_part_by_their_place_in_the_unit() {
        let of = |pass, scope| {
            let mut passes = Passes::new(pass, scope);
            for (serial, id, is_counted, is_selected) in [
                (Some("1"), 1, false, true),
                (Some("1"), 2, true, false),
                (Some("1"), 3, true, true),
                (Some("1"), 4, true, true),
                (Some("1"), 5, false, true),
                (Some("2"), 6, true, true),
                (Some("2"), 7, true, false),
                (Some("3"), 8, false, true),
                (None, 9, true, true),
                (None, 10, true, true),
            ] {
                let serial_number = serial.map(str::as_bytes);
                let unit = UnitKey { part_number: None, serial_number, program_name: "p" };
                passes.add(unit, [id; 16], is_counted, is_selected);
            }
            let mut ids: Vec<u8> = passes.finish().into_iter().map(|id| id[0]).collect();
            ids.sort_unstable();
            ids
        };
        use RetestScope::{Selection, Store};
        use SeriesPass::{All, First, Last};
        for scope in [Store, Selection] {
            assert_eq!(of(All, scope), [1, 3, 4, 5, 6, 8, 9, 10]);
            assert_eq!(of(Last, scope), [4, 6, 9, 10]);
        }
        assert_eq!(of(First, Store), [6, 9, 10]);
        assert_eq!(of(First, Selection), [3, 6, 9, 10]);
    }
}
