//! Answers to what people ask, each from the engine's own facts about a module.

use crate::engine::Opened;
use crate::pane;
use crate::scene::{Item, Picture};
use analysis::ValueId;
use analysis::sharing::interference;
use assigner::words::{bytes, interference_words, list};
use hlo::Opcode;
use sorts::Arrange as _;
use std::fmt::Write as _;

/// How two values stand to each other.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Bond {
    /// They are of one buffer, so they must share.
    Must,
    /// They are apart in time and share an address.
    Shares,
    /// They are apart in time, but do not.
    Could,
    /// They are wanted at one time, so they must not.
    MustNot,
}

/// Two values and what is between them.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Pair {
    /// How they stand to each other.
    pub bond: Bond,
    /// The same in a sentence or two.
    pub words: String,
}

/// What there is to choose a pair from: the temporaries of some size, in the order in which they are written.
pub fn candidates(picture: &Picture) -> Vec<(u32, String)> {
    let mut items: Vec<&Item> = picture.temps().filter(|i| i.size > 0).collect();
    items.arrange_by_key(|i| (i.start, i.end, i.value));
    items.iter().map(|i| (i.value, i.name.clone())).collect()
}

/// The pair to begin with: a value with a story, and one that it shares with.
pub fn first_pair(opened: &Opened) -> Option<(u32, u32)> {
    let picture = &opened.original.picture;
    let with_mate =
        |v: u32| Some((v, picture.mates(v).iter().find(|m| picture.is_temp(m) && m.size > 0)?.value));
    opened
        .suggest()
        .and_then(with_mate)
        .or_else(|| candidates(picture).into_iter().find_map(|(v, _)| with_mate(v)))
}

/// Asks the engine about two values.
pub fn pair(opened: &Opened, a: u32, b: u32) -> Option<Pair> {
    let picture = &opened.original.picture;
    let (first, second) = (picture.item(a)?, picture.item(b)?);
    let (module, facts) = (&opened.module, &opened.facts);
    if a == b {
        return Some(Pair {
            bond: Bond::Must,
            words: format!("{} is one value; choose another beside it.", first.name),
        });
    }
    if first.buffer == second.buffer {
        let words = format!(
            "{} and {} are of one buffer: they are the same memory under two names, whatever the packer does.",
            first.name, second.name
        );
        return Some(Pair { bond: Bond::Must, words });
    }
    let why = interference(module, facts, &facts.ranges, ValueId(a), ValueId(b));
    let ranges = format!(
        "{} is wanted from step {} to {}, {} from {} to {}",
        first.name, first.start, first.end, second.name, second.start, second.end
    );
    Some(match why {
        Some(why) => Pair {
            bond: Bond::MustNot,
            words: format!(
                "They must not share: {}.",
                interference_words(module, facts, ValueId(a), ValueId(b), &why)
            ),
        },
        None if first.shares_address(second) => {
            let apart = if first.meets(second) {
                "the step in common works in place"
            } else {
                "so one is done before the other begins"
            };
            Pair { bond: Bond::Shares, words: format!("They share bytes. {ranges}; {apart}.") }
        }
        None => Pair {
            bond: Bond::Could,
            words: format!(
                "They could share, and do not: {ranges}, but the packer found other places for them."
            ),
        },
    })
}

/// What must share with a value, and what merely does.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Company {
    /// Values of the same buffer.
    pub must: Vec<u32>,
    /// Values at the same address, at other times.
    pub may: Vec<u32>,
}

/// The company of a value.
pub fn company(picture: &Picture, value: u32) -> Company {
    let Some(item) = picture.item(value) else { return Company::default() };
    let must = picture.items.iter().filter(|i| i.buffer == item.buffer && i.value != value);
    Company {
        must: must.map(|i| i.value).collect(),
        may: picture.mates(value).iter().filter(|m| m.size > 0).map(|m| m.value).collect(),
    }
}

/// Values with most to show: in a buffer of several, or at an address with others.
pub fn best_company(picture: &Picture) -> Option<u32> {
    picture
        .items
        .iter()
        .filter(|i| i.size > 0 && i.slab.is_some())
        .max_by_key(|i| {
            let c = company(picture, i.value);
            (c.must.len().min(8) * c.may.len().min(8), c.must.len() + c.may.len(), std::cmp::Reverse(i.value))
        })
        .map(|i| i.value)
}

/// The company of a value in words.
pub fn company_words(picture: &Picture, value: u32) -> String {
    let Some(item) = picture.item(value) else { return String::new() };
    let company = company(picture, value);
    let names = |values: &[u32]| {
        let names: Vec<String> = values.iter().filter_map(|v| Some(picture.item(*v)?.name.clone())).collect();
        list(&names, 4)
    };
    let mut out = match company.must.len() {
        0 => format!("{} has a buffer to itself: nothing must share with it.", item.name),
        _ => format!(
            "{} must be one with {}: one buffer under several names.",
            item.name,
            names(&company.must)
        ),
    };
    _ = match company.may.len() {
        0 => write!(out, " Nothing else is ever put into its place."),
        _ => write!(
            out,
            " At its address, at other times, there is also {}: that is reuse, and a longer range would end it.",
            names(&company.may)
        ),
    };
    out
}

/// The copies of a module, by number, the largest first.
pub fn copies(opened: &Opened) -> Vec<u32> {
    let picture = &opened.original.picture;
    let mut items: Vec<&Item> = picture
        .items
        .iter()
        .filter(|i| i.slab.is_some())
        .filter(|i| opened.module.instruction(opened.facts.defining(ValueId(i.value))).opcode == Opcode::Copy)
        .collect();
    items.arrange_by_key(|i| (std::cmp::Reverse(i.size), i.value));
    items.iter().map(|i| i.value).collect()
}

/// The value that a copy copies.
pub fn source_of(opened: &Opened, copy: u32) -> Option<u32> {
    let operands = opened.module.operands(opened.facts.defining(ValueId(copy)));
    let at = analysis::Position { instruction: *operands.first()?, sub: 0 };
    opened.facts.dataflow.at(at).first().map(|v| v.0)
}

/// Why a copy is there, as far as the values it stands between tell: which values could not have been one buffer.
pub fn why_copy(opened: &Opened, copy: u32) -> Option<String> {
    let picture = &opened.original.picture;
    let (module, facts) = (&opened.module, &opened.facts);
    let source = source_of(opened, copy)?;
    let (from, to) = (picture.item(source)?, picture.item(copy)?);
    let of = |buffer: u32| picture.items.iter().filter(move |i| i.buffer == buffer);
    let mut out = format!(
        "{} moves {} from {} to a buffer of its own, at the cost of {} and the time to write them.",
        to.name,
        bytes(to.bytes),
        from.name,
        bytes(to.size)
    );
    let others: Vec<String> = of(to.buffer).filter(|i| i.value != copy).map(|i| i.name.clone()).collect();
    if !others.is_empty() {
        _ = write!(out, " It must be one with {}.", list(&others, 3));
    }
    // Without the copy both buffers would be one; which of their values get into each other's way?
    let clash = of(from.buffer)
        .flat_map(|a| of(to.buffer).filter(|b| b.value != copy).map(move |b| (a, b)))
        .find_map(|(a, b)| {
            let (a, b) = (ValueId(a.value), ValueId(b.value));
            let why = interference(module, facts, &facts.ranges, a, b)?;
            Some(interference_words(module, facts, a, b, &why))
        });
    match clash {
        Some(words) => _ = write!(out, " Without the copy all would be one buffer, and that cannot be: {words}."),
        None if from.slab.is_some_and(|s| opened.original.assignment.allocations[s].is_read_only()) => {
            _ = write!(
                out,
                " {} stands in memory that nothing may write to; who wants to change it needs a copy.",
                from.name
            );
        }
        None => out.push_str(
            " No two of these values are wanted at one time in this order of instructions, so it is not the ranges that ask for it.",
        ),
    }
    Some(out)
}

/// The four files of a module, each with how many lines it has and what it is for.
pub fn files(opened: &Opened) -> Vec<(String, u32, &'static str)> {
    let about = [
        "which block of memory each value is in, and at which offset",
        "what each value is: where it can be found, who reads it, what makes it",
        "the schedule, when each value is wanted, and what is alive at the peak",
        "everything by size, for a first look",
    ];
    let shown = pane::generated(opened, &opened.original);
    shown.files.iter().zip(about).map(|(f, about)| (f.name.clone(), f.len(), about)).collect()
}

/// What was decided, in two sentences.
pub fn decided(opened: &Opened) -> String {
    let picture = &opened.original.picture;
    let mut seen = std::collections::HashSet::new();
    let (mut count, mut sum) = (0, 0);
    for item in picture.temps().filter(|i| seen.insert(i.buffer)) {
        count += 1;
        sum += item.size;
    }
    let blocks = picture.slabs.len();
    format!(
        "In this program {} values got a place in {blocks} blocks of memory, {} in all. {count} temporary buffers, together {}, stand in one block of {}.",
        picture.items.iter().filter(|i| i.slab.is_some()).count(),
        bytes(picture.total_bytes),
        bytes(sum),
        bytes(picture.heap_size())
    )
}

#[cfg(all(test, not(target_arch = "wasm32")))]
mod tests {
    use super::*;
    use crate::chapters::text_of;
    use crate::engine::open;
    use crate::modules::SHIPPED;

    fn opened(id: &str) -> Opened {
        open(&text_of(id)).expect("it can be read")
    }

    #[test]
    fn what_is_said_of_pairs_is_what_the_assignment_does() {
        for module in SHIPPED {
            let opened = opened(module.id);
            let picture = &opened.original.picture;
            let all = candidates(picture);
            let mut seen = [0; 4];
            for (a, _) in all.iter().take(24) {
                for (b, _) in all.iter().take(24).filter(|(b, _)| b != a) {
                    let pair = pair(&opened, *a, *b).expect("both are there");
                    let (x, y) = (picture.item(*a).expect("there"), picture.item(*b).expect("there"));
                    seen[pair.bond as usize] += 1;
                    match pair.bond {
                        Bond::Must => assert_eq!(x.buffer, y.buffer),
                        Bond::Shares => assert!(x.shares_address(y)),
                        Bond::Could | Bond::MustNot => assert!(!x.shares_address(y), "{}", pair.words),
                    }
                }
            }
            if module.id == "varied_temp_sizes" {
                assert!(seen[1] > 0 && seen[2] > 0 && seen[3] > 0, "{seen:?}");
            }
        }
    }

    #[test]
    fn answers() {
        let o = opened("varied_temp_sizes");
        let (a, b) = first_pair(&o).expect("two that share");
        assert_eq!(pair(&o, a, b).map(|p| p.bond), Some(Bond::Shares));
        println!("{}\n{}", decided(&o), pair(&o, a, b).expect("a pair").words);
        let loop_ = opened("kv_cache_loop");
        for id in ["kv_cache_loop", "lstm_scan", "varied_temp_sizes"] {
            let o = opened(id);
            let value = best_company(&o.original.picture).expect("a value");
            println!("{id}: {}", company_words(&o.original.picture, value));
        }
        assert!(
            !company(&loop_.original.picture, best_company(&loop_.original.picture).expect("a value"))
                .must
                .is_empty()
        );
        for module in SHIPPED {
            let o = opened(module.id);
            for copy in copies(&o).into_iter().take(3) {
                println!("{}: {}", module.id, why_copy(&o, copy).unwrap_or_default());
            }
        }
        assert_eq!(files(&o).len(), 4);
    }
}
