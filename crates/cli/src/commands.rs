//! One module a command.

pub(crate) mod advise;
pub(crate) mod assign;
pub(crate) mod budget;
pub(crate) mod check;
pub(crate) mod collective;
pub(crate) mod completions;
pub(crate) mod constants;
pub(crate) mod copies;
pub(crate) mod deallocate;
pub(crate) mod decisions;
pub(crate) mod diff;
pub(crate) mod donation;
pub(crate) mod explain;
pub(crate) mod inspect;
pub(crate) mod memory_space;
pub(crate) mod optimum;
pub(crate) mod owners;
pub(crate) mod pack;
pub(crate) mod peak;
pub(crate) mod print;
pub(crate) mod reduce;
pub(crate) mod remap;
pub(crate) mod report;
pub(crate) mod shares;
pub(crate) mod try_edits;
pub(crate) mod why;
