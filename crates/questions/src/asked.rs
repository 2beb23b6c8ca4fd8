//! What asked for a value to be in a memory space of its own: collectives on the GPU, layouts elsewhere.

use crate::study::{Program, Study};
use analysis::{Backend, Wish};
use assigner::words::{both, list};
use hlo::InstructionId;
use std::collections::BTreeMap;

/// A collective, and what is in its memory space because of it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Asking {
    /// The collective, or what begins it.
    pub collective: InstructionId,
    /// The values that are there because of it, which may be there because of others too: indices into [`Study::rows`].
    pub rows: Vec<usize>,
    /// The bytes of these, those of one place once.
    pub bytes: u64,
}

/// Collectives that are named in a sentence.
const MOST: usize = 4;

/// Why the GPU heeds collectives.
const WHY: &str = "With user buffers (`--xla_gpu_enable_nccl_user_buffers`) collectives work on registered memory, so what they read and write is kept together in a memory space of its own.";

/// What asked for the memory space of a value, the collectives first; none in the main memory, or without the program.
#[must_use]
pub fn wishes(study: &Study, row: usize) -> Vec<Wish> {
    let program = study.program.as_ref();
    let value = study.rows.get(row).and_then(|r| r.value);
    program.zip(value).map_or_else(Vec::new, |(Program { module, facts, .. }, v)| {
        facts.wishes(module, facts.value(v).buffer)
    })
}

/// The collectives among them, each once.
#[must_use]
pub fn collectives_of(wishes: &[Wish]) -> Vec<InstructionId> {
    let mut out: Vec<InstructionId> = Vec::new();
    for wish in wishes {
        if let Wish::Read { collective, .. } | Wish::Written { collective, .. } = wish
            && !out.contains(collective)
        {
            out.push(*collective);
        }
    }
    out
}

/// The same in words; `None` in the main memory, or where nothing is known.
#[must_use]
pub fn wishes_words(study: &Study, row: usize) -> Option<String> {
    let Program { module, facts, .. } = study.program.as_ref()?;
    let all = wishes(study, row);
    let own = study.rows[row].value?;
    let name = &study.rows[row].name;
    let color = study.slab(&study.rows[row]).color;
    let told: Vec<String> = all
        .iter()
        .filter_map(|wish| {
            let (value, collective, is_read) = match wish {
                Wish::Read { value, collective } => (*value, *collective, true),
                Wish::Written { value, collective } => (*value, *collective, false),
                Wish::Layout(_) => return None,
            };
            let by = module.name_of(collective);
            let other = facts.label(module, value);
            Some(match (value == own, is_read) {
                (true, true) => format!("{by} reads it"),
                (true, false) => format!("{by} writes it"),
                (false, true) => format!("{by} reads {other}, which shares its buffer"),
                (false, false) => format!("{by} writes {other}, which shares its buffer"),
            })
        })
        .collect();
    if !told.is_empty() {
        return Some(format!("{name} is in memory space {color} because {}. {WHY}", list(&told, MOST)));
    }
    let by = all.iter().find_map(|wish| if let Wish::Layout(v) = wish { Some(*v) } else { None })?;
    Some(if by == own {
        format!("{name} is in memory space {color} because its layout says so.")
    } else {
        format!(
            "{name} is in memory space {color} because the layout of {}, which shares its buffer, says so.",
            facts.label(module, by)
        )
    })
}

/// The collectives for which values are in a memory space, those with most bytes first. Needs the program.
#[must_use]
pub fn asking(study: &Study, color: u32) -> Vec<Asking> {
    if color == 0 || study.backend != Some(Backend::Gpu) {
        return Vec::new();
    }
    let Some(Program { module, facts, .. }) = &study.program else { return Vec::new() };
    let mut by: BTreeMap<InstructionId, Vec<usize>> = BTreeMap::new();
    for buffer in facts.buffers().iter().filter(|b| b.color.0 == color) {
        let collectives = collectives_of(&facts.wishes(module, buffer.id));
        for row in buffer.values.iter().filter_map(|v| study.row_of(*v)) {
            for collective in &collectives {
                by.entry(*collective).or_default().push(row);
            }
        }
    }
    let mut out: Vec<Asking> = by
        .into_iter()
        .map(|(collective, rows)| {
            let mut places: Vec<(usize, u64, u64)> = rows
                .iter()
                .map(|i| (study.rows[*i].slab, study.rows[*i].offset, study.rows[*i].size))
                .collect();
            places.sort_unstable();
            places.dedup();
            let bytes = crate::peak::sum(places.iter().map(|p| p.2));
            Asking { collective, rows, bytes }
        })
        .collect();
    out.sort_by_key(|a| (std::cmp::Reverse(a.bytes), a.collective));
    out
}

/// The same in a sentence; `None` if no collective asked.
#[must_use]
pub fn asking_words(study: &Study, color: u32) -> Option<String> {
    let module = &study.program.as_ref()?.module;
    let all = asking(study, color);
    if all.is_empty() {
        return None;
    }
    let told: Vec<String> =
        all.iter().map(|a| format!("{} ({})", module.name_of(a.collective), both(a.bytes))).collect();
    Some(format!("Memory space {color} is asked for by collectives: {}. {WHY}", list(&told, MOST)))
}
