//! Uploading packages: the bytes are written first, then the metadata is read from them, then one
//! commit stores the record.

use std::io::{self, Read};
use std::path::Path;

use crate::blobs::ContentReader;
use crate::disk::RealDisk;
use crate::error::{Error, Result};
use crate::model::files::file::extension;
use crate::model::{
    Feed, Package, PackageId, PackageMetadata, PackageRecord, Platform, Resource, StoredContent,
    Usage,
};
use crate::packages::{Container, Inspection, inspect};
use crate::services::content::{self, ContentWriter, DiskReader, NewContent, Room};
use crate::services::feeds::lookup::{feed, touch};
use crate::services::service_record::found;
use crate::session::{Access, Draft, What};
use crate::value::{Action, Control, RecordKey, limits};

pub(in crate::services) fn from_path<A: Access>(
    access: &A,
    feed_id: &str,
    path: &Path,
    overwrite: bool,
    control: &Control,
) -> Result<Package> {
    let attempt = |error| Error::io(format_args!("opening the package {}", path.display()), error);
    let name = path.file_name().and_then(|name| name.to_str()).ok_or_else(|| {
        Error::invalid(format!("{} does not end with a file name in UTF-8", path.display()))
            .at_member("path")
    })?;
    // Before the file is opened: an unknown feed or an invalid name is reported whatever the file
    // is.
    check(access, feed_id, Some(name))?;
    let file = RealDisk::open_file(path).map_err(attempt)?;
    let mut reader = DiskReader::new(file).map_err(attempt)?;
    let len = reader.len();
    from_reader(access, feed_id, (&mut reader, Some(len)), Some(name), overwrite, control)
}

/// The feed, and the checked file name; `None` for a name without an extension.
fn check<A: Access>(
    access: &A,
    feed_id: &str,
    name: Option<&str>,
) -> Result<(Feed, Option<String>)> {
    let feed = access.read(|view| feed(view, feed_id))?;
    // If the name has no extension, the content decides the name of the package.
    let name = name.map(file_name).transpose()?.filter(|name| !extension(name).is_empty());
    if let Some(name) = &name {
        let known = extensions(&feed.platform, &access.context().settings().vendor_prefix);
        let lower = name.to_lowercase();
        if !known.iter().any(|extension| lower.ends_with(&format!(".{extension}"))) {
            return Err(Error::invalid(format!(
                "{name:?} does not have the extension of packages for {}, which is .{}",
                feed.platform,
                known.join(" and .")
            ))
            .with_name("Feeds.InvalidExtension", None)
            .at_member("fileName"));
        }
    }
    Ok((feed, name))
}

fn extensions(platform: &Platform, vendor_prefix: &str) -> Vec<String> {
    if *platform == Platform::windows() {
        vec![format!("{}pkg", vendor_prefix.to_lowercase())]
    } else {
        vec!["ipk".to_owned(), "deb".to_owned()]
    }
}

/// The last component of a given name.
fn file_name(given: &str) -> Result<String> {
    let name = given.rsplit(['/', '\\']).next().unwrap_or_default();
    if !is_file_name(name) {
        return Err(Error::invalid(format!(
            "{given:?} cannot be the file name of a package; it needs 1 to {} bytes without \
             control characters",
            limits::PACKAGE_FILE_NAME_BYTES
        ))
        .at_member("fileName"));
    }
    Ok(name.to_owned())
}

/// Whether an exported feed can have a file of this name and a line with it in its index.
fn is_file_name(name: &str) -> bool {
    let refused = |c: char| matches!(c, '/' | '\\') || c.is_control();
    let fits = (1..=limits::PACKAGE_FILE_NAME_BYTES).contains(&name.len());
    // Package managers drop leading blanks of the name in the index.
    fits && !matches!(name, "." | "..") && name.trim() == name && !name.contains(refused)
}

/// A reader that stops when `control` is cancelled or its deadline passes.
struct ControlledReader<'c> {
    content: ContentReader,
    control: &'c Control,
}

impl Read for ControlledReader<'_> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        self.control.check().map_err(io::Error::other)?;
        self.content.read(buffer)
    }
}

/// The room for a package of at least `len` bytes. One that may replace another has no bound here:
/// its commit knows how much the other one leaves.
fn room<'a, A: Access>(access: &'a A, feed: &Feed, overwrite: bool, len: u64) -> Result<Room<'a>> {
    if overwrite {
        return Ok(Room::unbounded());
    }
    // Who may not create packages there does not learn how full it is.
    access.context().require(PackageRecord::KIND.service, Action::Create, &feed.workspace)?;
    Room::new(access, &feed.workspace, Usage::of_new_record())?.declared(len)
}

/// Makes a package of the bytes of a source, whose length may be known.
pub(in crate::services) fn from_reader<A: Access>(
    access: &A,
    feed_id: &str,
    (source, len): (&mut dyn Read, Option<u64>),
    name: Option<&str>,
    overwrite: bool,
    control: &Control,
) -> Result<Package> {
    let control = &access.context().control(control);
    let target = check(access, feed_id, name)?;
    let room = room(access, &target.0, overwrite, len.unwrap_or(0))?;
    let new = content::store(access, source, room, control)?;
    write(access, target, new, overwrite, control)
}

pub(in crate::services) fn from_writer<A: Access>(
    access: &A,
    feed_id: &str,
    source: ContentWriter,
    name: Option<&str>,
    overwrite: bool,
    control: &Control,
) -> Result<Package> {
    let control = &access.context().control(control);
    let target = check(access, feed_id, name)?;
    room(access, &target.0, overwrite, source.len())?;
    let new = source.finish(access)?;
    write(access, target, new, overwrite, control)
}

/// Makes a package of content, in the feed and under the name that were checked.
fn write<A: Access>(
    access: &A,
    (feed, name): (Feed, Option<String>),
    new: NewContent,
    overwrite: bool,
    control: &Control,
) -> Result<Package> {
    let prefix = access.context().settings().vendor_prefix.clone();
    let inspected = inspect(&mut ControlledReader { content: new.reader()?, control })?;
    let windows = feed.platform == Platform::windows();
    if windows && inspected.container == Container::GzippedTar {
        return Err(crate::packages::invalid("a gzipped tar cannot be a package for Windows"));
    }
    let name = match name {
        Some(name) => name,
        None => {
            let extension = match (windows, inspected.container) {
                (true, _) => format!("{}pkg", prefix.to_lowercase()),
                (false, Container::GzippedTar) => "ipk".to_owned(),
                (false, Container::Ar) => "deb".to_owned(),
            };
            let canonical = inspected.canonical_name(&extension);
            // The name is built from the package's own metadata, which may contain anything.
            if !is_file_name(&canonical) {
                return Err(crate::packages::invalid(format_args!(
                    "{canonical:?} cannot be its file name"
                )));
            }
            canonical
        }
    };
    let upload = Upload {
        feed_id: feed.id.to_string(),
        metadata: metadata(&inspected, &name),
        file_name: name,
        md5: inspected.md5,
        sha256: inspected.sha256,
        content: new.content.clone(),
        overwrite,
    };
    let draft_content = new.draft();
    let written = access.write(move |draft| {
        let package = upload.draft(draft)?;
        draft_content(draft);
        Ok(package)
    });
    new.settle(written)
}

fn metadata(inspected: &Inspection, file_name: &str) -> PackageMetadata {
    let info = inspected.info.clone();
    PackageMetadata {
        package_name: Some(info.package_name),
        version: Some(info.version),
        architecture: Some(info.architecture),
        description: info.description,
        homepage: info.homepage,
        maintainer: info.maintainer,
        release_notes: info.release_notes,
        section: info.section,
        source: info.source,
        tags: info.tags,
        file_name: Some(file_name.to_owned()),
        breaks: info.breaks,
        conflicts: info.conflicts,
        depends: info.depends,
        enhances: info.enhances,
        predepends: info.predepends,
        provides: info.provides,
        recommends: info.recommends,
        replaces: info.replaces,
        suggests: info.suggests,
        essential: info.essential,
        installed_size: info.installed_size,
        size: i64::try_from(inspected.size).ok(),
        priority: info.priority,
        attributes: inspected.attributes(file_name),
    }
}

struct Upload {
    feed_id: String,
    metadata: PackageMetadata,
    file_name: String,
    md5: String,
    sha256: String,
    content: StoredContent,
    overwrite: bool,
}

impl Upload {
    fn draft(self, draft: &mut Draft<'_>) -> Result<Package> {
        // The feed may have been deleted or moved while the bytes were written.
        let feed = found(&self.feed_id, draft.get::<Feed>(&self.feed_id)?)?;
        let overwrite = self.overwrite;
        let mut record = PackageRecord {
            package: Package {
                id: PackageId::default(),
                file_name: self.file_name,
                feed_id: feed.id.clone(),
                workspace: feed.workspace.clone(),
                created_at: draft.now(),
                updated_at: draft.now(),
                metadata: self.metadata,
            },
            content: self.content,
            md5: self.md5,
            sha256: self.sha256,
        };
        match present(draft, &record)? {
            None => {
                record.package.id = PackageId::from(draft.new_key::<PackageRecord>()?);
                draft.put(&record, What::Created)?;
            }
            Some(key) => {
                let old = draft.any_by_key::<PackageRecord>(key)?.ok_or_else(|| {
                    Error::corrupt("records.redb: an index names a package that does not exist")
                })?;
                if !overwrite {
                    return Err(clash(
                        &record.package,
                        &old.package,
                        "the feed already has it; set overwrite to replace it",
                    ));
                }
                record.package.id = old.package.id.clone();
                record.package.created_at = old.package.created_at;
                record.package.updated_at = draft.now().max(old.package.created_at);
                content::forget(draft, &old.content);
                draft.put(&record, What::Updated)?;
            }
        }
        touch(draft, feed)?;
        Ok(record.package)
    }
}

/// The stored package that the new one would replace: by file name, or by name, version and
/// architecture.
fn present(draft: &Draft<'_>, record: &PackageRecord) -> Result<Option<RecordKey>> {
    let package = &record.package;
    let entry = PackageRecord::file_name_entry(&package.feed_id, &package.file_name);
    let by_name = draft.find::<PackageRecord>(PackageRecord::BY_FILE_NAME, &entry)?;
    let by_identity =
        draft.find::<PackageRecord>(PackageRecord::BY_IDENTITY, &record.identity_entry())?;
    match (by_name, by_identity) {
        (Some(one), Some(other)) if one != other => {
            let other = draft.any_by_key::<PackageRecord>(other)?.unwrap_or_default();
            Err(clash(
                package,
                &other.package,
                "one package has its file name, and another one its name and version; delete one \
                 of them",
            ))
        }
        (by_name, by_identity) => Ok(by_name.or(by_identity)),
    }
}

fn clash(package: &Package, other: &Package, why: &str) -> Error {
    Error::conflict(format!("the package {} cannot be added: {why}", package.file_name))
        .with_name("Feeds.PackageExists", None)
        .with_resource(PackageRecord::KIND.name, other.id.as_str())
        .with_args([package.file_name.as_str()])
}
