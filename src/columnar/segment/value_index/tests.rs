//! A value index finds the rows that a test of each value finds.

use std::sync::Arc;

use super::keys::{KeyRange, common, disjoint};
use super::look_up::look_up;
use super::{IndexPlace, build};
use crate::arrow::array::{Array, ArrayRef, Int32Array, Int64Array, StringArray};
use crate::columnar::segment::checked::{CheckedFile, HashingFile};
use crate::disk::{Disk, MemoryDisk, Mode};

fn hash(n: u64) -> u64 {
    let z = (n ^ (n >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb) >> 16
}

/// A file with these bytes, whose checksums match.
fn file(bytes: &[u8]) -> CheckedFile {
    let disk = MemoryDisk::default();
    let mut file = HashingFile::new(disk.open("x", Mode::CreateNew).unwrap(), "x".to_owned());
    std::io::Write::write_all(&mut file, bytes).unwrap();
    let written = file.finish().unwrap();
    let file = disk.open("x", Mode::Read).unwrap();
    CheckedFile::new(file, "x".to_owned(), written.len, written.crcs).unwrap()
}

fn index(arrays: &[ArrayRef]) -> (Vec<u8>, IndexPlace) {
    let part = build(arrays.iter()).unwrap();
    (part.bytes, part.place)
}

/// Texts of which some are long, equal in their first bytes, or null.
fn text(row: u64, salt: u64) -> Option<String> {
    let drawn = hash(row * 31 + salt);
    match drawn % 11 {
        0 => None,
        1 => Some(String::new()),
        2 if salt.is_multiple_of(2) => {
            Some("ä".repeat(127 + drawn as usize % 3) + &"z".repeat(drawn as usize / 7 % 4))
        }
        3 => Some(format!("SN-{}", row / 50)),
        _ => Some(format!("SN-{:04}", drawn / 16 % 700)),
    }
}

/// What is wanted of texts, and whether a text is.
fn asks(salt: u64) -> Vec<(KeyRange, Box<dyn Fn(&str) -> bool>)> {
    let values = (0..12).filter_map(|n| text(hash(n + salt), salt)).chain([
        "SN-".to_owned(),
        "ä".repeat(128),
        "ä".repeat(129),
        "\u{10ffff}".to_owned(),
    ]);
    let mut asks: Vec<(KeyRange, Box<dyn Fn(&str) -> bool>)> = Vec::new();
    for value in values {
        let a = Arc::new(value);
        let [b, c, d, e, f] = [(); 5].map(|()| a.clone());
        asks.push((KeyRange::texts_to(&a, true), Box::new(move |t| t < b.as_str())));
        asks.push((KeyRange::texts_to(&a, false), Box::new(move |t| t <= c.as_str())));
        asks.push((KeyRange::texts_from(&a, true), Box::new(move |t| t > d.as_str())));
        asks.push((KeyRange::texts_with(&a), Box::new(move |t| t.starts_with(e.as_str()))));
        asks.push((KeyRange::of_text(&f), Box::new(move |t| t == f.as_str())));
    }
    asks
}

#[test]
fn an_index_of_texts_finds_what_a_test_finds() {
    let mut hits = [0; 3];
    for salt in 0..6 {
        let rows = 3_000;
        let texts: Vec<Option<String>> = (0..rows as u64).map(|row| text(row, salt)).collect();
        let array: ArrayRef = Arc::new(StringArray::from(texts.clone()));
        // The rows of a row group are in several arrays.
        let (bytes, place) = index(&[array.slice(0, 1_000), array.slice(1_000, rows - 1_000)]);
        let file = file(&bytes);
        assert_eq!(place.is_cut, salt.is_multiple_of(2));
        for (range, passes) in asks(salt) {
            let passes = |row: &u32| texts[*row as usize].as_deref().is_some_and(&passes);
            let expected: Vec<u32> = (0..rows as u32).filter(passes).collect();
            let ranges = [range];
            let found = look_up(&file, &place, &ranges, rows, rows).unwrap().unwrap();
            assert_eq!(found.is_exact, !place.is_cut);
            if found.is_exact {
                assert_eq!(found.rows, expected, "{ranges:?}");
                if let Some(fewer) = expected.len().checked_sub(1) {
                    let most = look_up(&file, &place, &ranges, rows, fewer).unwrap();
                    assert_eq!(most, None, "{ranges:?}");
                }
            } else {
                assert!(found.rows.is_sorted_by(|a, b| a < b), "{ranges:?}");
                let tested: Vec<u32> = found.rows.iter().copied().filter(passes).collect();
                assert_eq!(tested, expected, "{ranges:?}");
            }
            hits[0] += usize::from(expected.is_empty());
            hits[1] += usize::from(expected.len() > 1);
            hits[2] += usize::from(found.rows.len() > expected.len());
        }
        let several: Vec<(KeyRange, _)> =
            asks(salt).into_iter().skip(4).step_by(15).take(5).collect();
        let passes = |text: &str| several.iter().any(|(_, passes)| passes(text));
        let ranges = disjoint(several.iter().map(|(range, _)| range.clone()).collect());
        let most = look_up(&file, &place, &ranges, rows, rows).unwrap().unwrap().rows;
        let tested: Vec<u32> = (0..rows as u32)
            .filter(|row| texts[*row as usize].as_deref().is_some_and(passes))
            .collect();
        assert!(tested.iter().all(|row| most.binary_search(row).is_ok()));
        assert!(place.is_cut || most == tested);
    }
    assert!(hits.iter().all(|hits| *hits > 5), "{hits:?}");
}

#[test]
fn an_index_of_integers_finds_what_a_test_finds() {
    let ends = [i64::MIN, i64::MIN + 1, -1, 0, 1, 255, 256, i64::MAX - 1, i64::MAX];
    let wide: Vec<Option<i64>> = (0..5_000u64)
        .map(|row| match hash(row) % 9 {
            0 => None,
            1 => Some(ends[hash(row + 7) as usize % ends.len()]),
            2..5 => Some(row as i64 / 100),
            _ => Some((hash(row + 3) % 600) as i64 - 300),
        })
        .collect();
    let narrow = wide.iter().map(|cell| cell.map(|value| value as i32));
    let arrays: [ArrayRef; 2] = [
        Arc::new(Int64Array::from(wide.clone())),
        Arc::new(narrow.clone().collect::<Int32Array>()),
    ];
    let cells = [wide.clone(), narrow.map(|cell| cell.map(i64::from)).collect()];
    for (array, cells) in arrays.iter().zip(cells) {
        let (bytes, place) = index(std::slice::from_ref(array));
        let file = file(&bytes);
        let values: Vec<i64> = ends.into_iter().chain([-300, -7, 42, 49, 50, 299, 300]).collect();
        for value in &values {
            let asks: [(KeyRange, fn(&i64, &i64) -> bool); 5] = [
                (KeyRange::of_int(*value), |cell, value| cell == value),
                (KeyRange::ints_to(*value, true), |cell, value| cell < value),
                (KeyRange::ints_to(*value, false), |cell, value| cell <= value),
                (KeyRange::ints_from(*value, true), |cell, value| cell > value),
                (KeyRange::ints_from(*value, false), |cell, value| cell >= value),
            ];
            for (range, passes) in asks {
                let passes = |row: &u32| cells[*row as usize].is_some_and(|c| passes(&c, value));
                let expected: Vec<u32> = (0..cells.len() as u32).filter(passes).collect();
                let found = look_up(&file, &place, &[range], cells.len(), cells.len());
                assert_eq!(found.unwrap().unwrap().rows, expected, "{value}");
            }
        }
        // A range that two tests want together.
        let both = common(&[KeyRange::ints_from(-5, false)], &[KeyRange::ints_to(5, true)]);
        let found = look_up(&file, &place, &both, cells.len(), cells.len()).unwrap().unwrap();
        let is_near = |row: &u32| cells[*row as usize].is_some_and(|cell| (-5..5).contains(&cell));
        assert_eq!(found.rows, (0..cells.len() as u32).filter(is_near).collect::<Vec<_>>());
        let none = common(&[KeyRange::of_int(5)], &[KeyRange::of_int(6)]);
        assert_eq!(none, Vec::new());
        // Many ranges cost more than testing the rows.
        let many = disjoint((0..40).map(|n| KeyRange::of_int(n * 3)).collect());
        assert_eq!(look_up(&file, &place, &many, cells.len(), cells.len()).unwrap(), None);
    }
}

#[test]
fn consecutive_rows_take_few_bytes() {
    let cells: Int64Array = (0..200_000).map(|row| Some(row / 10_000)).collect();
    let (bytes, place) = index(&[Arc::new(cells)]);
    assert!(bytes.len() < 400, "{} bytes", bytes.len());
    let found = look_up(&file(&bytes), &place, &[KeyRange::of_int(3)], 200_000, 200_000);
    assert_eq!(found.unwrap().unwrap().rows, (30_000..40_000).collect::<Vec<u32>>());
    let (bytes, place) = index(&[Arc::new(Int64Array::from(vec![None::<i64>; 9]))]);
    let all = look_up(&file(&bytes), &place, &[KeyRange::ints_to(7, false)], 9, 9);
    assert_eq!((bytes.len(), all.unwrap().unwrap().rows), (0, Vec::new()));
}

/// Bytes whose checksums match, but which no writer writes, give rows or an error.
#[test]
fn wrong_bytes_are_an_error_or_rows() {
    let texts: StringArray = (0..2_000).map(|row| text(row, 1)).collect();
    let (bytes, place) = index(&[Arc::new(texts)]);
    let mut outcomes = [0; 2];
    for n in 0..2_000 {
        let mut wrong = bytes.clone();
        let at = match n % 3 {
            0 => hash(n) as usize % wrong.len(),
            1 => place.rows_bytes as usize + hash(n) as usize % place.keys_bytes as usize,
            _ => wrong.len() - 1 - hash(n) as usize % place.directory_bytes as usize,
        };
        wrong[at] = hash(n + 9) as u8;
        let mut place = place;
        if n % 5 == 0 {
            place.blocks = hash(n) as u32 % 9;
            place.keys_bytes = hash(n + 1) as u32 % (2 * place.keys_bytes);
        }
        let file = file(&wrong);
        for (range, _) in asks(1).iter().step_by(7) {
            match look_up(&file, &place, std::slice::from_ref(range), 2_000, 2_000) {
                Ok(found) => {
                    let rows = found.map(|found| found.rows).unwrap_or_default();
                    assert!(rows.iter().all(|row| *row < 2_000) && rows.len() <= 2_000);
                    outcomes[0] += 1;
                }
                Err(error) => {
                    assert_eq!(error.kind(), crate::error::ErrorKind::Corrupt);
                    outcomes[1] += 1;
                }
            }
        }
    }
    assert!(outcomes.iter().all(|count| *count > 50), "{outcomes:?}");
}
