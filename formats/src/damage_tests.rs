//! Files of results that were cut or changed: they are read or refused, and never panic.

use std::path::PathBuf;

use stationdb::{ErrorKind, Result};

type Count = fn(&[u8]) -> Result<usize>;

/// The samples with the reader of each.
fn samples() -> Vec<(String, Count, Vec<u8>)> {
    let folder = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("tests/results/files");
    let paths = std::fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path());
    let samples = paths.filter(|path| path.extension().is_some_and(|ending| ending != "txt"));
    let samples = samples.map(|path| {
        let name = path.file_name().unwrap().to_string_lossy().into_owned();
        let read: Count = match name.split('_').next() {
            Some("teststand") => crate::teststand::count,
            Some("atml5" | "atml6") => crate::atml::count,
            _ => crate::results_csv::count,
        };
        (name, read, std::fs::read(&path).unwrap())
    });
    let samples: Vec<_> = samples.collect();
    assert!(samples.len() >= 15, "{}", samples.len());
    samples
}

#[track_caller]
fn refused_for_its_bytes(result: Result<usize>, what: &str) {
    if let Err(error) = result {
        let kinds = [ErrorKind::InvalidArgument, ErrorKind::Unsupported, ErrorKind::LimitExceeded];
        assert!(kinds.contains(&error.kind()), "{what}: {error:?}");
    }
}

/// Every place of a small sample; of a large one some, and all at its ends.
fn is_tried(at: usize, len: usize, step: usize) -> bool {
    len < 4096 || at < 256 || at + 256 > len || at.is_multiple_of(step)
}

/// XML is refused wherever it was cut, but for blanks at its end. CSV may end behind any row.
#[test]
fn cut_at_every_byte() {
    for (name, read, bytes) in samples() {
        let is_xml = name.ends_with(".xml");
        let blanks = bytes.iter().rev().take_while(|byte| matches!(byte, b'\n' | b'\r' | 0));
        let whole = bytes.len() - blanks.count();
        let whole = if bytes.starts_with(b"\xff\xfe") { whole + 1 } else { whole };
        for len in (0..whole).filter(|len| is_tried(*len, whole, 37)) {
            let result = read(bytes.get(..len).unwrap());
            assert!(!is_xml || result.is_err(), "{name} cut at {len} is read");
            refused_for_its_bytes(result, &name);
        }
        assert!(read(bytes.get(..whole).unwrap()).is_ok(), "{name}");
    }
}

#[test]
fn bytes_flipped() {
    for (name, read, bytes) in samples() {
        for at in (0..bytes.len()).filter(|at| is_tried(*at, bytes.len(), 61)) {
            let mut changed = bytes.clone();
            if let Some(byte) = changed.get_mut(at) {
                *byte ^= [1, 0x20, 0x80].get(at % 3).unwrap();
            }
            refused_for_its_bytes(read(&changed), &name);
        }
    }
}
