//! Opening and closing a store, and what concerns it as a whole.

use stationdb::chrono::SecondsFormat;
use stationdb::serde_json::json;
use stationdb::{Control, Error, Store, StoreOptions, VerifyLevel};

use crate::failure::Outcome;
use crate::functions::texts;
use crate::json;
use crate::memory::{In, Out};
use crate::open::{Held as _, Open};
use crate::registry::{self, Object};

/// The options by their names.
macro_rules! options {
    ($($name:ident),* $(,)?) => {
        const OPTIONS: &[&str] = &[$(stringify!($name)),*];

        fn store_options(json: &str) -> Outcome<StoreOptions> {
            let mut options = Store::options();
            for (name, value) in json::options("options", json)? {
                options = match name.as_str() {
                    $(stringify!($name) => {
                        if value.is_null() && !NULLABLE.contains(&stringify!($name)) {
                            return Err(Error::invalid(format!("the option {name} is null")).into());
                        }
                        options.$name(json::value(&name, value)?)
                    })*
                    "vendor_prefix" => {
                        options.vendor_prefix(json::value::<String>(&name, value)?)
                    }
                    "default_workspace" => {
                        options.default_workspace(json::value::<String>(&name, value)?)
                    }
                    _ => {
                        return Err(Error::invalid(format!(
                            "there is no option {name:?} of a store; the options are {}, \
                             vendor_prefix and default_workspace",
                            OPTIONS.join(", ")
                        ))
                        .into());
                    }
                };
            }
            Ok(options)
        }
    };
}

/// The options for which null means no bound.
const NULLABLE: [&str; 2] = ["file_bytes_max", "upload_session_days"];

options! {
    create,
    calibration_warning_days,
    utilization_timeout_s,
    small_blob_bytes,
    file_bytes_max,
    upload_session_days,
    seal_rows,
    seal_bytes,
    table_columns_max,
    table_rows_max,
    query_memory_bytes,
    memory_budget_bytes,
    record_cache_bytes,
    reserve_bytes,
    require_registered_workspaces,
    results_create_products,
    result_retention,
    memory_table_bytes,
    transaction_hold_ms,
    quick_repair,
    record_rewrite_bytes_max,
    maintenance_thread,
    scrub_days,
    scrub_bytes_per_s,
    archive_bytes,
    log_entries_max,
    subscriber_hold_ms,
    subscriber_hold_bytes,
    search_folds_diacritics,
}

/// A path, which is not empty.
pub fn path<'p>(what: &str, path: &'p str) -> Outcome<&'p str> {
    if path.is_empty() || path.contains('\0') {
        return Err(
            Error::invalid(format!("{what} is empty or has a zero byte; give a path")).into()
        );
    }
    Ok(path)
}

fn open(at: &str, options: &str, is_look: bool) -> Outcome<u64> {
    let at = path("path", at)?;
    let options = store_options(options)?;
    let store = if is_look { options.look(at)? } else { options.open(at)? };
    registry::put(Object::Store(Open::new(store, at.to_owned())))
}

/// The control of a handle; one without an end for 0.
pub fn control_of(handle: u64) -> Outcome<Control> {
    let watch = registry::optional_control(handle)?;
    Ok(watch.map(|watch| watch.control.clone()).unwrap_or_default())
}

/// Closes what a handle has of the library when it is freed.
fn end(object: &Object) -> Outcome<()> {
    match object {
        Object::Store(open) => open.close(),
        Object::Transaction(caller) => {
            caller.end();
            Ok(())
        }
        Object::Rows(rows) => {
            rows.end();
            Ok(())
        }
        Object::Content(content) => {
            content.end();
            Ok(())
        }
        Object::Changes(changes) => {
            changes.end();
            Ok(())
        }
        Object::Session(_) | Object::Text(_) | Object::Error(_) | Object::Control(_) => Ok(()),
    }
}

/// Ends and frees a handle. A store that cannot be closed now keeps its handle.
fn free(handle: u64, wanted: &str) -> Outcome<()> {
    let object = registry::object(handle, wanted)?;
    if let Object::Store(open) = &object {
        open.refuse_inside("a store cannot be closed")?;
    }
    end(&registry::take(handle, wanted)?)
}

export! {
    fn sdb_open(
        path: In<u8>,
        path_length: i64,
        options: In<u8>,
        options_length: i64,
        store: Out<u64>,
    ) {
        store.begin("store", 0)?;
        let path = path.text("path", path_length)?;
        store.set(open(path, options.text("options", options_length)?, false)?);
        Ok(())
    }

    fn sdb_open_utf16(
        path: In<u16>,
        path_length: i64,
        options: In<u16>,
        options_length: i64,
        store: Out<u64>,
    ) {
        store.begin("store", 0)?;
        let path = path.text("path", path_length)?;
        store.set(open(&path, &options.text("options", options_length)?, false)?);
        Ok(())
    }

    fn sdb_look(
        path: In<u8>,
        path_length: i64,
        options: In<u8>,
        options_length: i64,
        store: Out<u64>,
    ) {
        store.begin("store", 0)?;
        let path = path.text("path", path_length)?;
        store.set(open(path, options.text("options", options_length)?, true)?);
        Ok(())
    }

    fn sdb_look_utf16(
        path: In<u16>,
        path_length: i64,
        options: In<u16>,
        options_length: i64,
        store: Out<u64>,
    ) {
        store.begin("store", 0)?;
        let path = path.text("path", path_length)?;
        store.set(open(&path, &options.text("options", options_length)?, true)?);
        Ok(())
    }

    fn sdb_close(store: u64) {
        registry::store(store)?;
        free(store, "a store")
    }

    fn sdb_free(handle: u64) {
        if handle == 0 { Ok(()) } else { free(handle, "anything") }
    }

    fn sdb_store_info(store: u64, info: Out<u64>) {
        info.begin("info", 0)?;
        let open = registry::store(store)?;
        let call = open.call(None)?;
        let status = call.store.status()?;
        let told = json!({"id": call.store.id(), "path": open.path, "status": status});
        info.set(texts::put_json(&told)?);
        Ok(())
    }

    fn sdb_backup(store: u64, target: In<u8>, target_length: i64, control: u64, report: Out<u64>) {
        report.begin("report", 0)?;
        let target = path("target", target.text("target", target_length)?)?;
        let open = registry::store(store)?;
        let control = control_of(control)?;
        let call = open.call(Some(&control))?;
        let done = call.store.backup(target, &control)?;
        report.set(texts::put_json(&done)?);
        Ok(())
    }

    fn sdb_verify(store: u64, level: i32, control: u64, report: Out<u64>) {
        report.begin("report", 0)?;
        let open = registry::store(store)?;
        let control = control_of(control)?;
        let own = Some(&control);
        let done = match level {
            0 => open.call(own)?.store.verify(VerifyLevel::Headers, &control)?,
            1 => open.call(own)?.store.verify(VerifyLevel::Checksums, &control)?,
            2 => open.alone("a store cannot read all pages", own, |store| {
                store.verify_pages(&control)
            })?,
            _ => {
                return Err(Error::invalid(format!(
                    "the level is {level}; it is 0 for headers, 1 for checksums, or 2 for pages"
                ))
                .into());
            }
        };
        report.set(texts::put_json(&done)?);
        Ok(())
    }

    fn sdb_maintain(store: u64, control: u64, report: Out<u64>) {
        report.begin("report", 0)?;
        let open = registry::store(store)?;
        let control = control_of(control)?;
        let call = open.call(Some(&control))?;
        let done = call.store.maintain(&control)?;
        report.set(texts::put_json(&done)?);
        Ok(())
    }

    fn sdb_take_present_time(store: u64, before: Out<u64>) {
        before.begin("before", 0)?;
        let open = registry::store(store)?;
        let call = open.call(None)?;
        if let Some(time) = call.store.take_present_time()? {
            before.set(texts::put(time.to_rfc3339_opts(SecondsFormat::Micros, true))?);
        }
        Ok(())
    }

    fn sdb_compact(store: u64, report: Out<u64>) {
        report.begin("report", 0)?;
        let open = registry::store(store)?;
        let done = open.alone("a store cannot be compacted", None, Store::compact)?;
        report.set(texts::put_json(&done)?);
        Ok(())
    }

    fn sdb_restore(
        backup: In<u8>,
        backup_length: i64,
        target: In<u8>,
        target_length: i64,
        control: u64,
        report: Out<u64>,
    ) {
        report.begin("report", 0)?;
        let backup = path("backup", backup.text("backup", backup_length)?)?;
        let target = path("target", target.text("target", target_length)?)?;
        let done = Store::restore(backup, target, &control_of(control)?)?;
        report.set(texts::put_json(&done)?);
        Ok(())
    }

    fn sdb_salvage(
        damaged: In<u8>,
        damaged_length: i64,
        target: In<u8>,
        target_length: i64,
        control: u64,
        report: Out<u64>,
    ) {
        report.begin("report", 0)?;
        let damaged = path("damaged", damaged.text("damaged", damaged_length)?)?;
        let target = path("target", target.text("target", target_length)?)?;
        let done = Store::salvage(damaged, target, &control_of(control)?)?;
        report.set(texts::put_json(&done)?);
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn options_are_checked_by_name_and_type() {
        assert!(store_options(r#"{"create": false, "sealRows": 7}"#).is_ok());
        assert!(store_options(r#"{"fileBytesMax": null}"#).is_ok());
        for wrong in [r#"{"sealRows": null}"#, r#"{"sealRows": "7"}"#, r#"{"sealRow": 7}"#, "7"] {
            assert!(store_options(wrong).is_err(), "{wrong}");
        }
        assert!(path("p", "").is_err() && path("p", "a\0b").is_err());
        let kept = r#"{"resultRetention": {"keep": [{"ageSeconds": 60}]}}"#;
        assert!(store_options(kept).is_ok());
        assert!(store_options(&kept.replace("age", "edge")).is_err());
    }

    /// What the library can be told by a text.
    #[test]
    fn every_option_of_the_library_is_one_here() {
        /// Code of the caller, and what is for tests.
        const NONE: [&str; 7] = [
            "access_policy",
            "clock",
            "job_runner",
            "seed",
            "settings",
            "shared_clock",
            "shared_job_runner",
        ];
        let source = include_str!("../../../src/store/open.rs");
        let source = source.split_once("impl StoreOptions {").unwrap().1;
        let (plain, others) = source.split_once("\n    }\n").unwrap();
        let plain = plain.lines().filter_map(|line| line.trim().split_once(": "));
        let plain = plain.map(|(name, _)| name).filter(|name| !name.starts_with("//"));
        let methods = others.split("pub fn ").skip(1).filter_map(|one| one.split_once('('));
        let methods = methods.filter(|(_, rest)| rest.starts_with("mut self"));
        let methods = methods.map(|(name, _)| name);
        let found: Vec<&str> = plain.chain(methods).filter(|name| !NONE.contains(name)).collect();
        assert!(found.len() > 20, "{found:?}");
        for name in found {
            let is_text = ["vendor_prefix", "default_workspace"].contains(&name);
            assert!(is_text || OPTIONS.contains(&name), "{name}");
        }
    }
}
