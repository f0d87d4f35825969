//! How much the long suites do: with each change, and at night.
//!
//! This is the only place with these numbers. `STATIONDB_NIGHT=1` takes the second one of a line.
//! `STATIONDB_` and the name in capitals sets the number of one run, as in
//! `STATIONDB_CRASH_DRAWS=24`.
#![allow(dead_code, reason = "each suite uses a part of it")]

/// Name, with each change, at night.
const SIZES: &[(&str, u64, u64)] = &[
    // Damaged Arrow streams.
    ("arrow_streams", 5_000, 1_000_000),
    // Backups of a store that changes, and seeds of the changes.
    ("backups", 8, 40),
    ("backup_seeds", 2, 40),
    // Turns of random calls of the C interface, of which a few make none: by one thread, by several, and under Valgrind.
    ("c_calls", 10_500, 1_050_000),
    ("c_calls_of_threads", 4_000, 400_000),
    ("c_calls_of_valgrind", 300, 10_000),
    // Killed executors of a cluster.
    ("cluster_kills", 4, 20),
    // Images of a change: nothing survives, everything survives, and random draws.
    ("crash_draws", 4, 24),
    // The same of long scenarios, of those that rewrite the record file, and with checkpoints.
    ("crash_draws_long", 1, 24),
    ("crash_draws_rewrite", 3, 24),
    ("crash_draws_checkpoints", 1, 24),
    // With checkpoints, changes of which one has images.
    ("crash_turns_checkpoints", 3, 1),
    // Each sync of a kind on a kind of file is removed, and not the first of it alone.
    ("crash_each_sync", 0, 1),
    // Of the faults beside the first kind, at one operation one in as many: all kinds, lasting ones,
    // and those of an append.
    ("crash_faults", 5, 1),
    ("crash_faults_lasting", 2, 1),
    ("crash_faults_append", 3, 1),
    // Of changes, at one in as many the process is killed, opened again and cut off.
    ("crash_kills", 24, 1),
    ("crash_kills_checkpoints", 48, 1),
    // Whether every way to go on after a kill is tried, and a cut at every change of it.
    ("crash_kills_all_ways", 0, 1),
    // Bytes of the memory table of a scenario.
    ("crash_memory", 32 << 20, 32 << 20),
    // Of operations that fail in a long scenario, one in as many, in hundredths of what a test says.
    ("crash_one_in", 200, 0),
    // Of images, one in as many is opened with a crash point at every change of the opening.
    ("crash_recovery", 160, 40),
    ("crash_recovery_checkpoints", 640, 40),
    // Whether the record file has no cache with every second seed.
    ("crash_uncached", 0, 1),
    // Of single syncs that are removed, one in as many.
    ("crash_syncs", 5, 1),
    // Of the operations and the changes of a restore from a backup set, one in as many.
    ("crash_set_restores", 7, 1),
    // Sizes of a disk that fills up.
    ("disk_sizes", 24, 256),
    // Time for each fuzz target without a fuzzer.
    ("fuzz_millis", 300, 60_000),
    // Wrong bits in the stores of the crash suites, in hundredths of what a test says.
    ("flips", 100, 2_500),
    // Wrong bits in each kind of file of each fixture.
    ("flips_of_fixtures", 1, 20),
    // Wrong bits in a record file that a scrub reads.
    ("flips_of_scrubs", 150, 3_000),
    // Shapes of journals that are cut and zeroed, and bytes between two cuts.
    ("journal_shapes", 5, 16),
    ("journal_cut_bytes", 509, 1),
    // Of the places at which a real process meets a fault, drawn ones, in hundredths of what a test
    // says; all of them with 0.
    ("kernel_draws", 100, 0),
    // Files of each format of instruments that are drawn and compared with other readers.
    ("instrument_files", 12, 200),
    // Killed processes.
    ("kills", 10, 100),
    // Batches of each of eight stations in a fleet, on a disk in memory and over S3.
    ("lake_batches", 12, 200),
    ("lake_s3_batches", 1, 20),
    // Batches of the inputs of docs/scale.md, files of the checkpoints that are measured, and
    // numbers of files, each a tenth of the one after it.
    ("lake_scale_batches", 60, 60),
    ("lake_scale_files", 2_000, 100_000),
    ("lake_scale_counts", 1, 2),
    // Rows and rounds of publishing beside copies, and beside a writing station.
    ("lake_copy_rows", 500_000, 16_000_000),
    ("lake_copy_rounds", 1, 15),
    ("lake_writer_rows", 500_000, 4_000_000),
    ("lake_writer_rounds", 1, 9),
    // Whether the speed of both is compared with its goal, in a build in release.
    ("lake_speed_checked", 0, 1),
    // A week offline. Rows of a file of the lake and bytes of a part, as usual with 0, and bytes
    // that a call may have allocated at a time beside what the store had before.
    ("lake_week_file_rows", 64, 0),
    ("lake_week_part_bytes", 64 << 10, 0),
    ("lake_week_memory_bytes", 16 << 20, 320 << 20),
    ("lake_week_rows", 1_000_000, 20_000_000),
    ("lake_week_changes", 2_000, 100_000),
    ("lake_week_commits", 200, 2_000),
    // Results with 50 measurements each.
    ("lake_week_results", 2_000, 100_000),
    // Seeds of the model of a lake with retentions.
    ("lake_models", 12, 300),
    // Looks beside a writer.
    ("looks", 48, 1_000),
    // Forms of expressions of SQL that each form is put into.
    ("sql_forms", 4, 40),
    // Files of semiconductor testers that are read beside another reader.
    ("stdf_files", 20, 200),
    // Random TDMS files that npTDMS reads too, and bytes of one that a generator has.
    ("tdms_files", 24, 200),
    ("tdms_bytes", 64 << 20, 2 << 30),
    // Tables of a store that is opened.
    ("tables", 150, 10_000),
    // Damaged pages of the record file.
    ("pages", 2_500, 1_000_000),
    // States after power cuts under a real process, for each workload.
    ("power_states", 24, 800),
    // The same on file systems of Linux: cuts of their device, shutdowns, and faults of the device.
    ("device_states", 4, 120),
    ("device_shutdowns", 2, 40),
    ("device_faults", 2, 40),
    // Places at which an engine panics, for each public call, reads of a call of which each panics
    // (of more, three), and damaged pages below them.
    ("panics", 40, 1_000_000),
    ("panic_reads", 3, 1_000_000),
    ("panic_pages", 60, 2_000),
    // Damaged stores that are salvaged, and older versions of each leaf.
    ("salvages", 60, 5_000),
    ("salvage_versions", 2, 1_000_000),
    // Samples of a page, and whether its speed and its pictures are compared with goals.
    ("report_rows", 300_000, 20_000_000),
    ("report_compared", 0, 1),
    // Schedules of the queue of writers, by each of two schedulers.
    ("schedules", 300, 20_000),
    // Days of a station, runs and backups of a day, and samples of the waveform of a run.
    ("year_days", 8, 365),
    ("year_runs", 12, 200),
    ("year_backups", 4, 24),
    ("year_samples", 500, 100_000),
    // Rounds of the model of searches.
    ("search_rounds", 250, 10_000),
    // Histories of a store whose commits are archived, their steps, and of the moments between
    // backups one in as many that is restored.
    ("set_archive_seeds", 2, 40),
    ("set_archive_steps", 60, 120),
    ("set_archive_step", 4, 1),
    // Of the power cuts of a store that archives, one in as many.
    ("set_archive_cuts", 5, 1),
    // Random changes of steps, compared with a plain list.
    ("step_models", 2, 60),
    // Seeds of the model of rows that callers and a retention delete.
    ("table_models", 12, 400),
];

/// The number of a suite.
///
/// # Panics
/// When the list has no such name, or a variable is not a number.
pub(crate) fn size(name: &str) -> u64 {
    let Some((_, daily, night)) = SIZES.iter().find(|(known, ..)| *known == name) else {
        panic!("tests/common/sizes.rs has no {name:?}");
    };
    let usual = if is_night() { *night } else { *daily };
    number(&format!("STATIONDB_{}", name.to_uppercase())).unwrap_or(usual)
}

/// [`size`] for what is counted in memory.
///
/// # Panics
/// As [`size`].
pub(crate) fn count(name: &str) -> usize {
    usize::try_from(size(name)).unwrap()
}

/// Whether a suite does what the name says.
///
/// # Panics
/// As [`size`].
pub(crate) fn does(name: &str) -> bool {
    size(name) > 0
}

/// Whether this is a long run.
fn is_night() -> bool {
    number("STATIONDB_NIGHT").is_some_and(|night| night > 0)
}

/// The first seed of a run. A failure prints the seed that repeats it.
pub(crate) fn seed() -> u64 {
    number("STATIONDB_CRASH_SEED").unwrap_or(1)
}

fn number(variable: &str) -> Option<u64> {
    let text = std::env::var(variable).ok()?;
    Some(text.parse().unwrap_or_else(|_| panic!("{variable}={text} is not a number")))
}
