//! The feed service.

mod index;
mod lookup;
mod upload;

use std::io::{Read, Write};
use std::path::Path;

use crate::blobs::ContentReader;
use crate::error::{Error, Result};
use crate::model::feeds::package::feed_entry;
use crate::model::{
    CreateFeedRequest, Feed, FeedId, Package, PackageId, PackageRecord, Platform,
    QueryFeedsRequest, QueryFeedsResponse, QueryPackagesResponse, Resource, UpdateFeedRequest,
};
use crate::services::batch::{self, distinct};
use crate::services::content::{self, ContentWriter};
use crate::services::declare::service;
use crate::services::feeds::lookup::{feed, packages, touch};
use crate::services::service_record::{found, get};
use crate::session::{Access, Draft, What};
use crate::value::{Action, Control, wire};

service! {
/// Feeds of packages: .deb and .ipk for the vendor's Linux, the vendor's own package format for
/// Windows.
///
/// Metadata is read from the package itself, whose content decides its format. The package is
/// returned unchanged. Outside the crate, implement this trait only for fakes and decorators;
/// methods may be added until 1.0.
///
/// ```
/// # fn main() -> stationdb::Result<()> {
/// # let dir = tempfile::tempdir().map_err(|e| stationdb::Error::io("temp", e))?;
/// use stationdb::{Identity, Store};
/// use stationdb::feeds::{CreateFeedRequest, FeedService, Platform};
///
/// let store = Store::open(dir.path())?;
/// let session = store.session(Identity::user("ada"));
/// let request = CreateFeedRequest::new("tools").platform(Platform::ni_linux_rt());
/// let feed = session.create_feed(request)?;
/// assert!(session.query_packages(&feed.id)?.packages.is_empty());
/// # Ok(())
/// # }
/// ```
pub trait FeedService {
    /// Creates a feed.
    ///
    /// # Errors
    /// `InvalidArgument` for a blank name or an unknown or missing platform.
    ///
    /// ```
    #[doc = include_str!("example.txt")]
    /// let feed =
    /// session.create_feed(CreateFeedRequest::new("nightly").platform(Platform::ni_linux_rt()))?;
    /// assert_eq!(feed.name, "nightly");
    /// # Ok::<(), stationdb::Error>(())
    /// ```
    #[writes]
    fn create_feed(&self, request: CreateFeedRequest) -> Result<Feed> {
        check_name(&request.name)?;
        let context = self.context();
        let platform = platform(request.platform.as_ref(), &context.settings().vendor_prefix)?;
        let workspace = request.workspace.unwrap_or_else(|| context.default_workspace().to_owned());
        self.write(move |draft| {
            let feed = Feed {
                id: FeedId::from(draft.new_key::<Feed>()?),
                name: request.name,
                description: request.description,
                platform,
                workspace,
                created_at: draft.now(),
                updated_at: draft.now(),
                package_sources: Vec::new(),
                deleted: false,
            };
            draft.put(&feed, What::Created)?;
            Ok(feed)
        })
    }

    /// Returns the feeds of a platform, of a workspace, or all, in the order of their creation.
    ///
    /// # Errors
    /// `InvalidArgument` for an unknown platform; `PermissionDenied` for a workspace whose feeds
    /// the caller may not read, even if it has none.
    ///
    /// ```
    #[doc = include_str!("example.txt")]
    /// assert_eq!(session.query_feeds(QueryFeedsRequest::new().platform(Platform::windows()))?.feeds.len(),
    /// 1);
    /// # Ok::<(), stationdb::Error>(())
    /// ```
    fn query_feeds(&self, request: QueryFeedsRequest) -> Result<QueryFeedsResponse> {
        let prefix = &self.context().settings().vendor_prefix;
        let wanted =
            request.platform.as_ref().map(|given| platform(Some(given), prefix)).transpose()?;
        let mut feeds = Vec::new();
        self.read(|view| {
            if let Some(workspace) = &request.workspace {
                let allowed = view.context().require(Feed::KIND.service, Action::Read, workspace);
                allowed
                    .and_then(|()| view.require_workspace(workspace))
                    .map_err(|error| error.with_name("Feeds.UnauthorizedWorkspaceError", None))?;
            }
            view.for_each::<Feed>(|feed| {
                let matches = wanted.as_ref().is_none_or(|platform| feed.platform == *platform)
                    && request
                        .workspace
                        .as_ref()
                        .is_none_or(|workspace| feed.workspace == *workspace);
                if matches {
                    feeds.push(feed);
                }
                Ok(true)
            })
        })?;
        Ok(QueryFeedsResponse { feeds })
    }

    /// Returns one feed.
    ///
    /// # Errors
    /// `NotFound`.
    ///
    /// ```
    #[doc = include_str!("example.txt")]
    /// assert_eq!(session.get_feed(&feed.id)?.name, "stable");
    /// # Ok::<(), stationdb::Error>(())
    /// ```
    fn get_feed(&self, feed_id: &FeedId) -> Result<Feed> {
        get(self, feed_id)
    }

    /// Changes the name, description or workspace of a feed. Its packages move to the same
    /// workspace.
    ///
    /// # Errors
    /// `NotFound`; `InvalidArgument` for a blank name.
    ///
    /// ```
    #[doc = include_str!("example.txt")]
    /// assert_eq!(session.update_feed(&feed.id, UpdateFeedRequest::new().name("released"))?.name,
    /// "released");
    /// # Ok::<(), stationdb::Error>(())
    /// ```
    #[writes]
    fn update_feed(&self, feed_id: &FeedId, request: UpdateFeedRequest) -> Result<Feed> {
        if let Some(name) = &request.name {
            check_name(name)?;
        }
        let feed_id = feed_id.to_owned();
        self.write(move |draft| {
            let mut feed = found(&feed_id, draft.get::<Feed>(&feed_id)?)?;
            if let Some(name) = request.name {
                feed.name = name;
            }
            if request.description.is_some() {
                feed.description = request.description;
            }
            if let Some(workspace) =
                request.workspace.filter(|workspace| *workspace != feed.workspace)
            {
                for key in draft
                    .index_keys::<PackageRecord>(PackageRecord::BY_FEED, &feed_entry(&feed.id))?
                {
                    if let Some(mut record) = draft.by_key::<PackageRecord>(key)? {
                        record.package.workspace.clone_from(&workspace);
                        draft.put(&record, What::Updated)?;
                    }
                }
                feed.workspace = workspace;
            }
            feed.updated_at = draft.now().max(feed.created_at);
            draft.put(&feed, What::Updated)?;
            Ok(feed)
        })
    }

    /// Deletes a feed and all its packages. Up to 1,000 packages are deleted in one commit, more of
    /// them in several commits of 1,000, and the feed with the last one. If the call is
    /// interrupted, the feed remains with the packages that are left, and the call can be repeated.
    /// In a transaction all steps are one commit.
    ///
    /// # Errors
    /// `NotFound`; `PermissionDenied`.
    ///
    /// ```
    #[doc = include_str!("example.txt")]
    /// session.delete_feed(&feed.id)?;
    /// # Ok::<(), stationdb::Error>(())
    /// ```
    #[writes]
    fn delete_feed(&self, feed_id: &FeedId) -> Result<()> {
        loop {
            let feed_id = feed_id.to_owned();
            if self.write(move |draft| delete_feed_step(draft, &feed_id))? {
                return Ok(());
            }
        }
    }

    /// Uploads the package file at `path` under its own name.
    ///
    /// # Errors
    /// `Io` if the file cannot be read, and as [`FeedService::upload_package_content`].
    ///
    /// ```no_run
    #[doc = include_str!("example.txt")]
    /// let path = std::path::Path::new("setup_1.0_windows_x64.nipkg");
    /// let package = session.upload_package(&feed.id, path, false, &Control::default())?;
    /// println!("{}", package.file_name);
    /// # Ok::<(), stationdb::Error>(())
    /// ```
    #[writes]
    fn upload_package(
        &self,
        feed_id: &FeedId,
        path: &Path,
        overwrite: bool,
        control: &Control,
    ) -> Result<Package> {
        upload::from_path(self, feed_id, path, overwrite, control)
    }

    /// Uploads a package. Without a name it is named `<package>_<version>_<architecture>` with the
    /// extension of its format.
    ///
    /// # Errors
    /// `NotFound` for the feed; `InvalidArgument` for a name that does not match the platform, and
    /// for content that is not a package; `LimitExceeded` for a package beyond the limits of the
    /// reader; `Conflict` if the feed already has it and `overwrite` is false; `Unsupported`
    /// without the feature `packages`.
    ///
    /// ```no_run
    #[doc = include_str!("example.txt")]
    /// let mut content = std::fs::File::open("setup.nipkg")?;
    /// session.upload_package_content(&feed.id, &mut content, None, false, &Control::default())?;
    /// # Ok::<(), stationdb::Error>(())
    /// ```
    #[writes]
    fn upload_package_content(
        &self,
        feed_id: &FeedId,
        content: &mut dyn Read,
        name: Option<&str>,
        overwrite: bool,
        control: &Control,
    ) -> Result<Package> {
        upload::from_reader(self, feed_id, (content, None), name, overwrite, control)
    }

    /// Opens content that [`FeedService::commit_package`] makes a package of, as
    /// [`FileService::write_file`](crate::files::FileService::write_file) does for files.
    ///
    /// # Errors
    /// `PermissionDenied` when the caller may create packages nowhere; `Unsupported` inside a
    /// transaction.
    ///
    /// ```no_run
    #[doc = include_str!("example.txt")]
    /// let mut content = session.write_package(&Control::default())?;
    /// std::io::copy(&mut std::fs::File::open("setup.nipkg")?, &mut content)?;
    /// session.commit_package(&feed.id, content, None, false, &Control::default())?;
    /// # Ok::<(), stationdb::Error>(())
    /// ```
    fn write_package(&self, control: &Control) -> Result<ContentWriter> {
        ContentWriter::new(self, PackageRecord::KIND.service, control)
    }

    /// Makes a package of content that was written; on an error nothing is left.
    ///
    /// # Errors
    /// As [`FeedService::upload_package_content`]; the error that ended the writing, if one did;
    /// `InvalidArgument` for content of another store.
    ///
    /// ```
    #[doc = include_str!("example.txt")]
    /// let content = session.write_package(&Control::default())?;
    /// // Nothing is no package.
    /// assert!(session.commit_package(&feed.id, content, None, false,
    /// &Control::default()).is_err());
    /// # Ok::<(), stationdb::Error>(())
    /// ```
    #[writes]
    fn commit_package(
        &self,
        feed_id: &FeedId,
        content: ContentWriter,
        name: Option<&str>,
        overwrite: bool,
        control: &Control,
    ) -> Result<Package> {
        upload::from_writer(self, feed_id, content, name, overwrite, control)
    }

    /// Returns the packages of a feed, in the order of their creation.
    ///
    /// # Errors
    /// `NotFound` for the feed.
    ///
    /// ```
    #[doc = include_str!("example.txt")]
    /// assert!(session.query_packages(&feed.id)?.packages.is_empty());
    /// # Ok::<(), stationdb::Error>(())
    /// ```
    fn query_packages(&self, feed_id: &FeedId) -> Result<QueryPackagesResponse> {
        self.read(|view| {
            let records = packages(view, &feed(view, feed_id)?)?;
            Ok(QueryPackagesResponse {
                packages: records.into_iter().map(|record| record.package).collect(),
            })
        })
    }

    /// Returns one package.
    ///
    /// # Errors
    /// `NotFound`.
    ///
    /// ```no_run
    #[doc = include_str!("example.txt")]
    /// for package in session.query_packages(&feed.id)?.packages {
    ///     assert_eq!(session.get_package(&package.id)?, package);
    /// }
    /// # Ok::<(), stationdb::Error>(())
    /// ```
    fn get_package(&self, package_id: &PackageId) -> Result<Package> {
        get::<PackageRecord>(self, package_id).map(|record| record.package)
    }

    /// Deletes a package.
    ///
    /// # Errors
    /// `NotFound`.
    ///
    /// ```no_run
    #[doc = include_str!("example.txt")]
    /// for package in session.query_packages(&feed.id)?.packages {
    ///     session.delete_package(&package.id)?;
    /// }
    /// # Ok::<(), stationdb::Error>(())
    /// ```
    #[writes]
    fn delete_package(&self, package_id: &PackageId) -> Result<()> {
        let package_id = package_id.to_owned();
        self.write(move |draft| delete_package(draft, &package_id))
    }

    /// Deletes packages. Those that exist are deleted even if others are missing.
    ///
    /// # Errors
    /// `PartialFailure` with one inner error for each id that is missing.
    ///
    /// ```
    #[doc = include_str!("example.txt")]
    /// let ids = session.query_packages(&feed.id)?.packages.into_iter().map(|package| package.id);
    /// session.delete_packages(ids.collect())?;
    /// # Ok::<(), stationdb::Error>(())
    /// ```
    #[writes]
    fn delete_packages(&self, package_ids: Vec<PackageId>) -> Result<()> {
        batch::delete_or_fail::<PackageRecord>(self, distinct(package_ids), delete_package)
    }

    /// Writes the verified content of a package to `target`. Returns its length.
    ///
    /// # Errors
    /// `NotFound`; `Corrupt` if a byte differs from what was uploaded; errors of `target`;
    /// `Cancelled` and `DeadlineExceeded` by `control`.
    ///
    /// ```no_run
    #[doc = include_str!("example.txt")]
    /// let package = &session.query_packages(&feed.id)?.packages[0];
    /// session.download_package(&package.id, &mut std::io::sink(), &Control::default())?;
    /// # Ok::<(), stationdb::Error>(())
    /// ```
    fn download_package(
        &self,
        package_id: &PackageId,
        target: &mut dyn Write,
        control: &Control,
    ) -> Result<u64> {
        self.open_package(package_id)?.copy_to(target, &self.context().control(control))
    }

    /// Writes the verified content of the package with this file name to `target`. Returns its
    /// length.
    ///
    /// # Errors
    /// As [`FeedService::download_package`].
    ///
    /// ```no_run
    #[doc = include_str!("example.txt")]
    /// let mut file = std::fs::File::create("setup.nipkg")?;
    /// session.download_package_file(&feed.id, "setup_1.0_windows_x64.nipkg", &mut file,
    /// &Control::default())?;
    /// # Ok::<(), stationdb::Error>(())
    /// ```
    fn download_package_file(
        &self,
        feed_id: &FeedId,
        file_name: &str,
        target: &mut dyn Write,
        control: &Control,
    ) -> Result<u64> {
        let mut reader = self.read(|view| {
            let feed = feed(view, feed_id)?;
            let entry = PackageRecord::file_name_entry(&feed.id, file_name);
            let key = view
                .index_keys::<PackageRecord>(PackageRecord::BY_FILE_NAME, &entry)?
                .into_iter()
                .next();
            let record = match key {
                Some(key) => view.by_key::<PackageRecord>(key)?,
                None => None,
            };
            content::open(view, &found(file_name, record)?.content)
        })?;
        reader.copy_to(target, &self.context().control(control))
    }

    /// Opens a package for ranged reads. The reader stays usable after the package is deleted.
    ///
    /// # Errors
    /// `NotFound`; `Corrupt` if the content is missing.
    ///
    /// ```no_run
    #[doc = include_str!("example.txt")]
    /// let package = &session.query_packages(&feed.id)?.packages[0];
    /// println!("{} bytes", session.open_package(&package.id)?.len());
    /// # Ok::<(), stationdb::Error>(())
    /// ```
    fn open_package(&self, package_id: &PackageId) -> Result<ContentReader> {
        self.read(|view| {
            let record = found(package_id, view.get::<PackageRecord>(package_id)?)?;
            content::open(view, &record.content)
        })
    }

    /// Returns the index of a feed for package managers: the text of its `Packages` file.
    ///
    /// # Errors
    /// `NotFound` for the feed.
    ///
    /// ```
    #[doc = include_str!("example.txt")]
    /// assert_eq!(session.packages_index(&feed.id)?, "");
    /// # Ok::<(), stationdb::Error>(())
    /// ```
    fn packages_index(&self, feed_id: &FeedId) -> Result<String> {
        self.read(|view| Ok(index::packages_text(&packages(view, &feed(view, feed_id)?)?)))
    }

    /// Returns the compressed index of a feed: its `Packages.gz` file.
    ///
    /// # Errors
    /// `NotFound` for the feed; `Unsupported` without the feature `packages`.
    ///
    /// ```
    #[doc = include_str!("example.txt")]
    /// # #[cfg(feature = "packages")]
    /// assert!(!session.packages_index_gz(&feed.id)?.is_empty());
    /// # Ok::<(), stationdb::Error>(())
    /// ```
    fn packages_index_gz(&self, feed_id: &FeedId) -> Result<Vec<u8>> {
        crate::packages::gzip(self.packages_index(feed_id)?.as_bytes())
    }

    /// Writes the feed to a directory that is missing or empty, in a form that `apt`, `opkg` and
    /// the vendor's package manager accept: the packages, `Packages`, `Packages.gz` and `Release`.
    /// Returns the number of packages. If it fails, removes everything that it wrote.
    ///
    /// To renew an export, write it next to the old one and rename the directories.
    ///
    /// # Errors
    /// `NotFound` for the feed; `Conflict` if the directory is not empty; errors of its disk.
    ///
    /// ```no_run
    #[doc = include_str!("example.txt")]
    /// let target = directory.path().join("export");
    /// session.export_feed(&feed.id, &target, &Control::default())?;
    /// # Ok::<(), stationdb::Error>(())
    /// ```
    fn export_feed(&self, feed_id: &FeedId, directory: &Path, control: &Control) -> Result<u64> {
        index::export(self, feed_id, directory, control)
    }
}
}

fn check_name(name: &str) -> Result<()> {
    if name.trim().is_empty() {
        return Err(Error::invalid("the name of a feed cannot be blank").at_member("name"));
    }
    Ok(())
}

/// The platform in its canonical spelling.
fn platform(given: Option<&Platform>, vendor_prefix: &str) -> Result<Platform> {
    let known = [Platform::windows(), Platform::linux_rt(vendor_prefix)];
    let Some(given) = given else {
        return Err(Error::invalid("a feed needs a platform").at_member("platform"));
    };
    let folded = wire::fold(given.as_str());
    let [windows, linux] = &known;
    known.iter().find(|platform| wire::fold(platform.as_str()) == folded).cloned().ok_or_else(
        || {
            Error::invalid(format!(
                "{:?} is not a platform; expected {windows} or {linux}",
                given.as_str()
            ))
            .at_member("platform")
        },
    )
}

pub(in crate::services) fn delete_package(draft: &mut Draft<'_>, package_id: &str) -> Result<()> {
    let record = found(package_id, draft.delete::<PackageRecord>(package_id)?)?;
    content::forget(draft, &record.content);
    match draft.get::<Feed>(&record.package.feed_id)? {
        Some(feed) => touch(draft, feed),
        None => Ok(()),
    }
}

/// Number of packages that one commit of the deletion of a feed deletes. Their records fit in one
/// commit, whatever their size.
const DELETED_TOGETHER: usize = 1_000;

/// Deletes up to [`DELETED_TOGETHER`] packages of a feed, and with the last ones the feed. Returns
/// whether the feed is deleted.
fn delete_feed_step(draft: &mut Draft<'_>, feed_id: &str) -> Result<bool> {
    let feed = found(feed_id, draft.get::<Feed>(feed_id)?)?;
    // Checked in each step before any package is deleted: a caller that may not delete the feed
    // deletes nothing.
    draft.context().require(Feed::KIND.service, Action::Delete, &feed.workspace)?;
    let mut keys = Vec::new();
    draft.view().index_scan(
        PackageRecord::KIND,
        PackageRecord::BY_FEED,
        &feed_entry(&feed.id),
        |_, key, _| {
            keys.push(key);
            Ok(keys.len() <= DELETED_TOGETHER)
        },
    )?;
    let is_last = keys.len() <= DELETED_TOGETHER;
    for key in keys.into_iter().take(DELETED_TOGETHER) {
        if let Some(record) = draft.delete::<PackageRecord>(&PackageId::from(key))? {
            content::forget(draft, &record.content);
        }
    }
    if is_last {
        draft.delete::<Feed>(feed_id)?;
    }
    Ok(is_last)
}
