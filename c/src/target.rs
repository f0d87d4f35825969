//! Files that take the place of others when they are complete.

use std::fs::{self, File, Permissions};
use std::io::{self, BufWriter, Write as _};
use std::path::{Path, PathBuf};
use std::process;
use std::sync::atomic::{AtomicU64, Ordering};
use std::thread::sleep;
use std::time::{Duration, Instant};

use stationdb::{Error, Result};

/// How long a name is tried that another program holds.
const PATIENCE: Duration = Duration::from_millis(2_500);
const PAUSE: Duration = Duration::from_millis(50);

/// Drafts of this process.
static DRAFTS: AtomicU64 = AtomicU64::new(0);

/// A file beside its target. It is removed, unless it gets the name of the target.
struct Draft {
    path: PathBuf,
    is_complete: bool,
}

impl Draft {
    fn create(target: &Path) -> io::Result<(Self, File)> {
        loop {
            let number = DRAFTS.fetch_add(1, Ordering::Relaxed);
            // A name of its own length, because that of the target may be as long as names can be.
            let path = target.with_file_name(format!(".sdb-{}-{number}.part", process::id()));
            match File::options().write(true).create_new(true).open(&path) {
                Ok(file) => return Ok((Self { path, is_complete: false }, file)),
                // What a process with the same number has left.
                Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {}
                Err(error) => return Err(error),
            }
        }
    }

    fn finish(mut self, target: &Path) -> io::Result<()> {
        rename(&self.path, target)?;
        self.is_complete = true;
        Ok(())
    }
}

impl Drop for Draft {
    fn drop(&mut self) {
        if !self.is_complete {
            // The error of the work says more.
            let _ = fs::remove_file(&self.path);
        }
    }
}

/// Renames a file over another one. On Windows, scanners open new files for moments in which the
/// system refuses that.
fn rename(from: &Path, to: &Path) -> io::Result<()> {
    const ACCESS_DENIED: i32 = 5;
    const SHARING_VIOLATION: i32 = 32;
    let began = Instant::now();
    loop {
        match fs::rename(from, to) {
            Err(error)
                if cfg!(windows)
                    && matches!(error.raw_os_error(), Some(ACCESS_DENIED | SHARING_VIOLATION))
                    && began.elapsed() < PATIENCE =>
            {
                sleep(PAUSE);
            }
            done => return done,
        }
    }
}

/// Does the work with a file that is open, and writes it to the disk.
fn fill<T>(
    file: File,
    failed: impl Fn(io::Error) -> Error,
    work: impl FnOnce(&mut BufWriter<File>) -> Result<T>,
) -> Result<(T, File)> {
    let mut out = BufWriter::with_capacity(1 << 20, file);
    let done = work(&mut out)?;
    out.flush().map_err(&failed)?;
    let file = out.into_inner().map_err(|error| failed(error.into_error()))?;
    Ok((done, file))
}

/// Writes the file `path`, over what is there. Until the work is done, that stays as it is.
///
/// # Errors
/// `InvalidArgument` for a directory; `Io` and `NoSpace`; those of the work.
pub fn written<T>(path: &str, work: impl FnOnce(&mut BufWriter<File>) -> Result<T>) -> Result<T> {
    let failed = |error| Error::io(format!("writing {path}"), error);
    let (target, permissions): (PathBuf, Option<Permissions>) = match fs::metadata(path) {
        Ok(found) if found.is_dir() => {
            let told = format!("{path} is a directory; give the path of a file");
            return Err(Error::invalid(told));
        }
        Ok(found) if found.is_file() => {
            // Whoever may not write it may not replace it.
            drop(File::options().write(true).open(path).map_err(failed)?);
            // The file itself, if the path is that of a link.
            (fs::canonicalize(path).map_err(failed)?, Some(found.permissions()))
        }
        // A device or a pipe, which has no content to keep.
        Ok(_) => {
            let file = File::options().write(true).open(path).map_err(failed)?;
            return fill(file, failed, work).map(|(done, _)| done);
        }
        Err(error) if error.kind() == io::ErrorKind::NotFound => (PathBuf::from(path), None),
        Err(error) => return Err(failed(error)),
    };
    let (draft, file) = Draft::create(&target).map_err(failed)?;
    let (done, file) = fill(file, failed, work)?;
    if let Some(permissions) = permissions {
        file.set_permissions(permissions).map_err(failed)?;
    }
    // The name is given to what is on the disk.
    file.sync_all().map_err(failed)?;
    drop(file);
    draft.finish(&target).map_err(failed)?;
    Ok(done)
}

#[cfg(test)]
mod tests {
    use stationdb::ErrorKind;

    use super::*;

    fn names(dir: &Path) -> Vec<String> {
        let names = fs::read_dir(dir).unwrap().map(|entry| entry.unwrap().file_name());
        let mut names: Vec<String> = names.map(|name| name.into_string().unwrap()).collect();
        names.sort();
        names
    }

    #[test]
    fn a_file_changes_when_its_new_content_is_complete() {
        let dir = tempfile::tempdir().unwrap();
        let at = dir.path().join("report.csv");
        let path = at.to_str().unwrap();
        let write = |text: &str, end: Result<()>| {
            written(path, |out| {
                out.write_all(text.as_bytes()).map_err(|error| Error::io("w", error))?;
                end
            })
        };
        let refused = || Err(Error::invalid("no such column"));
        assert!(write("half", refused()).is_err());
        assert_eq!(names(dir.path()), [""; 0]);
        write("first", Ok(())).unwrap();
        assert!(write("half", refused()).is_err());
        assert_eq!(fs::read_to_string(&at).unwrap(), "first");
        write("second", Ok(())).unwrap();
        assert_eq!(fs::read_to_string(&at).unwrap(), "second");
        assert_eq!(names(dir.path()), ["report.csv"]);
        let error = written(dir.path().to_str().unwrap(), |_| Ok(())).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::InvalidArgument);
        let nowhere = at.join("below");
        assert!(written(nowhere.to_str().unwrap(), |_| Ok(())).is_err());
    }

    #[cfg(unix)]
    #[test]
    fn links_permissions_and_pipes_stay() {
        use std::os::unix::fs::{PermissionsExt as _, symlink};
        let dir = tempfile::tempdir().unwrap();
        let (file, link) = (dir.path().join("file"), dir.path().join("link"));
        fs::write(&file, "old").unwrap();
        fs::set_permissions(&file, Permissions::from_mode(0o640)).unwrap();
        symlink(&file, &link).unwrap();
        written(link.to_str().unwrap(), |out| {
            out.write_all(b"new").map_err(|error| Error::io("w", error))
        })
        .unwrap();
        assert_eq!(fs::read_to_string(&file).unwrap(), "new");
        assert!(fs::symlink_metadata(&link).unwrap().is_symlink());
        assert_eq!(fs::metadata(&file).unwrap().permissions().mode() & 0o777, 0o640);
        written("/dev/null", |out| out.write_all(b"x").map_err(|error| Error::io("w", error)))
            .unwrap();
        assert!(!fs::metadata("/dev/null").unwrap().is_file());
    }
}
