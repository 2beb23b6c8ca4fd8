//! Random numbers that are the same everywhere, and what can be done to a file with them.

/// A small deterministic source of numbers (splitmix64).
pub struct Numbers(u64);

impl Numbers {
    /// The sequence of that number.
    pub fn new(seed: u64) -> Self {
        Self(seed)
    }

    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let z = (self.0 ^ (self.0 >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }

    /// A number below `bound`; 0 if that is 0.
    pub fn below(&mut self, bound: u64) -> u64 {
        self.next().checked_rem(bound).unwrap_or(0)
    }

    /// Fewer than `most` bytes.
    pub fn bytes(&mut self, most: u64) -> Vec<u8> {
        (0..self.below(most)).map(|_| self.below(256) as u8).collect()
    }
}

/// Pieces that mean something to one of the readers.
const WORDS: [&str; 24] = [
    "{",
    "}",
    "(",
    ")",
    "[",
    "]",
    ",",
    "=",
    "\"",
    "\n",
    "ROOT ",
    "%",
    "/*",
    "*/",
    "-1",
    "0",
    "18446744073709551615",
    "4294967296",
    "parameter(",
    "tuple(",
    "f32[1]{0}",
    "{0}",
    "s32[]",
    "é",
];

/// The file with a few changes.
pub fn mutate(file: &[u8], others: &[Vec<u8>], numbers: &mut Numbers) -> Vec<u8> {
    let mut out = file.to_vec();
    for _ in 0..=numbers.below(4) {
        let at = numbers.below(out.len() as u64 + 1) as usize;
        let longest = 1 << numbers.below(9);
        let end = (at + numbers.below(longest) as usize).min(out.len());
        match numbers.below(8) {
            0 => {
                out.drain(at..end);
            }
            1 => out.truncate(at),
            2 => {
                let piece = out[at..end].to_vec();
                let to = numbers.below(out.len() as u64 + 1) as usize;
                out.splice(to..to, piece);
            }
            3 => {
                let word = WORDS[numbers.below(WORDS.len() as u64) as usize];
                out.splice(at..end, word.bytes());
            }
            4 => {
                let other = &others[numbers.below(others.len() as u64) as usize];
                let from = numbers.below(other.len() as u64 + 1) as usize;
                let to = (from + numbers.below(400) as usize).min(other.len());
                out.splice(at..end, other[from..to].iter().copied());
            }
            5 => {
                // A digit more or another one: the usual way for a number to be wrong.
                if let Some(digit) = out[at..].iter().position(u8::is_ascii_digit) {
                    out[at + digit] = b'0' + numbers.below(10) as u8;
                }
            }
            _ => {
                if let Some(byte) = out.get_mut(at) {
                    *byte ^= 1 << numbers.below(8);
                }
            }
        }
    }
    out
}
