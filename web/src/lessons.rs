//! What chapters 1, 3 and 4 ask of the engine, and say of its answers.

use crate::engine::{Opened, Run};
use crate::scene::{OrderRow, Picture, overlap};
use crate::sorting;
use analysis::ValueId;
use assigner::words::{self, bytes, difference};
use assigner::{Bin, outcomes};
use sorts::Arrange as _;
use std::collections::HashMap;

/// Where a value stands and why there: its allocation, offset and size, and the decision that put it there.
pub fn whereabouts(opened: &Opened, run: &Run, value: u32) -> Option<String> {
    let item = run.picture.item(value)?;
    let slab = &run.picture.slabs[item.slab?];
    let outcome = outcomes(&opened.facts, &run.decisions)[opened.facts.value(ValueId(value)).buffer.index()]?;
    let why = match outcome.bin {
        Bin::Constant => "it is a constant, which was there before the program starts",
        Bin::Parameter => "it belongs to an entry parameter: the caller brings this memory",
        Bin::ThreadLocal => "it is inside a function that runs once per element, and each thread has its own",
        Bin::Tuple => "it is a table of pointers to other values, which gets memory of its own",
        Bin::Reused => {
            "it is no part of the result, but it fits here, and is done before the result needs the room"
        }
        Bin::Own => "it is part of the result, and the caller takes the whole allocation over",
        Bin::Heap => "nobody outside needs it, so it is packed with the other temporaries",
    };
    Some(format!(
        "{} stands in allocation {} ({}, {}) at offset {}, {} long: {why}.",
        item.name,
        slab.id,
        slab.kind.name(),
        bytes(slab.size),
        words::grouped(item.offset),
        bytes(item.size)
    ))
}

/// What becomes of a value's buffer: for the puzzle that asks for one that was squeezed in.
pub fn bin_of(opened: &Opened, run: &Run, value: u32) -> Option<Bin> {
    let buffer = opened.facts.find_value(ValueId(value))?.buffer;
    outcomes(&opened.facts, &run.decisions)[buffer.index()].map(|o| o.bin)
}

/// A bin's name, in lower case, for the middle of a sentence.
pub fn bin_name(bin: Bin) -> String {
    sorting::name(bin).to_ascii_lowercase()
}

/// What the program would need if each buffer had memory of its own, in bytes.
pub fn without_sharing(opened: &Opened) -> u64 {
    let mut by_buffer: HashMap<u32, u64> = HashMap::new();
    for allocation in &opened.original.assignment.allocations {
        for placed in &allocation.values {
            if let Some(value) = opened.facts.find_value(placed.value) {
                let most = by_buffer.entry(value.buffer.0).or_default();
                *most = (*most).max(placed.size);
            }
        }
    }
    by_buffer.values().sum()
}

/// The schedule, step by step.
pub fn rows(opened: &Opened) -> Vec<OrderRow> {
    let (module, facts) = (&opened.module, &opened.facts);
    let mut slots: HashMap<u32, u32> = HashMap::new();
    for c in &module.computations {
        slots.extend(c.instructions.iter().enumerate().map(|(n, i)| (i.0, n as u32)));
    }
    let mut written: HashMap<u32, u32> = HashMap::new();
    for item in &opened.original.picture.items {
        written.entry(facts.defining(ValueId(item.value)).0).or_insert(item.value);
    }
    facts
        .clock
        .sequence
        .iter()
        .map(|i| {
            let computation = module.instruction(*i).computation;
            let mut depth = 0;
            let mut at = computation;
            while let Some(site) = facts.graph.callers(at).first() {
                depth += 1;
                at = module.instruction(*site).computation;
            }
            OrderRow {
                instruction: i.0,
                name: module.name_of(*i).to_owned(),
                computation: computation.0,
                depth,
                slot: slots.get(&i.0).copied().unwrap_or_default(),
                value: written.get(&i.0).copied(),
            }
        })
        .collect()
}

/// The steps between which an instruction may stand, by its row.
pub fn allowed(opened: &Opened, rows: &[OrderRow], step: u32) -> Option<(u32, u32)> {
    let row = rows.get(step as usize)?;
    let (first, last) = opened.slots(row.instruction)?;
    let step_of = |slot: u32| {
        rows.iter().position(|r| r.computation == row.computation && r.slot == slot).map(|s| s as u32)
    };
    Some((step_of(first)?, step_of(last)?))
}

/// The module with one instruction, by name, as late as it may stand; with its new step.
pub fn as_late_as_possible(opened: &Opened, name: &str) -> Option<(Opened, u32)> {
    let instruction = opened.module.instruction_ids().find(|i| opened.module.name_of(*i) == name)?;
    let later = opened.reordered(&opened.moved(&[], instruction.0, i64::MAX))?;
    let step = later.facts.clock.time(instruction)?.0;
    Some((later, step))
}

/// What another order costs: the heap before and after.
pub fn order_words(base: &Opened, now: &Opened) -> String {
    let (before, after) = (base.original.picture.heap_size(), now.original.picture.heap_size());
    if before == after {
        format!("The heap takes {}, as in the compiler's own order.", bytes(after))
    } else {
        format!(
            "The heap takes {} in place of {}: {}.",
            bytes(after),
            bytes(before),
            difference(before, after)
        )
    }
}

/// Do two values meet, and do they share an address? In the engine's words.
pub fn pair_words(opened: &Opened, run: &Run, a: u32, b: u32) -> Option<String> {
    let picture = &run.picture;
    let (one, other) = (picture.item(a)?, picture.item(b)?);
    let meet = match overlap(picture, a, b) {
        None => format!("The ranges of {} and {} have no step in common.", one.name, other.name),
        Some((first, last)) if first == last => {
            format!("The ranges of {} and {} have one step in common, {first}.", one.name, other.name)
        }
        Some((first, last)) => format!(
            "The ranges of {} and {} have {} steps in common, {first} to {last}.",
            one.name,
            other.name,
            last - first + 1
        ),
    };
    let e = assigner::explain::explain(
        &opened.module,
        &opened.facts,
        &run.ranges,
        (&run.assignment, &run.decisions),
        [ValueId(a), ValueId(b)],
    );
    Some(format!("{meet} {}", words::explanation(&opened.module, &opened.facts, &e)))
}

/// How many steps two ranges have in common.
pub fn steps_in_common(picture: &Picture, a: u32, b: u32) -> u32 {
    overlap(picture, a, b).map_or(0, |(first, last)| last - first + 1)
}

/// The most steps that any two temporaries are alive together.
pub fn longest_together(picture: &Picture) -> u32 {
    let temps: Vec<u32> = picture.temps().filter(|i| i.size > 0).map(|i| i.value).collect();
    let mut most = 0;
    for (n, a) in temps.iter().enumerate() {
        for b in &temps[n + 1..] {
            most = most.max(steps_in_common(picture, *a, *b));
        }
    }
    most
}

/// The values of one buffer, in order of time.
pub fn buffer_mates(picture: &Picture, value: u32) -> Vec<u32> {
    let Some(buffer) = picture.item(value).map(|i| i.buffer) else { return Vec::new() };
    let mut items: Vec<_> = picture.items.iter().filter(|i| i.buffer == buffer).collect();
    items.arrange_by_key(|i| (i.start, i.end, i.value));
    items.iter().map(|i| i.value).collect()
}

/// How the values of a buffer take turns.
pub fn chain_words(picture: &Picture, values: &[u32]) -> String {
    let items: Vec<_> = values.iter().filter_map(|v| picture.item(*v)).collect();
    match items[..] {
        [] => String::new(),
        [one] => format!("{} is the only value of its buffer: nothing is cut.", one.name),
        [first, .., last] => {
            let cut = items.iter().filter(|i| i.reads.iter().any(|r| *r > i.end)).count();
            let readers = match cut {
                0 => "none of them has a reader after its range ends".to_owned(),
                1 => "one of them has a reader after its range ends".to_owned(),
                n => format!("{n} of them have a reader after their range ends"),
            };
            format!(
                "{} values share one buffer of {}, from step {} to step {}; {readers}.",
                items.len(),
                bytes(first.size),
                first.start,
                last.end
            )
        }
    }
}

#[cfg(all(test, not(target_arch = "wasm32")))]
mod tests {
    use super::*;
    use crate::chapters::text_of;
    use crate::engine::open;

    fn attention() -> Opened {
        open(&text_of("attention_grad")).expect("it can be read")
    }

    #[test]
    fn the_numbers_in_the_prose_are_the_engines() {
        let o = attention();
        let picture = &o.original.picture;
        assert_eq!((picture.total_bytes, without_sharing(&o)), (788_548, 1_187_908));
        let (later, step) = as_late_as_possible(&o, "dot").expect("it may wait");
        assert_eq!((picture.heap_size(), later.original.picture.heap_size(), step), (395_264, 458_752, 18));
        let dot = o.module.instruction_ids().find(|i| o.module.name_of(*i) == "dot").expect("it is there");
        let sooner = o.reordered(&o.moved(&[], dot.0, 13)).expect("it may run at 13");
        assert_eq!(sooner.original.picture.heap_size(), 264_192);
        assert_eq!(o.original.picture.item(o.find("dot").unwrap()).unwrap().start, 14);
        let kept = picture.item(o.find("broadcast_multiply_fusion.1").unwrap()).unwrap();
        assert_eq!((kept.size, kept.end), (131_072, 14));
    }

    #[test]
    fn pairs_are_told_in_the_engines_words() {
        let o = attention();
        let of = |n: &str| o.find(n).expect("it is there");
        let words = |a: &str, b: &str| pair_words(&o, &o.original, of(a), of(b)).expect("both have ranges");
        let apart = words("wrapped_broadcast", "ynn_fusion.5");
        assert!(apart.contains("have one step in common, 6.") && apart.contains("do not share"), "{apart}");
        let over = words("ynn_fusion.5", "multiply_multiply_fusion");
        assert!(over.contains("have one step in common, 16.") && over.contains("share 131,072 B"), "{over}");
        assert_eq!(longest_together(&o.original.picture), 8);
    }

    #[test]
    fn every_value_says_where_it_stands_and_why() {
        for id in ["attention_grad", "kv_cache_loop", "donation_swap"] {
            let o = open(&text_of(id)).expect("it can be read");
            for item in o.original.picture.items.iter().filter(|i| i.slab.is_some()) {
                let words = whereabouts(&o, &o.original, item.value).expect("it has a place");
                assert!(words.contains(" at offset ") && words.ends_with('.'), "{words}");
            }
        }
    }

    #[test]
    fn a_loops_counter_is_cut_to_a_chain() {
        let o = open(&text_of("kv_cache_loop")).expect("it can be read");
        let chain = buffer_mates(&o.original.picture, o.find("copy.13").expect("it is there"));
        let items: Vec<_> = chain.iter().map(|v| o.original.picture.item(*v).unwrap()).collect();
        assert_eq!(items.len(), 5);
        assert!(items.windows(2).all(|w| w[0].end <= w[1].start));
        assert_eq!((items[0].name.as_str(), items[0].end, items[0].reads.last()), ("copy.13", 7, Some(&25)));
        assert!(chain_words(&o.original.picture, &chain).contains("5 values share one buffer of 4 B"));
    }

    #[test]
    fn rows_of_called_computations_stand_before_their_caller_and_deeper() {
        let o = open(&text_of("kv_cache_loop")).expect("it can be read");
        let rows = rows(&o);
        let at = |n: &str| rows.iter().position(|r| r.name == n).expect("it is there");
        assert!(at("wrapped_compare") < at("copy.4") && at("copy.4") < at("while.1"));
        assert_eq!((rows[at("copy.4")].depth, rows[at("while.1")].depth), (1, 0));
        for step in 0..rows.len() as u32 {
            let (first, last) = allowed(&o, &rows, step).expect("a range");
            assert!(first <= step && step <= last);
        }
    }
}
