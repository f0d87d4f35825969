//! Yields: shares of good units and results, by group, and over the programs of a part number.

use std::collections::{BTreeMap, HashMap};

use super::classes::Classes;
use super::groups::{Groups, nulls_last};
use super::numbers::share;
use super::units::{Unit, UnitKey, Units};
use crate::error::Result;
use crate::model::results::StatusType;
use crate::model::results::figures::{
    FigureClass, ProgramYield, RetestScope, RolledYield, YieldGroup, Yields,
};

/// A result as yields see it.
#[derive(Clone, Copy, Debug)]
pub(crate) struct ResultFact<'a> {
    pub unit: UnitKey<'a>,
    pub started_at_ms: i64,
    pub status_type: StatusType,
    pub status_name: Option<&'a str>,
    /// Whether it is selected; the others may be the first ones of their units.
    pub is_selected: bool,
    /// The keys of its group, one for each field; none for times.
    pub keys: &'a [Option<&'a str>],
}

/// A selected counted result of a unit.
#[derive(Clone, Copy, Debug)]
struct Counted {
    group: usize,
    program: usize,
    is_good: bool,
}

/// The counts of a group.
#[derive(Clone, Debug, Default)]
struct Counts {
    good: i64,
    bad: i64,
    not_counted: BTreeMap<StatusType, i64>,
    first_units: i64,
    first_good: i64,
    units: i64,
    last_good: i64,
    retests: i64,
}

/// The first results of a program of the part number.
#[derive(Clone, Debug, Default)]
struct Program {
    name: String,
    units: i64,
    good: i64,
}

/// Takes results in order of part number, serial number, program name, start and id.
#[derive(Debug)]
pub(crate) struct YieldCounts {
    classes: Classes,
    scope: RetestScope,
    groups: Groups,
    counts: Vec<Counts>,
    units: Units<Counted>,
    /// The programs that the request names.
    wanted: Vec<String>,
    /// The part number of the last selected result, and its programs so far.
    part_number: Option<String>,
    programs: Vec<Program>,
    /// Their places by name.
    places: HashMap<String, usize>,
    /// The place of the program before.
    place: usize,
    rolled: Vec<RolledYield>,
}

impl YieldCounts {
    /// The yields by group; `programs` names those of the rolled yield, all if empty.
    pub(crate) fn new(
        classes: Classes,
        scope: RetestScope,
        groups: Groups,
        programs: &[String],
    ) -> Self {
        let mut wanted: Vec<String> = Vec::new();
        for name in programs {
            if !wanted.contains(name) {
                wanted.push(name.clone());
            }
        }
        Self {
            classes,
            scope,
            groups,
            counts: Vec::new(),
            units: Units::default(),
            wanted,
            part_number: None,
            programs: Vec::new(),
            places: HashMap::new(),
            place: 0,
            rolled: Vec::new(),
        }
    }

    /// Adds the next result.
    ///
    /// # Errors
    /// `LimitExceeded` for too many groups.
    pub(crate) fn add(&mut self, result: &ResultFact<'_>) -> Result<()> {
        if !result.is_selected && self.scope == RetestScope::Selection {
            return Ok(());
        }
        if let Some(unit) = self.units.next(result.unit) {
            self.count_unit(unit);
        }
        let class = self.classes.of(result.status_type, result.status_name);
        if !result.is_selected {
            if class != FigureClass::Ignore {
                self.units.count(None);
            }
            return Ok(());
        }
        let program = self.program(result.unit);
        let group = self.groups.number(result.keys, result.started_at_ms)?;
        if group >= self.counts.len() {
            self.counts.resize_with(group + 1, Counts::default);
        }
        let Some(counts) = self.counts.get_mut(group) else { return Ok(()) };
        match class {
            FigureClass::Good => counts.good += 1,
            FigureClass::Bad => counts.bad += 1,
            FigureClass::Ignore => {
                *counts.not_counted.entry(result.status_type).or_default() += 1;
                return Ok(());
            }
        }
        let is_good = class == FigureClass::Good;
        let is_first = self.units.count(Some(Counted { group, program, is_good }));
        counts.retests += i64::from(!is_first);
        Ok(())
    }

    fn count_unit(&mut self, unit: Unit<Counted>) {
        if let Some(first) = unit.first {
            let good = i64::from(first.is_good);
            if let Some(counts) = self.counts.get_mut(first.group) {
                counts.first_units += 1;
                counts.first_good += good;
            }
            if let Some(program) = self.programs.get_mut(first.program) {
                program.units += 1;
                program.good += good;
            }
        }
        if let Some(last) = unit.last
            && let Some(counts) = self.counts.get_mut(last.group)
        {
            counts.units += 1;
            counts.last_good += i64::from(last.is_good);
        }
    }

    /// The place of the program of a unit among those of its part number, the units of the part
    /// number before being complete.
    fn program(&mut self, unit: UnitKey<'_>) -> usize {
        if self.part_number.as_deref() != unit.part_number {
            self.finish_part();
            self.part_number = unit.part_number.map(str::to_owned);
        }
        let before = self.programs.get(self.place);
        if before.is_some_and(|before| before.name == unit.program_name) {
            return self.place;
        }
        if let Some(place) = self.places.get(unit.program_name) {
            self.place = *place;
            return *place;
        }
        let (place, name) = (self.programs.len(), unit.program_name.to_owned());
        self.places.insert(name.clone(), place);
        self.programs.push(Program { name, ..Program::default() });
        self.place = place;
        place
    }

    fn finish_part(&mut self) {
        let mut programs = std::mem::take(&mut self.programs);
        self.places.clear();
        if programs.is_empty() {
            return;
        }
        programs.sort_unstable_by(|left, right| left.name.cmp(&right.name));
        let figure = |program: &Program| ProgramYield {
            program_name: program.name.clone(),
            first_pass_yield: share(program.good, program.units),
        };
        let wanted = |name: &String| {
            let known = programs.iter().find(|program| program.name == *name);
            let none = ProgramYield { program_name: name.clone(), first_pass_yield: None };
            known.map_or(none, figure)
        };
        let programs: Vec<ProgramYield> = if self.wanted.is_empty() {
            programs.iter().map(figure).collect()
        } else {
            self.wanted.iter().map(wanted).collect()
        };
        let rolled: Option<f64> = programs.iter().map(|program| program.first_pass_yield).product();
        self.rolled.push(RolledYield {
            part_number: self.part_number.take(),
            rolled_throughput_yield: rolled,
            normalized_yield: rolled.map(|rolled| rolled.powf(1.0 / programs.len() as f64)),
            programs,
        });
    }

    /// The yields of all results that were added.
    pub(crate) fn finish(mut self) -> Yields {
        if let Some(unit) = self.units.end() {
            self.count_unit(unit);
        }
        self.finish_part();
        let Self { groups, mut counts, mut rolled, .. } = self;
        let groups = groups.in_order().into_iter().map(|(keys, number)| {
            counts.get_mut(number).map(std::mem::take).unwrap_or_default().figures(keys)
        });
        rolled.sort_by(|left, right| {
            nulls_last(left.part_number.as_deref(), right.part_number.as_deref())
        });
        Yields { groups: groups.collect(), rolled_throughput: rolled }
    }
}

impl Counts {
    fn figures(self, keys: Vec<Option<String>>) -> YieldGroup {
        let counted = self.good + self.bad;
        let text = |(status, count): (StatusType, i64)| (status.as_str().to_owned(), count);
        YieldGroup {
            keys,
            first_pass_yield: share(self.first_good, self.first_units),
            final_yield: share(self.last_good, self.units),
            result_yield: share(self.good, counted),
            retest_rate: share(counted - self.units, counted),
            good: self.good,
            bad: self.bad,
            not_counted: self.not_counted.into_iter().map(text).collect(),
            units: self.units,
            first_units: self.first_units,
            retests: self.retests,
        }
    }
}
