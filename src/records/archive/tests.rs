use std::sync::Arc;

use super::*;
use crate::disk::{MemoryDisk, Mode, SharedDisk};
use crate::records::{Change, Space};

const JOURNAL: u64 = 0xFE;

fn put(key: u64, len: usize) -> Change {
    let value = key.to_le_bytes().iter().cycle().take(len).copied().collect();
    Change::Put { space: Space::Records, key: key.to_be_bytes().to_vec(), value }
}

/// A file with the commits 7 to 9; the second one has many parts.
fn written() -> (SharedDisk, Span) {
    let disk: SharedDisk = Arc::new(MemoryDisk::new());
    disk.create_dir_all(DIRECTORY).unwrap();
    let mut writer = ArchiveWriter::begin(&disk, 1, 2, JOURNAL).unwrap();
    writer.add(&put(0, 100)).unwrap();
    writer.end(7, 70).unwrap();
    (1..40).for_each(|key| writer.add(&put(key, 30_000)).unwrap());
    writer.end(8, 80).unwrap();
    let delete = Change::Delete { space: Space::Log, key: vec![3] };
    writer.add(&delete).unwrap();
    writer.end(9, 80).unwrap();
    let (span, bytes) = writer.finish().unwrap().unwrap();
    assert_eq!(disk.open(&span.path(), Mode::Read).unwrap().len().unwrap(), bytes);
    (disk, span)
}

/// Changes and ends as words, and how many parts there are.
fn read(disk: &SharedDisk, span: Span) -> crate::Result<(Vec<String>, usize)> {
    let mut reader = ArchiveReader::open(&**disk, span)?;
    let (mut words, mut parts) = (Vec::new(), 0);
    while let Some(items) = reader.next()? {
        parts += 1;
        for item in items {
            words.push(match item {
                Item::Change(Change::Put { key, value, .. }) => {
                    format!("put {} {}", key[7], value.len())
                }
                Item::Change(Change::Delete { key, .. }) => format!("delete {}", key[0]),
                Item::Change(Change::Entries(_)) => "entries".to_owned(),
                Item::End { sequence, time_ms } => format!("end {sequence} {time_ms}"),
            });
        }
    }
    Ok((words, parts))
}

#[test]
fn what_was_written_is_read() {
    let (disk, span) = written();
    assert_eq!(span, Span { journal: JOURNAL, first: 7, last: 9 });
    let name = span.path();
    assert_eq!(name, "archive/00000000000000fe.0000000000000007.0000000000000009");
    assert_eq!(Span::of_name(name.strip_prefix("archive/").unwrap()), Some(span));
    for wrong in ["SETTINGS", "fe.7.9", "00000000000000fe.0000000000000009.0000000000000007", ""] {
        assert_eq!(Span::of_name(wrong), None, "{wrong}");
    }
    let head = ArchiveReader::open(&*disk, span).unwrap().head;
    assert_eq!((head.seed, head.form, head.began_ms, head.ended_ms), (1, 2, 70, 80));
    let (words, parts) = read(&disk, span).unwrap();
    assert!(parts > 3, "{parts}");
    let ends: Vec<&String> = words.iter().filter(|word| word.starts_with("end")).collect();
    assert_eq!(ends, ["end 7 70", "end 8 80", "end 9 80"]);
    assert_eq!(words.len(), 3 + 40 + 1);
    assert_eq!(words[words.len() - 2], "delete 3");
    let nothing = ArchiveWriter::begin(&disk, 1, 2, JOURNAL).unwrap();
    assert!(nothing.finish().unwrap().is_none());
    assert!(!disk.exists(NEW).unwrap());
}

/// Each byte that is wrong, and each length, is found.
#[test]
fn damage_is_found() {
    let (disk, span) = written();
    let path = span.path();
    let file = disk.open(&path, Mode::ReadWrite).unwrap();
    let len = file.len().unwrap();
    for at in (0..len).step_by(3) {
        let mut byte = [0];
        file.read_exact_at(&mut byte, at).unwrap();
        file.write_all_at(&[byte[0] ^ 0x10], at).unwrap();
        let error = read(&disk, span).unwrap_err();
        assert_eq!(error.kind(), crate::ErrorKind::Corrupt, "{at}: {error}");
        file.write_all_at(&byte, at).unwrap();
    }
    read(&disk, span).unwrap();
    for cut in (0..len).rev().step_by(7) {
        file.set_len(cut).unwrap();
        assert_eq!(read(&disk, span).unwrap_err().kind(), crate::ErrorKind::Corrupt, "{cut}");
    }
}
