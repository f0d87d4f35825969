//! What a file may make the import keep in memory.

use stationdb::{Error, ErrorKind};

use super::ImportOptions;
use super::import::read_parts;
use super::lot::Lot;
use super::records::Records;

fn record(number: (u8, u8), body: &[u8]) -> Vec<u8> {
    let length = u16::try_from(body.len()).unwrap().to_le_bytes();
    [&length[..], &[number.0, number.1], body].concat()
}

/// The refusal of a file with `count` records of this kind, and the place of the record that is
/// refused.
fn refusal(count: usize, body: impl Fn(usize) -> ((u8, u8), Vec<u8>)) -> Option<(Error, usize)> {
    let mut file = b"\x02\x00\x00\x0a\x02\x04".to_vec();
    for at in 0..count {
        let (number, body) = body(at);
        file.extend(record(number, &body));
    }
    let options = ImportOptions::new();
    let mut lot = Lot::new(&options).unwrap();
    let mut records = Records::new(&file[..]).unwrap();
    let mut place = 0;
    while let Some(record) = records.next_record().unwrap() {
        if let Err(error) = lot.take(&record) {
            // The first record is FAR.
            return Some((error, place - 1));
        }
        place += 1;
    }
    None
}

#[track_caller]
fn holds_at(most: usize, body: impl Fn(usize) -> ((u8, u8), Vec<u8>)) {
    let (error, place) = refusal(most + 1, body).unwrap();
    assert_eq!(error.kind(), ErrorKind::LimitExceeded, "{error}");
    assert!(error.message().contains("at byte"), "{error}");
    assert_eq!(place, most);
}

#[test]
fn groups_of_pins_are_bounded() {
    // 31 groups of 32,250 pins are below a million.
    holds_at(31, |at| {
        let group = u16::try_from(at).unwrap().to_le_bytes();
        let count = 32_250_u16;
        let body = [&group[..], &[1, b'g'], &count.to_le_bytes(), &vec![0; 64_500]].concat();
        ((1, 62), body)
    });
}

#[test]
fn wafers_are_bounded() {
    holds_at(100_000, |_| ((2, 10), vec![1, 255, 0, 0, 0, 0, 1, b'w']));
}

/// The properties of a work item are bounded, and what has no room is told.
#[test]
fn a_lot_with_very_many_counts_has_a_warning() {
    let mut file = b"\x02\x00\x00\x0a\x02\x04".to_vec();
    for at in 0..1_000_u16 {
        let [site, head] = at.to_le_bytes();
        file.extend(record((1, 30), &[&[head, site][..], &[0; 20]].concat()));
    }
    let options = ImportOptions::new();
    let mut lot = Lot::new(&options).unwrap();
    let mut records = Records::new(&file[..]).unwrap();
    while let Some(record) = records.next_record().unwrap() {
        lot.take(&record).unwrap();
    }
    assert_eq!(lot.properties().len(), 2_000);
    lot.finish(None, None);
    let warnings = std::mem::take(&mut lot.warnings).into_texts();
    let told = warnings.iter().any(|text| text.starts_with("600 records have no room"));
    assert!(told, "{warnings:?}");
}

#[test]
fn what_the_fuzzer_reads_has_parts() {
    let file = std::fs::read("tests/stdf/files/all.big.stdf").unwrap();
    assert_eq!(read_parts(&file), 1);
}
