//! The two tar archives: the outer one of some .ipk, and the control archive.
//!
//! Entries are read raw: extended headers are ordinary entries and are skipped. So none of them is
//! collected in memory, and none can rename an entry.

use std::io::{self, Read};

use tar::{Archive, EntryType};

use super::ar::check_control_len;
use super::inflate::Outer;
use super::members::{Members, Role, VERSION_BYTES, check_name};
use super::source::PackageReader;
use crate::error::Result;
use crate::packages::{invalid, too_large};
use crate::value::limits;

/// Reads a gzipped tar to its end, and keeps its control member.
pub(super) fn read_outer(source: &mut PackageReader<'_>) -> Result<Members> {
    let meter = source.meter();
    let explain = |error: io::Error| meter.explain("its outer archive cannot be read", &error);
    let mut archive = Archive::new(Outer::new(source));
    let mut members = Members::default();
    for (index, entry) in archive.entries().map_err(explain)?.raw(true).enumerate() {
        check_count(index)?;
        let mut entry = entry.map_err(explain)?;
        let Some(name) = member_name(&entry.path_bytes(), entry.header().entry_type())? else {
            continue;
        };
        match members.role(&name) {
            Role::Version => {
                let mut text = Vec::new();
                entry.by_ref().take(VERSION_BYTES).read_to_end(&mut text).map_err(explain)?;
                members.version(&text)?;
            }
            Role::Control => {
                let len = entry.header().entry_size().map_err(explain)?;
                check_control_len(len)?;
                let mut control = Vec::new();
                entry.read_to_end(&mut control).map_err(explain)?;
                if (control.len() as u64) < len {
                    return Err(invalid("it ends in the middle of its control member"));
                }
                members.control = Some(control);
            }
            role => members.has_data |= matches!(role, Role::Data),
        }
    }
    // The rest is padding. Reading it verifies the length and the checksum at the end of the gzip
    // stream.
    let mut rest = archive.into_inner();
    io::copy(&mut rest, &mut io::sink()).map_err(explain)?;
    Ok(members)
}

/// The control file in a control archive.
pub(super) fn control_file(archive: &[u8]) -> Result<Vec<u8>> {
    let explain =
        |error: io::Error| invalid(format_args!("its control archive cannot be read: {error}"));
    let mut archive = Archive::new(archive);
    let mut control = None;
    for (index, entry) in archive.entries().map_err(explain)?.raw(true).enumerate() {
        check_count(index)?;
        let mut entry = entry.map_err(explain)?;
        let kind = entry.header().entry_type();
        let Some(name) = member_name(&entry.path_bytes(), kind)? else {
            continue;
        };
        if name != "control" || control.is_some() || kind == EntryType::Directory {
            continue;
        }
        let len = entry.header().entry_size().map_err(explain)?;
        if len > limits::PACKAGE_CONTROL_TEXT_BYTES as u64 {
            return Err(too_large(format_args!(
                "its control file is longer than {} bytes",
                limits::PACKAGE_CONTROL_TEXT_BYTES
            )));
        }
        let mut text = Vec::new();
        entry.read_to_end(&mut text).map_err(explain)?;
        if (text.len() as u64) < len {
            return Err(invalid("it ends in the middle of its control file"));
        }
        control = Some(text);
    }
    control.ok_or_else(|| invalid("its control archive has no file named control"))
}

fn check_count(index: usize) -> Result<()> {
    if index >= limits::PACKAGE_MEMBERS {
        return Err(too_large(format_args!(
            "one of its archives has more than {} members",
            limits::PACKAGE_MEMBERS
        )));
    }
    Ok(())
}

/// The name without leading `./`; `None` for headers that only extend another entry.
fn member_name(path: &[u8], kind: EntryType) -> Result<Option<String>> {
    match kind {
        EntryType::XHeader
        | EntryType::XGlobalHeader
        | EntryType::GNULongName
        | EntryType::GNULongLink => {
            return Ok(None);
        }
        EntryType::Regular | EntryType::Continuous | EntryType::Directory => {}
        _ => {
            let name = String::from_utf8_lossy(path);
            return Err(invalid(format_args!(
                "its member {name:?} is a link or a device, not a file"
            )));
        }
    }
    check_name(path)?;
    let mut name = path;
    while let Some(rest) = name.strip_prefix(b"./") {
        name = rest;
    }
    Ok(Some(String::from_utf8_lossy(name).into_owned()))
}
