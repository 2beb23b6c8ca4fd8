//! Traces to measure with: how many intervals overlap, and how, is what a packer's time depends on.

use packing::{BufferKey, Event};

/// Random numbers that are the same everywhere (xorshift64*).
pub struct Random(u64);

impl Random {
    /// From a seed.
    #[must_use]
    pub fn new(seed: u64) -> Self {
        Self(seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1)
    }

    /// Below `bound`.
    pub fn below(&mut self, bound: u64) -> u64 {
        self.0 ^= self.0 >> 12;
        self.0 ^= self.0 << 25;
        self.0 ^= self.0 >> 27;
        (self.0.wrapping_mul(0x2545_f491_4f6c_dd1d) >> 16) % bound.max(1)
    }

    /// A size as programs have them: few different ones, of all magnitudes.
    fn size(&mut self) -> u64 {
        let magnitude = self.below(16);
        (64 * (1 + self.below(4))) << magnitude
    }
}

/// One way in which intervals may lie.
pub type Shape = (&'static str, fn(usize) -> Vec<Event>);

/// Those whose growth is told.
pub const SHAPES: [Shape; 4] =
    [("nested", nested), ("staircase", staircase), ("random", random), ("training-step", training_step)];

/// Those that are hard for one reason or another, and must still come to an end soon.
pub const HARD: [Shape; 6] = [
    ("all-overlap, equal sizes", all_equal),
    ("all-overlap, any sizes", all_any),
    ("half of all overlap", wide),
    ("colocated, few groups", few_groups),
    ("colocated, many groups", many_groups),
    ("odd sizes, long and short", odd),
];

/// Events from intervals `(start, end, size)`, both ends on a clock of their own; frees come before what begins.
fn events(mut of: Vec<(u64, u64, u64)>) -> Vec<Event> {
    of.sort_unstable();
    let mut at: Vec<(u64, bool, u32)> = Vec::with_capacity(2 * of.len());
    for (i, (start, end, _)) in of.iter().enumerate() {
        at.push((*start, true, i as u32));
        at.push((*end, false, i as u32));
    }
    at.sort_unstable();
    at.into_iter()
        .map(|(_, begins, i)| {
            let buffer = BufferKey(i);
            if begins { Event::Alloc { buffer, size: of[i as usize].2 } } else { Event::Free { buffer } }
        })
        .collect()
}

/// Each begins after and ends before the one around it: forward values that wait for the backward pass.
#[must_use]
pub fn nested(n: usize) -> Vec<Event> {
    let mut random = Random::new(1);
    events((0..n as u64).map(|i| (i, 2 * n as u64 - i, random.size())).collect())
}

/// Each overlaps the next few only: a chain of layers without a backward pass.
#[must_use]
pub fn staircase(n: usize) -> Vec<Event> {
    let mut random = Random::new(2);
    events((0..n as u64).map(|i| (10 * i, 10 * i + 25 + random.below(20), random.size())).collect())
}

/// Anywhere, with lengths of all magnitudes.
#[must_use]
pub fn random(n: usize) -> Vec<Event> {
    let mut random = Random::new(3);
    let all = 4 * n as u64;
    let one = |random: &mut Random| {
        let start = random.below(all);
        let magnitude = 2 + random.below(10);
        let length = 1 + random.below(1 << magnitude);
        (start, start + length, random.size())
    };
    events((0..n).map(|_| one(&mut random)).collect())
}

/// A forward pass that leaves every third value for the backward pass, which mirrors it.
#[must_use]
pub fn training_step(n: usize) -> Vec<Event> {
    let mut random = Random::new(4);
    let end = 4 * n as u64;
    let mut of = Vec::with_capacity(n);
    for i in 0..n as u64 / 2 {
        let at = 4 * i;
        let stays = i % 3 == 0;
        of.push((at, if stays { end - at } else { at + 4 + random.below(12) }, random.size()));
        let back = end - at;
        of.push((back, back + 3 + random.below(12), random.size()));
    }
    events(of)
}

/// All alive together, all of one size.
#[must_use]
pub fn all_equal(n: usize) -> Vec<Event> {
    events((0..n as u64).map(|i| (i, n as u64 + i, 4096)).collect())
}

/// All alive together, of any size.
#[must_use]
pub fn all_any(n: usize) -> Vec<Event> {
    let mut random = Random::new(5);
    events(
        (0..n as u64)
            .map(|i| (i, n as u64 + random.below(n as u64), 64 * (1 + random.below(1 << 20))))
            .collect(),
    )
}

/// Begin and end anywhere: each overlaps half of the others or more.
#[must_use]
pub fn wide(n: usize) -> Vec<Event> {
    let mut random = Random::new(6);
    let all = 4 * n as u64;
    let one = |random: &mut Random| {
        let (a, b) = (random.below(all), random.below(all));
        (a.min(b), a.max(b) + 1, 64 * (1 + random.below(1 << 16)))
    };
    events((0..n).map(|_| one(&mut random)).collect())
}

/// Hundreds of buffers to a group, alive now and then.
#[must_use]
pub fn few_groups(n: usize) -> Vec<Event> {
    grouped(n, n / 500 + 1)
}

/// Three buffers to a group.
#[must_use]
pub fn many_groups(n: usize) -> Vec<Event> {
    grouped(n, n / 3 + 1)
}

fn grouped(n: usize, groups: usize) -> Vec<Event> {
    let mut random = Random::new(7);
    let mut out = Vec::with_capacity(2 * n);
    let mut roots: Vec<Option<BufferKey>> = vec![None; groups];
    let mut alive: Vec<BufferKey> = Vec::new();
    for i in 0..n as u32 {
        let buffer = BufferKey(i);
        let group = random.below(groups as u64) as usize;
        let size = random.size();
        out.push(match roots[group] {
            None => {
                roots[group] = Some(buffer);
                Event::Alloc { buffer, size }
            }
            Some(with) => Event::Share { buffer, with, size },
        });
        alive.push(buffer);
        while alive.len() > 40 || (!alive.is_empty() && random.below(3) == 0) {
            let at = random.below(alive.len() as u64) as usize;
            out.push(Event::Free { buffer: alive.swap_remove(at) });
        }
    }
    out.extend(alive.into_iter().map(|buffer| Event::Free { buffer }));
    out
}

/// Sizes that fit nothing well, and a few that live through everything.
#[must_use]
pub fn odd(n: usize) -> Vec<Event> {
    let mut random = Random::new(8);
    let all = 4 * n as u64;
    let one = |random: &mut Random| {
        let start = random.below(all);
        let length = if random.below(10) == 0 { all / 2 } else { 1 + random.below(64) };
        (start, (start + length).min(all + start % 7), 1 + random.below(1 << 24))
    };
    events((0..n).map(|_| one(&mut random)).filter(|(a, b, _)| a < b).collect())
}
