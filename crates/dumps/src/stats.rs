//! The statistics block of the log and of out-of-memory reports (9.5).

use crate::human;
use analysis::Facts;
use assigner::{Allocation, Assignment};
use hlo::Module;
use std::fmt;

/// What the block says, in bytes. A buffer of a donated parameter counts as parameter and as result.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Stats {
    /// Entry parameters.
    pub parameter: u64,
    /// Constants.
    pub constant: u64,
    /// What may hold a part of the result.
    pub maybe_live_out: u64,
    /// Preallocated temps.
    pub temp: u64,
    /// How far the heaps are above their unfragmented sizes (10.6). `None` where no heap was packed, or where the
    /// difference is negative because values that share a place were counted twice.
    pub temp_fragmentation: Option<u64>,
    /// All allocations.
    pub total: u64,
    /// The same for all allocations together, as though everything but constants were in one heap.
    pub total_fragmentation: Option<u64>,
}

/// Adds an assignment up. The module's own ranges count, as in [`crate::live_range`].
#[must_use]
pub fn stats(module: &Module, facts: &Facts, assignment: &Assignment) -> Stats {
    let sum = |wanted: fn(&Allocation) -> bool| {
        assignment.allocations.iter().filter(|a| wanted(a)).fold(0_u64, |n, a| n.saturating_add(a.size))
    };
    // XLA marks a number that is not there by -1, and takes a sum that happens to be -1 for one that is not there.
    let heaps = assignment.heaps.iter().fold(-1_i128, |sum, run| {
        let one = i128::from(run.packing.total()) - i128::from(run.unfragmented);
        if sum == -1 { one } else { sum + one }
    });
    let total = sum(|_| true);
    let whole = i128::from(total) - i128::from(assigner::unfragmented(module, facts, &facts.ranges));
    Stats {
        parameter: sum(|a| a.parameter.is_some()),
        constant: sum(|a| a.is_constant),
        maybe_live_out: sum(|a| a.maybe_live_out),
        temp: sum(Allocation::is_preallocated_temp),
        temp_fragmentation: u64::try_from(heaps).ok(),
        total,
        total_fragmentation: u64::try_from(whole).ok(),
    }
}

impl fmt::Display for Stats {
    /// The block as XLA prints it, each line with its end.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let line = |f: &mut fmt::Formatter<'_>, label: &str, bytes: u64| {
            write!(f, "{label:>33}: {:>10}", human(bytes))
        };
        let share = |f: &mut fmt::Formatter<'_>, part: u64, whole: u64| match whole {
            0 => f.write_str(" (-nan%)\n"),
            _ => writeln!(f, " ({:.2}%)", 100.0 * part as f64 / whole as f64),
        };
        f.write_str("BufferAssignment stats:\n")?;
        for (label, bytes) in [
            ("parameter allocation", self.parameter),
            ("constant allocation", self.constant),
            ("maybe_live_out allocation", self.maybe_live_out),
            ("preallocated temp allocation", self.temp),
        ] {
            line(f, label, bytes)?;
            f.write_str("\n")?;
        }
        if let Some(lost) = self.temp_fragmentation {
            line(f, "preallocated temp fragmentation", lost)?;
            share(f, lost, self.temp)?;
        }
        line(f, "total allocation", self.total)?;
        f.write_str("\n")?;
        if let Some(lost) = self.total_fragmentation {
            line(f, "total fragmentation", lost)?;
            share(f, lost, self.total)?;
        }
        Ok(())
    }
}
