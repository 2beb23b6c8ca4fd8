//! Values to be sorted by what becomes of them, and what the assigner makes of each: the bins of section 8.5.

use crate::engine::{Opened, Run};
use assigner::words::{self, bytes};
use assigner::{Bin, Outcome, outcomes};
use sorts::Arrange as _;

/// A bin as the reader sees it.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct BinWords {
    /// The bin.
    pub bin: Bin,
    /// Its name, in two or three words.
    pub name: &'static str,
    /// What it is, in one clause.
    pub about: &'static str,
}

/// The bins in the order in which the assigner asks for them, which is the order of their keys, 1 to 7.
pub const BINS: [BinWords; 7] = [
    BinWords {
        bin: Bin::Constant,
        name: "Constant",
        about: "written before the program starts, never changed",
    },
    BinWords { bin: Bin::Parameter, name: "Parameter", about: "memory that the caller brings" },
    BinWords {
        bin: Bin::ThreadLocal,
        name: "Thread-local",
        about: "inside a function that runs per element",
    },
    BinWords { bin: Bin::Tuple, name: "Tuple", about: "a table of pointers, not data" },
    BinWords { bin: Bin::Reused, name: "Squeezed in", about: "into an allocation that is there already" },
    BinWords { bin: Bin::Heap, name: "The packing", about: "left to the heap, packed at the end" },
    BinWords { bin: Bin::Own, name: "Live-out", about: "part of the result, an allocation of its own" },
];

/// The letter of a bin in addresses; `-` is none.
const LETTERS: [char; 7] = ['c', 'p', 't', 'u', 's', 'h', 'o'];

/// A value to be sorted.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Card {
    /// The first value of its buffer.
    pub value: u32,
    /// Its name.
    pub name: String,
    /// What it is: opcode, shape, size.
    pub about: String,
    /// What else there is to know before one can tell: where it runs, with whom it must share, whether it is returned.
    pub clue: String,
    /// Where the assigner puts it.
    pub bin: Bin,
    /// The decision that put it there, in words.
    pub decision: String,
    /// Its place in the list of decisions.
    pub at: usize,
}

/// Up to `most` values: one of each bin that the module has, the largest of the heap and the most surprising of the
/// parameters first, then more of them in turn; in order of their value numbers, which gives nothing away.
pub fn cards(opened: &Opened, run: &Run, most: usize) -> Vec<Card> {
    let outcomes = outcomes(&opened.facts, &run.decisions);
    let mut by_bin: Vec<Vec<(analysis::BufferId, Outcome)>> = BINS
        .iter()
        .map(|b| {
            let here = |id: &analysis::BufferId| outcomes[id.index()].filter(|o| o.bin == b.bin);
            run.assignment.order.iter().filter_map(|id| here(id).map(|o| (*id, o))).collect()
        })
        .collect();
    // A loop's state in a donated parameter does not look like a parameter: those with the most names come first.
    if let Some(parameters) = BINS.iter().position(|b| b.bin == Bin::Parameter) {
        by_bin[parameters].arrange_by_key(|(b, _)| std::cmp::Reverse(opened.facts.buffer(*b).values.len()));
    }
    let mut chosen = Vec::new();
    for round in 0..most {
        // One more parameter tells more than one more constant.
        let turn = usize::from(round > 0);
        for of_bin in by_bin.iter().cycle().skip(turn).take(by_bin.len()) {
            if let Some(one) = of_bin.get(round)
                && chosen.len() < most
            {
                chosen.push(*one);
            }
        }
    }
    let mut cards: Vec<Card> = chosen.into_iter().map(|(b, o)| card(opened, run, b, o)).collect();
    cards.arrange_by_key(|c| c.value);
    cards
}

fn card(opened: &Opened, run: &Run, buffer: analysis::BufferId, outcome: Outcome) -> Card {
    let (module, facts) = (&opened.module, &opened.facts);
    let b = facts.buffer(buffer);
    let value = b.values[0];
    let at = facts.defining(value);
    let instruction = module.instruction(at);
    let shape = module.shapes.short(facts.value_shape(module, value));
    let mut clue = Vec::new();
    if instruction.computation != module.entry {
        let caller = facts.graph.callers(instruction.computation).first();
        let of = caller.map_or_else(
            || module.computation_name(instruction.computation).to_owned(),
            |site| module.name_of(*site).to_owned(),
        );
        clue.push(match facts.graph.context(instruction.computation) {
            analysis::Context::Embedded => format!("runs once per element of {of}"),
            analysis::Context::ControlFlow => format!("runs inside {of}"),
        });
    }
    if b.live_out {
        clue.push("returned".to_owned());
    }
    let parameter = b.values.iter().skip(1).find(|v| {
        let i = facts.defining(**v);
        module.parameter_number(i).is_some() && module.instruction(i).computation == module.entry
    });
    if let Some(v) = parameter {
        clue.push(format!("must share with {}", facts.label(module, *v)));
    }
    Card {
        value: value.0,
        name: facts.label(module, value),
        about: format!("{} · {shape} · {}", module.str(instruction.opcode_name), bytes(b.size)),
        clue: clue.join(" · "),
        bin: outcome.bin,
        decision: run
            .decisions
            .get(outcome.decision)
            .map_or_else(String::new, |d| words::decision(module, facts, &d)),
        at: outcome.decision,
    }
}

/// How many buffers a bin holds, and how many bytes they have.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Count {
    /// The bin.
    pub bin: Bin,
    /// Buffers.
    pub buffers: usize,
    /// Bytes of all of them, before anything is shared.
    pub bytes: u64,
}

/// What each bin holds, in the order of [`BINS`].
pub fn counts(opened: &Opened, run: &Run) -> Vec<Count> {
    let outcomes = outcomes(&opened.facts, &run.decisions);
    BINS.iter()
        .map(|b| {
            let here = opened
                .facts
                .buffers()
                .iter()
                .filter(|x| outcomes[x.id.index()].is_some_and(|o| o.bin == b.bin));
            let (mut buffers, mut bytes) = (0, 0);
            for buffer in here {
                buffers += 1;
                bytes += buffer.size;
            }
            Count { bin: b.bin, buffers, bytes }
        })
        .collect()
}

/// The chapter's question and its answer, of one module.
pub fn sentence(counts: &[Count]) -> String {
    let all: usize = counts.iter().map(|c| c.buffers).sum();
    let heap = counts.iter().find(|c| c.bin == Bin::Heap).map_or(0, |c| c.buffers);
    format!("Of {all} buffers in this module, {} never reach the packing; {heap} do.", all - heap)
}

/// Where the reader put each card, as a word in an address: a letter a card.
pub fn encode(placed: &[Option<Bin>]) -> String {
    placed
        .iter()
        .map(|p| p.and_then(|bin| BINS.iter().position(|b| b.bin == bin)).map_or('-', |at| LETTERS[at]))
        .collect()
}

/// Reads it back, for so many cards.
pub fn decode(word: &str, cards: usize) -> Vec<Option<Bin>> {
    let mut out: Vec<Option<Bin>> = word
        .chars()
        .map(|c| LETTERS.iter().position(|l| *l == c).map(|at| BINS[at].bin))
        .take(cards)
        .collect();
    out.resize(cards, None);
    out
}

/// The name of a bin.
pub fn name(bin: Bin) -> &'static str {
    BINS.iter().find(|b| b.bin == bin).map_or("", |b| b.name)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::engine;

    fn opened(id: &str) -> Opened {
        let path = format!("{}/../assets/modules/{id}.txt", env!("CARGO_MANIFEST_DIR"));
        engine::open(&std::fs::read_to_string(path).expect("a module")).expect("it can be read")
    }

    #[test]
    fn eight_values_of_every_kind() {
        let opened = opened("kv_cache_loop");
        let cards = cards(&opened, &opened.original, 8);
        let text: Vec<String> = cards
            .iter()
            .map(|c| format!("{} | {} | {} | {}", c.name, c.about, c.clue, name(c.bin)))
            .collect();
        assert_eq!(
            text.join("\n"),
            "\
reduce_sum.3 | parameter · f32[] · 4 B | runs once per element of reduce_sum.8 | Thread-local
dot | dot · f32[1,64] · 256 B | runs inside while.1 | The packing
bitcast_tanh_fusion | fusion · f32[64] · 256 B | runs inside while.1 | Squeezed in
select_dynamic-update-slice_fusion | fusion · f32[16,64] · 4,096 B | \
runs inside while.1 · returned · must share with a_0_.1 | Parameter
multiply_add_fusion | fusion · f32[64] · 256 B | runs inside while.1 · returned | Live-out
tuple.15{} | tuple · (s32[], f32[16,64], f32[64], f32[64,64]) · 32 B | runs inside while.1 | Tuple
constant.15 | constant · s32[] · 4 B |  | Constant
a_1_.1 | parameter · f32[64,64] · 16,384 B |  | Parameter"
        );
    }

    #[test]
    fn the_sentence_counts_what_the_cards_are_drawn_from() {
        let opened = opened("kv_cache_loop");
        let counts = counts(&opened, &opened.original);
        assert_eq!(sentence(&counts), "Of 17 buffers in this module, 13 never reach the packing; 4 do.");
    }

    #[test]
    fn where_the_cards_are_reads_back() {
        let placed = vec![None, Some(Bin::Heap), Some(Bin::Own), None, Some(Bin::Constant)];
        assert_eq!(decode(&encode(&placed), 5), placed);
        assert_eq!(decode("h", 3), [Some(Bin::Heap), None, None]);
        assert_eq!(decode("x-hhhh", 3), [None, None, Some(Bin::Heap)]);
    }
}
