//! The list of all decisions, packed: it is the largest thing that an assignment leaves behind.
//!
//! Numbers are written in groups of seven bits. A buffer is left out where it is the one that was spoken of before, and of what else is
//! spoken of again and again (allocations, values that meet, steps at which they do) only the distance from the one before
//! is written. That is 5 bytes for a decision in the middle, where the enum takes 40.

use crate::AllocationId;
use crate::decision::{Decision, NewKind, Refusal};
use analysis::sharing::{Clause, Touching};
use analysis::{BufferId, Color, Interference, Overlap, Step, ValueId};
use std::fmt;

/// Decisions in order.
#[derive(Clone, Default, PartialEq, Eq)]
pub struct Decisions {
    bytes: Vec<u8>,
    len: usize,
    /// Where every [`EVERY`]th one begins, which speaks of nothing before it.
    marks: Vec<usize>,
    writer: Context,
}

/// So many decisions lie between two places at which reading can begin.
const EVERY: usize = 64;

/// What was spoken of last.
#[derive(Clone, Copy, Default, PartialEq, Eq)]
struct Context {
    buffer: Option<BufferId>,
    tried: Option<AllocationId>,
    old: ValueId,
    new: ValueId,
    from: Step,
    to: Step,
}

/// How far `n` is from `last`: a small number where they are near, whichever is larger.
fn distance(n: u32, last: u32) -> u32 {
    let ahead = n.wrapping_sub(last) as i32;
    ((ahead << 1) ^ (ahead >> 31)) as u32
}

/// What is at that distance from `last`.
fn at_distance(distance: u32, last: u32) -> u32 {
    let ahead = (distance >> 1) as i32 ^ -((distance & 1) as i32);
    last.wrapping_add(ahead as u32)
}

const ASSIGN: u8 = 0;
const TRY: u8 = 1;
const REFUSE: u8 = 2;
const NEW: u8 = 3;
const REUSE: u8 = 4;
const DELAY: u8 = 5;
const PLACE: u8 = 6;
const SIMULATE: u8 = 7;
const HEAP: u8 = 8;
const ABSORB: u8 = 9;
/// What kind of decision it is.
const KIND: u8 = 0x0f;
/// Beside the kind: the buffer is the one that was spoken of last; the allocation is the one that was tried last; a detail.
const SAME_BUFFER: u8 = 0x10;
const SAME_ALLOCATION: u8 = 0x20;
const YES: u8 = 0x40;

/// How two ranges meet, in the byte of the reason.
const OVERLAP: u8 = 0;
const MAY_INTERFERE: u8 = 1;
/// From here on, one number for each reason why a value that touches cannot be written over.
const TOUCH: u8 = 2;

const CLAUSES: [Clause; 12] = [
    Clause::MatmulWorkspace,
    Clause::ConstantOperand,
    Clause::InPlace,
    Clause::BackendHint,
    Clause::ShapesDiffer,
    Clause::LoopFusion,
    Clause::OutputFusion,
    Clause::ControlFlow,
    Clause::Update,
    Clause::Sort,
    Clause::Call,
    Clause::Elementwise,
];

const KINDS: [NewKind; 5] =
    [NewKind::Constant, NewKind::Parameter, NewKind::ThreadLocal, NewKind::Tuple, NewKind::Other];

impl Decisions {
    /// None yet.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// How many there are.
    #[must_use]
    pub fn len(&self) -> usize {
        self.len
    }

    /// Is there none?
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.len == 0
    }

    /// The one of that number, from 0.
    #[must_use]
    pub fn get(&self, number: usize) -> Option<Decision> {
        if number >= self.len {
            return None;
        }
        let at = *self.marks.get(number / EVERY)?;
        let first = number / EVERY * EVERY;
        let mut iter =
            Iter { bytes: &self.bytes, at, number: first, len: self.len, context: Context::default() };
        iter.nth(number - first)
    }

    /// All, in order.
    #[must_use]
    pub fn iter(&self) -> Iter<'_> {
        Iter { bytes: &self.bytes, at: 0, number: 0, len: self.len, context: Context::default() }
    }

    /// Gives back what was kept free for more.
    pub(crate) fn shrink(&mut self) {
        self.bytes.shrink_to_fit();
        self.marks.shrink_to_fit();
    }

    fn number(&mut self, mut n: u64) {
        while n >= 0x80 {
            self.bytes.push(n as u8 | 0x80);
            n >>= 7;
        }
        self.bytes.push(n as u8);
    }

    /// A number by its distance from the one that was written in its place before.
    fn near(&mut self, n: u32, last: u32) {
        self.number(u64::from(distance(n, last)));
    }

    /// Two values that meet.
    fn pair(&mut self, old: ValueId, new: ValueId) {
        self.near(old.0, self.writer.old.0);
        self.near(new.0, self.writer.new.0);
        (self.writer.old, self.writer.new) = (old, new);
    }

    /// A kind with the buffer and the allocation that it is about, as far as these are others than before.
    fn about(&mut self, kind: u8, buffer: BufferId, allocation: Option<AllocationId>) {
        let same_buffer = self.writer.buffer == Some(buffer);
        let same_allocation = allocation.is_some() && self.writer.tried == allocation;
        let mark = |is: bool, flag: u8| if is { flag } else { 0 };
        self.bytes.push(kind | mark(same_buffer, SAME_BUFFER) | mark(same_allocation, SAME_ALLOCATION));
        if !same_buffer {
            self.near(buffer.0, self.writer.buffer.map_or(0, |last| last.0));
        }
        if let Some(a) = allocation.filter(|_| !same_allocation) {
            self.near(a.0, self.writer.tried.map_or(0, |last| last.0));
        }
        self.writer.buffer = Some(buffer);
        self.writer.tried = allocation.or(self.writer.tried);
    }

    /// Adds one.
    pub fn push(&mut self, decision: Decision) {
        if self.len.is_multiple_of(EVERY) {
            self.marks.push(self.bytes.len());
            self.writer = Context::default();
        }
        self.len += 1;
        match decision {
            Decision::Assign { buffer } => self.about(ASSIGN, buffer, None),
            Decision::Try { buffer, allocation } => self.about(TRY, buffer, Some(allocation)),
            Decision::Refuse { buffer, allocation, reason } => {
                self.about(REFUSE, buffer, Some(allocation));
                self.refusal(reason);
            }
            Decision::New { kind, allocation, buffer } => {
                self.about(NEW, buffer, Some(allocation));
                self.bytes.push(kind as u8);
            }
            Decision::Reuse { operand, allocation, buffer } => {
                let kind = if operand { REUSE | YES } else { REUSE };
                self.about(kind, buffer, Some(allocation));
            }
            Decision::Delay { value } => {
                self.bytes.push(DELAY);
                self.number(u64::from(value.0));
            }
            Decision::Place { allocation, size, offset, value } => {
                self.bytes.push(PLACE);
                for n in [u64::from(allocation.0), size, offset, u64::from(value.0)] {
                    self.number(n);
                }
            }
            Decision::Simulate { color } => {
                self.bytes.push(SIMULATE);
                self.number(u64::from(color.0));
            }
            Decision::Heap { size } => {
                self.bytes.push(HEAP);
                self.number(size);
            }
            Decision::Absorb { into, temp, base } => {
                self.bytes.push(ABSORB);
                for n in [u64::from(into.0), u64::from(temp.0), base] {
                    self.number(n);
                }
            }
        }
    }

    fn refusal(&mut self, reason: Refusal) {
        // Reasons go by their numbers, and the two of one name by their order.
        self.bytes.push(reason.number());
        match reason {
            Refusal::Color { buffer, allocation } => {
                self.number(u64::from(buffer.0));
                self.number(u64::from(allocation.0));
            }
            Refusal::TooBig { buffer, allocation } | Refusal::LiveOutSize { buffer, allocation } => {
                self.number(buffer);
                self.number(allocation);
            }
            Refusal::ReadOnly | Refusal::NotReusable => {}
            Refusal::NewMustNotLiveOut(value) | Refusal::OldMustNotLiveOut(value) => {
                self.number(u64::from(value.0));
            }
            Refusal::CopyOfItself { old, new } => self.pair(old, new),
            Refusal::Interference { old, new, why } => {
                self.pair(old, new);
                match why {
                    Interference::Overlap(Overlap { from, to }) => {
                        self.bytes.push(OVERLAP);
                        self.near(from.0, self.writer.from.0);
                        self.near(to.0, self.writer.to.0);
                        (self.writer.from, self.writer.to) = (from, to);
                    }
                    Interference::MayInterfere => self.bytes.push(MAY_INTERFERE),
                    Interference::Touch { ends, starts, at, why } => {
                        self.bytes.push(TOUCH + touching(why));
                        self.near(ends.0, old.0);
                        self.near(starts.0, new.0);
                        self.near(at.0, self.writer.from.0);
                        self.writer.from = at;
                    }
                }
            }
        }
    }
}

fn touching(why: Touching) -> u8 {
    match why {
        Touching::Copy => 0,
        Touching::NotAnOperand => 1,
        Touching::NotAlone => 2,
        Touching::Clause(clause) => {
            3 + CLAUSES.iter().position(|c| *c == clause).map_or(CLAUSES.len() as u8, |at| at as u8)
        }
    }
}

fn touching_of(number: u8) -> Option<Touching> {
    Some(match number {
        0 => Touching::Copy,
        1 => Touching::NotAnOperand,
        2 => Touching::NotAlone,
        n => Touching::Clause(*CLAUSES.get(usize::from(n - 3))?),
    })
}

/// Decisions, read one after another.
#[derive(Clone)]
pub struct Iter<'a> {
    bytes: &'a [u8],
    at: usize,
    number: usize,
    len: usize,
    context: Context,
}

impl Iter<'_> {
    fn byte(&mut self) -> Option<u8> {
        let byte = *self.bytes.get(self.at)?;
        self.at += 1;
        Some(byte)
    }

    fn long(&mut self) -> Option<u64> {
        let mut out = 0;
        for shift in (0..64).step_by(7) {
            let byte = self.byte()?;
            out |= u64::from(byte & 0x7f) << shift;
            if byte < 0x80 {
                return Some(out);
            }
        }
        None
    }

    /// The number that was written by its distance from `last`.
    fn near(&mut self, last: u32) -> Option<u32> {
        self.short().map(|far| at_distance(far, last))
    }

    /// Two values that meet.
    fn pair(&mut self) -> Option<(ValueId, ValueId)> {
        let old = ValueId(self.near(self.context.old.0)?);
        let new = ValueId(self.near(self.context.new.0)?);
        (self.context.old, self.context.new) = (old, new);
        Some((old, new))
    }

    fn short(&mut self) -> Option<u32> {
        self.long().map(|n| n as u32)
    }

    fn value(&mut self) -> Option<ValueId> {
        self.short().map(ValueId)
    }

    fn buffer(&mut self, head: u8) -> Option<BufferId> {
        if head & SAME_BUFFER == 0 {
            let last = self.context.buffer.map_or(0, |last| last.0);
            self.context.buffer = Some(BufferId(self.near(last)?));
        }
        self.context.buffer
    }

    fn allocation(&mut self, head: u8) -> Option<AllocationId> {
        if head & SAME_ALLOCATION == 0 {
            let last = self.context.tried.map_or(0, |last| last.0);
            self.context.tried = Some(AllocationId(self.near(last)?));
        }
        self.context.tried
    }

    fn read(&mut self) -> Option<Decision> {
        if self.number.is_multiple_of(EVERY) {
            self.context = Context::default();
        }
        let head = self.byte()?;
        Some(match head & KIND {
            ASSIGN => Decision::Assign { buffer: self.buffer(head)? },
            TRY => Decision::Try { buffer: self.buffer(head)?, allocation: self.allocation(head)? },
            REFUSE => Decision::Refuse {
                buffer: self.buffer(head)?,
                allocation: self.allocation(head)?,
                reason: self.refusal()?,
            },
            NEW => {
                let (buffer, allocation) = (self.buffer(head)?, self.allocation(head)?);
                Decision::New { kind: *KINDS.get(usize::from(self.byte()?))?, allocation, buffer }
            }
            REUSE => {
                let (buffer, allocation) = (self.buffer(head)?, self.allocation(head)?);
                Decision::Reuse { operand: head & YES != 0, allocation, buffer }
            }
            DELAY => Decision::Delay { value: self.value()? },
            PLACE => Decision::Place {
                allocation: AllocationId(self.short()?),
                size: self.long()?,
                offset: self.long()?,
                value: self.value()?,
            },
            SIMULATE => Decision::Simulate { color: Color(self.short()?) },
            HEAP => Decision::Heap { size: self.long()? },
            _ => Decision::Absorb {
                into: AllocationId(self.short()?),
                temp: AllocationId(self.short()?),
                base: self.long()?,
            },
        })
    }

    fn refusal(&mut self) -> Option<Refusal> {
        Some(match self.byte()? {
            1 => Refusal::Color { buffer: Color(self.short()?), allocation: Color(self.short()?) },
            2 => Refusal::TooBig { buffer: self.long()?, allocation: self.long()? },
            3 => Refusal::ReadOnly,
            4 => Refusal::NewMustNotLiveOut(self.value()?),
            5 => Refusal::OldMustNotLiveOut(self.value()?),
            6 => Refusal::NotReusable,
            8 => {
                let (old, new) = self.pair()?;
                Refusal::CopyOfItself { old, new }
            }
            9 => Refusal::LiveOutSize { buffer: self.long()?, allocation: self.long()? },
            _ => {
                let (old, new) = self.pair()?;
                let why = match self.byte()? {
                    OVERLAP => {
                        let from = Step(self.near(self.context.from.0)?);
                        let to = Step(self.near(self.context.to.0)?);
                        (self.context.from, self.context.to) = (from, to);
                        Interference::Overlap(Overlap { from, to })
                    }
                    MAY_INTERFERE => Interference::MayInterfere,
                    number => {
                        let why = touching_of(number - TOUCH)?;
                        let (ends, starts) = (ValueId(self.near(old.0)?), ValueId(self.near(new.0)?));
                        let at = Step(self.near(self.context.from.0)?);
                        self.context.from = at;
                        Interference::Touch { ends, starts, at, why }
                    }
                };
                Refusal::Interference { old, new, why }
            }
        })
    }
}

impl Iterator for Iter<'_> {
    type Item = Decision;

    fn next(&mut self) -> Option<Decision> {
        if self.number >= self.len {
            return None;
        }
        let decision = self.read();
        self.number += 1;
        decision
    }

    fn size_hint(&self) -> (usize, Option<usize>) {
        let left = self.len - self.number;
        (left, Some(left))
    }
}

impl ExactSizeIterator for Iter<'_> {}

impl<'a> IntoIterator for &'a Decisions {
    type Item = Decision;
    type IntoIter = Iter<'a>;

    fn into_iter(self) -> Iter<'a> {
        self.iter()
    }
}

impl FromIterator<Decision> for Decisions {
    fn from_iter<T: IntoIterator<Item = Decision>>(decisions: T) -> Self {
        let mut out = Self::new();
        for decision in decisions {
            out.push(decision);
        }
        out
    }
}

impl fmt::Debug for Decisions {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_list().entries(self).finish()
    }
}

#[cfg(all(test, not(target_arch = "wasm32")))]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn id() -> impl Strategy<Value = u32> {
        prop_oneof![0..4u32, any::<u32>()]
    }

    fn value() -> impl Strategy<Value = ValueId> {
        id().prop_map(ValueId)
    }

    fn refusals() -> impl Strategy<Value = Refusal> {
        let touch = (value(), value(), id(), 0..15u8).prop_map(|(ends, starts, at, why)| {
            Interference::Touch { ends, starts, at: Step(at), why: touching_of(why).expect("a reason") }
        });
        let overlap =
            (id(), id()).prop_map(|(a, b)| Interference::Overlap(Overlap { from: Step(a), to: Step(b) }));
        let meets = prop_oneof![touch, overlap, Just(Interference::MayInterfere)];
        prop_oneof![
            (id(), id()).prop_map(|(a, b)| Refusal::Color { buffer: Color(a), allocation: Color(b) }),
            any::<(u64, u64)>().prop_map(|(buffer, allocation)| Refusal::TooBig { buffer, allocation }),
            any::<(u64, u64)>().prop_map(|(buffer, allocation)| Refusal::LiveOutSize { buffer, allocation }),
            Just(Refusal::ReadOnly),
            Just(Refusal::NotReusable),
            value().prop_map(Refusal::NewMustNotLiveOut),
            value().prop_map(Refusal::OldMustNotLiveOut),
            (value(), value()).prop_map(|(old, new)| Refusal::CopyOfItself { old, new }),
            (value(), value(), meets).prop_map(|(old, new, why)| Refusal::Interference { old, new, why }),
        ]
    }

    fn decisions() -> impl Strategy<Value = Decision> {
        let buffer = || id().prop_map(BufferId);
        let allocation = || id().prop_map(AllocationId);
        prop_oneof![
            buffer().prop_map(|buffer| Decision::Assign { buffer }),
            (buffer(), allocation()).prop_map(|(buffer, allocation)| Decision::Try { buffer, allocation }),
            (buffer(), allocation(), refusals()).prop_map(|(buffer, allocation, reason)| Decision::Refuse {
                buffer,
                allocation,
                reason
            }),
            (0..5usize, allocation(), buffer()).prop_map(|(kind, allocation, buffer)| Decision::New {
                kind: KINDS[kind],
                allocation,
                buffer
            }),
            (any::<bool>(), allocation(), buffer())
                .prop_map(|(operand, allocation, buffer)| Decision::Reuse { operand, allocation, buffer }),
            value().prop_map(|value| Decision::Delay { value }),
            (allocation(), any::<u64>(), any::<u64>(), value()).prop_map(
                |(allocation, size, offset, value)| Decision::Place { allocation, size, offset, value }
            ),
            id().prop_map(|n| Decision::Simulate { color: Color(n) }),
            any::<u64>().prop_map(|size| Decision::Heap { size }),
            (allocation(), allocation(), any::<u64>()).prop_map(|(into, temp, base)| Decision::Absorb {
                into,
                temp,
                base
            }),
        ]
    }

    proptest! {
        #[test]
        fn what_was_written_is_read(all in proptest::collection::vec(decisions(), 0..300)) {
            let packed: Decisions = all.iter().copied().collect();
            prop_assert_eq!(packed.len(), all.len());
            prop_assert_eq!(packed.iter().collect::<Vec<_>>(), all.clone());
            for (i, decision) in all.iter().enumerate() {
                prop_assert_eq!(packed.get(i), Some(*decision));
            }
            prop_assert_eq!(packed.get(all.len()), None);
        }
    }
}
