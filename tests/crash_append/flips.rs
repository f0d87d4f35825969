//! One bit of a cleanly closed store is wrong, or a whole file is missing, short or swapped. The
//! store may refuse, and it may miss damage in bytes that store nothing, but it never returns a
//! wrong answer and never panics.

use crate::prelude::*;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::time::Instant;

use crate::harness::size;

/// Flips this many bits, each in its own copy, spread evenly over the files.
pub fn one_bit_is_wrong(name: &str, scenario: &dyn Scenario, flips_default: u64) {
    let begun = Instant::now();
    let history = History::new(SimDisk::new(first_seed()));
    scenario.run(&history).unwrap();
    let whole = history.window_at_end().acked;
    let closed = history.disk.survivors(0, Survival::All);
    let files = files_below(&closed, "");
    let mut random = Random::new(first_seed());
    let mut outcomes = BTreeMap::<&str, u64>::new();
    let mut problems = Vec::new();
    let mut look = |place: String, image: &SimDisk| {
        let looked = catch_unwind(AssertUnwindSafe(|| answers(scenario, image, &whole)));
        match looked {
            Ok(Ok(outcome)) => *outcomes.entry(outcome).or_default() += 1,
            Ok(Err(problem)) => problems.push(format!("{place}: {problem}")),
            Err(_) => problems.push(format!("{place}: a panic left the library")),
        }
    };
    let flips = (flips_default * size("flips")).div_ceil(100);
    for flip in 0..flips {
        let image = closed.survivors(0, Survival::All);
        // A file is drawn first and then a bit of it; drawing by length would choose the record
        // file nearly always.
        let (path, len) = &files[usize::try_from(random.below(files.len() as u64)).unwrap()];
        let (offset, bit) = (random.below(*len), random.below(8));
        let file = image.open(path, Mode::ReadWrite).unwrap();
        let mut byte = [0];
        file.read_exact_at(&mut byte, offset).unwrap();
        file.write_all_at(&[byte[0] ^ (1 << bit)], offset).unwrap();
        file.sync_all().unwrap();
        drop(file);
        look(format!("flip {flip}, bit {bit} of byte {offset} of {path} ({len} bytes)"), &image);
    }
    let mut damaged = 0;
    for (at, (path, len)) in files.iter().enumerate() {
        let next = &files[(at + 1) % files.len()].0;
        for damage in [
            Damage::Missing,
            Damage::Empty,
            Damage::Short(random.below(*len)),
            Damage::Swapped(next),
        ] {
            let image = closed.survivors(0, Survival::All);
            damage.strike(&image, path);
            look(format!("{damage:?}: {path} ({len} bytes)"), &image);
            damaged += 1;
        }
    }
    counted(flips, "flips");
    counted(damaged, "damaged files");
    println!(
        "{name}: {flips} flips and {damaged} damages of {} files in {:.1} s: {outcomes:?}",
        files.len(),
        begun.elapsed().as_secs_f64()
    );
    assert!(problems.is_empty(), "{name}, seed {}:\n{}", first_seed(), problems.join("\n"));
}

/// What may happen to a whole file.
#[derive(Debug)]
enum Damage<'a> {
    Missing,
    Empty,
    Short(u64),
    /// It is swapped with this file.
    Swapped(&'a str),
}

impl Damage<'_> {
    fn strike(&self, disk: &SimDisk, path: &str) {
        match self {
            Self::Missing => disk.remove_file(path).unwrap(),
            Self::Empty => disk.open(path, Mode::ReadWrite).unwrap().set_len(0).unwrap(),
            Self::Short(len) => disk.open(path, Mode::ReadWrite).unwrap().set_len(*len).unwrap(),
            Self::Swapped(other) => {
                disk.rename(path, "swapped").unwrap();
                disk.rename(other, path).unwrap();
                disk.rename("swapped", other).unwrap();
            }
        }
    }
}

/// Opens a damaged store. Returns how it reacted, or an error when it returned a wrong answer.
fn answers(
    scenario: &dyn Scenario,
    image: &SimDisk,
    whole: &BTreeSet<String>,
) -> Result<&'static str, String> {
    let Ok(store) = scenario.open(image.clone()) else { return Ok("refused to open") };
    let found = scenario.found(&store, image);
    if found.as_ref().is_ok_and(|found| found == whole) {
        return Ok("answered rightly");
    }
    let report = store.verify(VerifyLevel::Checksums, &Control::default());
    let reported = !report.as_ref().is_ok_and(stationdb::VerifyReport::is_sound);
    match found {
        Err(Problem::Refused(_)) => Ok("refused to answer"),
        _ if reported => Ok("found by verify"),
        Ok(found) => Err(format!("silently shows only {found:?}")),
        Err(Problem::Wrong(problem)) => Err(format!("silently wrong: {problem}")),
    }
}

fn files_below(disk: &SimDisk, path: &str) -> Vec<(String, u64)> {
    let full =
        |name: &str| if path.is_empty() { name.to_owned() } else { format!("{path}/{name}") };
    let entries = disk.list(path).unwrap().into_iter();
    entries
        .flat_map(|entry| {
            let path = full(&entry.name);
            if entry.is_dir { files_below(disk, &path) } else { vec![(path, entry.len)] }
        })
        .filter(|(_, len)| *len > 0)
        .collect()
}
