//! The package of the report tool: a .deb that is built here, so that the example needs no tools of
//! the system, and its feed.

use std::error::Error;

use stationdb::feeds::{CreateFeedRequest, Feed, Package, Platform, QueryFeedsRequest};
use stationdb::prelude::*;
use stationdb::{Control, Session};

const FEED: &str = "station tools";

/// Returns the feed of this station, and creates it if the store does not have it.
pub fn feed(session: &Session) -> Result<Feed, Box<dyn Error>> {
    let feeds = session.query_feeds(QueryFeedsRequest::default())?.feeds;
    if let Some(feed) = feeds.into_iter().find(|feed| feed.name == FEED) {
        return Ok(feed);
    }
    Ok(session.create_feed(
        CreateFeedRequest::new(FEED.to_owned())
            .platform(Platform::ni_linux_rt())
            .description("What a station needs beside its measurements"),
    )?)
}

/// Builds and uploads the package; each run has its own version.
pub fn publish(
    session: &Session,
    feed: &Feed,
    work_item_id: &str,
) -> Result<Package, Box<dyn Error>> {
    let control = format!(
        "Package: workbench-self-test\nVersion: 1.0-{work_item_id}\nArchitecture: all\nSection: science\nPriority: optional\n\
         Maintainer: workbench <workbench@localhost>\nDescription: workbench self test\n Made in the run of work item {work_item_id}.\n"
    );
    let script = "#!/bin/sh\nexec station_day \"$@\"\n";
    let package = ar(&[
        ("debian-binary", b"2.0\n"),
        ("control.tar", &tar("./control", control.as_bytes())),
        ("data.tar", &tar("./usr/bin/workbench-self-test", script.as_bytes())),
    ]);
    Ok(session.upload_package_content(
        &feed.id,
        &mut package.as_slice(),
        None,
        true,
        &Control::default(),
    )?)
}

/// Builds the outer archive of a .deb: a header of 60 bytes before each member.
fn ar(members: &[(&str, &[u8])]) -> Vec<u8> {
    let mut out = b"!<arch>\n".to_vec();
    for (name, content) in members {
        out.extend(
            format!("{name:<16}{:<12}{:<6}{:<6}{:<8}{:<10}`\n", 0, 0, 0, 100_644, content.len())
                .bytes(),
        );
        out.extend_from_slice(content);
        if content.len() % 2 == 1 {
            out.push(b'\n');
        }
    }
    out
}

/// Builds an archive of one file: a header of 512 bytes, the content in blocks of 512, and two
/// empty blocks.
fn tar(name: &str, content: &[u8]) -> Vec<u8> {
    const BLOCK: usize = 512;
    let mut header = [0; BLOCK];
    let mut field =
        |from: usize, text: &[u8]| header[from..from + text.len()].copy_from_slice(text);
    field(0, name.as_bytes());
    field(100, b"0000755\0");
    field(108, b"0000000\0");
    field(116, b"0000000\0");
    field(124, format!("{:011o}\0", content.len()).as_bytes());
    field(136, b"00000000000\0");
    // The checksum counts its own field as spaces.
    field(148, b"        ");
    field(156, b"0");
    field(257, b"ustar\x0000");
    let sum: u32 = header.iter().map(|byte| u32::from(*byte)).sum();
    header[148..156].copy_from_slice(format!("{sum:06o}\0 ").as_bytes());
    let mut out = header.to_vec();
    out.extend_from_slice(content);
    out.resize(out.len().next_multiple_of(BLOCK) + 2 * BLOCK, 0);
    out
}
