//! Yields of the examples, of retests and of groups, and beside a naive computation.

use std::collections::{BTreeMap, BTreeSet};

use super::classes::Classes;
use super::groups::Groups;
use super::numbers::share;
use super::units::UnitKey;
use super::yields::*;
use crate::model::results::StatusType;
use crate::model::results::figures::ResultGroup;
use crate::model::results::figures::{RetestScope, YieldGroup, Yields};
use crate::services::results::figures::groups::GroupField;
use crate::services::results::figures::random::Random;
use crate::services::results::figures::zone::Zone;

use StatusType::{Custom, Done, Errored, Failed, Passed, Running, Skipped, Terminated, TimedOut};

#[derive(Clone, Debug)]
struct Given {
    part: Option<&'static str>,
    serial: Option<&'static str>,
    program: &'static str,
    start: i64,
    id: u32,
    status: StatusType,
    operator: Option<&'static str>,
    is_selected: bool,
}

fn given(program: &'static str, serial: Option<&'static str>, status: StatusType) -> Given {
    Given {
        part: Some("A"),
        serial,
        program,
        start: 0,
        id: 0,
        status,
        operator: None,
        is_selected: true,
    }
}

/// With starts and ids in this order.
fn numbered(results: Vec<Given>) -> Vec<Given> {
    let results = results.into_iter().enumerate();
    results.map(|(at, given)| Given { start: at as i64, id: at as u32, ..given }).collect()
}

fn by(fields: &[ResultGroup]) -> Vec<GroupField> {
    fields.iter().map(|field| GroupField::Field(*field)).collect()
}

fn of(results: &[Given], fields: &[ResultGroup], scope: RetestScope, programs: &[&str]) -> Yields {
    let mut results = results.to_vec();
    results.sort_by_key(|given| (given.part, given.serial, given.program, given.start, given.id));
    let groups = Groups::new(&by(fields), Zone::default(), &[6]).unwrap();
    let programs: Vec<String> = programs.iter().map(|name| (*name).to_owned()).collect();
    let mut yields = YieldCounts::new(Classes::default(), scope, groups, &programs);
    for given in &results {
        let keys: Vec<Option<&str>> = fields
            .iter()
            .map(|field| match field {
                ResultGroup::Operator => given.operator,
                ResultGroup::ProgramName => Some(given.program),
                ResultGroup::PartNumber => given.part,
                _ => None,
            })
            .collect();
        let fact = ResultFact {
            unit: UnitKey {
                part_number: given.part,
                serial_number: given.serial.map(str::as_bytes),
                program_name: given.program,
            },
            started_at_ms: given.start,
            status_type: given.status,
            status_name: None,
            is_selected: given.is_selected,
            keys: &keys,
        };
        yields.add(&fact).unwrap();
    }
    yields.finish()
}

fn example() -> Vec<Given> {
    numbered(vec![
        given("P1", Some("SN1"), Failed),
        given("P1", Some("SN1"), Passed),
        given("P1", Some("SN2"), Passed),
        given("P1", Some("SN3"), Terminated),
        given("P1", Some("SN3"), Failed),
        given("P1", Some("SN4"), Running),
        given("P1", Some("SN4"), Passed),
        given("P1", Some("SN5"), Skipped),
        given("P1", None, Passed),
        given("P2", Some("SN1"), Passed),
        given("P2", Some("SN2"), Failed),
        given("P2", Some("SN2"), Passed),
    ])
}

fn near(value: Option<f64>, expected: f64) {
    let value = value.unwrap();
    assert!((value - expected).abs() < 1e-9, "{value} is not {expected}");
}

#[test]
fn the_example_of_two_programs() {
    let yields = of(&example(), &[ResultGroup::ProgramName], RetestScope::Store, &[]);
    let [p1, p2] = &yields.groups[..] else { panic!("{yields:?}") };
    assert_eq!(p1.keys, [Some("P1".to_owned())]);
    assert_eq!((p1.units, p1.first_units, p1.retests), (5, 5, 2));
    assert_eq!((p1.first_pass_yield, p1.final_yield), (Some(0.6), Some(0.8)));
    near(p1.result_yield, 0.571_428_571);
    assert_eq!(p1.retest_rate, Some(2.0 / 7.0));
    assert_eq!((p1.good, p1.bad), (4, 3));
    let not_counted: Vec<(&str, i64)> =
        p1.not_counted.iter().map(|(status, count)| (status.as_str(), *count)).collect();
    assert_eq!(not_counted, [("RUNNING", 1), ("SKIPPED", 1)]);
    assert_eq!((p2.first_pass_yield, p2.final_yield), (Some(0.5), Some(1.0)));
    let [rolled] = &yields.rolled_throughput[..] else { panic!("{yields:?}") };
    near(rolled.rolled_throughput_yield, 0.3);
    near(rolled.normalized_yield, 0.547_722_558);
    assert_eq!(rolled.programs[0].program_name, "P1");
}

#[test]
fn a_rolled_yield_is_of_the_programs_that_are_named() {
    let mut results = example();
    results.push(Given { part: None, ..given("P1", Some("SN1"), Passed) });
    results.push(Given { part: Some("0"), ..given("P3", Some("SN1"), Done) });
    let rolled = |programs: &[&str]| {
        let yields = of(&results, &[], RetestScope::Store, programs);
        let figures = yields.rolled_throughput.into_iter().map(|rolled| {
            let names = rolled.programs.iter().map(|program| program.program_name.clone());
            let names: Vec<String> = names.collect();
            (rolled.part_number, names.concat(), rolled.rolled_throughput_yield)
        });
        figures.collect::<Vec<_>>()
    };
    let text = |text: &str| text.to_owned();
    let a = Some(text("A"));
    let zero = Some(text("0"));
    assert_eq!(
        rolled(&[]),
        [
            // No result of the program is counted.
            (zero.clone(), text("P3"), None),
            (a.clone(), text("P1P2"), Some(0.3)),
            (None, text("P1"), Some(1.0)),
        ]
    );
    assert_eq!(
        rolled(&["P2", "P1", "P2"]),
        [
            (zero.clone(), text("P2P1"), None),
            (a.clone(), text("P2P1"), Some(0.3)),
            (None, text("P2P1"), None),
        ]
    );
    assert_eq!(
        rolled(&["P2"]),
        [(zero, text("P2"), None), (a, text("P2"), Some(0.5)), (None, text("P2"), None)]
    );
}

#[test]
fn nothing_has_no_yields() {
    let yields = of(&[], &[], RetestScope::Store, &[]);
    assert_eq!(yields.groups, [YieldGroup::default()]);
    assert!(yields.rolled_throughput.is_empty());
    assert!(of(&[], &[ResultGroup::Day], RetestScope::Store, &[]).groups.is_empty());
    // Nor has what is not counted.
    let yields = of(&[given("P", None, Done)], &[ResultGroup::Day], RetestScope::Store, &[]);
    let [group] = &yields.groups[..] else { panic!("{yields:?}") };
    assert_eq!(group.result_yield, None);
    assert_eq!(group.retest_rate, None);
    assert_eq!(group.not_counted.get("DONE"), Some(&1));
}

#[test]
fn a_first_outside_of_the_selection_counts_in_no_first_pass() {
    let mut results = numbered(vec![
        given("P", Some("1"), Failed),
        given("P", Some("1"), Passed),
        given("P", Some("2"), Passed),
        given("P", Some("2"), Failed),
    ]);
    results[0].is_selected = false;
    results[3].is_selected = false;
    let [group] = &of(&results, &[], RetestScope::Store, &[]).groups[..] else { panic!() };
    assert_eq!((group.first_pass_yield, group.first_units), (Some(1.0), 1));
    assert_eq!((group.final_yield, group.units), (Some(1.0), 2));
    assert_eq!((group.retests, group.retest_rate), (1, Some(0.0)));
    let [group] = &of(&results, &[], RetestScope::Selection, &[]).groups[..] else { panic!() };
    assert_eq!((group.first_pass_yield, group.first_units), (Some(1.0), 2));
    assert_eq!((group.retests, group.retest_rate), (0, Some(0.0)));
}

#[test]
fn a_unit_is_in_the_groups_of_its_first_and_of_its_last() {
    let day = 86_400_000;
    let at = |start: i64, status| Given { start, ..given("P", Some("1"), status) };
    let results = [at(0, Failed), at(day, Errored), at(2 * day, Done), at(3 * day, Passed)];
    let yields = of(&results, &[ResultGroup::Day], RetestScope::Store, &[]);
    let figures: Vec<_> = yields
        .groups
        .iter()
        .map(|group| (group.first_pass_yield, group.final_yield, group.retest_rate, group.retests))
        .collect();
    assert_eq!(
        figures,
        [
            (Some(0.0), None, Some(1.0), 0),
            (None, None, Some(1.0), 1),
            (None, None, None, 0),
            (None, Some(1.0), Some(0.0), 1),
        ]
    );
    assert_eq!(yields.groups[3].keys, [Some("1970-01-04T00:00:00.000Z".to_owned())]);
}

/// The figures from their definitions, with lists of all results.
fn naive(
    results: &[Given],
    fields: &[ResultGroup],
    scope: RetestScope,
) -> BTreeMap<String, YieldGroup> {
    let key = |given: &Given| -> Vec<Option<String>> {
        let part = |field: &ResultGroup| match field {
            ResultGroup::Operator => given.operator.map(str::to_owned),
            ResultGroup::PartNumber => given.part.map(str::to_owned),
            ResultGroup::Day => Some(crate::value::time::format(crate::value::time::from_millis(
                given.start.div_euclid(86_400_000) * 86_400_000,
            ))),
            _ => None,
        };
        fields.iter().map(part).collect()
    };
    let is_good = |given: &&Given| given.status == Passed;
    let is_bad = |given: &&Given| matches!(given.status, Failed | Errored | Terminated | TimedOut);
    let selected: Vec<&Given> = results.iter().filter(|given| given.is_selected).collect();
    let unit = |given: &Given| match given.serial {
        None | Some("") => (given.part, None, given.program, Some(given.id)),
        serial => (given.part, serial, given.program, None),
    };
    let counted = |all: &[&Given]| -> Vec<Given> {
        let mut all: Vec<Given> = all
            .iter()
            .filter(|given| is_good(given) || is_bad(given))
            .map(|given| (*given).clone())
            .collect();
        all.sort_by_key(|given| (given.start, given.id));
        all
    };
    let all: Vec<&Given> = results.iter().collect();
    let visible = counted(if scope == RetestScope::Store { &all } else { &selected });
    let selection = counted(&selected);
    let units: BTreeSet<_> = visible.iter().map(unit).collect();
    let firsts: Vec<&Given> =
        units.iter().filter_map(|one| visible.iter().find(|given| unit(given) == *one)).collect();
    let lasts: Vec<&Given> = units
        .iter()
        .filter_map(|one| selection.iter().rfind(|given| unit(given) == *one))
        .collect();
    let keys: BTreeSet<Vec<Option<String>>> = selected.iter().map(|given| key(given)).collect();
    let groups = keys.into_iter().map(|keys| {
        let mine = |given: &&Given| key(given) == keys;
        let firsts: Vec<&Given> =
            firsts.iter().copied().filter(|given| given.is_selected).filter(mine).collect();
        let lasts: Vec<&Given> = lasts.iter().copied().filter(mine).collect();
        let counted: Vec<&Given> = selection.iter().filter(mine).collect();
        let count = |list: &[&Given]| list.iter().copied().filter(is_good).count() as i64;
        let (good, number) = (count(&counted), counted.len() as i64);
        let units = lasts.len() as i64;
        let mut not_counted = BTreeMap::new();
        for given in selected.iter().copied().filter(mine) {
            if !is_good(&given) && !is_bad(&given) {
                *not_counted.entry(given.status.as_str().to_owned()).or_default() += 1;
            }
        }
        let group = YieldGroup {
            first_pass_yield: share(count(&firsts), firsts.len() as i64),
            final_yield: share(count(&lasts), units),
            result_yield: share(good, number),
            retest_rate: share(number - units, number),
            good,
            bad: number - good,
            not_counted,
            units,
            first_units: firsts.len() as i64,
            retests: number - firsts.len() as i64,
            keys: keys.clone(),
        };
        (format!("{keys:?}"), group)
    });
    groups.collect()
}

#[test]
fn yields_are_those_of_their_definitions() {
    let mut random = Random::new(1);
    let statuses =
        [Passed, Passed, Passed, Failed, Failed, Errored, Terminated, TimedOut, Done, Custom];
    for round in 0..300 {
        let number = random.below(40);
        let mut ids: Vec<u32> = (0..number as u32).collect();
        let results: Vec<Given> = (0..number)
            .map(|_| Given {
                part: random.of(&[None, Some(""), Some("A"), Some("B")]),
                serial: random.of(&[None, Some(""), Some("1"), Some("2"), Some("3")]),
                program: random.of(&["p", "q"]),
                // Few starts, so that many are equal.
                start: random.below(6) as i64 * 43_200_000,
                id: ids.swap_remove(random.below(ids.len() as u64) as usize),
                status: random.of(&statuses),
                operator: random.of(&[None, Some("x"), Some("y")]),
                is_selected: random.below(4) != 0,
            })
            .collect();
        for scope in [RetestScope::Store, RetestScope::Selection] {
            for fields in [
                &[ResultGroup::Day][..],
                &[ResultGroup::Operator, ResultGroup::PartNumber],
                &[ResultGroup::Operator, ResultGroup::Day],
            ] {
                let yields = of(&results, fields, scope, &[]);
                let found: BTreeMap<String, YieldGroup> = yields
                    .groups
                    .into_iter()
                    .map(|group| (format!("{:?}", group.keys), group))
                    .collect();
                assert_eq!(found, naive(&results, fields, scope), "round {round} {fields:?}");
            }
        }
    }
}
