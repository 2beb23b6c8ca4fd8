//! Copies that move more bytes than the uses they serve (MEMORY_SPACE 23).

use crate::Time;
use crate::allocation::UseRef;
use crate::decision::Decision;
use crate::engine::{Engine, Trial};
use crate::problem::{RequirementReason, Space, ValueId};
use std::collections::BTreeSet;

#[derive(Default)]
struct Group {
    copied: u64,
    used: u64,
    /// Something read or written is of unknown size: nothing can be said.
    is_unknown: bool,
    /// Positions that an allocation of this group is known to agree with.
    known: BTreeSet<(ValueId, Time)>,
    sites: Vec<(ValueId, Time, String)>,
}

impl Engine<'_> {
    /// Requires default memory, for good, at the sites of the trial that are not worth their copies; gives whether there
    /// are new ones.
    pub(crate) fn forbid_inefficient_sites(&mut self, trial: &Trial<'_>) -> bool {
        let ratio = self.problem.options.inefficient_use_to_copy_ratio;
        if ratio.is_nan() || ratio <= 0.0 || self.buffer(trial.buffer).is_pinned {
            return false;
        }
        let mut is_new = false;
        for group in groups(trial) {
            if group.is_unknown || group.copied == 0 || ratio * group.copied as f32 <= group.used as f32 {
                continue;
            }
            let mut sites = Vec::new();
            for (value, time, name) in group.sites {
                if self.require_for_good(value, time, RequirementReason::InefficientSite) {
                    sites.push(name);
                }
            }
            if !sites.is_empty() {
                is_new = true;
                self.decisions.push(Decision::Inefficient {
                    buffer: trial.buffer,
                    copied_bytes: group.copied,
                    used_bytes: group.used,
                    sites,
                });
            }
        }
        is_new
    }
}

/// Allocations that touch alternate memory, grouped by the sites they share.
fn groups(trial: &Trial<'_>) -> Vec<Group> {
    let mut groups: Vec<Group> = Vec::new();
    for (position, sequence) in trial.sequences.iter().enumerate() {
        let value = trial.values[position];
        for allocation in sequence {
            let is_alternate = allocation.space == Space::Alternate;
            let is_copy = allocation.is_copy_like();
            if !is_alternate && !is_copy {
                continue;
            }
            let mut group = Group::default();
            let definition = (value.value, value.definition_time);
            let mut shared = BTreeSet::new();
            if is_copy {
                group.copied = allocation.size;
            }
            // An eviction and what it is copied from belong together; a prefetch stands alone.
            if is_alternate != is_copy {
                shared.insert(definition);
                group.known.insert(definition);
            }
            if is_alternate && !is_copy {
                match value.bytes_accessed {
                    Some(bytes) => group.used = bytes,
                    None => group.is_unknown = true,
                }
                group.sites.push((definition.0, definition.1, value.name.clone()));
            }
            if is_alternate {
                for usage in &allocation.uses {
                    let UseRef::Buffer { usage, .. } = usage else { continue };
                    let Some(usage) = value.uses.get(*usage as usize) else { continue };
                    match usage.bytes_accessed {
                        Some(bytes) => group.used = group.used.saturating_add(bytes),
                        None => group.is_unknown = true,
                    }
                    group.sites.push((value.value, usage.corrected_time, usage.name.clone()));
                    // The root of a body stands for the tuple there.
                    shared.insert((value.value, usage.time));
                    group.known.extend(usage.aliases.iter().map(|alias| (alias.value, alias.time)));
                }
            }
            let (hits, others): (Vec<Group>, Vec<Group>) =
                groups.into_iter().partition(|other| shared.iter().any(|site| other.known.contains(site)));
            groups = others;
            for hit in hits {
                group.copied = group.copied.saturating_add(hit.copied);
                group.used = group.used.saturating_add(hit.used);
                group.is_unknown |= hit.is_unknown;
                group.known.extend(hit.known);
                group.sites.extend(hit.sites);
            }
            groups.push(group);
        }
    }
    groups
}
