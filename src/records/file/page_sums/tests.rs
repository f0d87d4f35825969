//! No read of a damaged page answers wrongly, and keys on other pages stay readable.

mod world;

use world::*;

use super::*;
use crate::disk::sim::Random;
use crate::error::ErrorKind;
use crate::records::{Change, RecordFileOptions};
use crate::sizes;
use crate::value::guarded;

/// The seed of a test; each run of a night has its own.
fn random(test: u64) -> Random {
    Random::new(sizes::seed() * 10 + test)
}

/// The number of damaged pages that a test tries: the size is that of the first test, and the others
/// grow with it.
fn draws(default: u64) -> u64 {
    (sizes::size("pages") * default / 5_000).max(1)
}

/// While the file is open: in pages that it had before, and in pages that redb wrote since.
#[test]
fn no_read_of_a_damaged_page_answers_wrongly() {
    let mut random = random(7);
    let (mut refused, mut right) = (0, 0);
    for is_rewritten in [false, true] {
        let mut world = World::new(NO_CACHE);
        if is_rewritten {
            world.rewrite();
        }
        let pages = world.pages();
        assert!(pages.iter().filter(|page| page.is_branch).count() > 5, "a tree of three levels");
        for draw in 0..draws(5_000) / 2 {
            let damage = world.damage(&pages, &mut random);
            let place = format!("draw {draw}, rewritten {is_rewritten}, {damage:?}");
            let snapshot = world.file.snapshot(0).unwrap();
            let mut keys: Vec<_> = world.keys_on(&pages, &damage, &mut random);
            keys.extend((0..4).map(|_| world.some_key(&mut random)));
            for key in &keys {
                match world.get(&snapshot, key) {
                    Ok(()) => right += 1,
                    Err(error) => {
                        damage.assert_told(&error, &place);
                        assert!(world.is_below(&pages, &damage, key), "{place}: {key:?}: {error}");
                        refused += 1;
                    }
                }
            }
            if let Err(error) = world.scan(&snapshot, keys.first().unwrap(), 40) {
                damage.assert_told(&error, &place);
            }
            world.mend(damage);
        }
        world.assert_whole();
        let sums = world.file.medium.sums();
        assert_eq!(world.unverified(), 0, "every page was verified");
        let len = world.file.medium.known_len();
        assert!(sums.bytes() as u64 <= len.div_ceil(16 << 20) * (16 << 10), "{}", sums.bytes());
    }
    println!("counted: {} damaged pages", draws(5_000));
    println!("{refused} reads refused, {right} reads right");
    assert!(refused > draws(5_000) / 2, "{refused}");
}

/// Before the file is opened: it is refused, or as above.
#[test]
fn damage_before_the_open_is_refused_or_found() {
    let mut random = random(8);
    let whole = World::new(NO_CACHE).closed();
    let (mut at_open, mut refused) = (0, 0);
    for draw in 0..draws(300) {
        let bytes = damaged_file(&whole.bytes, &mut random);
        let place = format!("draw {draw}");
        let opened = guarded("opening", || whole.open(&bytes, NO_CACHE));
        let world = match opened {
            Ok(world) => world,
            Err(error) => {
                assert_eq!(error.kind(), ErrorKind::Corrupt, "{place}: {error}");
                at_open += 1;
                continue;
            }
        };
        // redb may go back to the commit before if the header tells so; the caller compares the
        // sequence.
        let Ok(snapshot) = world.file.snapshot(0) else { continue };
        for _ in 0..30 {
            if let Err(error) = world.get(&snapshot, &world.some_key(&mut random)) {
                assert_eq!(error.kind(), ErrorKind::Corrupt, "{place}: {error}");
                refused += 1;
            }
        }
        for space in SPACES {
            if let Err(error) = world.scan(&snapshot, &(space, Vec::new()), 4_000) {
                assert_eq!(error.kind(), ErrorKind::Corrupt, "{place}: {error}");
                refused += 1;
            }
        }
    }
    println!("{at_open} files refused, {refused} reads refused");
    assert!(refused > 0);
}

/// The parents are in redb's cache when a leaf is damaged, and so is the refused page later.
#[test]
fn a_damaged_leaf_below_cached_parents_is_refused_each_time() {
    let (mut below, mut again) = (0, 0);
    // Which parents are in the cache depends on where redb has put the pages.
    for kib in [60, 80] {
        let world = World::new(RecordFileOptions { cache_bytes: kib << 10, ..CACHE });
        let pages = world.pages();
        let leaves: Vec<_> =
            pages.iter().filter(|page| !page.is_branch && page.keys.len() > 4).collect();
        let snapshot = world.file.snapshot(0).unwrap();
        for pair in leaves.windows(2).step_by(2) {
            let [before, leaf] = pair else { continue };
            world.get(&snapshot, before.keys.first().unwrap()).unwrap();
            let damage = world.flip(leaf.start + 40, 3);
            let reads = world.reads();
            // The leaf may be in the cache too, undamaged.
            let Err(error) = world.get(&snapshot, leaf.keys.first().unwrap()) else { continue };
            below += u64::from(world.reads() == reads + 1);
            damage.assert_told(&error, "below cached parents");
            let reads = world.reads();
            for key in &leaf.keys {
                damage.assert_told(&world.get(&snapshot, key).unwrap_err(), "once more");
            }
            again += u64::from(world.reads() == reads);
            assert!(world.scan(&snapshot, leaf.keys.first().unwrap(), 3).is_err());
            before.keys.iter().for_each(|key| world.get(&snapshot, key).unwrap());
        }
    }
    println!("{below} leaves below cached parents, {again} refused from the cache");
    assert!(below > 10 && again > 0, "{below} {again}");
}

/// A write that needs a damaged page is refused, the state before it stays, and what a successful
/// write leaves is right.
#[test]
fn a_write_over_damaged_pages_is_whole_or_refused() {
    let mut random = random(9);
    let whole = World::new(NO_CACHE).closed();
    let (mut committed, mut refused) = (0, 0);
    for draw in 0..draws(120) {
        let options = if draw.is_multiple_of(2) { CACHE } else { NO_CACHE };
        let mut world = whole.open(&whole.bytes, options).unwrap();
        let pages = world.pages();
        let damage = world.damage(&pages, &mut random);
        let place = format!("draw {draw}, {damage:?}");
        // Neighbours are emptied, so that redb merges pages with the damaged one.
        let mut keys = world.keys_near(&pages, &damage, 14);
        let few = if random.percent(50) { 0 } else { keys.len().saturating_sub(2) };
        keys.drain(..few);
        keys.extend((0..6).map(|_| world.some_key(&mut random)));
        let mut after = world.rows.clone();
        let changes: Vec<Change> = keys
            .into_iter()
            .map(|(space, key)| {
                if random.percent(70) {
                    after.remove(&(space, key.clone()));
                    return Change::Delete { space, key };
                }
                let value = vec![5; 50 + random.below(300) as usize];
                after.insert((space, key.clone()), value.clone());
                Change::Put { space, key, value }
            })
            .collect();
        let done = guarded("writing", || world.file.write(|turn| turn.apply(changes)));
        match done {
            Ok(()) => {
                committed += 1;
                world.rows = after;
                // What is left of the damage is refused and not mended: its page may be in use for
                // something else.
                world = world.closed().reopened(NO_CACHE);
                let snapshot = world.file.snapshot(0).unwrap();
                for key in world.rows.keys().step_by(7) {
                    if let Err(error) = world.get(&snapshot, key) {
                        assert_eq!(error.kind(), ErrorKind::Corrupt, "{place}: {error}");
                    }
                }
            }
            Err(error) => {
                assert_eq!(error.kind(), ErrorKind::Corrupt, "{place}: {error}");
                refused += 1;
                // The state before the write is whole when the pages are.
                world.mend(damage);
                world.closed().reopened(NO_CACHE).assert_whole();
            }
        }
    }
    println!("{committed} writes done, {refused} refused");
    assert!(committed > 0 && refused > 0, "{committed} {refused}");
}

/// redb merges a branch with a damaged neighbour, whose place in the tree it then keeps. The commit
/// does not reach the file.
#[test]
fn a_commit_that_would_keep_a_refused_page_is_not_written() {
    let whole = World::new(NO_CACHE).closed();
    let mut latched = 0;
    for options in [NO_CACHE, CACHE] {
        let pages = whole.reopened(options).pages();
        for page in pages.iter().filter(|page| page.is_middle()) {
            let world = whole.open(&whole.bytes, options).unwrap();
            let damage = world.zero(page);
            let keys = world.keys_after(page);
            let done = guarded("writing", || {
                world.file.write(|turn| {
                    for (space, key) in keys {
                        turn.apply([Change::Delete { space, key }])?;
                        // redb has read the damaged page, as a neighbour.
                        if !world.file.refused_pages().unwrap().is_empty() {
                            break;
                        }
                    }
                    Ok(())
                })
            });
            if world.file.refused_pages().unwrap().is_empty() {
                // There is no branch after it, or it was not emptied far enough.
                done.unwrap();
                continue;
            }
            damage.assert_told(&done.unwrap_err(), "merged");
            latched += u64::from(world.file.check_writable().is_err());
            world.mend(damage);
            world.closed().reopened(NO_CACHE).assert_whole();
        }
    }
    println!("{latched} commits kept out of the file");
    assert!(latched > 1, "{latched}");
}

/// Ties the page to redb 4.6: every kind of read gets an error that tells the page, and redb stays
/// usable.
#[test]
fn redb_refuses_the_page_by_its_number() {
    for offset in [4096, 123 << 12, (5 << 32) + 4096, (39 << 30) + 8192] {
        let mut page = vec![7; 4096];
        refusal::fill(&mut page, offset);
        let told = refusal::carried(&page).unwrap();
        assert_eq!(told, format!("byte {offset}"));
    }
    let mut page = vec![7; 4096];
    refusal::fill(&mut page, 50 << 30);
    assert!(refusal::carried(&page).unwrap().contains("4 MiB"), "{:?}", refusal::carried(&page));
    assert_eq!(refusal::told("Page r1.2/3 has order greater than the maximum of 20"), None);
    assert_eq!(refusal::carried(&vec![0; 4096]), None);
    // It is kept out of the file.
    let sums = PageSums::default();
    sums.refuse(8192, &mut page);
    assert_eq!(sums.wrote(4096, &page).unwrap_err().kind(), ErrorKind::Corrupt);
    sums.wrote(4096, &[BRANCH; 4096]).unwrap();
}

/// A file in another form is read as before, and says so.
#[test]
fn nothing_is_refused_in_an_unknown_form() {
    let sums = PageSums::default();
    let disk: crate::disk::SharedDisk = std::sync::Arc::new(crate::disk::MemoryDisk::new());
    let file = disk.open("other", crate::disk::Mode::OpenOrCreate).unwrap();
    file.write_all_at(&vec![9; 64 << 10], 0).unwrap();
    sums.learn(&*file, true).unwrap();
    assert_eq!(sums.refused(), None);
    let mut page = vec![2; 4096];
    sums.verify(8192, &mut page, |_| Ok(())).unwrap();
    assert_eq!(page, [2; 4096]);
}

/// The sums are those of redb also after a repair, when redb has read the pages before.
#[test]
fn pages_are_verified_after_a_repair() {
    let mut world = World::new(CACHE);
    world.rewrite();
    // As after a kill: the last commit had one phase, and the file was not closed.
    let bytes = world.copy();
    assert!(!is_two_phase(&bytes));
    let closed = world.closed();
    // How much redb keeps of what it read in the repair decides which parents it reads again.
    for kib in (50..800).step_by(50) {
        let cache_bytes = kib << 10;
        let world = closed.open(&bytes, RecordFileOptions { cache_bytes, ..CACHE }).unwrap();
        let snapshot = world.file.snapshot(0).unwrap();
        for key in world.rows.keys().step_by(5) {
            world.get(&snapshot, key).unwrap();
        }
        assert_eq!(world.unverified(), 0, "{kib} KiB");
    }
}

/// The sums of all pages are learnt at once after a repair, whatever redb has in its cache then.
#[test]
fn every_page_has_a_sum_after_a_repair() {
    let mut world = World::new(CACHE);
    world.rewrite();
    let bytes = world.copy();
    assert!(!is_two_phase(&bytes));
    let world = world.closed().open(&bytes, CACHE).unwrap();
    let pages = world.pages();
    let sums = world.file.medium.sums();
    let lacking = pages.iter().filter(|page| sums.known(page.start) == 0).count();
    assert_eq!(lacking, 0, "of {} pages", pages.len());
}

/// The last commit had one phase and is not whole, so redb goes back to the one before.
#[test]
fn the_commit_before_is_verified_when_redb_goes_back_to_it() {
    let before = World::new(CACHE).closed();
    let mut world = before.reopened(CACHE);
    world.rewrite();
    let pages = world.pages();
    let _ = world.zero(pages.iter().rfind(|page| !page.is_branch).unwrap());
    let bytes = world.copy();
    assert!(!is_two_phase(&bytes));
    let world = before.open(&bytes, HALF_CACHE).unwrap();
    world.assert_whole();
    assert_eq!(world.unverified(), 0);
    assert_eq!(world.file.refused_pages(), Some(vec![]));
}

/// Pages of a file that redb made, from its first ones on: it begins with a few, and grows. Each
/// page that is read has a sum, after each way to end, and a wrong bit in it is refused.
#[test]
fn every_page_of_a_growing_file_is_verified() {
    for options in [NO_CACHE, RecordFileOptions { cache_bytes: 0, ..CACHE }] {
        let mut lens = Vec::new();
        for count in [0, 1, 40, 400, 4_000] {
            let world = World::with_rows(options, count);
            lens.push(world.copy().len());
            world.assert_whole();
            assert_eq!(world.unverified(), 0, "{count} rows");
            assert_eq!(world.file.refused_pages(), Some(vec![]), "{count} rows");
            let (killed, rows) = (world.copy(), world.rows.clone());
            for bytes in [killed, world.closed().bytes] {
                let closed = Closed { bytes: bytes.clone(), rows: rows.clone() };
                let world = closed.open(&bytes, options).unwrap();
                world.assert_whole();
                assert_eq!(world.unverified(), 0, "{count} rows");
                for page in world.pages().iter().filter(|page| !page.keys.is_empty()).take(40) {
                    let snapshot = world.file.snapshot(0).unwrap();
                    let damage = world.flip(page.start + 20, 3);
                    let error = world.get(&snapshot, &page.keys[0]).unwrap_err();
                    assert_eq!(error.kind(), ErrorKind::Corrupt, "{count} rows: {error}");
                    world.mend(damage);
                }
            }
        }
        assert!(lens[0] < 1 << 20 && lens.is_sorted(), "{lens:?}");
    }
}

/// A page that is right when it is read once more is not refused.
#[test]
fn a_fault_of_one_read_is_not_damage() {
    let world = World::new(NO_CACHE);
    let pages = world.pages();
    let page = pages.first().unwrap();
    world.assert_whole();
    let sums = world.file.medium.sums();
    let right = world.bytes_of(page);
    let mut read = right.clone();
    read[20] ^= 1;
    let again = |page: &mut [u8]| {
        page.copy_from_slice(&right);
        Ok(())
    };
    sums.verify(page.start, &mut read, again).unwrap();
    assert!(read == right);
    assert_eq!(sums.refused(), Some(vec![]));
}
