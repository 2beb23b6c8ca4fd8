//! What can be wrong with a trace.

use std::fmt;

use crate::BufferKey;

/// Why a trace cannot be packed. `event` is the position in the slice of events, from 0.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub enum PackError {
    /// The buffer has already begun, by an alloc or a share.
    BegunTwice {
        /// Position of the second beginning.
        event: usize,
        /// The buffer.
        buffer: BufferKey,
    },
    /// The buffer is freed but has not begun.
    FreeBeforeBegin {
        /// Position of the free.
        event: usize,
        /// The buffer.
        buffer: BufferKey,
    },
    /// The buffer is freed a second time.
    FreedTwice {
        /// Position of the second free.
        event: usize,
        /// The buffer.
        buffer: BufferKey,
    },
    /// The buffer to share with has not begun.
    ShareWithUnknown {
        /// Position of the share.
        event: usize,
        /// The buffer that begins.
        buffer: BufferKey,
        /// The unknown buffer.
        with: BufferKey,
    },
    /// A buffer of non-zero size cannot share the place of one of size 0, which has none.
    ShareWithZeroSize {
        /// Position of the share.
        event: usize,
        /// The buffer that begins.
        buffer: BufferKey,
        /// The buffer of size 0.
        with: BufferKey,
    },
    /// More than 2^31 - 1 events.
    TooManyEvents,
    /// The alignment must be at least 1.
    ZeroAlignment,
    /// No free chunk below 2^63 - 1 holds the buffer's group.
    NoPlace {
        /// The buffer that was to be placed.
        buffer: BufferKey,
        /// Size of its group in bytes.
        size: u64,
    },
    /// The sizes of the heaps add up to more than a `u64` holds.
    TotalTooLarge,
    /// There are fewer placements than the number asked for.
    NoSuchPlacement {
        /// The number asked for, from 0.
        placement: usize,
        /// How many there are.
        count: usize,
    },
}

impl PackError {
    /// Position in the slice of events, if the error belongs to one.
    pub fn event(&self) -> Option<usize> {
        match *self {
            Self::BegunTwice { event, .. }
            | Self::FreeBeforeBegin { event, .. }
            | Self::FreedTwice { event, .. }
            | Self::ShareWithUnknown { event, .. }
            | Self::ShareWithZeroSize { event, .. } => Some(event),
            Self::TooManyEvents
            | Self::ZeroAlignment
            | Self::NoPlace { .. }
            | Self::TotalTooLarge
            | Self::NoSuchPlacement { .. } => None,
        }
    }
}

impl fmt::Display for PackError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match *self {
            Self::BegunTwice { event, buffer } => {
                write!(f, "event {event}: buffer {buffer} begins a second time")
            }
            Self::FreeBeforeBegin { event, buffer } => {
                write!(f, "event {event}: buffer {buffer} is freed before it begins")
            }
            Self::FreedTwice { event, buffer } => {
                write!(f, "event {event}: buffer {buffer} is freed a second time")
            }
            Self::ShareWithUnknown { event, buffer, with } => {
                write!(f, "event {event}: buffer {buffer} shares with {with}, which has not begun")
            }
            Self::ShareWithZeroSize { event, buffer, with } => {
                write!(
                    f,
                    "event {event}: buffer {buffer} shares with {with}, which has size 0 and so no place"
                )
            }
            Self::TooManyEvents => f.write_str("more than 2147483647 events"),
            Self::ZeroAlignment => f.write_str("the alignment is 0; it must be at least 1"),
            Self::NoPlace { buffer, size } => {
                write!(f, "buffer {buffer} of {size} bytes does not fit below the end of the address space")
            }
            Self::TotalTooLarge => f.write_str("the sizes of the heaps add up to more than 64 bits hold"),
            Self::NoSuchPlacement { placement, count } => {
                write!(f, "there is no placement {placement}: there are {count}, counted from 0")
            }
        }
    }
}

impl std::error::Error for PackError {}
