//! What a journal loses unreported: every cut of a file and every zeroed run of its sectors, against
//! the statement of `docs/journal.md`.
//!
//! At night with more records, larger ones, and a cut at every byte.

use std::collections::BTreeSet;

use super::file::RECORDS;
use super::tests::{body, bytes, numbers, open, shared, with};
use super::*;
use crate::disk::{Disk, MemoryDisk, Mode};
use crate::error::ErrorKind;
use crate::sizes;

const SECTOR: usize = 512;

/// A journal whose passes have these numbers of commits, one in each record. Each record has the
/// bodies of `repeats` commits, so that it takes several sectors.
fn journal(passes: &[u64], repeats: usize) -> (MemoryDisk, Link) {
    journal_with(passes, repeats, &mut |_| ())
}

/// As [`journal`]. `after` gets the disk after each pass.
fn journal_with(
    passes: &[u64],
    repeats: usize,
    after: &mut dyn FnMut(&MemoryDisk),
) -> (MemoryDisk, Link) {
    let disk = MemoryDisk::new();
    let link = Journal::create(&shared(&disk)).unwrap();
    let (mut journal, ..) = open(&disk, link, 0).unwrap();
    let mut sequence = 0;
    for (pass, count) in passes.iter().enumerate() {
        if pass > 0 {
            journal.begin_pass(sequence).unwrap();
        }
        for _ in 0..*count {
            sequence += 1;
            let body = body(sequence).repeat(repeats);
            journal.append(sequence - 1, sequence, &body).unwrap();
        }
        after(&disk);
    }
    (disk, link)
}

/// A journal and its record file.
struct Case {
    link: Link,
    /// The commits that the record file has.
    held: u64,
    /// All commits, and those of the newest pass.
    all: u64,
    newest: u64,
}

/// The outcomes of damaged journals.
#[derive(Debug, Default)]
struct Outcomes {
    whole: usize,
    shorter: usize,
    refused: usize,
}

impl Outcomes {
    /// Opens a damaged journal.
    fn judge(&mut self, image: &MemoryDisk, case: &Case, place: &str) {
        let Case { link, held, all, newest } = *case;
        let least = if newest > 0 { all - 1 } else { all };
        let copied = MemoryDisk::new();
        let copy = super::copy(&shared(image), &shared(&copied)).map(|()| copied);
        judge_salvage(image, case, least, place);
        match open(image, link, held) {
            Ok((_, passes, sequence)) => {
                assert!((least..=all).contains(&sequence), "{place}: {sequence} of {all} opened");
                let found: BTreeSet<u64> = passes.into_iter().flatten().collect();
                assert!(found.into_iter().eq(held + 1..=sequence), "{place}");
                let viewed = copy.and_then(|copy| open(&copy, link, held)).unwrap().2;
                assert_eq!(viewed, sequence, "{place}: a view shows something else");
                if sequence == all {
                    self.whole += 1;
                } else {
                    self.shorter += 1;
                }
            }
            Err(error) => {
                assert_eq!(error.kind(), ErrorKind::Corrupt, "{place}: {error}");
                let says = "or salvage it, which keeps ";
                assert!(error.message().contains(says), "{place}: {error}");
                // A view does not hide it.
                let viewed = copy.and_then(|copy| open(&copy, link, held));
                assert_eq!(viewed.unwrap_err().kind(), ErrorKind::Corrupt, "{place}");
                self.refused += 1;
            }
        }
    }
}

/// Every commit that a salvage lacks is told, apart from those after `least`: also when the record
/// file does not say which commit it is at, as before the first checkpoint.
fn judge_salvage(image: &MemoryDisk, case: &Case, least: u64, place: &str) {
    for sequence in [Some(case.held), None] {
        judge_salvage_at(image, case, sequence, least, place);
    }
}

fn judge_salvage_at(
    image: &MemoryDisk,
    case: &Case,
    sequence: Option<u64>,
    least: u64,
    place: &str,
) {
    let rescued = rescue(&shared(image), Some(case.link), sequence);
    let found: BTreeSet<u64> = numbers(&rescued.changes).into_iter().collect();
    assert_eq!(rescued.kept, found.len() as u64, "{place}");
    let is_told = |commit: u64| {
        let has = |(first, last)| (first..=last).contains(&commit);
        rescued.lost.iter().any(|lost| lost.commits.is_none_or(has))
    };
    for commit in (case.held + 1..=case.all).filter(|commit| !found.contains(commit)) {
        assert!(is_told(commit) || commit > least, "{place}: a salvage hides {commit}");
    }
}

/// Both files, and the one of the newest pass after a power cut that has torn its newest mark.
fn bases(disk: &MemoryDisk, passes: &[u64]) -> Vec<(&'static str, Vec<u8>)> {
    let mut bases: Vec<_> = NAMES.map(|name| (name, bytes(disk, name))).into();
    let newest = NAMES[passes.len() % 2];
    if let Some(before) = passes.last().and_then(|count| count.checked_sub(1)) {
        let mut torn = bytes(disk, newest);
        torn[PLACES[usize::from(before % 2 == 1)] + mark::LEN - 1] ^= 1;
        bases.push((newest, torn));
    }
    bases
}

/// The statement: at most the commits of the last record of the newest pass are missing unreported.
#[test]
fn every_cut_and_every_zeroed_run_loses_at_most_the_last_record_unreported() {
    // Commits of each pass, and repetitions of the bytes of one; the first ones with each change.
    let shapes: &[(&[u64], usize)] = &[
        (&[1], 1),
        (&[2], 1),
        (&[3], 5),
        (&[2, 0], 1),
        (&[1, 1, 2], 5),
        (&[0], 1),
        (&[3], 1),
        (&[3], 9),
        (&[24], 60),
        (&[4, 0], 1),
        (&[3, 1], 5),
        (&[2, 3], 5),
        (&[9, 9], 40),
        (&[5, 5, 5], 9),
        (&[1, 2, 3, 4], 9),
        (&[2, 2, 2, 2, 2], 3),
    ];
    let step = sizes::count("journal_cut_bytes");
    let mut outcomes = Outcomes::default();
    for (passes, repeats) in shapes.iter().take(sizes::count("journal_shapes")) {
        let (disk, link) = journal(passes, *repeats);
        // The record file has the passes before the last two.
        let moved = passes.len().saturating_sub(2);
        let held: u64 = passes[..moved].iter().sum();
        let case = Case {
            link: Link { pass: link.pass + moved as u64, ..link },
            held,
            all: passes.iter().sum(),
            newest: passes.last().copied().unwrap_or_default(),
        };
        for (name, file) in bases(&disk, passes) {
            let end = file.iter().rposition(|byte| *byte != 0).unwrap() + 1;
            let sectors = end.div_ceil(SECTOR) + 1;
            let cuts = (0..end).step_by(step).chain((0..sectors).map(|sector| sector * SECTOR));
            for cut in cuts.filter(|cut| *cut <= file.len()) {
                let image = with(&disk, name, &file[..cut]);
                outcomes.judge(&image, &case, &format!("{passes:?}, {name} cut at {cut}"));
            }
            for first in 0..sectors {
                for last in first..sectors {
                    let run = first * SECTOR..((last + 1) * SECTOR).min(file.len());
                    if run.is_empty() {
                        continue;
                    }
                    let mut zeroed = file.clone();
                    zeroed[run].fill(0);
                    let image = with(&disk, name, &zeroed);
                    let place = format!("{passes:?}, {name}, sectors {first} to {last} zeroed");
                    outcomes.judge(&image, &case, &place);
                }
            }
        }
    }
    println!("{outcomes:?}");
    assert!(outcomes.refused > 300 && outcomes.shorter > 8 && outcomes.whole > 100);
}

/// The file that the record file names is of an earlier pass, alone or with the other one. Nothing
/// shows that the other one alone is: it may wait for its next pass.
#[test]
fn a_salvage_tells_that_a_journal_file_is_of_an_earlier_time() {
    let passes = [3, 2, 4, 3];
    let mut images = Vec::new();
    let (disk, link) =
        journal_with(&passes, 1, &mut |disk| images.push(NAMES.map(|name| bytes(disk, name))));
    let case = Case {
        link: Link { pass: link.pass + 2, ..link },
        held: 5,
        all: passes.iter().sum(),
        newest: 3,
    };
    let named = file_of(case.link.pass);
    for (pass, image) in images.iter().enumerate().take(2) {
        let one = with(&disk, NAMES[named], &image[named]);
        let both = with(&one, NAMES[1 - named], &image[1 - named]);
        for (what, image) in [("one", one), ("both", both)] {
            judge_salvage(&image, &case, case.all, &format!("{what} of pass {pass}"));
            assert_eq!(open(&image, case.link, case.held).unwrap_err().kind(), ErrorKind::Corrupt);
        }
    }
}

/// The cuts and the zeroed end that were found to lose commits without a word.
#[test]
fn a_journal_of_a_thousand_commits_is_never_shortened_unreported() {
    let (disk, link) = journal(&[1_000], 1);
    let held = bytes(&disk, "journal.1");
    let end = held.iter().rposition(|byte| *byte != 0).unwrap() + 1;
    let mut zeroed = held.clone();
    zeroed[end - 4_096..].fill(0);
    for (damaged, place) in [
        (&held[..end / 2], "cut to half"),
        (&held[..RECORDS as usize], "cut to its header"),
        (&held[..0], "cut to nothing"),
        (&zeroed, "its last 4 KiB zeroed"),
    ] {
        let error = open(&with(&disk, "journal.1", damaged), link, 0).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Corrupt, "{place}: {error}");
        println!("{place}: {error}");
    }
}

/// A mark that is damaged while the store is open is found, as records are.
#[test]
fn a_damaged_mark_under_an_open_journal_is_found() {
    let (disk, link) = journal(&[3, 2], 1);
    let (journal, ..) = open(&disk, link, 0).unwrap();
    assert_eq!(journal.check(true), []);
    for name in NAMES {
        for place in PLACES {
            let held = bytes(&disk, name);
            let file = disk.open(name, Mode::ReadWrite).unwrap();
            file.write_all_at(&[0; mark::LEN], place as u64).unwrap();
            let found = journal.check(true);
            assert!(matches!(found.as_slice(), [(file, _)] if *file == name), "{found:?}");
            file.write_all_at(&held, 0).unwrap();
        }
    }
    assert_eq!(journal.check(true), []);
}
