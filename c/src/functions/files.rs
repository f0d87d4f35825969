//! Contents of files and packages, and exports of tables into files.

use std::fs::File;
use std::io::Read;
use std::path::Path;

use stationdb::by_name::Services;
use stationdb::feeds::{FeedId, PackageId};
use stationdb::files::{FileId, UploadFileRequest, UploadSessionId};
use stationdb::tables::{ExportTableDataRequest, TableId};
use stationdb::{Control, Error};

use crate::content::Content;
use crate::failure::Outcome;
use crate::functions::stores::path;
use crate::functions::texts;
use crate::json;
use crate::memory::{In, Out};
use crate::registry::{self, Object};
use crate::target::written;

/// Makes a call that may take long.
fn with<T>(
    caller: u64,
    control: u64,
    work: impl FnOnce(&dyn Services, &Control) -> stationdb::Result<T>,
) -> Outcome<T> {
    let caller = registry::caller(caller)?;
    let watch = registry::optional_control(control)?;
    let begun = caller.begin(watch.as_deref())?;
    Ok(work(begun.services(), &begun.control)?)
}

fn opened(path: &str) -> stationdb::Result<File> {
    let attempt = || format!("opening {path}");
    let file = File::open(path).map_err(|error| Error::io(attempt(), error))?;
    // A directory opens on some systems, and fails when it is read.
    let is_file = file.metadata().map_err(|error| Error::io(attempt(), error))?.is_file();
    if is_file { Ok(file) } else { Err(Error::invalid(format!("{path} is no file"))) }
}

fn upload(
    caller: u64,
    control: u64,
    content: &mut dyn Read,
    request: UploadFileRequest,
    id: Out<u64>,
) -> Outcome<()> {
    let found =
        with(caller, control, |services, control| services.upload_file(content, request, control))?;
    id.set(texts::put(found.as_str().to_owned())?);
    Ok(())
}

fn count(value: u64) -> i64 {
    i64::try_from(value).unwrap_or(i64::MAX)
}

/// Opens the content of a file, or of a package.
fn open(caller: u64, id: &str, is_package: bool) -> Outcome<u64> {
    let caller = registry::caller(caller)?;
    let begun = caller.begin(None)?;
    let reader = if is_package {
        begun.services().open_package(&PackageId::from(id))?
    } else {
        begun.services().open_file(&FileId::from(id))?
    };
    registry::put(Object::Content(Content::new(&caller.open, reader)))
}

export! {
    fn sdb_upload_file(
        caller: u64,
        source: In<u8>,
        source_length: i64,
        request: In<u8>,
        request_length: i64,
        control: u64,
        id: Out<u64>,
    ) {
        id.begin("id", 0)?;
        let source = path("source", source.text("source", source_length)?)?;
        let asked = json::request("upload", request.text("request", request_length)?)?;
        upload(caller, control, &mut opened(source)?, asked, id)
    }

    fn sdb_upload_bytes(
        caller: u64,
        bytes: In<u8>,
        length: i64,
        request: In<u8>,
        request_length: i64,
        control: u64,
        id: Out<u64>,
    ) {
        id.begin("id", 0)?;
        let mut bytes = bytes.bytes("bytes", length)?;
        let asked = json::request("upload", request.text("request", request_length)?)?;
        upload(caller, control, &mut bytes, asked, id)
    }

    fn sdb_append_to_upload_session(
        caller: u64,
        session: In<u8>,
        session_length: i64,
        chunk: i32,
        bytes: In<u8>,
        length: i64,
        close: i32,
        control: u64,
    ) {
        let session = UploadSessionId::from(session.text("session", session_length)?);
        let chunk = u32::try_from(chunk)
            .map_err(|_| Error::invalid(format!("the chunk is {chunk}; chunks count from 1")))?;
        let mut bytes = bytes.bytes("bytes", length)?;
        with(caller, control, |services, control| {
            services.append_to_upload_session(&session, chunk, &mut bytes, close != 0, control)
        })
    }

    fn sdb_download_file(
        caller: u64,
        id: In<u8>,
        id_length: i64,
        target: In<u8>,
        target_length: i64,
        control: u64,
        bytes: Out<i64>,
    ) {
        bytes.begin("bytes", 0)?;
        let id = FileId::from(id.text("id", id_length)?);
        let target = path("target", target.text("target", target_length)?)?;
        let done = with(caller, control, |services, control| {
            let mut reader = services.open_file(&id)?;
            written(target, |out| reader.copy_to(out, control))
        })?;
        bytes.set(count(done));
        Ok(())
    }

    fn sdb_open_file(caller: u64, id: In<u8>, id_length: i64, content: Out<u64>) {
        content.begin("content", 0)?;
        content.set(open(caller, id.text("id", id_length)?, false)?);
        Ok(())
    }

    fn sdb_open_package(caller: u64, id: In<u8>, id_length: i64, content: Out<u64>) {
        content.begin("content", 0)?;
        content.set(open(caller, id.text("id", id_length)?, true)?);
        Ok(())
    }

    fn sdb_content_length(content: u64, length: Out<i64>) {
        length.begin("length", 0)?;
        length.set(count(registry::content(content)?.len));
        Ok(())
    }

    fn sdb_content_read(
        content: u64,
        offset: i64,
        buffer: Out<u8>,
        capacity: i64,
        read: Out<i64>,
    ) {
        read.begin("read", 0)?;
        let content = registry::content(content)?;
        let offset = u64::try_from(offset)
            .map_err(|_| Error::invalid(format!("the offset is {offset}; it is negative")))?;
        let mut buffer = buffer;
        let mut bytes = buffer.buffer("buffer", capacity)?;
        let done = content.read(offset, &mut bytes)?;
        read.set(i64::try_from(done).unwrap_or(i64::MAX));
        Ok(())
    }

    fn sdb_upload_package(
        caller: u64,
        feed: In<u8>,
        feed_length: i64,
        source: In<u8>,
        source_length: i64,
        overwrite: i32,
        control: u64,
        package: Out<u64>,
    ) {
        package.begin("package", 0)?;
        let feed = FeedId::from(feed.text("feed", feed_length)?);
        let source = path("source", source.text("source", source_length)?)?;
        let done = with(caller, control, |services, control| {
            services.upload_package(&feed, Path::new(source), overwrite != 0, control)
        })?;
        package.set(texts::put_json(&done)?);
        Ok(())
    }

    fn sdb_export_feed(
        caller: u64,
        feed: In<u8>,
        feed_length: i64,
        directory: In<u8>,
        directory_length: i64,
        control: u64,
        bytes: Out<i64>,
    ) {
        bytes.begin("bytes", 0)?;
        let feed = FeedId::from(feed.text("feed", feed_length)?);
        let directory = path("directory", directory.text("directory", directory_length)?)?;
        let done = with(caller, control, |services, control| {
            services.export_feed(&feed, Path::new(directory), control)
        })?;
        bytes.set(count(done));
        Ok(())
    }

    fn sdb_export_table(
        caller: u64,
        table: In<u8>,
        table_length: i64,
        request: In<u8>,
        request_length: i64,
        target: In<u8>,
        target_length: i64,
        control: u64,
        rows: Out<i64>,
    ) {
        rows.begin("rows", 0)?;
        let table = TableId::from(table.text("table", table_length)?);
        let request = request.text("request", request_length)?;
        let asked: ExportTableDataRequest = json::request("export", request)?;
        let target = path("target", target.text("target", target_length)?)?;
        let done = with(caller, control, |services, control| {
            written(target, |out| services.export_table_data(&table, asked, out, control))
        })?;
        rows.set(count(done));
        Ok(())
    }

    fn sdb_export_results(
        caller: u64,
        request: In<u8>,
        request_length: i64,
        target: In<u8>,
        target_length: i64,
        control: u64,
        results: Out<i64>,
    ) {
        results.begin("results", 0)?;
        let asked = json::request("export", request.text("request", request_length)?)?;
        let target = path("target", target.text("target", target_length)?)?;
        let done = with(caller, control, |services, control| {
            written(target, |out| services.export_results(asked, out, control))
        })?;
        results.set(count(done));
        Ok(())
    }

    fn sdb_export_steps(
        caller: u64,
        request: In<u8>,
        request_length: i64,
        target: In<u8>,
        target_length: i64,
        control: u64,
        steps: Out<i64>,
    ) {
        steps.begin("steps", 0)?;
        let asked = json::request("export", request.text("request", request_length)?)?;
        let target = path("target", target.text("target", target_length)?)?;
        let done = with(caller, control, |services, control| {
            written(target, |out| services.export_steps(asked, out, control))
        })?;
        steps.set(count(done));
        Ok(())
    }

    fn sdb_export_segments(
        caller: u64,
        table: In<u8>,
        table_length: i64,
        directory: In<u8>,
        directory_length: i64,
        control: u64,
        manifest: Out<u64>,
    ) {
        manifest.begin("manifest", 0)?;
        let table = TableId::from(table.text("table", table_length)?);
        let directory = path("directory", directory.text("directory", directory_length)?)?;
        let done = with(caller, control, |services, control| {
            services.export_segments_to(&table, Path::new(directory), control)
        })?;
        manifest.set(texts::put_json(&done)?);
        Ok(())
    }
}
