//! Backup sets: directories with many backups of one store.

use std::fmt::Display;

use serde::Serialize;
use stationdb::{Control, Error, RestorePoint, SetBackupOptions, SetRetention, Store};

use crate::failure::Outcome;
use crate::functions::stores::{control_of, path};
use crate::functions::texts;
use crate::memory::{In, Out};
use crate::registry;

/// A count of the caller.
fn count<T: TryFrom<i64>>(what: &str, given: impl Into<i64> + Display + Copy) -> Outcome<T> {
    T::try_from(given.into()).map_err(|_| {
        Error::invalid(format!("{what} is {given}; give a number that is not negative")).into()
    })
}

/// Writes to a set, as `work` does. Returns the handle of the report.
fn sent<T: Serialize>(
    store: u64,
    bytes_per_second: i64,
    control: u64,
    work: impl FnOnce(&Store, &SetBackupOptions, &Control) -> stationdb::Result<T>,
) -> Outcome<u64> {
    let limit: u64 = count("bytes_per_second", bytes_per_second)?;
    let open = registry::store(store)?;
    let control = control_of(control)?;
    let mut options = SetBackupOptions::new();
    options.bytes_per_second = (limit > 0).then_some(limit);
    let call = open.call(Some(&control))?;
    texts::put_json(&work(&call.store, &options, &control)?)
}

export! {
    fn sdb_backup_to_set(
        store: u64,
        set: In<u8>,
        set_length: i64,
        bytes_per_second: i64,
        control: u64,
        report: Out<u64>,
    ) {
        report.begin("report", 0)?;
        let set = path("set", set.text("set", set_length)?)?;
        report.set(sent(store, bytes_per_second, control, |store, options, control| {
            store.backup_to_set(set, options, control)
        })?);
        Ok(())
    }

    fn sdb_archive_to_set(
        store: u64,
        set: In<u8>,
        set_length: i64,
        bytes_per_second: i64,
        control: u64,
        report: Out<u64>,
    ) {
        report.begin("report", 0)?;
        let set = path("set", set.text("set", set_length)?)?;
        report.set(sent(store, bytes_per_second, control, |store, options, control| {
            store.archive_to_set(set, options, control)
        })?);
        Ok(())
    }

    fn sdb_list_backups(set: In<u8>, set_length: i64, backups: Out<u64>) {
        backups.begin("backups", 0)?;
        let found = Store::list_backups(path("set", set.text("set", set_length)?)?)?;
        backups.set(texts::put_json(&found)?);
        Ok(())
    }

    fn sdb_verify_set(set: In<u8>, set_length: i64, control: u64, report: Out<u64>) {
        report.begin("report", 0)?;
        let set = path("set", set.text("set", set_length)?)?;
        let done = Store::verify_set(set, &control_of(control)?)?;
        report.set(texts::put_json(&done)?);
        Ok(())
    }

    fn sdb_prune_set(
        set: In<u8>,
        set_length: i64,
        daily: i32,
        weekly: i32,
        monthly: i32,
        control: u64,
        report: Out<u64>,
    ) {
        report.begin("report", 0)?;
        let set = path("set", set.text("set", set_length)?)?;
        let retention = SetRetention::new(
            count("daily", daily)?,
            count("weekly", weekly)?,
            count("monthly", monthly)?,
        );
        let done = Store::prune_set(set, retention, &control_of(control)?)?;
        report.set(texts::put_json(&done)?);
        Ok(())
    }

    fn sdb_restore_from_set(
        set: In<u8>,
        set_length: i64,
        point: In<u8>,
        point_length: i64,
        target: In<u8>,
        target_length: i64,
        control: u64,
        report: Out<u64>,
    ) {
        report.begin("report", 0)?;
        let set = path("set", set.text("set", set_length)?)?;
        let point = match point.text("point", point_length)? {
            "" => RestorePoint::Latest,
            point => point.parse()?,
        };
        let target = path("target", target.text("target", target_length)?)?;
        let done = Store::restore_from_set(set, point, target, &control_of(control)?)?;
        report.set(texts::put_json(&done)?);
        Ok(())
    }

    fn sdb_repair(store: u64, set: In<u8>, set_length: i64, control: u64, report: Out<u64>) {
        report.begin("report", 0)?;
        let set = path("set", set.text("set", set_length)?)?;
        let open = registry::store(store)?;
        let control = control_of(control)?;
        let call = open.call(Some(&control))?;
        let done = call.store.repair(set, &control)?;
        report.set(texts::put_json(&done)?);
        Ok(())
    }
}
