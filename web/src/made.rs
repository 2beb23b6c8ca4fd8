//! How this was made: what was compared with which XLA, what is not known, and how to look for oneself. The numbers are those of
//! `docs/VERIFICATION.md`, which a test holds.

/// A set of programs that XLA compiled, and how many of them the engine gives exactly.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Compared {
    /// The set, as the document names it.
    pub set: &'static str,
    /// How many programs it has.
    pub programs: u32,
    /// For how many all four files are the same.
    pub files: u32,
    /// For how many all decisions are the same; `None` where the compiler writes no log of them.
    pub decisions: Option<u32>,
}

const fn cpu_or_gpu(set: &'static str, n: u32) -> Compared {
    Compared { set, programs: n, files: n, decisions: Some(n) }
}

const fn tpu(set: &'static str, n: u32) -> Compared {
    Compared { set, programs: n, files: n, decisions: None }
}

/// What was compared where the orders that HLO text does not hold are given.
pub const WITH_ORDERS: [Compared; 16] = [
    cpu_or_gpu("CPU, golden programs", 52),
    cpu_or_gpu("CPU, programs of `programs.py`", 77),
    cpu_or_gpu("CPU, the same with heaps limited to 4096 bytes", 14),
    cpu_or_gpu("CPU, random modules, no HLO passes", 3299),
    cpu_or_gpu("CPU, random modules, heaps limited to 600 bytes", 56),
    cpu_or_gpu("GPU, golden programs", 49),
    cpu_or_gpu("GPU, programs of `programs.py`", 77),
    cpu_or_gpu("GPU, the same with the latency hiding scheduler", 77),
    cpu_or_gpu("GPU, the same with collective memory (user buffers)", 77),
    tpu("TPU v5e, golden programs, presets given", 49),
    tpu("TPU v5e, programs of `programs.py`, presets given", 78),
    tpu("TPU v4, presets given", 78),
    tpu("TPU v2 and v3", 78),
    tpu("TPU v6e, presets and `--tpu v6e` given", 78),
    tpu("TPU v5p, presets and `--tpu v5p` given", 78),
    tpu("TPU 7x, presets and `--tpu 7x` given", 78),
];

/// From the text alone: target, programs, and how many assignments are exact.
pub const FROM_TEXT: [(&str, u32, u32); 3] =
    [("CPU", 129, 124), ("GPU", 126, 112), ("TPU v5e, presets given", 127, 106)];

#[cfg(target_arch = "wasm32")]
pub use view::section;

#[cfg(target_arch = "wasm32")]
mod view {
    use super::{Compared, FROM_TEXT, WITH_ORDERS};
    use crate::teach::coded;
    use assigner::words::grouped;
    use leptos::prelude::*;

    fn row(compared: &Compared) -> AnyView {
        let number = |n: u32| grouped(n.into());
        let decisions = compared.decisions.map_or_else(|| "none logged".to_owned(), number);
        view! {
            <tr>
                <th scope="row">{coded(compared.set)}</th>
                <td>{number(compared.programs)}</td>
                <td>{number(compared.files)}</td>
                <td>{decisions}</td>
            </tr>
        }
        .into_any()
    }

    /// The section at the end of the page.
    pub fn section() -> AnyView {
        view! {
            <p>
                "Every figure runs one engine, in Rust, compiled to WebAssembly; none has rules of its own. The engine was "
                "written from documents and from what XLA writes when it runs, never from its source. Its judge is XLA itself: "
                "programs were compiled with jaxlib 0.10.2 for CPU, with jax-cuda12-plugin 0.10.2 for an H100, and with libtpu 0.0.52 "
                "for seven generations of TPU, GPU and TPU ahead of time, without the device. For each, the engine has to give the same four files "
                "(chapter 13), byte for byte, and on CPU and GPU the same decisions in the same order. The large programs in the "
                "figures are such programs, as compiled; small ones that were written to make a point show their text."
            </p>
            <h3>"What was compared, and how often"</h3>
            <p>
                "HLO text does not hold some of XLA's internal orders; the protocol buffer beside it does. With these orders "
                "every file is the same. Two things no dump holds are left out: the order in which the readers of a value are listed, and that of the "
                "keys of a backend's options."
            </p>
            <div class="scroller" tabindex="0" role="group" aria-label="What was compared">
                <table class="verified">
                    <thead>
                        <tr>
                            <th scope="col">"programs"</th>
                            <th scope="col">"compiled"</th>
                            <th scope="col">"all four files the same"</th>
                            <th scope="col">"all decisions the same"</th>
                        </tr>
                    </thead>
                    <tbody>{WITH_ORDERS.iter().map(row).collect_view()}</tbody>
                </table>
            </div>
            <p>
                "From the text alone, which is what this page opens, the orders are guessed from names. Where the guess is wrong, values have other numbers and "
                "equals change places; sizes are nearly always the same."
            </p>
            <div class="scroller" tabindex="0" role="group" aria-label="From the text alone">
                <table class="verified">
                    <thead>
                        <tr>
                            <th scope="col">"target"</th>
                            <th scope="col">"programs"</th>
                            <th scope="col">"the same assignment"</th>
                        </tr>
                    </thead>
                    <tbody>
                        {FROM_TEXT
                            .iter()
                            .map(|(target, programs, same)| {
                                view! {
                                    <tr>
                                        <th scope="row">{*target}</th>
                                        <td>{grouped((*programs).into())}</td>
                                        <td>{grouped((*same).into())}</td>
                                    </tr>
                                }
                            })
                            .collect_view()}
                    </tbody>
                </table>
            </div>
            <p>
                "Memory space assignment (chapter 14) is compared with traces of libtpu 0.0.52, for v4, v5e, v5p, v6e and 7x: 72 of 72 tables of fast "
                "memory are the same row by row, and 1,865 of 1,879 requests have the same result; the other 14 are of one trace that leaves out what XLA tried. "
                "MLIR's older deallocation (chapter 17) is compared with LLVM 16 on 165 programs, the newer with LLVM 19 on 51. Collective memory and "
                "remapping (chapters 16 and 18) were read in documents and are not compared: there is no device to run them on."
            </p>
            <h3>"How far it holds"</h3>
            <ul>
                <li>
                    "The rules are those of one generation of XLA, of 2026. Other versions may decide otherwise: each rule says on which one it was "
                    "verified. Files are read from more: those of buffer assignment since before 2025."
                </li>
                <li>"A dragged range is an experiment: the rules of the packing are the real ones, but no compiler would give this program that range."</li>
                <li>
                    "GPUs other than the H100 share the rules of the GPU compiler and were not compared. On TPU, what memory space assignment "
                    "did before is taken from XLA's own file, and its cost model is not public: times and sizes come from the compiler."
                </li>
                <li>
                    "Not covered: TPU programs over the memory threshold, where libtpu tries again with other packers; dynamic shapes beyond bounded ones; "
                    "send and receive; modules without a schedule, which no compiler writes."
                </li>
            </ul>
            <h3>"To check it yourself"</h3>
            <p>
                "Compile a program of your own with "
                <span class="code">
                    "XLA_FLAGS=\"--xla_dump_to=dump --xla_dump_hlo_as_text --xla_dump_buffer_assignment_analysis\""
                </span>
                " and drop the module and its four files on the figure of chapter 13: they are compared line by line. The command "
                "goes further:"
            </p>
            <dl class="commands">
                <dt class="code">"bufferscope inspect dump"</dt>
                <dd>"says what the folder holds, and whether its files contradict each other"</dd>
                <dt class="code">"bufferscope assign MODULE --orders MODULE.hlo.pb --out ours"</dt>
                <dd>"writes the four files as XLA does, to be compared with XLA's by any tool; the .hlo.pb comes with --xla_dump_hlo_as_proto"</dd>
                <dt class="code">"bufferscope diff BUFFER-ASSIGNMENT ours/buffer-assignment.txt"</dt>
                <dd>"says what differs, allocation by allocation and value by value"</dd>
                <dt class="code">"bufferscope check MODULE BUFFER-ASSIGNMENT"</dt>
                <dd>"runs the program under XLA's own assignment, byte by byte, with a checker that shares no code with the assigner"</dd>
                <dt class="code">"cargo test -p bufferscope-dumps --test golden"</dt>
                <dd>"compares the programs that come with the source with what XLA wrote for them"</dd>
            </dl>
            <p>
                "A program for which this page gives another answer than XLA is the most useful thing that you can send. "
                <a href="rules.html">"All rules, by section"</a>
                "."
            </p>
        }
        .into_any()
    }
}

#[cfg(all(test, not(target_arch = "wasm32")))]
mod tests {
    use super::*;

    const DOCUMENT: &str = include_str!("../../docs/VERIFICATION.md");

    /// The cells of the row that begins with that.
    fn cells(first: &str) -> Vec<&'static str> {
        let row = DOCUMENT.lines().find(|l| l.starts_with(&format!("| {first} |")));
        let row = row.unwrap_or_else(|| panic!("docs/VERIFICATION.md has no row for {first}"));
        row.split('|').map(str::trim).filter(|c| !c.is_empty()).skip(1).collect()
    }

    #[test]
    fn the_numbers_are_those_of_the_document() {
        for c in WITH_ORDERS {
            let cells = cells(c.set);
            assert_eq!(cells.len(), 6, "{}", c.set);
            assert_eq!(cells[0].trim_end_matches(" each"), c.programs.to_string(), "{}", c.set);
            assert!(cells[1..5].iter().all(|cell| *cell == c.files.to_string()), "{}: {cells:?}", c.set);
            let decisions = c.decisions.map_or("–".to_owned(), |n| n.to_string());
            assert_eq!(cells[5], decisions, "{}", c.set);
        }
        for (target, programs, same) in FROM_TEXT {
            let first = if target == "CPU" { "CPU (live range 128, memory report 129)" } else { target };
            assert_eq!(cells(first), [programs.to_string(), same.to_string()], "{target}");
        }
        let all = DOCUMENT.lines().filter(|l| {
            l.starts_with("| CPU, ")
                || l.starts_with("| GPU, ")
                || l.starts_with("| TPU v")
                || l.starts_with("| TPU 7")
        });
        assert_eq!(all.count(), WITH_ORDERS.len() + 1, "a row of the document is not on the page");
    }

    #[test]
    fn the_numbers_in_the_prose_are_those_of_the_document() {
        let sum = |column: usize| -> u32 {
            ["older traces", "v4", "v5e", "v5p", "v6e", "7x"]
                .iter()
                .map(|set| cells(set)[column].parse::<u32>().expect("a number"))
                .sum()
        };
        assert_eq!([sum(0), sum(1), sum(2), sum(3)], [72, 72, 1879, 1865]);
        let versions = include_str!("../../docs/XLA_VERSIONS.md");
        for part in
            ["LLVM 16, 165 programs", "LLVM 19, 51 programs", "jax-cuda12-plugin 0.10.2", "libtpu 0.0.52"]
        {
            assert!(versions.contains(part), "{part}");
        }
    }
}
