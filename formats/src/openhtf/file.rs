//! How a file with a record is known.

use memchr::memmem;

/// Members by which a record is known, as JSON has them.
const KNOWN_BY: [&[u8]; 5] = [
    b"\"dut_id\"",
    b"\"start_time_millis\"",
    b"\"outcome_details\"",
    b"\"phases\"",
    b"\"code_info\"",
];

/// Whether bytes are the start of an object with a member that only records have.
pub(super) fn is_start(start: &[u8]) -> bool {
    start.trim_ascii_start().starts_with(b"{")
        && KNOWN_BY.iter().any(|member| memmem::find(start, member).is_some())
}
