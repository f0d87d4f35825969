//! The workload with backup sets.

use std::path::Path;

use stationdb::{
    Control, ErrorKind, RestorePoint, SetBackup, SetBackupOptions, SetRetention, Store,
};

use crate::acks::{Acks, Tell};
use crate::works::{
    Work, check_copy, check_restored, check_station, restored, station, text, work_on_one,
};

const SET: &str = "set";
/// Told before a backup begins: the steps until then.
const BEGUN: &str = "begun";
/// Told after a backup: its number.
const MADE: &str = "made";
/// Told before the backups before this one may be removed.
const PRUNING: &str = "pruning";

fn backup_name(number: u64) -> String {
    format!("backup-{number}")
}

/// A writer that adds backups to a set, removes old ones, and restores.
pub fn sets() -> Work {
    Work {
        name: "sets",
        changes_min: 800,
        run: |child| {
            work_on_one(child, |store, step| {
                if step % 3 != 2 {
                    return;
                }
                let set = child.mount.join(SET);
                let control = Control::default();
                child.acks.tell(BEGUN, step + 1);
                let made = store.backup_to_set(&set, &SetBackupOptions::new(), &control).unwrap();
                assert!(made.findings.is_empty(), "{:?}", made.findings);
                child.acks.tell(&backup_name(made.backup), step + 1);
                child.acks.tell(MADE, made.backup);
                if step % 4 == 3 {
                    child.acks.tell(PRUNING, made.backup);
                    // All are of one day.
                    let pruned =
                        Store::prune_set(&set, SetRetention::new(1, 0, 0), &control).unwrap();
                    assert_eq!(pruned.held_back, None);
                }
                if step % 8 == 5 {
                    restored(child, step + 1, |target| {
                        let latest = RestorePoint::Latest;
                        Store::restore_from_set(&set, latest, target, &control).map(drop)
                    });
                }
            });
        },
        check: |path, acks, tell: &dyn Tell| {
            check_station(path, acks, tell)?;
            check_set(path, acks)?;
            check_restored(path, acks)
        },
        ..station()
    }
}

/// Each backup that was acknowledged and may not have been removed is there. What the set lists can
/// be restored, and it takes the next backup.
fn check_set(path: &Path, acks: &Acks) -> Result<(), String> {
    let (set, copy) = (path.join(SET), path.join("check"));
    // A cut during an earlier check may have left it.
    let _ = std::fs::remove_dir_all(&copy);
    let listed = match Store::list_backups(&set) {
        Ok(listed) => listed.backups,
        Err(error) if matches!(error.kind(), ErrorKind::NotFound | ErrorKind::NotAStore) => {
            Vec::new()
        }
        Err(error) => return Err(format!("listing the set: {}", text(error))),
    };
    let kept_from = acks.get(PRUNING).unwrap_or(1);
    let newest = listed.last().map_or(0, |backup| backup.backup);
    let is_listed = |number| listed.iter().any(|backup| backup.backup == number);
    let acknowledged = |number| acks.get(&backup_name(number));
    let made = acks.get(MADE).unwrap_or(0);
    let lost =
        (kept_from..=made).find(|number| acknowledged(*number).is_some() && !is_listed(*number));
    if let Some(number) = lost {
        return Err(format!("backup {number} is lost, the set has {listed:?}"));
    }
    if listed.is_empty() {
        return Ok(());
    }
    let control = Control::default();
    let report = Store::verify_set(&set, &control)
        .map_err(|error| format!("verifying the set: {}", text(error)))?;
    if !report.is_sound() {
        return Err(format!("the set: {report:?}"));
    }
    // A check that was cut off made one after the last step.
    let most = acks.get(BEGUN).max(acks.get("a")).unwrap_or(0);
    for SetBackup { backup, problem, .. } in &listed {
        if let Some(problem) = problem {
            return Err(format!("backup {backup}: {problem}"));
        }
        let restored =
            Store::restore_from_set(&set, RestorePoint::Backup(*backup), &copy, &control)
                .map_err(|error| format!("restoring backup {backup}: {}", text(error)))?;
        if !restored.findings.is_empty() {
            return Err(format!("restoring backup {backup}: {:?}", restored.findings));
        }
        let (least, most) = match acknowledged(*backup) {
            Some(count) => (count, count),
            None => (0, most),
        };
        check_copy(&copy, least, most)
            .map_err(|problem| format!("restored from backup {backup}: {problem}"))?;
        std::fs::remove_dir_all(&copy).map_err(|error| error.to_string())?;
    }
    let store = Store::open(path.join("store")).map_err(text)?;
    let next = store
        .backup_to_set(&set, &SetBackupOptions::new(), &control)
        .map_err(|error| format!("the next backup: {}", text(error)))?;
    if next.backup <= newest || !next.findings.is_empty() {
        return Err(format!("after backup {newest}: {next:?}"));
    }
    store.close().map_err(text)
}
