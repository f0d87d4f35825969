//! The bounds of metadata.

use std::io::Cursor;

use stationdb::{Control, ErrorKind, Result};

use super::contents::{self, Contents};
use super::input::Input;
use super::layout::Layouts;
use super::segment::MARK;
use super::types::Value;
use crate::limits::{self, holds_at};

/// A segment with these objects and no raw data.
fn segment(out: &mut Vec<u8>, objects: &[Vec<u8>]) {
    segment_of(out, 6, objects, &[]);
}

/// A segment with these objects and raw data. `contents` says what it has.
fn segment_of(out: &mut Vec<u8>, contents: u32, objects: &[Vec<u8>], data: &[u8]) {
    let len: usize = 4 + objects.iter().map(Vec::len).sum::<usize>();
    out.extend(MARK);
    for word in [contents, 4713] {
        out.extend(word.to_le_bytes());
    }
    for len in [len + data.len(), len] {
        out.extend((len as u64).to_le_bytes());
    }
    out.extend((objects.len() as u32).to_le_bytes());
    objects.iter().for_each(|object| out.extend(object));
    out.extend(data);
}

fn text(out: &mut Vec<u8>, text: &[u8]) {
    out.extend((text.len() as u32).to_le_bytes());
    out.extend(text);
}

/// An object without raw data and with one property, a text of this length.
fn object(path: &str, name: &str, len: usize) -> Vec<u8> {
    let mut out = Vec::new();
    text(&mut out, path.as_bytes());
    out.extend([0xff; 4]);
    out.extend(1u32.to_le_bytes());
    text(&mut out, name.as_bytes());
    out.extend(0x20u32.to_le_bytes());
    text(&mut out, &vec![b'x'; len]);
    out
}

fn read(bytes: Vec<u8>) -> Result<Contents> {
    contents::read(&mut Input::new(Box::new(Cursor::new(bytes)))?, &Control::default())
}

#[test]
fn metadata_objects_and_properties_hold_at_their_limits() {
    let above = ErrorKind::LimitExceeded;
    holds_at(limits::IMPORT_METADATA_BYTES, above, |bytes| {
        let mut file = Vec::new();
        let rest = 4 + object("/'g'", "p", 0).len();
        segment(&mut file, &[object("/'g'", "p", bytes - rest)]);
        read(file)
    });
    holds_at(limits::TDMS_OBJECTS, above, |count| {
        let objects: Vec<Vec<u8>> =
            (0..count).map(|at| object(&format!("/'{at}'"), "p", 0)).collect();
        let mut file = Vec::new();
        segment(&mut file, &objects);
        read(file)
    });
    holds_at(limits::TDMS_PROPERTY_BYTES, above, |bytes| {
        let mut file = Vec::new();
        let mut left = bytes;
        for at in 0..8 {
            let each = 1 + size_of::<Value>();
            let len = if at == 7 { left - each } else { 8 * 1024 * 1024 - each };
            left -= len + each;
            segment(&mut file, &[object("/'g'", &at.to_string(), len)]);
        }
        read(file)
    });
}

#[test]
fn runs_and_places_hold_at_their_limits() {
    holds_at(1000u32, ErrorKind::LimitExceeded, |count| {
        let mut layouts = Layouts::default();
        // Each has other chunks than the one before.
        (0..count as u64).try_for_each(|at| layouts.push(at * 100, at % 2 + 1, 0, 1000))
    });
    let mut layouts = Layouts::default();
    for at in [0, 100, 200, 300, 450] {
        layouts.push(at, 1, 0, 10).unwrap();
    }
    let runs: Vec<_> = layouts.runs.iter().map(|run| (run.at, run.step, run.segments)).collect();
    assert_eq!(runs, [(0, 100, 4), (450, 0, 1)]);
}

/// A segment costs the objects that it changes, however many there are.
#[test]
fn segments_that_change_little_are_read_quickly() {
    const CHANNELS: usize = 50_000;
    const SEGMENTS: usize = 50_000;
    let channel = |at: usize| {
        let mut out = Vec::new();
        text(&mut out, format!("/'g'/'c{at}'").as_bytes());
        for word in [20u32, 2, 1] {
            out.extend(word.to_le_bytes());
        }
        out.extend(1u64.to_le_bytes());
        out.extend(0u32.to_le_bytes());
        out
    };
    let data = vec![0; 2 * CHANNELS];
    let mut file = Vec::new();
    segment_of(&mut file, 14, &(0..CHANNELS).map(channel).collect::<Vec<_>>(), &data);
    for at in 0..SEGMENTS {
        // No object, one with a property, and a channel with the index that it has.
        let objects = match at % 3 {
            0 => vec![],
            1 => vec![object("/'g'", "p", 1)],
            _ => vec![channel(at)],
        };
        segment_of(&mut file, 2, &objects, &[]);
    }
    segment_of(&mut file, 10, &[], &data);
    let start = std::time::Instant::now();
    let contents = read(file).unwrap();
    assert!(start.elapsed() < std::time::Duration::from_secs(60), "{:?}", start.elapsed());
    let lens = contents.objects.iter().filter(|object| !object.parts.is_empty());
    assert!(lens.clone().all(|object| object.len == 2));
    assert_eq!((lens.count(), contents.layouts.all.len()), (CHANNELS, 1));
}
