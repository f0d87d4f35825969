//! Runs the bodies of fuzz targets on their corpora, for machines without a fuzzer.

use std::path::Path;
use std::time::{Duration, Instant};

fn inputs(root: &Path, name: &str) -> Vec<Vec<u8>> {
    let entries = std::fs::read_dir(root.join("corpus").join(name)).unwrap();
    let inputs: Vec<_> =
        entries.map(|entry| std::fs::read(entry.unwrap().path()).unwrap()).collect();
    assert!(!inputs.is_empty(), "{name} has no corpus");
    inputs
}

/// Runs a target on its corpus below `root`, and on parts of it.
pub(crate) fn replay(root: &Path, name: &str, body: &dyn Fn(&[u8])) {
    assert!(root.join(format!("fuzz_targets/{name}.rs")).exists(), "{name} has no fuzz target");
    for data in inputs(root, name) {
        body(&data);
        // Prefixes of valid inputs, and valid inputs with one flipped bit, reach further than random
        // bytes.
        for at in 0..data.len().min(64) {
            body(&data[..data.len() * at / 64]);
            let mut flipped = data.clone();
            let position = flipped.len() * at / 64;
            flipped[position] ^= 1 << (at % 8);
            body(&flipped);
        }
    }
}

/// Runs a target on mutations of its corpus for some milliseconds.
pub(crate) fn mutate(root: &Path, name: &str, millis: u64, body: &dyn Fn(&[u8])) {
    let mut state = 0x9e37_79b9_7f4a_7c15_u64;
    let mut next = |below: usize| {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        (state >> 11) as usize % below.max(1)
    };
    let inputs = inputs(root, name);
    let until = Duration::from_millis(millis);
    let (start, mut count) = (Instant::now(), 0);
    while start.elapsed() < until {
        let mut data = inputs[next(inputs.len())].clone();
        for _ in 0..=next(4) {
            let at = next(data.len());
            match next(6) {
                0 => data[at] = [0, 1, 0x7f, 0x80, 0xff][next(5)],
                1 => data[at] ^= 1 << next(8),
                2 => data.truncate(at.max(1)),
                3 => {
                    let len = next(16).min(data.len() - at);
                    data.splice(at..at + len, std::iter::empty());
                }
                4 => {
                    let from = next(data.len());
                    let piece = data[from..(from + next(32)).min(data.len())].to_vec();
                    data.splice(at..at, piece);
                }
                _ => {
                    let word = [0u64, 1, u64::MAX, 1 << 31, 1 << 62, 0x0102_0304][next(6)];
                    let len = [1, 2, 4, 8][next(4)].min(data.len() - at);
                    data[at..at + len].copy_from_slice(&word.to_le_bytes()[..len]);
                }
            }
            if data.is_empty() {
                data.push(0);
            }
        }
        body(&data);
        count += 1;
    }
    println!("{name}: {count} inputs in {:?}", start.elapsed());
}
