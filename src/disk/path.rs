//! Validation of the paths of a disk.

use std::io;

/// Refuses paths that could leave the root of the disk, or that differ in meaning between
/// platforms. `""` is the root.
pub(super) fn check(path: &str) -> io::Result<()> {
    if path.is_empty() {
        return Ok(());
    }
    let refused = path.split('/').any(|part| {
        // A colon names a drive or an alternate stream on Windows.
        part.is_empty() || part == "." || part == ".." || part.contains(['\\', '\0', ':'])
    });
    if refused {
        return Err(io::Error::new(
            io::ErrorKind::InvalidInput,
            format!("{path:?} is not a relative path of plain names with `/` between them"),
        ));
    }
    Ok(())
}

/// As [`check`], for calls that need the path of a file or directory below the root.
pub(super) fn check_name(path: &str) -> io::Result<()> {
    if path.is_empty() {
        return Err(io::Error::new(
            io::ErrorKind::InvalidInput,
            "the root of a disk is not a file",
        ));
    }
    check(path)
}

/// Refuses names that are not valid for a file on this system; they may be valid on others.
pub(super) fn check_local_name(name: &str) -> io::Result<()> {
    // A colon names a drive or an alternate stream on Windows; elsewhere it is an ordinary
    // character.
    let is_device = cfg!(windows) && name.contains(':');
    if name.contains('/') || is_device {
        return Err(io::Error::new(
            io::ErrorKind::InvalidInput,
            format!("{name:?} is not a valid file name on this system"),
        ));
    }
    check_name(&name.replace(':', "_"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_plain_relative_names_are_paths() {
        for good in ["", "a", "a/b.parquet", "files/00/12", "..a", "a b"] {
            assert!(check(good).is_ok(), "{good:?}");
        }
        for bad in [
            "/a",
            "a/",
            "a//b",
            ".",
            "..",
            "a/../b",
            "a/./b",
            "a\\b",
            "a\0",
            "C:x",
            "\\\\host\\share",
        ] {
            assert!(check(bad).is_err(), "{bad:?}");
        }
        assert!(check_name("").is_err());
        for bad in ["", "a/b", "..", "a\\b", "a\0"] {
            assert!(check_local_name(bad).is_err(), "{bad:?}");
        }
        assert_eq!(check_local_name("C:x").is_err(), cfg!(windows));
    }
}
