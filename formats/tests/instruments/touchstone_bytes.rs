//! Touchstone files that were cut off, or have other bytes: refused with a line, or read to the
//! damage.

use std::io::Cursor;

use stationdb::tables::ImportTableRequest;
use stationdb::{Error, ErrorKind, Place, Result};
use stationdb_formats::touchstone::{self, TouchstoneOptions};

use crate::stage::{Outline, directory, outline};

const NAMES: [&str; 6] =
    ["noise.s2p", "three.s3p", "order.ts", "lower.ts", "mixed.ts", "one_db.s1p"];

fn read(name: &str, bytes: &[u8]) -> Result<Outline> {
    let mut options = TouchstoneOptions::new();
    options.ports = touchstone::ports_of(name.as_ref());
    let input = Box::new(Cursor::new(bytes.to_vec()));
    outline(touchstone::tables(&ImportTableRequest::new(), input, &options).as_mut())
}

fn check(error: &Error, name: &str, at: usize) {
    let kinds = [ErrorKind::InvalidArgument, ErrorKind::LimitExceeded, ErrorKind::Unsupported];
    assert!(kinds.contains(&error.kind()), "{name} at {at}: {error:?}");
    assert!(matches!(error.place(), Some(Place::Line { .. })), "{name} at {at}: {error}");
}

/// Version 1 says nothing of its end: a cut behind a line is a shorter file.
#[test]
fn a_cut_is_refused_or_told() {
    for name in NAMES {
        let bytes = std::fs::read(directory("touchstone").join(name)).unwrap();
        let (mut refused, mut told) = (0, 0);
        for end in 0..bytes.len() {
            let part = &bytes[..end];
            match read(name, part) {
                Err(error) => {
                    check(&error, name, end);
                    refused += 1;
                }
                Ok(found) if found.warnings.is_empty() => {
                    let is_second = name.ends_with("ts");
                    let is_whole = if is_second { b"[End]" as &[u8] } else { b"\n" };
                    assert!(
                        part.trim_ascii_end().ends_with(is_whole) || part.ends_with(is_whole),
                        "{name} at {end}: {found:?}"
                    );
                }
                Ok(_) => told += 1,
            }
        }
        println!("{name}: {refused} cuts refused, {told} told");
        assert!(refused > 20 && told > 20, "{name}: {refused} {told}");
    }
}

#[test]
fn other_bytes_are_read_or_refused_with_a_line() {
    for name in NAMES {
        let bytes = std::fs::read(directory("touchstone").join(name)).unwrap();
        let mut refused = 0;
        for at in 0..bytes.len() {
            for bit in [0, 3, 6] {
                let mut damaged = bytes.clone();
                damaged[at] ^= 1 << bit;
                if let Err(error) = read(name, &damaged) {
                    check(&error, name, at);
                    refused += 1;
                }
            }
        }
        println!("{name}: {refused} of {} refused", 3 * bytes.len());
        assert!(refused > 100, "{name}");
    }
}
