//! Memory spaces, which XLA calls colours: what stands in each, with which alignment, and why a value is there.

use crate::engine::{self, Opened};
use crate::scene::{Item, SlabKind};
use analysis::{Backend, Color, Target, ValueId};
use assigner::words::{bytes, grouped, list};
use hlo::Opcode;
use sorts::Arrange as _;
use std::sync::OnceLock;

/// A compiled program with more than one memory space.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Program {
    /// Its name in addresses.
    pub id: &'static str,
    /// Its title.
    pub title: &'static str,
    /// What it does.
    pub about: &'static str,
    text: &'static str,
    placed: &'static str,
}

/// Those of the figure.
pub const PROGRAMS: [Program; 3] = [
    Program {
        id: "tpu",
        title: "Update of a matrix (TPU v5e)",
        about: "Adds a small block to a part of a large matrix and still needs the matrix as it was.",
        text: include_str!("../../assets/modules/tpu_update.txt"),
        placed: include_str!("../../assets/modules/tpu_update.presets.txt"),
    },
    Program {
        id: "gpu",
        title: "Exchange between four GPUs",
        about: "Each GPU gives parts of its array to the others, twice. User buffers are on, so what is exchanged stands in collective memory.",
        text: include_str!("../../assets/modules/gpu_exchange.txt"),
        placed: "",
    },
    Program {
        id: "offload",
        title: "Two arrays sent to the host (TPU v5e)",
        about: "Twice an array is put away in the host's memory and fetched back when it is wanted.",
        text: include_str!("../../assets/modules/tpu_offload.txt"),
        placed: include_str!("../../assets/modules/tpu_offload.presets.txt"),
    },
];

/// A program, assigned; made once.
pub fn opened(n: usize) -> Option<&'static Opened> {
    static ALL: [OnceLock<Option<Opened>>; PROGRAMS.len()] = [const { OnceLock::new() }; PROGRAMS.len()];
    let p = PROGRAMS.get(n)?;
    ALL[n].get_or_init(|| engine::open_as(p.text, None, p.placed).ok()).as_ref()
}

/// A memory space of a program.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub struct Space {
    /// Its number.
    pub color: u32,
    /// What it is, in a few words.
    pub name: &'static str,
    /// XLA's name in the memory usage report.
    pub report: String,
    /// Places begin at multiples of this many bytes.
    pub alignment: u64,
    /// The slab of its temporaries, an index into the picture's.
    pub temp: Option<usize>,
    /// Its size in bytes.
    pub bytes: u64,
    /// How many values stand in that slab.
    pub values: usize,
    /// How many other allocations there are, and their bytes.
    pub others: (usize, u64),
    /// Was it placed before, by memory space assignment?
    pub is_preset: bool,
}

/// What a memory space is on a backend.
fn name(backend: Backend, color: u32) -> &'static str {
    match (backend, color) {
        (_, 0) => "main memory",
        (Backend::Tpu, 1) => "vector memory, beside the compute units",
        (Backend::Tpu, 2) => "flags that a copy is done",
        (Backend::Tpu, 6) => "numbers that steer the program",
        (Backend::Gpu, 1) => "collective memory, which the other GPUs reach",
        (_, 5) => "the host's memory",
        _ => "another memory",
    }
}

/// The spaces that a program uses, by number.
pub fn spaces(opened: &Opened) -> Vec<Space> {
    let target = &opened.facts.target;
    let assignment = &opened.original.assignment;
    let mut out: Vec<Space> = Vec::new();
    for (n, (a, slab)) in assignment.allocations.iter().zip(&opened.original.picture.slabs).enumerate() {
        let at = match out.iter().position(|s| s.color == a.color.0) {
            Some(at) => at,
            None => {
                let color = a.color.0;
                out.push(Space {
                    color,
                    name: name(target.backend, color),
                    report: Target::color_name(a.color)
                        .map_or_else(|| format!("color_{color}"), str::to_owned),
                    alignment: target.alignment(a.color),
                    temp: None,
                    bytes: 0,
                    values: 0,
                    others: (0, 0),
                    is_preset: false,
                });
                out.len() - 1
            }
        };
        let space = &mut out[at];
        if slab.kind == SlabKind::Temp {
            space.temp = Some(n);
            space.bytes = slab.size;
            space.values = slab.values.len();
            space.is_preset = target.backend == Backend::Tpu && a.color == Color(1);
        } else {
            space.others.0 += 1;
            space.others.1 += slab.size;
        }
    }
    out.arrange_by_key(|s| s.color);
    out
}

/// The space a value is in.
pub fn color_of(opened: &Opened, value: u32) -> Option<u32> {
    let slab = opened.original.picture.item(value)?.slab?;
    Some(opened.original.assignment.allocations.get(slab)?.color.0)
}

/// The slabs in a sentence.
pub fn sentence(opened: &Opened) -> String {
    let all = spaces(opened);
    let parts: Vec<String> = all
        .iter()
        .filter(|s| s.temp.is_some())
        .map(|s| format!("{} in S({}) at multiples of {}", bytes(s.bytes), s.color, grouped(s.alignment)))
        .collect();
    format!("{} memory spaces, a slab of temporaries in each: {}.", all.len(), list(&parts, 8))
}

/// The values before this one at the same address, by name.
pub fn before<'a>(opened: &'a Opened, item: &Item) -> Vec<&'a str> {
    let picture = &opened.original.picture;
    let mates = picture.mates(item.value);
    mates.into_iter().filter(|m| m.end <= item.start).map(|m| m.name.as_str()).collect()
}

/// Why a value has its colour, and where it stands: a few sentences.
pub fn why(opened: &Opened, value: u32) -> Option<String> {
    let (module, facts) = (&opened.module, &opened.facts);
    let item = opened.original.picture.item(value)?;
    let color = color_of(opened, value)?;
    let id = ValueId(value);
    let shape = facts.value_shape(module, id);
    let instruction = module.instruction(facts.defining(id));
    let space = module.shapes.memory_space(shape);
    let reason = if module.shapes.is_tuple(shape) {
        "a tuple is a table of pointers and has no layout of its own, which means space 0; what it points to may be elsewhere"
            .to_owned()
    } else if space == 0 && color == 0 {
        format!("its layout, {}, names no space, which means space 0", module.shapes.long(shape))
    } else if space == color {
        let exchanged = match (facts.target.backend, instruction.opcode) {
            (Backend::Gpu, Opcode::CollectivePermuteStart | Opcode::AsyncStart) => {
                ", because the other GPUs write into it"
            }
            (Backend::Gpu, _) => ", because what is exchanged is read out of it or written into it",
            (Backend::Tpu, Opcode::CopyStart) if space == 5 => ", because the program sends it to the host",
            _ => "",
        };
        format!("its layout, {}, ends in S({space}){exchanged}", module.shapes.long(shape))
    } else {
        format!("its buffer has a value in S({color})")
    };
    let place = format!(
        "It stands at {} to {} of S({color}), where places begin at multiples of {}",
        grouped(item.offset),
        grouped(item.top()),
        grouped(facts.target.alignment(Color(color)))
    );
    let earlier = before(opened, item);
    let after = if earlier.is_empty() {
        String::new()
    } else {
        let names: Vec<String> = earlier.iter().map(|n| (*n).to_owned()).collect();
        format!("; {} stood there before", list(&names, 3))
    };
    Some(format!("{} has colour {color}: {reason}. {place}{after}.", item.name))
}

/// The value that a program's figure begins with.
pub fn suggested(n: usize) -> Option<u32> {
    let name = match PROGRAMS.get(n)?.id {
        "tpu" => "select_n.0",
        "gpu" => "loop_transpose_fusion",
        _ => "copy-start.2{0}",
    };
    opened(n)?.find(name)
}

/// Is the puzzle solved: a value of collective memory that stands where another one stood?
pub fn takes_over(n: usize, value: u32) -> bool {
    let Some(o) = opened(n) else { return false };
    let taken = || o.original.picture.item(value).is_some_and(|i| !before(o, i).is_empty());
    PROGRAMS[n].id == "gpu" && color_of(o, value) == Some(1) && taken()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn temps(n: usize) -> Vec<(u32, u64, u64)> {
        let all = spaces(opened(n).expect("it can be read"));
        all.into_iter().filter(|s| s.temp.is_some()).map(|s| (s.color, s.bytes, s.alignment)).collect()
    }

    #[test]
    fn each_space_has_the_slab_that_xla_gave_it() {
        assert_eq!(temps(0), [(0, 33280, 16384), (1, 67584, 4096), (2, 4, 4), (6, 1536, 512)]);
        assert_eq!(temps(1), [(0, 520, 256), (1, 2048, 256)]);
        let offloaded = [(0, 622_592, 16384), (1, 524_288, 4096), (2, 8, 4), (5, 262_144, 512)];
        assert_eq!(temps(2), offloaded);
    }

    #[test]
    fn a_value_says_why_it_is_where_it_is() {
        let of = |n: usize, name: &str| {
            let o = opened(n).expect("it can be read");
            why(o, o.find(name).expect("it is there")).expect("a reason")
        };
        assert_eq!(
            of(0, "select_n.0"),
            "select_n.0 has colour 6: its layout, s32[]{:T(128)S(6)}, ends in S(6). It stands at 512 to 1,024 of S(6), where places begin at multiples of 512; add.0 stood there before."
        );
        assert!(of(0, "copy-start{}").contains("a table of pointers"), "{}", of(0, "copy-start{}"));
        assert_eq!(
            of(2, "copy-start.2{0}"),
            "copy-start.2{0} has colour 5: its layout, f32[256,256]{1,0:T(8,128)S(5)}, ends in S(5), because the program sends it to the host. It stands at 0 to 262,144 of S(5), where places begin at multiples of 512; copy-start{0} stood there before."
        );
        assert!(of(1, "collective-permute-start{1}").contains("the other GPUs write into it"));
    }

    #[test]
    fn the_puzzle_has_answers_and_wrong_answers() {
        for n in 0..PROGRAMS.len() {
            let o = opened(n).expect("it can be read");
            let solved = o.original.picture.items.iter().filter(|i| takes_over(n, i.value)).count();
            assert_eq!(solved, if n == 1 { 2 } else { 0 });
            assert!(suggested(n).is_some());
        }
    }
}
