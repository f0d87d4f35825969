//! SHA-1, the sum that records have of their attachments.
//!
//! It finds bytes that were damaged. It protects against nobody: who can change the bytes can
//! change the sum beside them.

/// The sum of bytes.
pub(super) fn sha1(bytes: &[u8]) -> [u8; 20] {
    let mut state = [0x6745_2301_u32, 0xefcd_ab89, 0x98ba_dcfe, 0x1032_5476, 0xc3d2_e1f0];
    let mut blocks = bytes.chunks_exact(64);
    blocks.by_ref().for_each(|block| add(&mut state, block));
    let mut last = blocks.remainder().to_vec();
    last.push(0x80);
    while last.len() % 64 != 56 {
        last.push(0);
    }
    let bits = (bytes.len() as u64).wrapping_mul(8);
    last.extend(bits.to_be_bytes());
    last.chunks_exact(64).for_each(|block| add(&mut state, block));
    let mut sum = [0; 20];
    for (to, word) in sum.chunks_exact_mut(4).zip(state) {
        to.copy_from_slice(&word.to_be_bytes());
    }
    sum
}

/// Adds a block of 64 bytes.
fn add(state: &mut [u32; 5], block: &[u8]) {
    // The last sixteen words.
    let mut words = [0_u32; 16];
    for (word, bytes) in words.iter_mut().zip(block.chunks_exact(4)) {
        *word = bytes.iter().fold(0, |word, byte| word << 8 | u32::from(*byte));
    }
    let [mut a, mut b, mut c, mut d, mut e] = *state;
    for round in 0..80 {
        let (mix, constant) = match round / 20 {
            0 => (b & c | !b & d, 0x5a82_7999),
            1 => (b ^ c ^ d, 0x6ed9_eba1),
            2 => (b & c | b & d | c & d, 0x8f1b_bcdc),
            _ => (b ^ c ^ d, 0xca62_c1d6_u32),
        };
        let [first, _, third, _, _, _, _, _, ninth, .., fourteenth, _, _] = words;
        let sum = a.rotate_left(5).wrapping_add(mix).wrapping_add(e).wrapping_add(constant);
        (e, d, c, b, a) = (d, c, b.rotate_left(30), a, sum.wrapping_add(first));
        let next = (fourteenth ^ ninth ^ third ^ first).rotate_left(1);
        words.rotate_left(1);
        if let Some(last) = words.last_mut() {
            *last = next;
        }
    }
    for (word, add) in state.iter_mut().zip([a, b, c, d, e]) {
        *word = word.wrapping_add(add);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::results::text::hex;

    #[test]
    fn sums_of_the_standard() {
        let long = "a".repeat(1_000_000);
        for (text, sum) in [
            ("", "da39a3ee5e6b4b0d3255bfef95601890afd80709"),
            ("abc", "a9993e364706816aba3e25717850c26c9cd0d89d"),
            (
                "abcdbcdecdefdefgefghfghighijhijkijkljklmklmnlmnomnopnopq",
                "84983e441c3bd26ebaae4aa1f95129e5e54670f1",
            ),
            (&long, "34aa973cd4c4daa4f61eeb2bdbad27316534016f"),
        ] {
            assert_eq!(hex(&sha1(text.as_bytes())), sum);
        }
    }

    #[test]
    fn sums_of_every_length_around_a_block() {
        // Sums of 55 to 65 zeros, by hashlib.
        let sums: Vec<String> = (55..=65).map(|len| hex(&sha1(&vec![0; len]))).collect();
        assert_eq!(sums[0], "8e8832c642a6a38c74c17fc92ccedc266c108e6c");
        assert_eq!(sums[1], "9438e360f578e12c0e0e8ed28e2c125c1cefee16");
        assert_eq!(sums[9], "c8d7d0ef0eedfa82d2ea1aa592845b9a6d4b02b7");
    }
}
