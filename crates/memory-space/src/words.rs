//! Decisions in English, made here and nowhere else.

use crate::problem::Error;
use std::fmt;

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::TooLarge { what, most } => write!(f, "too many {what}: at most {most}"),
            Self::TimeOutOfRange { what, time } => {
                write!(f, "{what}: time {time} is outside of the schedule")
            }
            Self::BadOption { option } => write!(f, "{option} makes no sense"),
            Self::ContradictoryRequirement { value, time } => {
                write!(f, "value {value} is required in both memories at {time}")
            }
            Self::PinnedDoesNotFit { name, outcome } => {
                write!(f, "{name} must be in alternate memory and cannot be: {outcome}")
            }
            Self::ScopedDoesNotFit { time, size } => {
                write!(f, "{size} bytes of scoped memory do not fit at {time}")
            }
        }
    }
}

impl std::error::Error for Error {}
