//! Generated words from a seed: the vocabularies of the record and text workloads.

use crate::common::hash;

/// Returns the `i`-th word of the vocabulary `column`, of `min` to `max` letters.
pub fn word(column: u64, i: u64, min: u64, max: u64) -> String {
    const CONSONANTS: &[u8] = b"bcdfghjklmnprstvwz";
    const VOWELS: &[u8] = b"aeiou";
    let letters = min + hash(column, i * 16) % (max - min + 1);
    (0..letters)
        .map(|at| {
            let drawn = hash(column, i * 16 + 1 + at);
            let from = if at % 2 == 0 { CONSONANTS } else { VOWELS };
            from[(drawn % from.len() as u64) as usize] as char
        })
        .collect()
}
