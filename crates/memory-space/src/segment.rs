//! One request: a segment of a value's life, from its definition or last use to the next use (MEMORY_SPACE 10, 11, 16).

use crate::allocation::{Allocation, Kind, OffsetGroup};
use crate::decision::Step;
use crate::engine::{Engine, Required, Trial};
use crate::problem::{LoopHint, PrefetchTime, RequirementReason, Space, Use, UseKind, UseOverride};
use crate::{Outcome, Time};

/// What is asked for (10).
#[derive(Clone, Debug)]
pub(crate) struct Request {
    pub(crate) position: usize,
    /// The position whose use it is: another one, if a copy to that is to be made asynchronous.
    pub(crate) use_position: usize,
    pub(crate) usage: usize,
    pub(crate) size: u64,
    /// Only keep the value until then; nobody reads it.
    pub(crate) is_extend_only: bool,
    /// There must be a copy, done by then.
    pub(crate) required_copy_by: Option<Time>,
    pub(crate) start: Time,
    pub(crate) end: Time,
    pub(crate) latest_prefetch: Time,
    pub(crate) allow_no_copy: bool,
    pub(crate) prefer_no_copy: bool,
    pub(crate) require_no_copy: bool,
    pub(crate) allow_prefetch: bool,
    pub(crate) earliest_prefetch: Option<Time>,
    pub(crate) preferred_prefetch: Option<Time>,
    pub(crate) strict_prefetch: bool,
    pub(crate) preferred_group: Option<OffsetGroup>,
    /// The copy may start then and at no other time, and is booked as always.
    pub(crate) only_start: Option<Time>,
    /// The colour at the start and at the end (20): reservations, by their places.
    pub(crate) start_reserved: Option<usize>,
    pub(crate) end_reserved: Option<usize>,
    pub(crate) is_start_default: bool,
    pub(crate) is_end_default: bool,
}

/// The allocation that is alive at a time; the youngest, if there are several.
pub(crate) fn live_at(sequence: &[Allocation], time: Time) -> Option<usize> {
    sequence.iter().rposition(|a| a.start <= time && time <= a.end)
}

impl<'p> Engine<'p> {
    /// Whether a use by a while or conditional gains anything; `None` for other uses (16).
    fn is_beneficial(&self, usage: &Use) -> Option<bool> {
        match &usage.kind {
            UseKind::While { parameter_time, first_use_time, .. } => Some(
                first_use_time.is_some_and(|first| self.intervals.allows_no_copy(*parameter_time, first)),
            ),
            UseKind::Conditional { branches } => Some(
                branches.iter().any(|b| self.intervals.allows_no_copy(b.parameter_time, b.first_use_time)),
            ),
            _ => None,
        }
    }

    pub(crate) fn request(
        &mut self,
        trial: &mut Trial<'p>,
        position: usize,
        of: usize,
        usage_at: usize,
        previous: Option<&Use>,
    ) -> Request {
        let value = trial.values[position];
        let usage = &trial.values[of].uses[usage_at];
        let aliased = usage.aliases.iter().filter_map(|alias| self.required_at(alias.value, alias.time));
        let preferred_group = aliased
            .filter_map(|required| required.group)
            .next_back()
            .or_else(|| trial.preferred_groups.get(&value.computation.0).copied());
        let mut request = Request {
            position,
            use_position: of,
            usage: usage_at,
            size: self.size_of(trial.owners[of].0),
            is_extend_only: false,
            required_copy_by: None,
            start: trial.definition_times[of].min(usage.corrected_time),
            end: usage.corrected_time,
            latest_prefetch: usage.latest_prefetch_time.min(usage.corrected_time),
            allow_no_copy: true,
            prefer_no_copy: false,
            require_no_copy: self.buffer(trial.buffer).is_pinned,
            allow_prefetch: true,
            earliest_prefetch: None,
            preferred_prefetch: None,
            strict_prefetch: false,
            preferred_group,
            only_start: None,
            start_reserved: None,
            end_reserved: None,
            is_start_default: false,
            is_end_default: false,
        };
        let is_output_default = matches!(usage.kind, UseKind::While { .. })
            && usage.aliases.iter().any(|alias| {
                alias.time == usage.time
                    && self.required_at(alias.value, alias.time).is_some_and(|r| r.space == Space::Default)
            });
        // An instruction that reads a value twice finds it at one place.
        let siblings = || trial.values[of].uses.iter().filter(|u| u.corrected_time == usage.corrected_time);
        let is_kept = siblings().any(|u| u.asked == Some(UseOverride::KeepInDefault));
        let mut default_because = None;
        if is_output_default {
            default_because = Some(RequirementReason::AliasedUse);
        } else if siblings().any(|u| !u.is_allowed) {
            default_because = Some(RequirementReason::UseNotAllowed);
        } else if self.is_beneficial(usage) == Some(false) {
            if matches!(usage.kind, UseKind::While { .. }) {
                default_because = Some(RequirementReason::WhileWithoutBenefit);
            } else {
                let is_required = self.required_at(value.value, usage.corrected_time).is_some_and(|r| {
                    r.space == Space::Alternate && r.reason == RequirementReason::AliasedUse
                });
                if !is_required {
                    default_because = Some(RequirementReason::ConditionalWithoutBenefit);
                }
            }
        } else if let Some(previous) = previous
            && self.must_leave_conditional(trial, previous, usage)
        {
            request.allow_no_copy = false;
            request.earliest_prefetch = Some(previous.time);
        }
        if let Some(reason) = default_because
            && !request.require_no_copy
        {
            let required = Required { space: Space::Default, group: None, reason };
            self.require(trial, value.value, usage.corrected_time, required);
        }
        match usage.loop_hint {
            Some(LoopHint::Prefetch { start }) => request.preferred_prefetch = Some(start),
            Some(LoopHint::Alternate) => request.prefer_no_copy = true,
            Some(LoopHint::Default) => {
                request.allow_no_copy = false;
                request.allow_prefetch = false;
            }
            None => {}
        }
        if is_kept && !request.require_no_copy {
            request.allow_no_copy = false;
            request.allow_prefetch = false;
            let reason = RequirementReason::Override;
            let required = Required { space: Space::Default, group: None, reason };
            self.require(trial, value.value, usage.corrected_time, required);
        }
        match usage.asked {
            Some(UseOverride::KeepInDefault) => {}
            Some(UseOverride::Pin) => request.require_no_copy = true,
            Some(UseOverride::Prefetch { at, is_strict }) => {
                request.preferred_prefetch = Some(match at {
                    PrefetchTime::At(time) => time,
                    PrefetchTime::Eagerness(share) => {
                        let range = (request.latest_prefetch - request.start).max(0);
                        request.start + (range as f32 * share.clamp(0.0, 1.0)) as Time
                    }
                });
                request.strict_prefetch = is_strict;
            }
            Some(UseOverride::OnlyStart { start }) => request.only_start = Some(start),
            None => {}
        }
        if request.require_no_copy || self.is_block_mode() {
            request.allow_prefetch = false;
        }
        let owner = trial.owners[position].0;
        request.start_reserved = self.colours.alternate(owner, request.start);
        request.end_reserved = self.colours.alternate(owner, request.end);
        request.is_start_default = self.colours.is_default(owner, request.start);
        request.is_end_default = self.colours.is_default(owner, request.end);
        if let (Some(at), true) = (request.end_reserved, request.start_reserved == request.end_reserved) {
            // The place that was set aside is good for the whole segment.
            request.prefer_no_copy = true;
            if trial.sequences[position].is_empty() && request.preferred_group.is_none() {
                request.preferred_group = Some(self.colours.reservations[at].group);
            }
        }
        request
    }

    /// Positions of the trial inside of what a conditional calls.
    fn inside(trial: &Trial<'_>, conditional: &Use) -> impl Iterator<Item = usize> {
        let range = conditional.latest_prefetch_time + 1..conditional.time;
        trial
            .values
            .iter()
            .enumerate()
            .filter(move |(_, v)| range.contains(&v.definition_time))
            .map(|(i, _)| i)
    }

    /// Whether a value cannot stay in alternate memory over the conditional that used it last (16).
    fn must_leave_conditional(&self, trial: &Trial<'_>, previous: &Use, usage: &Use) -> bool {
        if !matches!(previous.kind, UseKind::Conditional { .. }) || usage.time <= previous.time {
            return false;
        }
        Self::inside(trial, previous).any(|position| {
            let value = trial.values[position];
            let is_required_default = self
                .required
                .range((value.value, value.definition_time)..(value.value, previous.time))
                .any(|(_, required)| required.space == Space::Default);
            is_required_default
                || !value.is_position_allowed
                || value.uses.iter().any(|u| !u.is_allowed || self.is_beneficial(u) == Some(false))
        })
    }

    /// The result of a conditional is where all branches leave it (16).
    pub(crate) fn require_for_conditional_outputs(&mut self, trial: &mut Trial<'p>) {
        for value in trial.values.clone() {
            let roots = &value.branch_roots;
            let is_default = |this: &Self, value, time| {
                this.required_at(value, time).is_some_and(|r| r.space == Space::Default)
            };
            let is_required = is_default(self, value.value, value.definition_time)
                || roots.iter().any(|r| !r.is_tuple || is_default(self, r.value, r.time));
            if roots.is_empty() || !is_required {
                continue;
            }
            let required =
                Required { space: Space::Default, group: None, reason: RequirementReason::ConditionalOutput };
            self.require(trial, value.value, value.definition_time, required.clone());
            for root in roots {
                self.require(trial, root.value, root.time, required.clone());
            }
        }
    }

    fn required_for_end(&self, trial: &Trial<'_>, request: &Request) -> Result<Option<(Time, Required)>, ()> {
        let value = trial.values[request.position];
        let usage = &trial.values[request.use_position].uses[request.usage];
        let own = self.required_at(value.value, request.end).map(|r| (request.end, r));
        let mut found = own;
        for alias in &usage.aliases {
            if let Some(required) = self.required_at(alias.value, alias.time) {
                match found {
                    Some((_, old)) if old.space != required.space => return Err(()),
                    Some((_, old)) if old.group.is_some() || required.group.is_none() => {}
                    _ => found = Some((alias.time, required)),
                }
            }
        }
        Ok(found.map(|(time, required)| (time, required.clone())))
    }

    fn note_required(trial: &mut Trial<'_>, time: Time, required: &Required) {
        trial.steps.push(Step::Required { time, space: required.space, reason: required.reason.clone() });
    }

    /// Decides about one segment (11).
    pub(crate) fn allocate_segment(&mut self, trial: &mut Trial<'p>, request: &Request) -> Outcome {
        let position = request.position;
        let value = trial.values[position];
        let use_ref = Self::use_ref(trial, request);
        if request.start == request.end
            && let Some(live) = live_at(&trial.sequences[position], request.end)
        {
            if !request.is_extend_only {
                trial.sequences[position][live].uses.push(use_ref);
            }
            trial.steps.push(Step::SameInstruction);
            return Outcome::SUCCESS;
        }
        let mut start_required = self.required_at(value.value, request.start).cloned();
        let Ok(end_required) = self.required_for_end(trial, request) else {
            return Outcome::REQUIRES_UNCOMMIT;
        };
        if request.require_no_copy && start_required.as_ref().is_some_and(|r| r.space == Space::Default) {
            start_required = None;
        }
        if let Some(required) = &start_required {
            Self::note_required(trial, request.start, required);
            let latest = trial.sequences[position].iter().rposition(|a| a.space == required.space);
            if let Some(latest) = latest {
                trial.sequences[position][latest].extend(request.start);
            } else {
                // Alternate memory, but not where: the place is looked for below.
                if required.space == Space::Default || required.group.is_some() {
                    let times = (request.start, request.start);
                    let (space, group) = (required.space, required.group);
                    let pinned = self.new_allocation(trial, position, Kind::Pinned, space, times, group);
                    trial.sequences[position].push(pinned);
                }
            }
        }
        let end_space = end_required.as_ref().map(|(_, required)| required.space);
        if let Some((time, required)) = &end_required {
            Self::note_required(trial, *time, required);
        }
        let is_default = |space: Option<Space>| space == Some(Space::Default);
        let start_space = start_required.as_ref().map(|r| r.space);
        let mut outcome = Outcome::SUCCESS;
        self.release(trial, trial.owners[position].0, [request.start, request.end]);
        let may_stay = !request.is_start_default
            && !request.is_end_default
            && (request.require_no_copy || (!is_default(start_space) && !is_default(end_space)));
        let preferred = match &end_required {
            Some((_, Required { group: Some(group), .. })) => Some(*group),
            _ => request.preferred_group,
        };
        if may_stay && request.allow_no_copy && request.required_copy_by.is_none() {
            let result = self.stay(trial, request, preferred);
            if result.is_success() || request.require_no_copy {
                return result;
            }
            outcome |= result;
        } else if request.require_no_copy {
            return Outcome::OUT_OF_MEMORY;
        }
        if let (Some(at), true) = (request.start_reserved, trial.sequences[position].is_empty()) {
            self.place_at_start(trial, request, at);
        }
        let mut default = trial.sequences[position].iter().rposition(|a| a.space == Space::Default);
        if default.is_none() {
            let latest = trial.sequences[position].last();
            if value.is_contiguous {
                return outcome | Outcome::REQUIRES_UNCOMMIT;
            }
            if latest
                .is_some_and(|a| a.space == Space::Alternate && a.definition_time == value.definition_time)
            {
                let result = self.evict(trial, request);
                if !result.is_success() {
                    return result | Outcome::REQUIRES_UNCOMMIT;
                }
                default = Some(trial.sequences[position].len() - 1);
            } else {
                let times = (request.start, request.end);
                let pinned = self.new_allocation(trial, position, Kind::Pinned, Space::Default, times, None);
                trial.sequences[position].push(pinned);
                default = Some(trial.sequences[position].len() - 1);
            }
        }
        if value.is_contiguous && start_space.is_some() && end_space.is_some() && start_space != end_space {
            return outcome | Outcome::REQUIRES_UNCOMMIT;
        }
        let Some(default) = default else { return outcome | Outcome::REQUIRES_UNCOMMIT };
        let may_prefetch = (request.allow_prefetch || request.end_reserved.is_some())
            && !value.is_contiguous
            && !request.is_extend_only
            && !request.is_end_default;
        if may_prefetch && !is_default(end_space) {
            let mut result = self.prefetch(trial, request, default, preferred);
            if let (Some(at), false) = (request.end_reserved, result.is_success()) {
                result = self.force_prefetch(trial, request, default, at);
                if !result.is_success() {
                    return result | Outcome::REQUIRES_UNCOMMIT;
                }
            }
            if result.is_success() {
                return result;
            }
            outcome |= result;
        }
        if end_space == Some(Space::Alternate)
            || (start_space == Some(Space::Alternate) && value.is_contiguous)
        {
            return outcome | Outcome::REQUIRES_UNCOMMIT;
        }
        let allocation = &mut trial.sequences[position][default];
        allocation.extend(request.end);
        if !request.is_extend_only {
            allocation.uses.push(use_ref);
        }
        trial.steps.push(Step::FromDefault);
        outcome
    }

    /// One moment in alternate memory, because the definition's colour asks for it (11, step 5).
    fn place_at_start(&mut self, trial: &mut Trial<'p>, request: &Request, reservation: usize) {
        let (chunk, group) = {
            let r = &self.colours.reservations[reservation];
            (r.chunk, r.group)
        };
        let times = (request.start, request.start);
        self.commit(trial, request.start, request.start, chunk);
        let (kind, space) = (Kind::Pinned, Space::Alternate);
        let pinned = self.new_allocation(trial, request.position, kind, space, times, Some(group));
        trial.sequences[request.position].push(pinned);
    }

    /// Carries what stands in default memory from before a loop that leaves the value alone through the loop, so that it
    /// need not be evicted anew inside or afterwards (16).
    fn keep_default_through_loop(trial: &mut Trial<'p>, request: &Request, usage: &Use) {
        let UseKind::While { body, parameter_time, is_unchanged: true, .. } = &usage.kind else { return };
        let definition_time = trial.values[request.position].definition_time;
        let source = trial.sequences[request.position]
            .iter()
            .find(|a| a.space == Space::Default && a.definition_time == definition_time);
        let Some(source) = source.cloned() else { return };
        let copies = [(Kind::Parent, *parameter_time, Some(*body)), (Kind::Mirrored, usage.time, None)];
        for (kind, time, home) in copies {
            let position = trial.values.iter().position(|v| {
                v.definition_time == time
                    && home.is_none_or(|home| v.computation == home)
                    && usage.aliases.iter().any(|a| a.value == v.value && a.time == time)
            });
            let Some(position) = position.filter(|p| trial.sequences[*p].is_empty()) else { continue };
            let value = trial.values[position];
            let view = Allocation {
                kind,
                value: Some(value.value),
                position: value.name.clone(),
                definition_time: time,
                start: time,
                end: time,
                copy: None,
                slices: Vec::new(),
                source: None,
                uses: Vec::new(),
                ..source.clone()
            };
            trial.sequences[position].push(view);
        }
    }

    /// Tells the positions that must agree with the use where it reads the value; `false` if they cannot (10, 16).
    pub(crate) fn after_segment(
        &mut self,
        trial: &mut Trial<'p>,
        request: &Request,
        previous: Option<&Use>,
        outcome: Outcome,
    ) -> bool {
        let usage = &trial.values[request.use_position].uses[request.usage];
        let Some(live) = live_at(&trial.sequences[request.position], request.end) else { return true };
        let allocation = &trial.sequences[request.position][live];
        let (space, group, start) = (allocation.space, allocation.group, allocation.start);
        if outcome.is_success()
            && space == Space::Alternate
            && let Some(previous) = previous
            && matches!(previous.kind, UseKind::Conditional { .. })
            && usage.time > previous.time
            && start <= previous.corrected_time
        {
            self.mirror_into_branches(trial, previous, group);
        }
        let required = Required { space, group, reason: RequirementReason::AliasedUse };
        for alias in &usage.aliases {
            if !self.require(trial, alias.value, alias.time, required.clone()) {
                return false;
            }
        }
        if let UseKind::While { body, .. } = &usage.kind
            && let Some(group) = group
        {
            trial.preferred_groups.insert(body.0, group);
            if self.problem.options.enable_while_redundant_eviction_elimination {
                Self::keep_default_through_loop(trial, request, usage);
            }
        }
        true
    }

    /// The branches see the allocation that covers the whole conditional (16).
    fn mirror_into_branches(&self, trial: &mut Trial<'p>, conditional: &Use, group: Option<OffsetGroup>) {
        let inside: Vec<usize> = Self::inside(trial, conditional).collect();
        for position in inside {
            let value = trial.values[position];
            let uses = value.uses.iter().enumerate().filter(|(_, u)| u.kind != UseKind::Trivial);
            let Some(last) = uses.clone().map(|(_, u)| u.corrected_time).max() else { continue };
            let times = (value.definition_time, last);
            let mut mirrored =
                self.new_allocation(trial, position, Kind::Mirrored, Space::Alternate, times, group);
            mirrored.uses = uses
                .map(|(at, _)| crate::UseRef::Buffer {
                    buffer: trial.owners[position].0,
                    position: trial.owners[position].1,
                    usage: at as u32,
                })
                .collect();
            trial.sequences[position].push(mirrored);
            trial.is_mirrored[position] = true;
        }
    }
}
