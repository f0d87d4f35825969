//! The `ar` container: a magic, then members with a header of 60 bytes each.

use super::members::{AR_MAGIC, Members, Role, VERSION_BYTES, check_name};
use super::source::PackageReader;
use crate::error::Result;
use crate::packages::{invalid, too_large};
use crate::value::limits;

const HEADER_BYTES: usize = 60;

struct Header {
    name: Vec<u8>,
    /// Number of bytes of the member that are not read yet.
    len: u64,
    padded: bool,
}

/// Reads an archive to its end, and keeps its control member.
pub(super) fn read(source: &mut PackageReader<'_>) -> Result<Members> {
    let mut magic = [0; AR_MAGIC.len()];
    source.fill(&mut magic, "its archive header")?;
    let mut members = Members::default();
    for number in 1.. {
        let Some(header) = next_header(source)? else {
            break;
        };
        if number > limits::PACKAGE_MEMBERS {
            return Err(too_large(format_args!(
                "it has more than {} members",
                limits::PACKAGE_MEMBERS
            )));
        }
        let name = String::from_utf8_lossy(&header.name).into_owned();
        match members.role(&name) {
            Role::Version => {
                let text = source.take_vec(header.len.min(VERSION_BYTES), &name)?;
                members.version(&text)?;
                source.skip(header.len.saturating_sub(VERSION_BYTES), &name)?;
            }
            Role::Control => {
                check_control_len(header.len)?;
                members.control = Some(source.take_vec(header.len, &name)?);
            }
            role => {
                members.has_data |= matches!(role, Role::Data);
                source.skip(header.len, &name)?;
            }
        }
        if header.padded {
            source.skip(1, "the padding of a member")?;
        }
    }
    Ok(members)
}

/// Returns `LimitExceeded` for a control archive beyond its bound, before any byte of it is read.
pub(super) fn check_control_len(len: u64) -> Result<()> {
    if len > limits::PACKAGE_CONTROL_BYTES as u64 {
        return Err(too_large(format_args!(
            "its control archive has {len} bytes; the limit is {}",
            limits::PACKAGE_CONTROL_BYTES
        )));
    }
    Ok(())
}

fn next_header(source: &mut PackageReader<'_>) -> Result<Option<Header>> {
    let mut header = [0; HEADER_BYTES];
    if !source.fill_or_end(&mut header, "the header of a member")? {
        return Ok(None);
    }
    let field = |from: usize, to: usize| header.get(from..to).unwrap_or_default().trim_ascii_end();
    if !header.ends_with(b"`\n") {
        return Err(invalid("the header of a member does not end with its magic bytes"));
    }
    let mut len =
        decimal(field(48, 58)).ok_or_else(|| invalid("the size of a member is not a number"))?;
    let padded = len % 2 == 1;
    let mut name = field(0, 16).to_vec();
    if let Some(digits) = name.strip_prefix(b"#1/") {
        // The BSD form: the data starts with the name.
        let name_len =
            decimal(digits).ok_or_else(|| invalid("the name of a member has no length"))?;
        if name_len > limits::PACKAGE_NAME_BYTES as u64 {
            return Err(too_large(format_args!(
                "it has a member whose name is longer than {} bytes",
                limits::PACKAGE_NAME_BYTES
            )));
        }
        len = len
            .checked_sub(name_len)
            .ok_or_else(|| invalid("the name of a member is longer than the member"))?;
        name = source.take_vec(name_len, "the name of a member")?;
        while name.last() == Some(&0) {
            name.pop();
        }
    } else if name.starts_with(b"/") {
        // The symbol table, the table of long names, and references into it: members without a
        // role.
        name.clear();
    }
    if name.last() == Some(&b'/') {
        name.pop();
    }
    check_name(&name)?;
    Ok(Some(Header { name, len, padded }))
}

/// A decimal number that fills the whole field.
fn decimal(digits: &[u8]) -> Option<u64> {
    if digits.is_empty() || !digits.iter().all(u8::is_ascii_digit) {
        return None;
    }
    std::str::from_utf8(digits).ok()?.parse().ok()
}
