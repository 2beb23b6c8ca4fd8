//! The result of a request, as XLA gives it (MEMORY_SPACE 27).

use serde::{Serialize, Serializer};
use std::fmt;
use std::ops::{BitOr, BitOrAssign};

/// A set of failures; none of them is success.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Outcome(u16);

impl Outcome {
    /// Nothing failed.
    pub const SUCCESS: Self = Self(0);
    /// No place, or no range of time in which to look for one.
    pub const OUT_OF_MEMORY: Self = Self(1);
    /// The value stands in default memory before, so that it cannot simply stay.
    pub const PREVIOUS_NOT_IN_ALTERNATE: Self = Self(2);
    /// It would occupy alternate memory unused for too long.
    pub const LIVE_RANGE_TOO_LONG: Self = Self(4);
    /// Too little time to hide a copy in.
    pub const LIVE_RANGE_TOO_SHORT: Self = Self(8);
    /// Too many copies under way.
    pub const OUT_OF_ASYNC_COPIES: Self = Self(16);
    /// The copy engine has no bandwidth left, or a copy would overtake another.
    pub const VIOLATES_ASYNC_COPY_RESOURCE: Self = Self(32);
    /// Everything tried for the buffer must be taken back.
    pub const REQUIRES_UNCOMMIT: Self = Self(64);
    /// All slices would start at one time: no better than a whole copy.
    pub const ALL_SLICES_HAVE_THE_SAME_START_TIME: Self = Self(128);
    /// Two positions that must agree ask for different offsets.
    pub const CONFLICTING_PREFERRED_OFFSETS: Self = Self(256);
    /// A synchronous copy could not be replaced.
    pub const SYNC_DATA_MOVE_REPLACEMENT: Self = Self(512);

    /// Every failure with XLA's name for it, lowest bit first.
    pub const NAMES: [(Self, &'static str); 10] = [
        (Self::OUT_OF_MEMORY, "FailOutOfMemory"),
        (Self::PREVIOUS_NOT_IN_ALTERNATE, "FailPrevAllocationNotInAlternateMem"),
        (Self::LIVE_RANGE_TOO_LONG, "FailLiveRangeTooLong"),
        (Self::LIVE_RANGE_TOO_SHORT, "FailLiveRangeTooShort"),
        (Self::OUT_OF_ASYNC_COPIES, "FailOutOfAsyncCopies"),
        (Self::VIOLATES_ASYNC_COPY_RESOURCE, "FailViolatesAsyncCopyResource"),
        (Self::REQUIRES_UNCOMMIT, "FailRequiresUncommit"),
        (Self::ALL_SLICES_HAVE_THE_SAME_START_TIME, "AllSlicesHaveTheSameStartTime"),
        (Self::CONFLICTING_PREFERRED_OFFSETS, "FailConflictingPreferredOffsets"),
        (Self::SYNC_DATA_MOVE_REPLACEMENT, "FailSyncDataMoveReplacement"),
    ];

    /// Nothing failed.
    pub fn is_success(self) -> bool {
        self == Self::SUCCESS
    }

    /// All failures of `other` are among these.
    pub fn has(self, other: Self) -> bool {
        self.0 & other.0 == other.0
    }
}

impl BitOr for Outcome {
    type Output = Self;

    fn bitor(self, other: Self) -> Self {
        Self(self.0 | other.0)
    }
}

impl BitOrAssign for Outcome {
    fn bitor_assign(&mut self, other: Self) {
        self.0 |= other.0;
    }
}

/// As XLA logs it: "Success", or the failures joined by " | ".
impl fmt::Display for Outcome {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.is_success() {
            return f.write_str("Success");
        }
        let mut names = Self::NAMES.iter().filter(|(bit, _)| self.has(*bit)).map(|(_, name)| *name);
        f.write_str(names.next().unwrap_or_default())?;
        names.try_for_each(|name| write!(f, " | {name}"))
    }
}

impl Serialize for Outcome {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn written_as_logged() {
        assert_eq!(Outcome::SUCCESS.to_string(), "Success");
        let both = Outcome::PREVIOUS_NOT_IN_ALTERNATE | Outcome::OUT_OF_MEMORY;
        assert_eq!(both.to_string(), "FailOutOfMemory | FailPrevAllocationNotInAlternateMem");
    }
}
