//! Measurement files that were cut off, or have other bytes: refused with a place, or read to the
//! damage.

use std::io::Cursor;

use stationdb::tables::ImportTableRequest;
use stationdb::{Error, ErrorKind, Place, Result};
use stationdb_formats::lvm;

use crate::stage::{Outline, directory, outline};

fn files() -> Vec<(String, Vec<u8>)> {
    let names = ["one", "no", "multi", "no_rates", "segments", "comma_values", "windows"];
    let file = |name: &str| {
        let path = directory("lvm").join(format!("{name}.lvm"));
        (name.to_owned(), std::fs::read(path).unwrap())
    };
    names.into_iter().map(file).collect()
}

fn read(bytes: &[u8]) -> Result<Outline> {
    let input = Box::new(Cursor::new(bytes.to_vec()));
    outline(lvm::tables(&ImportTableRequest::new(), input).as_mut())
}

fn check(error: &Error, name: &str, at: usize) {
    let kinds = [ErrorKind::InvalidArgument, ErrorKind::LimitExceeded, ErrorKind::Unsupported];
    assert!(kinds.contains(&error.kind()), "{name} at {at}: {error:?}");
    // The places of columns that cannot be are their members.
    let is_placed = match error.place() {
        Some(Place::Line { .. }) => true,
        Some(Place::Member(member)) => member.starts_with("columns"),
        _ => false,
    };
    assert!(is_placed, "{name} at {at}: {error}");
}

/// A file that was cut off is refused, or says that it may be, unless it was cut between segments.
#[test]
fn a_cut_is_refused_or_told() {
    for (name, bytes) in files() {
        let full = read(&bytes).unwrap();
        let (mut whole, mut told, mut refused) = (0, 0, 0);
        for end in 0..bytes.len() {
            match read(&bytes[..end]) {
                Err(error) => {
                    check(&error, &name, end);
                    refused += 1;
                }
                Ok(found) if found.warnings.is_empty() => {
                    let is_all = found.rows == full.rows;
                    assert!(is_all || name == "segments", "{name} at {end}: {found:?}");
                    whole += 1;
                }
                Ok(_) => told += 1,
            }
        }
        println!("{name}: {refused} cuts refused, {told} told, {whole} whole");
        assert!(told > 10 && refused > 100, "{name}: {told} {refused}");
        assert!(whole <= 24, "{name}: {whole}");
    }
}

#[test]
fn other_bytes_are_read_or_refused_with_a_place() {
    for (name, bytes) in files() {
        let mut refused = 0;
        for at in 0..bytes.len() {
            for bit in [0, 3, 6] {
                let mut damaged = bytes.clone();
                damaged[at] ^= 1 << bit;
                if let Err(error) = read(&damaged) {
                    check(&error, &name, at);
                    refused += 1;
                }
            }
        }
        println!("{name}: {refused} of {} refused", 3 * bytes.len());
        assert!(refused > 100, "{name}");
    }
}
