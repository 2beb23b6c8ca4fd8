//! The main loop (MEMORY_SPACE 5 and 9): buffer after buffer, all or nothing, with retries and repacking.

use crate::allocation::{Allocation, Assignment, Kind, OffsetGroup, UseRef};
use crate::colours::Colours;
use crate::decision::{Decision, NotConsidered, RollBack, Segment};
use crate::heap::{Chunk, Heap};
use crate::picker::Intervals;
use crate::problem::{
    AllocationValue, Buffer, BufferIndex, Error, Problem, RequirementReason, Space, Split, Use, UseOverride,
    ValueId,
};
use crate::resource::{CopyResource, Order, Outstanding};
use crate::segment::Request;
use crate::{Outcome, Time};
use std::collections::{BTreeMap, BTreeSet};

/// Runs memory space assignment.
///
/// # Errors
/// If the problem contradicts itself ([`Problem::check`]), or something that must be in alternate memory does not fit.
pub fn assign(problem: &Problem) -> Result<Assignment, Error> {
    problem.check()?;
    let mut engine = Engine::new(problem)?;
    engine.allocate_blocks()?;
    engine.allocate_scoped()?;
    engine.reserve_colours()?;
    engine.allocate_cross_program();
    for index in 0..problem.buffers.len() {
        engine.allocate_buffer(BufferIndex(index as u32))?;
    }
    engine.allocate_windows();
    engine.check_overrides()?;
    Ok(engine.finish())
}

/// A requirement in force (8).
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Required {
    pub(crate) space: Space,
    pub(crate) group: Option<OffsetGroup>,
    pub(crate) reason: RequirementReason,
}

/// A copy that has been booked.
#[derive(Clone, Debug)]
pub(crate) struct Booked {
    pub(crate) is_prefetch: bool,
    /// Exclusive start, end and seconds of each slice.
    pub(crate) parts: Vec<(Time, Time, f32)>,
    /// The start as the count of outstanding copies knows it.
    pub(crate) counted: Vec<(Time, Time)>,
}

/// What is tried for one buffer, until it is final or taken back.
#[derive(Debug)]
pub(crate) struct Trial<'p> {
    /// The buffer it is about; others may be tried with it.
    pub(crate) buffer: BufferIndex,
    pub(crate) retry: u32,
    pub(crate) values: Vec<&'p AllocationValue>,
    /// The buffer and place there of each of them.
    pub(crate) owners: Vec<(BufferIndex, u32)>,
    /// Copies that are to be made asynchronous.
    pub(crate) pending: Vec<Pending>,
    /// The allocations of each position; a copy's source is a place in the same list.
    pub(crate) sequences: Vec<Vec<Allocation>>,
    /// Since when each position has been dealt with.
    pub(crate) definition_times: Vec<Time>,
    /// Positions inside conditionals that share an allocation from outside.
    pub(crate) is_mirrored: Vec<bool>,
    pub(crate) preferred_groups: BTreeMap<u32, OffsetGroup>,
    pub(crate) all_use_times: Vec<Time>,
    pub(crate) chunks: Vec<(Time, Time, Chunk)>,
    pub(crate) copies: Vec<Booked>,
    pub(crate) requirements: Vec<(ValueId, Time)>,
    /// Reservations of colours that were given back.
    pub(crate) released: Vec<usize>,
    pub(crate) steps: Vec<crate::decision::Step>,
}

/// A synchronous copy or slice that is tried as an asynchronous one (19).
#[derive(Clone, Copy, Debug)]
pub(crate) struct Pending {
    /// The position it reads, and the use.
    pub(crate) position: usize,
    pub(crate) usage: usize,
    /// The position it defines.
    pub(crate) target: usize,
    pub(crate) earliest_time: Time,
    pub(crate) latest_time: Time,
    pub(crate) is_realized: bool,
}

/// Allocations that are packed together, at one offset (22).
#[derive(Clone, Debug, Default)]
pub(crate) struct Ring {
    /// Places in the list of final allocations, in the order in which they joined.
    pub(crate) members: Vec<usize>,
}

pub(crate) struct Engine<'p> {
    pub(crate) problem: &'p Problem,
    pub(crate) intervals: Intervals,
    pub(crate) computation_of: Vec<u32>,
    pub(crate) heap: Heap,
    pub(crate) prefetch_resource: CopyResource,
    pub(crate) eviction_resource: CopyResource,
    pub(crate) prefetches: Outstanding,
    pub(crate) evictions: Outstanding,
    pub(crate) prefetch_order: Order,
    pub(crate) required: BTreeMap<(ValueId, Time), Required>,
    /// The offset of each group of allocations that must keep one.
    pub(crate) offsets: Vec<u64>,
    pub(crate) finalized: Vec<Allocation>,
    pub(crate) rings: Vec<Ring>,
    pub(crate) edge_times: BTreeSet<Time>,
    pub(crate) cross_program_values: BTreeSet<ValueId>,
    /// Buffers that have been dealt with.
    is_done: Vec<bool>,
    /// For each buffer, the position, if any, from which a synchronous copy could fill it.
    conversion_sources: Vec<Option<(BufferIndex, u32, u32)>>,
    /// Conversions given up: buffer, position and use.
    failed_conversions: BTreeSet<(BufferIndex, u32, u32)>,
    has_conversions: bool,
    pub(crate) decisions: Vec<Decision>,
    pub(crate) repacks: u32,
    pub(crate) successful_repacks: u32,
    pub(crate) memory_pressure: u64,
    /// What scoped memory and colours leave.
    pub(crate) available: u64,
    pub(crate) colours: Colours,
    block_buffers: BTreeSet<BufferIndex>,
}

impl<'p> Engine<'p> {
    fn new(problem: &'p Problem) -> Result<Self, Error> {
        let end = problem.end_time();
        let options = &problem.options;
        let intervals = Intervals::new(
            &problem.instructions,
            options.while_execution_count,
            options.copy_bandwidth_bytes_per_second,
            options.size_override,
            options.interval_rule,
            options.max_size_in_bytes,
        );
        let seconds =
            || problem.instructions.iter().map(|i| if i.is_control_flow { 0.0 } else { i.copy_seconds });
        let mut required = BTreeMap::new();
        for r in &problem.required {
            let new = Required { space: r.space, group: None, reason: r.reason.clone() };
            let old = required.insert((r.value, r.time), new);
            if old.is_some_and(|old| old.space != r.space) {
                return Err(Error::ContradictoryRequirement { value: r.value, time: r.time });
            }
        }
        let available = options.max_size_in_bytes;
        let pressure = || {
            let wanted = problem.buffers.iter().filter(|b| b.is_allowed && b.size <= available);
            wanted.fold(0, |sum: u64, b| sum.saturating_add(b.size))
        };
        Ok(Self {
            problem,
            intervals,
            computation_of: problem.instructions.iter().map(|i| i.computation.0).collect(),
            heap: Heap::new(end, options.alignment_in_bytes),
            prefetch_resource: CopyResource::new(seconds()),
            eviction_resource: CopyResource::new(seconds()),
            prefetches: Outstanding::new(end),
            evictions: Outstanding::new(end),
            prefetch_order: Order::new(end),
            required,
            offsets: Vec::new(),
            finalized: Vec::new(),
            rings: Vec::new(),
            edge_times: BTreeSet::new(),
            cross_program_values: BTreeSet::new(),
            is_done: vec![false; problem.buffers.len()],
            conversion_sources: conversion_sources(problem),
            failed_conversions: BTreeSet::new(),
            has_conversions: false,
            decisions: Vec::new(),
            repacks: 0,
            successful_repacks: 0,
            memory_pressure: problem.memory_pressure.unwrap_or_else(pressure),
            available,
            colours: Colours::default(),
            block_buffers: BTreeSet::new(),
        })
    }

    pub(crate) fn max_size(&self) -> u64 {
        self.problem.options.max_size_in_bytes
    }

    pub(crate) fn buffer(&self, index: BufferIndex) -> &'p Buffer {
        &self.problem.buffers[index.index()]
    }

    pub(crate) fn new_group(&mut self, offset: u64) -> OffsetGroup {
        self.offsets.push(offset);
        OffsetGroup(self.offsets.len() as u32 - 1)
    }

    pub(crate) fn offset(&self, group: OffsetGroup) -> u64 {
        self.offsets[group.0 as usize]
    }

    pub(crate) fn required_at(&self, value: ValueId, time: Time) -> Option<&Required> {
        self.required.get(&(value, time))
    }

    /// Adds a requirement for the time of the trial; gives whether it agrees with what is required already.
    pub(crate) fn require(
        &mut self,
        trial: &mut Trial<'_>,
        value: ValueId,
        time: Time,
        required: Required,
    ) -> bool {
        if self.colours.forbids(value, time, required.space) {
            return false;
        }
        if let Some(old) = self.required.get(&(value, time)) {
            let offset = |r: &Required| r.group.map(|group| self.offset(group));
            return old.space == required.space && offset(old) == offset(&required);
        }
        self.required.insert((value, time), required);
        trial.requirements.push((value, time));
        true
    }

    /// Adds a requirement that outlives the trial.
    pub(crate) fn require_for_good(&mut self, value: ValueId, time: Time, reason: RequirementReason) -> bool {
        if self.required.contains_key(&(value, time)) {
            return false;
        }
        self.required.insert((value, time), Required { space: Space::Default, group: None, reason });
        true
    }

    pub(crate) fn commit(&mut self, trial: &mut Trial<'_>, start: Time, end: Time, chunk: Chunk) {
        if start <= end {
            self.heap.commit(start, end, chunk);
            trial.chunks.push((start, end, chunk));
        }
    }

    pub(crate) fn book(&mut self, trial: &mut Trial<'_>, copy: Booked) {
        self.add_copy(&copy);
        trial.copies.push(copy);
    }

    pub(crate) fn add_copy(&mut self, copy: &Booked) {
        let (resource, counts) = if copy.is_prefetch {
            (&mut self.prefetch_resource, &mut self.prefetches)
        } else {
            (&mut self.eviction_resource, &mut self.evictions)
        };
        for (start, end, seconds) in &copy.parts {
            resource.add(*start, *end, *seconds);
            if copy.is_prefetch {
                self.prefetch_order.add(*start, *end);
            }
        }
        for (start, done) in &copy.counted {
            counts.add(*start, *done);
        }
    }

    fn roll_back(&mut self, trial: &mut Trial<'_>) {
        for (start, end, chunk) in trial.chunks.drain(..).rev() {
            self.heap.uncommit(start, end, chunk);
        }
        let copies = std::mem::take(&mut trial.copies);
        let parts = |is_prefetch: bool| {
            let of_kind = copies.iter().rev().filter(move |c| c.is_prefetch == is_prefetch);
            of_kind.flat_map(|c| c.parts.iter().rev().copied())
        };
        self.prefetch_resource.roll_back(parts(true));
        self.eviction_resource.roll_back(parts(false));
        for (start, end, _) in parts(true) {
            self.prefetch_order.remove(start, end);
        }
        for copy in &copies {
            for (start, done) in &copy.counted {
                let counts = if copy.is_prefetch { &mut self.prefetches } else { &mut self.evictions };
                counts.remove(*start, *done);
            }
        }
        for key in trial.requirements.drain(..) {
            self.required.remove(&key);
        }
        self.reserve_again(trial);
    }

    /// Buffers that are tried together because of copies between them that could be asynchronous (19).
    fn joint_buffers(&self, lead: BufferIndex) -> Vec<BufferIndex> {
        let is_usable =
            |index: BufferIndex| !self.is_done[index.index()] && self.not_considered(index).is_none();
        let mut joint = vec![lead];
        let mut at = 0;
        while let Some(index) = joint.get(at).copied() {
            at += 1;
            let mut add = |other: BufferIndex| {
                if is_usable(other) && !joint.contains(&other) {
                    joint.push(other);
                }
            };
            for (position, value) in self.buffer(index).allocation_values.iter().enumerate() {
                for (usage_at, usage) in value.uses.iter().enumerate() {
                    let key = (index, position as u32, usage_at as u32);
                    if let Some(conversion) = usage.conversion
                        && !self.failed_conversions.contains(&key)
                    {
                        add(conversion.target);
                    }
                }
            }
            if let Some(key) = self.conversion_sources[index.index()]
                && !self.failed_conversions.contains(&key)
            {
                add(key.0);
            }
        }
        let range = |index: &BufferIndex| {
            let values = &self.buffer(*index).allocation_values;
            let start = values.iter().map(|v| v.definition_time).min().unwrap_or(0);
            let end = values.iter().flat_map(|v| v.uses.iter().map(|u| u.time)).max().unwrap_or(start);
            (start, end)
        };
        joint.sort_by_key(range);
        joint
    }

    fn new_trial(&self, index: BufferIndex, retry: u32) -> Trial<'p> {
        let mut values: Vec<&'p AllocationValue> = Vec::new();
        let mut owners = Vec::new();
        let joint = self.joint_buffers(index);
        for buffer in &joint {
            for (position, value) in self.buffer(*buffer).allocation_values.iter().enumerate() {
                values.push(value);
                owners.push((*buffer, position as u32));
            }
        }
        let mut pending = Vec::new();
        for (position, value) in values.iter().enumerate() {
            for (usage, conversion) in
                value.uses.iter().enumerate().filter_map(|(i, u)| Some((i, u.conversion?)))
            {
                let key = (owners[position].0, owners[position].1, usage as u32);
                let target =
                    owners.iter().position(|owner| *owner == (conversion.target, conversion.position));
                if let Some(target) = target
                    && !self.failed_conversions.contains(&key)
                {
                    pending.push(Pending {
                        position,
                        usage,
                        target,
                        earliest_time: conversion.earliest_time,
                        latest_time: conversion.latest_time,
                        is_realized: false,
                    });
                }
            }
        }
        pending.sort_by_key(|p| values[p.position].uses[p.usage].time);
        let mut all_use_times: Vec<Time> =
            values.iter().flat_map(|v| v.uses.iter().map(|u| u.time)).collect();
        all_use_times.sort_unstable();
        Trial {
            buffer: index,
            retry,
            sequences: vec![Vec::new(); values.len()],
            definition_times: values.iter().map(|v| v.definition_time).collect(),
            is_mirrored: vec![false; values.len()],
            values,
            owners,
            pending,
            preferred_groups: BTreeMap::new(),
            all_use_times,
            chunks: Vec::new(),
            copies: Vec::new(),
            requirements: Vec::new(),
            released: Vec::new(),
            steps: Vec::new(),
        }
    }

    /// Gives up the first conversion of the trial that was not realized; `false` if there is none.
    fn give_up_conversion(&mut self, trial: &Trial<'_>) -> bool {
        let Some(p) = trial.pending.iter().find(|p| !p.is_realized) else { return false };
        let (buffer, position) = trial.owners[p.position];
        self.failed_conversions.insert((buffer, position, p.usage as u32))
    }

    /// Whether a slice of the buffer could be copied, which needs no place for the whole of it (9).
    fn has_slice(&self, index: BufferIndex) -> bool {
        let buffer = self.buffer(index);
        buffer.allocation_values.iter().enumerate().any(|(position, value)| {
            value.uses.iter().enumerate().any(|(usage_at, usage)| {
                let key = (index, position as u32, usage_at as u32);
                usage.conversion.is_some_and(|conversion| {
                    let target = self.buffer(conversion.target);
                    target.size < buffer.size
                        && target.size <= self.available
                        && target.is_allowed
                        && !self.is_done[conversion.target.index()]
                        && !self.failed_conversions.contains(&key)
                })
            })
        })
    }

    /// Bytes of a buffer for each core: the whole, or its share if all its positions agree how to split it; `None` if they
    /// do not agree (20).
    fn split_size(&self, index: BufferIndex) -> Option<u64> {
        let buffer = self.buffer(index);
        let mut agreed = Split::Any;
        for value in &buffer.allocation_values {
            agreed = match (agreed, value.split) {
                (Split::Any, other) | (other, Split::Any) => other,
                (one, other) if one == other => one,
                _ => return None,
            };
        }
        let Split::Dimension(dimension) = agreed else { return Some(buffer.size) };
        let size = buffer.split_sizes.iter().find(|(d, _)| *d == dimension).map(|(_, size)| *size);
        Some(size.unwrap_or(buffer.size))
    }

    /// The same, the whole if they do not agree.
    pub(crate) fn size_of(&self, index: BufferIndex) -> u64 {
        self.split_size(index).unwrap_or(self.buffer(index).size)
    }

    /// Leaves a buffer to block prefetching.
    pub(crate) fn finish_block(&mut self, index: BufferIndex) {
        self.block_buffers.insert(index);
    }

    /// An allocation of a buffer outside of a trial.
    pub(crate) fn plain_allocation(
        &self,
        index: BufferIndex,
        kind: Kind,
        space: Space,
        (start, end): (Time, Time),
    ) -> Allocation {
        let buffer = self.buffer(index);
        let definition = buffer.allocation_values.first();
        Allocation {
            kind,
            space,
            buffer: Some(index),
            id: buffer.id,
            value: Some(buffer.value),
            position: buffer.name.clone(),
            definition_time: definition.map_or(start, |v| v.definition_time),
            start,
            end,
            size: buffer.size,
            offset: None,
            copy: None,
            slices: Vec::new(),
            source: None,
            replaces: None,
            uses: Vec::new(),
            group: None,
            source_position: None,
        }
    }

    /// Whether every override came true, where that is asked (20).
    fn check_overrides(&self) -> Result<(), Error> {
        if !self.problem.options.fail_on_unsatisfied_override {
            return Ok(());
        }
        for (index, buffer) in self.problem.buffers.iter().enumerate() {
            for (position, value) in buffer.allocation_values.iter().enumerate() {
                for (usage_at, usage) in value.uses.iter().enumerate() {
                    let Some(asked) = usage.asked else { continue };
                    let read = UseRef::Buffer {
                        buffer: BufferIndex(index as u32),
                        position: position as u32,
                        usage: usage_at as u32,
                    };
                    let from = self.finalized.iter().find(|a| a.uses.contains(&read));
                    let is_alternate = from.is_some_and(|a| a.space == Space::Alternate);
                    let copy = from.filter(|_| is_alternate).and_then(|a| a.copy);
                    let came_true = match asked {
                        UseOverride::KeepInDefault => !is_alternate,
                        UseOverride::Pin => is_alternate && copy.is_none(),
                        UseOverride::Prefetch { .. } => copy.is_some(),
                        UseOverride::OnlyStart { start } => copy.is_some_and(|c| c.start == start),
                    };
                    if !came_true {
                        return Err(Error::UnsatisfiedOverride { usage: usage.name.clone() });
                    }
                }
            }
        }
        Ok(())
    }

    fn not_considered(&self, index: BufferIndex) -> Option<NotConsidered> {
        let buffer = self.buffer(index);
        if self.cross_program_values.contains(&buffer.value) {
            return Some(NotConsidered::CrossProgramPrefetched);
        }
        if !buffer.is_allowed {
            return Some(NotConsidered::NotAllowed);
        }
        if self.block_buffers.contains(&index) {
            return Some(NotConsidered::BlockPrefetched);
        }
        let Some(size) = self.split_size(index) else { return Some(NotConsidered::SplitsDisagree) };
        if size > self.available && !self.has_slice(index) {
            return Some(NotConsidered::TooLarge { size, available: self.available });
        }
        None
    }

    /// One buffer (9).
    fn allocate_buffer(&mut self, index: BufferIndex) -> Result<(), Error> {
        let buffer = self.buffer(index);
        if self.is_done[index.index()] {
            return Ok(());
        }
        if let Some(reason) = self.not_considered(index) {
            if buffer.is_pinned {
                return Err(Error::PinnedDoesNotFit {
                    name: buffer.name.clone(),
                    outcome: Outcome::OUT_OF_MEMORY,
                });
            }
            self.decisions.push(Decision::NotConsidered { buffer: index, reason });
            return Ok(());
        }
        let mut has_repacked = false;
        let mut retry = 0;
        while retry < self.problem.options.max_retries {
            self.prefetch_resource.begin_trial();
            self.eviction_resource.begin_trial();
            // A conversion that was given up may have been the only reason to try.
            if self.not_considered(index).is_some() {
                break;
            }
            let mut trial = self.new_trial(index, retry);
            self.require_for_conditional_outputs(&mut trial);
            let outcome = self.allocate_values(&mut trial)?;
            if outcome.has(Outcome::SYNC_DATA_MOVE_REPLACEMENT) {
                self.take_back(&mut trial, outcome, RollBack::Conversion);
                // One conversion less each time, so this ends; without one it would not.
                if !self.give_up_conversion(&trial) {
                    retry += 1;
                }
                continue;
            }
            if outcome.has(Outcome::REQUIRES_UNCOMMIT) {
                self.take_back(&mut trial, outcome, RollBack::RequiresUncommit);
                trial.pending.iter_mut().for_each(|p| p.is_realized = false);
                if retry == 0 || !self.give_up_conversion(&trial) {
                    retry += 1;
                }
                continue;
            }
            let may_repack =
                outcome.has(Outcome::OUT_OF_MEMORY) || self.problem.options.repack_after_every_allocation;
            let has_budget = self.repacks < self.problem.options.max_repacks && !self.has_conversions;
            if may_repack && !has_repacked && has_budget {
                self.take_back(&mut trial, outcome, RollBack::Repack);
                has_repacked = true;
                self.repacks += 1;
                if !self.repack(index) {
                    retry += 1;
                }
                continue;
            }
            if trial.pending.is_empty() && self.forbid_inefficient_sites(&trial) {
                self.take_back(&mut trial, outcome, RollBack::Inefficient);
                continue;
            }
            self.finalize(trial);
            break;
        }
        self.is_done[index.index()] = true;
        Ok(())
    }

    fn take_back(&mut self, trial: &mut Trial<'_>, outcome: Outcome, reason: RollBack) {
        self.roll_back(trial);
        self.decisions.push(Decision::RolledBack {
            buffer: trial.buffer,
            retry: trial.retry,
            outcome,
            reason,
        });
    }

    /// What is asked for a position, in order of time: the position whose use it is, the use, and whether the value is only
    /// kept until then. A copy that is to be asynchronous brings the uses of its result along (19).
    fn work_list(trial: &Trial<'_>, position: usize) -> Vec<(usize, usize, bool)> {
        let mut list = Vec::new();
        for usage in 0..trial.values[position].uses.len() {
            let pending = trial.pending.iter().find(|p| p.position == position && p.usage == usage);
            list.push((position, usage, pending.is_some()));
            if let Some(pending) = pending {
                let uses = trial.values[pending.target].uses.len();
                list.extend((0..uses).map(|usage| (pending.target, usage, false)));
            }
        }
        list.sort_by_key(|(of, usage, _)| trial.values[*of].uses[*usage].time);
        list
    }

    /// All positions of the buffer, all uses of each (10).
    fn allocate_values(&mut self, trial: &mut Trial<'p>) -> Result<Outcome, Error> {
        let mut total = Outcome::SUCCESS;
        for position in 0..trial.values.len() {
            if trial.is_mirrored[position] || trial.pending.iter().any(|p| p.target == position) {
                continue;
            }
            let value = trial.values[position];
            let mut previous: Option<&'p Use> = None;
            if !value.uses.is_empty() && !value.is_position_allowed {
                let reason = RequirementReason::PositionNotAllowed;
                let required = Required { space: Space::Default, group: None, reason };
                self.require(trial, value.value, value.definition_time, required);
            }
            for (of, usage_at, is_extend_only) in Self::work_list(trial, position) {
                let usage = &trial.values[of].uses[usage_at];
                if usage.kind == crate::problem::UseKind::Trivial {
                    continue;
                }
                let mut request = self.request(trial, position, of, usage_at, previous);
                request.is_extend_only = is_extend_only;
                if let Some(pending) = trial.pending.iter().find(|p| p.target == of && of != position) {
                    request.earliest_prefetch = request.earliest_prefetch.max(Some(pending.earliest_time));
                    request.required_copy_by = Some(pending.latest_time);
                    request.latest_prefetch = request.latest_prefetch.min(pending.latest_time);
                }
                trial.steps.clear();
                let outcome = self.allocate_segment(trial, &request);
                total |= outcome;
                let mut moves_to = None;
                if request.required_copy_by.is_some() && !outcome.has(Outcome::REQUIRES_UNCOMMIT) {
                    // There is to be one copy; a second use that needs another makes the conversion fail.
                    let is_second = trial.pending.iter().any(|p| p.target == of && p.is_realized);
                    let is_realized = !is_second
                        && outcome.is_success()
                        && trial.sequences[position]
                            .last()
                            .is_some_and(|a| a.is_copy_like() && a.space == Space::Alternate);
                    moves_to = is_realized.then_some(of);
                    for pending in trial.pending.iter_mut().filter(|p| p.target == of) {
                        pending.is_realized = is_realized;
                    }
                    if !is_realized {
                        total |= Outcome::REQUIRES_UNCOMMIT | Outcome::SYNC_DATA_MOVE_REPLACEMENT;
                    }
                }
                if !is_extend_only
                    && !total.has(Outcome::REQUIRES_UNCOMMIT)
                    && !self.after_segment(trial, &request, previous, outcome)
                {
                    total |= Outcome::REQUIRES_UNCOMMIT;
                }
                let steps = std::mem::take(&mut trial.steps);
                self.decisions.push(Decision::Segment(Segment {
                    buffer: trial.owners[position].0,
                    value: value.value,
                    position: value.name.clone(),
                    usage: usage.name.clone(),
                    start: request.start,
                    end: request.end,
                    latest_prefetch_time: request.latest_prefetch,
                    retry: trial.retry,
                    outcome,
                    steps,
                }));
                if total.has(Outcome::REQUIRES_UNCOMMIT) {
                    return Ok(total);
                }
                // The copy is what defines its result from now on.
                if let Some(target) = moves_to
                    && let Some(mut copy) = trial.sequences[position].pop()
                {
                    copy.source_position = Some(position);
                    copy.replaces = Some(trial.values[target].definition_time);
                    trial.sequences[target].push(copy);
                }
                if request.require_no_copy && !total.is_success() {
                    let name = self.buffer(trial.buffer).name.clone();
                    return Err(Error::PinnedDoesNotFit { name, outcome: total });
                }
                trial.definition_times[of] = usage.time;
                previous = Some(usage);
            }
        }
        if trial.pending.iter().any(|p| !p.is_realized) {
            total |= Outcome::REQUIRES_UNCOMMIT | Outcome::SYNC_DATA_MOVE_REPLACEMENT;
        }
        Ok(total)
    }

    /// What was tried stands (9).
    fn finalize(&mut self, trial: Trial<'_>) {
        let base_ring = self.rings.len();
        let mut ring_of: BTreeMap<OffsetGroup, usize> = BTreeMap::new();
        let mut in_alternate = 0;
        // What a converted copy defines comes last.
        let mut order: Vec<usize> = (0..trial.sequences.len()).collect();
        order.sort_by_key(|position| trial.pending.iter().any(|p| p.target == *position));
        let mut bases = vec![0; order.len()];
        let mut next = self.finalized.len();
        for position in &order {
            bases[*position] = next;
            next += trial.sequences[*position].len();
        }
        let mut sequences = trial.sequences;
        for position in order {
            let sequence = std::mem::take(&mut sequences[position]);
            for mut allocation in sequence {
                let home = allocation.source_position.unwrap_or(position);
                allocation.source = allocation.source.map(|at| bases[home] + at);
                allocation.offset = allocation.group.map(|group| self.offset(group));
                if allocation.space == Space::Alternate {
                    in_alternate += 1;
                    self.edge_times.insert(allocation.start - 1);
                    self.edge_times.insert(allocation.end + 1);
                    if let Some(group) = allocation.group {
                        let next = base_ring + ring_of.len();
                        let ring = *ring_of.entry(group).or_insert(next);
                        if ring == self.rings.len() {
                            self.rings.push(Ring::default());
                        }
                        self.rings[ring].members.push(self.finalized.len());
                    }
                }
                self.finalized.push(allocation);
            }
        }
        for (buffer, _) in &trial.owners {
            self.is_done[buffer.index()] = true;
        }
        self.has_conversions |= !trial.pending.is_empty();
        self.decisions.push(Decision::Finalized { buffer: trial.buffer, in_alternate });
    }

    /// Views of default memory that nothing was read or copied from (16).
    fn drop_unused_views(&mut self) {
        let is_source: BTreeSet<usize> = self.finalized.iter().filter_map(|a| a.source).collect();
        let is_kept = |at: usize, a: &Allocation| {
            let is_view = a.space == Space::Default && matches!(a.kind, Kind::Parent | Kind::Mirrored);
            !is_view || !a.uses.is_empty() || is_source.contains(&at)
        };
        let mut place = Vec::with_capacity(self.finalized.len());
        let mut kept = 0;
        for (at, allocation) in self.finalized.iter().enumerate() {
            place.push(kept);
            kept += usize::from(is_kept(at, allocation));
        }
        let mut at = 0;
        self.finalized.retain(|a| {
            at += 1;
            is_kept(at - 1, a)
        });
        for allocation in &mut self.finalized {
            allocation.source = allocation.source.map(|at| place[at]);
        }
    }

    fn finish(mut self) -> Assignment {
        self.drop_unused_views();
        for allocation in &mut self.finalized {
            allocation.offset = allocation.group.map(|group| self.offsets[group.0 as usize]);
        }
        let used = self.finalized.iter().filter(|a| a.space == Space::Alternate);
        let leftover = self.leftover_reservations();
        let used = used.chain(&leftover);
        let heap_size = used.filter_map(|a| Some(a.offset?.saturating_add(a.size))).max().unwrap_or(0);
        self.finalized.extend(leftover);
        Assignment {
            allocations: self.finalized,
            decisions: self.decisions,
            heap_size,
            repacks: self.successful_repacks,
        }
    }

    /// An allocation of a position of the trial.
    pub(crate) fn new_allocation(
        &self,
        trial: &Trial<'_>,
        position: usize,
        kind: Kind,
        space: Space,
        (start, end): (Time, Time),
        group: Option<OffsetGroup>,
    ) -> Allocation {
        let value = trial.values[position];
        let buffer = self.buffer(trial.owners[position].0);
        Allocation {
            kind,
            space,
            buffer: Some(trial.owners[position].0),
            id: buffer.id,
            value: Some(value.value),
            position: value.name.clone(),
            definition_time: value.definition_time,
            start,
            end,
            size: self.size_of(trial.owners[position].0),
            offset: group.map(|group| self.offset(group)),
            copy: None,
            slices: Vec::new(),
            source: None,
            uses: Vec::new(),
            group,
            source_position: None,
            replaces: None,
        }
    }

    pub(crate) fn use_ref(trial: &Trial<'_>, request: &Request) -> UseRef {
        let (buffer, position) = trial.owners[request.use_position];
        UseRef::Buffer { buffer, position, usage: request.usage as u32 }
    }
}

/// For each buffer, the position and use from which a synchronous copy could fill it.
fn conversion_sources(problem: &Problem) -> Vec<Option<(BufferIndex, u32, u32)>> {
    let mut sources = vec![None; problem.buffers.len()];
    for (index, buffer) in problem.buffers.iter().enumerate() {
        for (position, value) in buffer.allocation_values.iter().enumerate() {
            for (usage_at, usage) in value.uses.iter().enumerate() {
                if let Some(conversion) = usage.conversion {
                    sources[conversion.target.index()] =
                        Some((BufferIndex(index as u32), position as u32, usage_at as u32));
                }
            }
        }
    }
    sources
}
