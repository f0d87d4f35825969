//! Names that Windows refuses, or takes for another file.

use std::io;

/// Names of devices, with any extension.
const DEVICES: [&str; 6] = ["CON", "PRN", "AUX", "NUL", "CONIN$", "CONOUT$"];

/// Names of devices that a digit follows.
const PORTS: [&str; 2] = ["COM", "LPT"];

/// The most UTF-16 units of a name.
const NAME_UNITS: usize = 255;

/// Refuses a path with a name that Windows refuses or changes.
pub(super) fn check(path: &str) -> io::Result<()> {
    match path.split('/').find(|name| !path.is_empty() && is_refused(name)) {
        None => Ok(()),
        Some(name) => Err(io::Error::new(
            io::ErrorKind::InvalidFilename,
            format!("Windows has no file with the name {name:?}"),
        )),
    }
}

fn is_refused(name: &str) -> bool {
    let stem = name.split('.').next().unwrap_or_default().trim_end_matches(' ').to_uppercase();
    let is_port = PORTS.iter().any(|port| {
        let digit = stem.strip_prefix(port).unwrap_or_default();
        matches!(digit, "0" | "1" | "2" | "3" | "4" | "5" | "6" | "7" | "8" | "9" | "¹" | "²" | "³")
    });
    is_port
        || DEVICES.contains(&stem.as_str())
        || name.ends_with(['.', ' '])
        || name.contains(['<', '>', ':', '"', '|', '?', '*', '\\'])
        || name.chars().any(|character| character < ' ')
        || name.encode_utf16().count() > NAME_UNITS
}

/// The form of a path in which equal names are equal. NTFS has a table of its own for that, which
/// differs in few letters.
pub(super) fn folded(path: &str) -> String {
    path.to_uppercase()
}
