//! A kill, a reopening, and then a power cut, at the changes of every scenario.
//!
//! A killed process leaves bytes that can be read and that no sync covered. An opening reads them,
//! and everything after it builds on them. So what an opening shows must survive every later cut,
//! even though the run before it never acknowledged it.

use crate::prelude::*;

use crate::harness::{Explored, Window, check, size, survival};

/// How much is checked.
#[derive(Clone)]
pub struct Kills {
    /// The process is killed at one in this many changes.
    pub one_in: u64,
    /// Whether every way to go on is tried, and a cut at every change; otherwise drawn ones.
    pub is_full: bool,
    /// Syncs that the opening of a store after the kill leaves out: for tests of the suite.
    pub removed: Option<Pick>,
}

/// The kills of the first run of a scenario, or of the second one, with checkpoints.
pub fn of_a_run(is_second: bool) -> Kills {
    let one_in = size(if is_second { "crash_kills_checkpoints" } else { "crash_kills" });
    Kills { one_in: one_in.max(1), is_full: does("crash_kills_all_ways"), removed: None }
}

/// What follows a kill.
#[derive(Clone, Copy, Debug)]
struct Way {
    /// Whether the sync at the point of the kill has failed.
    has_failed: bool,
    /// Whether the reopened store makes a commit. Without it, the next write is the checkpoint of
    /// its close, or of the opening itself.
    is_busy: bool,
    /// Whether the reopened process is killed too.
    is_again: bool,
}

impl Way {
    const fn of(number: u64) -> Self {
        Self { has_failed: number & 1 != 0, is_busy: number & 2 != 0, is_again: number & 4 != 0 }
    }
}

/// Kills the process at the changes of a run.
pub fn explore_kills(scenario: &dyn Scenario, history: &History, kills: &Kills) -> Explored {
    let mut explored = Explored { changes: history.disk.changes(), ..Explored::default() };
    let mut replay = history.disk.replay();
    let mut random = Random::new(first_seed());
    let mut place = "before the first change".to_owned();
    for changes in 0.. {
        let window = Window { exact: true, ..history.window(changes) };
        let is_killed = (changes as u64 + first_seed()).is_multiple_of(kills.one_in);
        let ways = match (is_killed, kills.is_full || kills.removed.is_some()) {
            (false, _) => 0..0,
            (true, true) => 0..8,
            (true, false) => {
                let way = random.below(8);
                way..way + 1
            }
        };
        for way in ways.map(Way::of) {
            // Twice in a row at each change would be the square of all changes.
            if kills.is_full && way.is_again && random.below(8) > 0 {
                continue;
            }
            let seed = random.next_u64();
            let killed = if way.has_failed { replay.killed_in_failed_sync(seed) } else { None };
            // By day a failed sync is drawn too seldom to leave the other points out.
            let killed = match killed {
                None if way.has_failed && kills.is_full => continue,
                None => replay.killed(seed),
                Some(killed) => killed,
            };
            // Before there is a store, its creation begins again.
            if kills.removed.is_some() && !killed.exists("FORMAT").unwrap_or(false) {
                continue;
            }
            match reopen_then_cut(scenario, &killed, &window, way, &mut random, kills) {
                Ok(images) => explored.images += images,
                Err(problem) => {
                    explored.failure = Some(format!("killed {place}, {way:?}: {problem}"));
                    return explored;
                }
            }
        }
        match replay.advance() {
            Some((op, kind, path)) => place = format!("after operation {op} ({kind:?} {path:?})"),
            None => break,
        }
    }
    explored
}

/// Reopens what a kill left, goes on, and cuts the power.
fn reopen_then_cut(
    scenario: &dyn Scenario,
    killed: &SimDisk,
    window: &Window,
    way: Way,
    random: &mut Random,
    kills: &Kills,
) -> Result<u64, String> {
    let open = |disk: &SimDisk| {
        let opened = scenario.open(disk.clone());
        opened.map_err(|error| format!("the store does not open: {error:?}"))
    };
    // From a copy, because reading may write.
    let shown = {
        let copy = killed.replay().killed(0);
        let store = open(&copy)?;
        scenario.found(&store, &copy).map_err(|problem| format!("{problem:?}"))?
    };
    window.admits(&shown)?;
    if let Some(removed) = &kills.removed {
        killed.ignore_sync(removed.clone());
    }
    let store = open(killed)?;
    killed.heal();
    let opened = killed.changes();
    if way.is_busy {
        let written = scenario.write_unseen(&store);
        written.map_err(|error| format!("the reopened store refuses a write: {error:?}"))?;
    }
    // Moves what the journal has into the record file.
    drop(store);
    let later = Window { acked: shown, open: BTreeSet::new(), exact: window.exact };
    let all = killed.changes();
    let drawn = usize::try_from(random.below(all as u64 + 1)).unwrap_or(0);
    let mut replay = killed.replay();
    let mut images = 2;
    for at in 0..=all {
        let window = if at < opened { window } else { &later };
        let place = |problem| {
            format!("cut after {at} of {all} changes, of which {opened} opened it: {problem}")
        };
        let is_cut = kills.is_full || at == opened || at == drawn;
        if way.is_again && (at == drawn || (at == opened && kills.is_full)) {
            let killed = replay.killed(random.next_u64());
            let way = Way { is_again: false, is_busy: random.below(2) == 0, ..way };
            images += reopen_then_cut(scenario, &killed, window, way, random, kills)
                .map_err(|problem| place(format!("killed again, {way:?}: {problem}")))?;
        } else if is_cut && !way.is_again {
            let draws: &[Survival] = match (kills.is_full, at == opened) {
                (true, _) => &[Survival::None, Survival::Random],
                (false, true) => &[Survival::None],
                (false, false) => &[survival(random.below(6))],
            };
            for survival in draws {
                let seed = random.next_u64();
                images += 1;
                check(scenario, &replay.survivors(seed, *survival), window, false).map_err(
                    |problem| place(format!("{survival:?} with seed {seed}: {problem}")),
                )?;
            }
        }
        replay.advance();
    }
    Ok(images)
}

/// The syncs of an opening are needed, of each file and of the directories: without them, something that the opening showed is lost, or the
/// store does not open again.
#[test]
fn each_removed_sync_of_an_opening_is_found() {
    let tables = Sequence::new(Tables);
    let sync = |path| Pick::kind(OpKind::Sync).on_path(path);
    let removed: [(&str, &dyn Scenario, Pick); 5] = [
        ("the journal, checkpoints", &Checkpoints, sync("journal")),
        ("the journal, groups", &Grouped, sync("journal")),
        ("the record file", &Checkpoints, sync("records.redb")),
        ("directories, records", &Records, Pick::kind(OpKind::SyncDir)),
        ("directories, tables", &tables, Pick::kind(OpKind::SyncDir)),
    ];
    for (name, scenario, pick) in removed {
        let history = History::new(scenario.disk());
        scenario.run(&history).unwrap();
        let kills = Kills { one_in: 1, is_full: false, removed: Some(pick) };
        let explored = explore_kills(scenario, &history, &kills);
        let failure = explored.failure.unwrap_or_else(|| {
            panic!("without the syncs of {name} all {} images were good", explored.images)
        });
        println!("without the syncs of {name}: red after {} images, {failure}", explored.images);
    }
}
