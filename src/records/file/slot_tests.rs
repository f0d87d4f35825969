//! Damage of the two commit slots of the record file, in every state of the two: the file opens with
//! its last commit, or with the one before where a power cut may have torn the last one, or is
//! refused. It never opens as another one, such as an empty one.

use std::sync::Arc;

use super::pages::{
    Child, HEADER_BYTES, Header, MAGIC, NOT_CLOSED, PRIMARY_IS_SLOT_1, SLOT_BYTES, SLOTS_AT,
    TWO_PHASES,
};
use crate::disk::{MemoryDisk, SharedDisk, read_file, write_new_file};
use crate::error::{ErrorKind, Result};
use crate::records::{Change, ReadSource, RecordFile, RecordFileOptions, Space};

const NAME: &str = "records.redb";
const KEY: &[u8] = b"commit";

/// What happens to a slot.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Damage {
    None,
    /// A wrong bit in the number of the root page.
    Root,
    /// The slot says that there is no root, as a torn write might.
    NoRoot,
    /// A wrong bit in the checksum.
    Sum,
    /// All of it is zero.
    Zero,
    /// The page that it names is zero; the slot itself is whole.
    Page,
}

const ALL: [Damage; 6] =
    [Damage::None, Damage::Root, Damage::NoRoot, Damage::Sum, Damage::Zero, Damage::Page];

impl Damage {
    fn strike(self, file: &mut [u8], slot: usize) {
        let at = SLOTS_AT + slot * SLOT_BYTES;
        match self {
            Self::None => {}
            Self::Root => file[at + 8] ^= 4,
            Self::NoRoot => file[at + 1] = 0,
            Self::Sum => file[at + SLOT_BYTES - 1] ^= 1,
            Self::Zero => file[at..at + SLOT_BYTES].fill(0),
            Self::Page => {
                let regions = Header::new(&file[..HEADER_BYTES]).unwrap().regions;
                let place = regions.place(root(file, slot).number).unwrap();
                file[place.start as usize..place.end as usize].fill(0);
            }
        }
    }
}

/// The root of the tree of tables that a slot names.
fn root(file: &[u8], slot: usize) -> Child {
    let at = SLOTS_AT + slot * SLOT_BYTES;
    Child::root(&file[at..at + SLOT_BYTES], 8).unwrap()
}

/// The commit that the file has when it is opened, and when it is opened once more.
fn open(bytes: &[u8], options: RecordFileOptions) -> Result<u64> {
    let disk: SharedDisk = Arc::new(MemoryDisk::new());
    write_new_file(&*disk, NAME, bytes).unwrap();
    let read = |file: RecordFile| -> Result<u64> {
        let found = ReadSource::Snapshot(&file.snapshot(0)?).get(Space::Blobs, KEY)?;
        let found = found.expect("the file opens as an empty one");
        Ok(u64::from_be_bytes(<[u8; 8]>::try_from(&*found).unwrap()))
    };
    let file = RecordFile::open(&disk, options).inspect_err(|error| {
        let now = read_file(&*disk, NAME, 1 << 30).unwrap();
        let slots = SLOTS_AT..HEADER_BYTES;
        assert!(now[slots.clone()] == bytes[slots], "a refused file was changed: {error}");
    })?;
    let found = read(file).inspect_err(|error| {
        let is_of_page = error.to_string().contains("is damaged");
        assert!(is_of_page, "the file opens without its tables: {error}");
    })?;
    assert_eq!(read(RecordFile::open(&disk, options)?)?, found, "what is repaired stays");
    Ok(found)
}

#[test]
fn a_damaged_commit_slot_never_opens_as_another_commit() {
    let (mut last, mut before, mut refused) = (0, 0, 0);
    for quick_repair in [true, false] {
        let options = RecordFileOptions { cache_bytes: 1 << 20, quick_repair };
        for is_closed in [true, false] {
            // Each slot is the one that counts.
            for commits in [6, 7] {
                let disk: SharedDisk = Arc::new(MemoryDisk::new());
                RecordFile::create(&disk, options, &[]).unwrap();
                let file = RecordFile::open(&disk, options).unwrap();
                for commit in 1..=commits {
                    let value = u64::to_be_bytes(commit).to_vec();
                    let change = Change::Put { space: Space::Blobs, key: KEY.to_vec(), value };
                    file.write(|turn| turn.apply([change])).unwrap();
                }
                let killed = read_file(&*disk, NAME, 1 << 30).unwrap();
                drop(file);
                let closed = read_file(&*disk, NAME, 1 << 30).unwrap();
                let held = if is_closed { closed } else { killed };
                let flags = held[MAGIC.len()];
                assert_eq!(flags & NOT_CLOSED == 0, is_closed);
                let is_two_phase = flags & TWO_PHASES != 0;
                let primary = usize::from(flags & PRIMARY_IS_SLOT_1);
                let [one, other] = [0, 1].map(|slot| root(&held, slot).number);
                // The last commit of a close changes no row, and has the page of the one before.
                let is_shared = one == other;
                for of_primary in ALL {
                    for of_other in ALL {
                        let mut bytes = held.clone();
                        // Before the slot that names it is damaged.
                        let slots = [(of_primary, primary), (of_other, 1 - primary)];
                        let pages = slots.iter().filter(|(damage, _)| *damage == Damage::Page);
                        let slots_only = slots.iter().filter(|(damage, _)| *damage != Damage::Page);
                        for (damage, slot) in pages.chain(slots_only) {
                            damage.strike(&mut bytes, *slot);
                        }
                        let is_last_whole =
                            of_primary == Damage::None && (of_other != Damage::Page || !is_shared);
                        let place = format!(
                            "{of_primary:?} in slot {primary}, {of_other:?} in the other, \
                             closed: {is_closed}, two phases: {is_two_phase}"
                        );
                        match open(&bytes, options) {
                            Ok(found) if found == commits => {
                                assert!(is_last_whole, "{place}");
                                last += 1;
                            }
                            Ok(found) => {
                                assert_eq!(found, commits - 1, "{place}");
                                assert_ne!(of_primary, Damage::None, "{place}");
                                assert_eq!(of_other, Damage::None, "{place}");
                                assert!(!is_closed, "{place}");
                                before += 1;
                            }
                            Err(error) => {
                                assert_eq!(error.kind(), ErrorKind::Corrupt, "{place}: {error}");
                                // A slot of an unknown version is refused, whichever counts.
                                let is_known = of_other != Damage::Zero;
                                assert!(!is_last_whole || !is_known, "{place}: {error}");
                                refused += 1;
                            }
                        }
                    }
                }
            }
        }
    }
    println!("{last} with the last commit, {before} with the one before, {refused} refused");
    // Falling back is right only for a commit of one phase that was not closed.
    assert_eq!((last, before, refused), (36, 8, 244));
}
