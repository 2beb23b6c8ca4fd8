//! The worker's answers, as the page gets them: real dumps, broken ones, and hostile ones.

use bufferscope_lab::session::Session;
use bufferscope_lab::shared::Axis;
use bufferscope_lab::talk::{
    Answer, Ask, ChangeLine, Chosen, Compared, Donations, Edit, Filter, Group, Kind, MapData, Opened, Rows,
    RowsQuery, Scale, Sort, Source, Trial, Tried,
};
use opening::Blob;

const LOOPS: &[u8] = include_bytes!("../../assets/modules/donated_loop_reads.zip");
const OUT_OF_MEMORY: &[u8] = include_bytes!("../../assets/modules/attention_out_of_memory.zip");
const TRANSFORMER: &[u8] = include_bytes!("../../assets/modules/transformer_train.txt");
const BAD_DUMPS: &[u8] = include_bytes!("../../crates/opening/tests/data/bad_dumps.tar.gz");

/// Asks, and sends the answer through JSON as the page does.
fn ask(session: &mut Session, ask: Ask, files: Vec<Blob>) -> Answer {
    let text = serde_json::to_string(&ask).expect("a question is plain data");
    let ask = serde_json::from_str(&text).expect("it reads back");
    let answer = session.answer(ask, files, &mut |_| {});
    let text = serde_json::to_string(&answer).expect("an answer is plain data");
    serde_json::from_str(&text).expect("it reads back")
}

fn open(files: Vec<Blob>) -> (Session, Opened) {
    let mut session = Session::default();
    match ask(&mut session, Ask::Open { text: None }, files) {
        Answer::Opened(opened) => (session, *opened),
        other => panic!("{other:?}"),
    }
}

fn choose(session: &mut Session, module: u32) -> Chosen {
    match ask(session, Ask::Choose { module }, Vec::new()) {
        Answer::Chosen(chosen) => *chosen,
        other => panic!("{other:?}"),
    }
}

fn rows(session: &mut Session, query: RowsQuery) -> Rows {
    match ask(session, Ask::Rows(query), Vec::new()) {
        Answer::Rows(rows) => rows,
        other => panic!("{other:?}"),
    }
}

fn map(session: &mut Session, source: Source) -> MapData {
    match ask(session, Ask::Map { source }, Vec::new()) {
        Answer::Map(map) => *map,
        other => panic!("{other:?}"),
    }
}

fn by_name(opened: &Opened, name: &str) -> u32 {
    opened.modules.iter().find(|m| m.name == name).unwrap_or_else(|| panic!("{name}: {opened:?}")).module
}

#[test]
fn a_dump_folder_in_an_archive_is_read_and_ours_is_the_same() {
    let (mut session, opened) = open(vec![Blob::new("dump.zip", LOOPS)]);
    assert_eq!(opened.modules.len(), 3);
    assert!(opened.modules.is_sorted_by_key(|m| std::cmp::Reverse(m.peak)));
    let first = &opened.modules[0];
    assert_eq!((first.backend.as_str(), first.has.len()), ("cpu", 5));
    let module = by_name(&opened, "jit_loop_reads_mid");
    let chosen = choose(&mut session, module);
    assert_eq!(chosen.findings, []);
    assert_eq!(chosen.sources.len(), 2);
    assert!(chosen.headline[0].contains("8,388,7"), "{:?}", chosen.headline);
    assert!(chosen.headline.iter().any(|s| s.starts_with("Checked:")), "{:?}", chosen.headline);
    let difference = chosen.difference.expect("both are there");
    assert_eq!(difference.title, "Ours is the same", "{difference:?}");
    // The rule that refused the sharing which the user expected.
    let pair = Ask::Pair { a: "wrapped_exponential".into(), b: "x.1".into() };
    let Answer::Words(words) = ask(&mut session, pair, Vec::new()) else { panic!("words") };
    assert_eq!(words.title, "They do not share");
    let nobody = Ask::Pair { a: "nobody".into(), b: "x.1".into() };
    assert!(matches!(ask(&mut session, nobody, Vec::new()), Answer::Failed(_)));
}

#[test]
fn a_compile_that_failed_is_taken_apart() {
    let (mut session, opened) = open(vec![Blob::new("oom.zip", OUT_OF_MEMORY)]);
    assert_eq!((opened.modules.len(), opened.errors.len()), (3, 3));
    assert!(opened.errors.iter().all(|e| e.sentence.contains("Ran out of memory")));
    let chosen = choose(&mut session, by_name(&opened, "jit_attention_train"));
    assert_eq!(chosen.line.backend, "tpu");
    assert!(!chosen.faces[0].notable.is_empty());
    let peak = chosen.sources[0].peak;
    let mut query = RowsQuery {
        source: Source::Dump,
        filter: Filter {
            alive_at: Some(peak.1),
            kind: Some(bufferscope_lab::talk::Kind::Temp),
            color: Some(peak.0),
            ..Filter::default()
        },
        count: 10_000,
        ..RowsQuery::default()
    };
    let each = rows(&mut session, query.clone());
    assert_eq!(each.bytes, peak.2, "the list adds up to the peak");
    query.group = Group::Shape;
    let grouped = rows(&mut session, query);
    assert_eq!((grouped.bytes, grouped.values), (each.bytes, each.values));
    assert_eq!(grouped.lines.last().map(|l| l.cumulative), Some(each.bytes));
    assert!(grouped.lines.iter().any(|l| l.count > 1));
}

#[test]
fn what_is_needed_beside_the_temporaries_is_named() {
    let (mut session, opened) = open(vec![Blob::new("dump.zip", OUT_OF_MEMORY)]);
    let chosen = choose(&mut session, by_name(&opened, "jit_one_big_square"));
    let (first, total) = (&chosen.faces[0].beside[0], chosen.sources[0].total);
    assert_eq!((first.operation.as_str(), first.count, first.bytes), ("output", 1, 32 << 30), "{first:?}");
    // Nothing small, and no temporary.
    assert!(chosen.faces[0].beside.iter().all(|m| m.bytes >= total / 20), "{:?}", chosen.faces[0].beside);
    let kinds = &chosen.sources[0].by_kind;
    let sum: u64 = kinds.iter().filter(|k| k.0 != Kind::Temp).map(|k| k.1).sum();
    assert!(chosen.faces[0].beside.iter().map(|m| m.bytes).sum::<u64>() <= sum);
    // Twenty arguments of one shape are one line, and what the message blames on temporaries is said to be none.
    let chosen = choose(&mut session, by_name(&opened, "jit_too_many_arguments"));
    let told: Vec<_> =
        chosen.faces[0].beside.iter().map(|m| (m.operation.as_str(), m.count, m.bytes)).collect();
    assert_eq!(told, [("argument", 20, 20 << 30), ("output", 20, 20 << 30)]);
    assert!(chosen.faces[0].makers.is_empty());
}

#[test]
fn every_sample_opens_and_its_list_adds_up_to_its_peak() {
    let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/../assets/modules");
    let mut tried = 0;
    for entry in std::fs::read_dir(folder).expect("the samples") {
        let path = entry.expect("a file").path();
        let name = path.file_name().expect("a name").to_string_lossy().into_owned();
        if name.ends_with(".presets.txt") {
            continue;
        }
        let bytes = std::fs::read(&path).expect("it can be read");
        let (mut session, opened) = open(vec![Blob::new(name.clone(), bytes)]);
        for m in &opened.modules {
            let chosen = choose(&mut session, m.module);
            assert!(chosen.can_try, "{name}: {:?}", chosen.notes);
            for line in &chosen.sources {
                let map = map(&mut session, line.source);
                assert_eq!(map.row.len(), map.size.len());
                let (color, step, bytes) = line.peak;
                let filter = Filter {
                    alive_at: Some(step),
                    kind: Some(bufferscope_lab::talk::Kind::Temp),
                    color: Some(color),
                    ..Filter::default()
                };
                let query = RowsQuery { source: line.source, filter, ..RowsQuery::default() };
                assert_eq!(rows(&mut session, query).bytes, bytes, "{name} {:?}", line.source);
                tried += 1;
            }
            for (topic, _) in bufferscope_lab::topics::TOPICS {
                let ask_topic = Ask::Topic { source: chosen.sources[0].source, topic: topic.to_owned() };
                let Answer::Words(words) = ask(&mut session, ask_topic, Vec::new()) else {
                    panic!("{name}: {topic}")
                };
                assert!(!words.lines.is_empty() || !words.table.is_empty(), "{name}: {topic}");
            }
        }
    }
    assert!(tried >= 14, "{tried}");
}

#[test]
fn filters_orders_and_pages() {
    let (mut session, _) = open(vec![Blob::new("t.txt", TRANSFORMER)]);
    choose(&mut session, 0);
    let source = Source::Ours;
    let all = rows(&mut session, RowsQuery { source, count: 100_000, ..RowsQuery::default() });
    assert_eq!(all.lines.len() as u32, all.of);
    assert!(all.lines.is_sorted_by_key(|l| std::cmp::Reverse(l.bytes)));
    let page = rows(&mut session, RowsQuery { source, from: 10, count: 5, ..RowsQuery::default() });
    assert_eq!(page.lines, all.lines[10..15]);
    let wanted = Filter { pattern: "^dot".into(), min_bytes: 1000, ..Filter::default() };
    let dots = rows(&mut session, RowsQuery { source, filter: wanted, count: 1000, ..RowsQuery::default() });
    assert!(dots.of > 3 && dots.of < all.of);
    assert!(dots.lines.iter().all(|l| l.bytes >= 1000));
    assert_eq!(dots.fitting.map(|f| f.len()), Some(dots.values as usize));
    let broken = Filter { pattern: "(".into(), ..Filter::default() };
    let broken = rows(&mut session, RowsQuery { source, filter: broken, ..RowsQuery::default() });
    assert!(broken.problem.is_some());
    let long =
        rows(&mut session, RowsQuery { source, sort: Sort::Length, count: 50, ..RowsQuery::default() });
    let length = |r: Option<(u32, u32)>| r.map_or(0, |(a, b)| b - a + 1);
    assert!(long.lines.is_sorted_by_key(|l| std::cmp::Reverse(length(l.range))));
    for group in [Group::Op, Group::Scope, Group::Line, Group::Opcode, Group::Kind, Group::Space, Group::Pass]
    {
        let groups = rows(&mut session, RowsQuery { source, group, count: 10_000, ..RowsQuery::default() });
        assert_eq!(groups.lines.iter().map(|l| l.count).sum::<u32>(), all.of, "{group:?}");
        let first = groups.lines[0].clone();
        let within =
            RowsQuery { source, group, within: first.key.clone(), count: 10_000, ..RowsQuery::default() };
        let opened = rows(&mut session, within);
        assert_eq!((opened.of, opened.bytes), (first.count, first.bytes), "{group:?}");
    }
}

#[test]
fn text_decisions_slabs_and_values() {
    let (mut session, _) = open(vec![Blob::new("t.txt", TRANSFORMER)]);
    let chosen = choose(&mut session, 0);
    let whole = String::from_utf8_lossy(TRANSFORMER);
    assert_eq!(chosen.lines as usize, whole.lines().count());
    let Answer::Text { lines, of, .. } = ask(&mut session, Ask::Text { from: 3, count: 5 }, Vec::new())
    else {
        panic!("text")
    };
    assert_eq!((of, lines.len()), (chosen.lines, 5));
    assert_eq!(lines[0], whole.lines().nth(3).expect("a line"));
    let find = |session: &mut Session, after, back| match ask(
        session,
        Ask::Find { pattern: "^ENTRY".into(), after, back },
        Vec::new(),
    ) {
        Answer::Found(line) => line,
        other => panic!("{other:?}"),
    };
    let entry = whole.lines().position(|l| l.starts_with("ENTRY")).map(|l| l as u32);
    assert_eq!(find(&mut session, None, false), entry);
    // Round the end, and backwards.
    assert_eq!(find(&mut session, entry, false), entry);
    assert_eq!(find(&mut session, entry, true), entry);
    let decisions =
        Ask::Decisions { kind: Some("refuse".into()), pattern: String::new(), from: 0, count: 20 };
    let Answer::Decisions { lines, fitting, of } = ask(&mut session, decisions, Vec::new()) else {
        panic!("decisions")
    };
    assert_eq!(lines.len(), 20);
    assert!(fitting > 20 && of > fitting && lines.iter().all(|l| l.kind == "refuse" && l.row.is_some()));
    let Answer::Slabs(slabs) = ask(&mut session, Ask::Slabs { source: Source::Ours }, Vec::new()) else {
        panic!("slabs")
    };
    let sum: u64 = slabs.iter().map(|s| s.face.size).sum();
    assert_eq!(sum, chosen.sources[0].total);
    let Answer::Value(detail) = ask(&mut session, Ask::Value { source: Source::Ours, row: 200 }, Vec::new())
    else {
        panic!("a value")
    };
    let line = detail.text_line.expect("its line");
    assert!(whole.lines().nth(line as usize).is_some_and(|l| l.contains(&*detail.instruction)));
}

#[test]
fn damaged_folders_say_what_is_wrong_and_show_the_rest() {
    let (mut session, opened) = open(vec![Blob::new("bad.tar.gz", BAD_DUMPS)]);
    assert!(opened.modules.len() > 10);
    let mut wrong = 0;
    for m in &opened.modules {
        let chosen = choose(&mut session, m.module);
        wrong += usize::from(!chosen.findings.is_empty());
        assert!(!chosen.sources.is_empty() || chosen.notes.iter().any(|n| n.is_error), "{}", m.folder);
        for s in &chosen.sources {
            map(&mut session, s.source);
            rows(&mut session, RowsQuery { source: s.source, count: 10, ..RowsQuery::default() });
        }
    }
    assert!(wrong > 4, "{wrong}");
}

#[test]
fn what_is_no_module_says_what_it_is() {
    for (name, text, says) in [
        ("f.py", "import jax\nimport jax.numpy as jnp\n\ndef f(x):\n    return x + 1\n", "Python"),
        ("m.mlir", "module @jit_f {\n  func.func public @main() {\n    return\n  }\n}\n", "MLIR"),
        ("empty.txt", "", "empty"),
        ("noise.bin", "\u{1}\u{2}\u{3}\u{4}\u{5}\u{6}\u{7}\u{8}\u{1}\u{2}\u{3}\u{4}", "bytes"),
    ] {
        let (mut session, opened) = open(vec![Blob::new(name, text)]);
        assert!(opened.advice.is_some(), "{name}");
        let notes: Vec<&str> = opened.notes.iter().map(|n| n.text.as_str()).collect();
        assert!(notes.iter().any(|n| n.contains(says)), "{name}: {notes:?}");
        assert!(matches!(ask(&mut session, Ask::Choose { module: 0 }, Vec::new()), Answer::Failed(_)));
    }
    let (_, broken) = open(vec![Blob::new("a.zip", &b"PK\x03\x04 and then nothing"[..])]);
    assert!(broken.notes.iter().any(|n| n.is_error), "{broken:?}");
}

#[test]
fn names_of_a_megabyte_are_cut() {
    let long = "a".repeat(1 << 20);
    let text = format!(
        "HloModule {long}, is_scheduled=true\n\nENTRY main {{\n  p = f32[4]{{0}} parameter(0)\n  {long} = f32[4]{{0}} add(p, p), metadata={{op_name=\"<img src=x onerror=alert(1)>{long}\"}}\n  ROOT r = f32[4]{{0}} negate({long})\n}}\n"
    );
    let (mut session, opened) = open(vec![Blob::new("x.txt", text)]);
    assert!(opened.modules[0].name.len() < 1000);
    choose(&mut session, 0);
    let answer = ask(
        &mut session,
        Ask::Rows(RowsQuery { source: Source::Ours, count: 10, ..RowsQuery::default() }),
        Vec::new(),
    );
    assert!(serde_json::to_string(&answer).expect("plain data").len() < 20_000);
    let answer = ask(&mut session, Ask::Text { from: 0, count: 100 }, Vec::new());
    assert!(serde_json::to_string(&answer).expect("plain data").len() < 40_000);
}

fn try_out(session: &mut Session, edits: Vec<Edit>) -> Tried {
    match ask(session, Ask::Try(Trial { edits }), Vec::new()) {
        Answer::Tried(tried) => *tried,
        other => panic!("{other:?}"),
    }
}

fn module(name: &str) -> Vec<Blob> {
    let path = format!("{}/../assets/modules/{name}", env!("CARGO_MANIFEST_DIR"));
    vec![Blob::new(name, std::fs::read(path).expect("a sample"))]
}

#[test]
fn a_pulled_range_costs_bytes_and_the_map_is_that_of_the_run() {
    let (mut session, _) = open(module("unet_skip.txt"));
    let chosen = choose(&mut session, 0);
    let none = try_out(&mut session, Vec::new());
    assert_eq!(none.total, (chosen.sources[0].total, chosen.sources[0].total));
    let name = "conv_general_dilated.7".to_owned();
    let end = map(&mut session, Source::Ours).end;
    let pulled = try_out(&mut session, vec![Edit::Range { name: name.clone(), start: 0, end }]);
    assert!(pulled.total.1 > pulled.total.0, "{pulled:?}");
    assert_eq!(pulled.words.len(), 4);
    let drawn = map(&mut session, Source::Tried);
    assert_eq!(Some((pulled.line.peak.1, pulled.line.peak.2)), drawn.curves.first().map(|c| c.peak));
    assert!(pulled.line.peak.1 > 0);
    assert!(pulled.words[3].contains("no longer shares with"), "{:?}", pulled.words);
    let Answer::Line(line) = ask(&mut session, Ask::Named { source: Source::Tried, name }, Vec::new()) else {
        panic!("a line")
    };
    assert_eq!(line.range, Some((0, end)));
    let broken = Ask::Try(Trial { edits: vec![Edit::Alignment { bytes: 3 }] });
    assert!(matches!(ask(&mut session, broken, Vec::new()), Answer::Failed(_)));
    assert!(!pulled.is_unsound && pulled.sound.starts_with("Sound"), "{}", pulled.sound);
    // Cut short it loses what its readers read.
    let Answer::Line(own) = ask(
        &mut session,
        Ask::Named { source: Source::Ours, name: "conv_general_dilated.7".into() },
        Vec::new(),
    ) else {
        panic!("a line")
    };
    let start = own.range.expect("a range").0;
    let cut = try_out(&mut session, vec![Edit::Range { name: own.name, start, end: start }]);
    assert!(cut.is_unsound || cut.total.0 == cut.total.1, "{}", cut.sound);
    let aligned = try_out(&mut session, vec![Edit::Alignment { bytes: 4096 }]);
    assert!(aligned.total.1 >= aligned.total.0);
}

#[test]
fn donations_are_taken_back_and_made() {
    let (mut session, _) = open(module("donation_swap.txt"));
    let outputs = |line: &bufferscope_lab::talk::SourceLine| {
        line.by_kind.iter().find(|k| k.0 == bufferscope_lab::talk::Kind::Output).map_or(0, |k| k.1)
    };
    let before = outputs(&choose(&mut session, 0).sources[0]);
    let offered = donations(&mut session);
    assert!(offered.taken.len() >= 2 && offered.free.is_empty() && offered.all.is_none(), "{offered:?}");
    for (words, edit) in &offered.taken {
        assert!(words.starts_with("Do not donate"), "{words}");
        let tried = try_out(&mut session, vec![edit.clone()]);
        // The output needs memory of its own; what the swap needed in between is saved.
        assert_eq!(outputs(&tried.line), before + 4000, "{words}: {tried:?}");
    }
}

fn donations(session: &mut Session) -> Donations {
    match ask(session, Ask::Donations, Vec::new()) {
        Answer::Donations(offered) => offered,
        other => panic!("{other:?}"),
    }
}

#[test]
fn many_donations_are_one_clause_and_all_of_them_stand_in_what_is_taken_away() {
    let (mut session, opened) = open(vec![Blob::new("dump.zip", OUT_OF_MEMORY)]);
    let module = by_name(&opened, "jit_too_many_arguments");
    choose(&mut session, module);
    let offered = donations(&mut session);
    let (words, all) = offered.all.clone().expect("twenty fit");
    assert_eq!((words.as_str(), all.len()), ("Donate all 20 that fit outputs, 20.0 GiB", 20));
    assert!(offered.free.len() >= 20 && offered.taken.is_empty());
    let tried = try_out(&mut session, all.clone());
    assert_eq!((tried.edits.len(), tried.short.len()), (20, 1), "{:?}", tried.short);
    assert!(
        tried.short[0].starts_with("20 arguments are donated: ") && tried.short[0].ends_with("and 17 more")
    );
    assert!(!tried.is_unsound && tried.total.1 == tried.total.0 - (20 << 30), "{}", tried.sound);
    let Answer::File { text, .. } =
        ask(&mut session, Ask::Export { source: Source::Tried, what: "peak.md".into() }, Vec::new())
    else {
        panic!("a file")
    };
    let (said, folded) = text.split_once("<details>").expect("all of them are folded");
    assert!(said.len() < 2_000 && said.contains("20 arguments are donated"), "{said}");
    assert!(folded.contains("All 20 changes") && folded.matches("\n- `").count() == 20, "{folded}");
    // Of what fits after all nothing is said; of the program as it is no packing can fit.
    assert_eq!(donations(&mut session), offered, "of the program as it is");
    // Few are told as they are, and so is what is no donation.
    let few = try_out(&mut session, all[..2].to_vec());
    assert_eq!(few.short, few.edits);
}

#[test]
fn what_cannot_fit_is_said_to_whoever_opens_it() {
    let (mut session, opened) = open(vec![Blob::new("oom.zip", OUT_OF_MEMORY)]);
    for e in &opened.errors {
        let caution = e.caution.as_deref().expect("the new text");
        assert!(caution.starts_with("What the text calls HLO temporaries is everything"), "{caution}");
        assert!(e.words.iter().any(|w| w == caution), "{:?}", e.words);
    }
    let chosen = choose(&mut session, by_name(&opened, "jit_attention_train"));
    for face in &chosen.faces {
        let packing = face.packing.as_deref().expect("it did not fit");
        assert!(packing.starts_with("No packing can fit: 48,"), "{packing}");
    }
    let Answer::Advised(advice) = ask(&mut session, Ask::Advise, Vec::new()) else { panic!("advice") };
    let gap = advice.gap.expect("none of them closes it");
    assert!(gap.contains("no single one closes the gap") || gap.contains("no single change saves"), "{gap}");
    let donates = |c: &ChangeLine| c.edits.iter().any(|e| matches!(e, Edit::Donate { .. }));
    assert!(advice.changes.iter().any(donates), "{:?}", advice.changes);
    assert!(
        advice.cautions.iter().any(|c| c.contains("a compiler that is told of a donation")),
        "{:?}",
        advice.cautions
    );
    // The saving is told beside it, not in it.
    assert!(advice.changes.iter().all(|c| !c.what.contains("saves")), "{:?}", advice.changes);
}

#[test]
fn a_group_from_several_places_says_which() {
    let (mut session, opened) = open(vec![Blob::new("oom.zip", OUT_OF_MEMORY)]);
    choose(&mut session, by_name(&opened, "jit_attention_train"));
    let query = RowsQuery { source: Source::Dump, group: Group::Shape, count: 500, ..RowsQuery::default() };
    let all = rows(&mut session, query);
    let mut mixed = 0;
    for line in &all.lines {
        if line.places.is_empty() {
            continue;
        }
        mixed += 1;
        let told: u32 = line.places.iter().map(|p| p.1).sum();
        assert!(line.places.len() > 1 && told <= line.count, "{line:?}");
        assert!(line.more_places > 0 || told == line.count, "{line:?}");
        assert!(line.places.is_sorted_by(|a, b| a.1 >= b.1), "{line:?}");
        if let Some(common) = line.op.strip_suffix("/…") {
            assert!(line.places.iter().all(|p| p.0.starts_with(common)), "{line:?}");
        }
    }
    assert!(mixed > 3, "{mixed}");
}

#[test]
fn names_are_asked_for_by_row() {
    let (mut session, _) = open(module("mlp_grad.txt"));
    choose(&mut session, 0);
    let all = rows(&mut session, RowsQuery { source: Source::Ours, count: 5, ..RowsQuery::default() });
    let wanted: Vec<u32> = all.lines.iter().map(|l| l.row).chain([u32::MAX]).collect();
    let Answer::Names(names) =
        ask(&mut session, Ask::Names { source: Source::Ours, rows: wanted }, Vec::new())
    else {
        panic!("names")
    };
    let told: Vec<&str> = all.lines.iter().map(|l| l.name.as_str()).chain([""]).collect();
    assert_eq!(names, told);
}

#[test]
fn what_is_advised_is_what_comes_of_it() {
    let (mut session, opened) = open(vec![Blob::new("dump.zip", LOOPS)]);
    choose(&mut session, by_name(&opened, "jit_loop_reads_mid"));
    let Answer::Advised(advice) = ask(&mut session, Ask::Advise, Vec::new()) else { panic!("advice") };
    assert!(advice.tried.contains("changes were tried"));
    for ChangeLine { what, saves, temp, edits } in advice.changes {
        let tried = try_out(&mut session, edits);
        assert_eq!(tried.total.0.saturating_sub(tried.total.1), saves, "{what}");
        assert_eq!(tried.temp, temp, "{what}");
        assert!(!tried.is_unsound, "{what}: {}", tried.sound);
    }
}

/// Values of many sizes that live across each other: simple packings do not reach the bound, and proofs take long.
fn tangled(count: usize) -> String {
    let mut random = 1_u64;
    let mut next = |below: usize| {
        random = random.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (random >> 33) as usize % below
    };
    let mut lines =
        vec!["HloModule tangled, is_scheduled=true".to_owned(), String::new(), "ENTRY e {".to_owned()];
    lines.push("  c.0 = f32[4096]{0} parameter(0)".to_owned());
    for i in 1..count {
        let (a, b) = (i - 1, i - 1 - next(i.min(40)));
        let size = 1024 + 97 * next(300);
        lines.push(format!("  c.{i} = f32[{size}]{{0}} custom-call(c.{a}, c.{b}), custom_call_target=\"f\""));
    }
    lines.push(format!("  ROOT r = f32[16]{{0}} custom-call(c.{}), custom_call_target=\"g\"", count - 1));
    lines.push("}".to_owned());
    lines.join("\n")
}

#[test]
fn the_smallest_heap_is_found_in_slices_and_whoever_stops_has_what_was_found() {
    let (mut session, opened) = open(vec![Blob::new("a.txt", TRANSFORMER)]);
    choose(&mut session, opened.modules[0].module);
    let smallest = Ask::Smallest { source: Source::Ours, seconds: 10 };
    let Answer::Smallest { words: found, .. } = ask(&mut session, smallest.clone(), Vec::new()) else {
        panic!("words")
    };
    assert!(found.lines[0].contains("(proved)"), "{found:?}");

    let (mut session, opened) = open(vec![Blob::new("b.txt", tangled(400))]);
    choose(&mut session, opened.modules[0].module);
    let mut search = session.smallest_search(Source::Ours).expect("it has a heap");
    let numbers = |search: &bufferscope_lab::session::SmallestHeaps| -> Vec<u64> {
        let Answer::Smallest { words: found, .. } = search.found() else { panic!("words") };
        found.table[1][1..5]
            .iter()
            .map(|n| n.replace(|c: char| !c.is_ascii_digit(), "").parse().unwrap_or(u64::MAX))
            .collect()
    };
    let mut before = numbers(&search);
    let first = before.clone();
    let mut told = String::new();
    for _ in 0..600 {
        if !search.go_on(&mut || false, &mut |p| told = p.what) {
            break;
        }
        let now = numbers(&search);
        let [assigned, height, bound, gap] = now[..] else { panic!("{now:?}") };
        assert!(assigned >= height && height >= bound && gap == height - bound, "{now:?}");
        assert!(height <= before[1] && bound >= before[2], "{before:?} {now:?}");
        before = now;
    }
    eprintln!("{first:?} {before:?} {told}");
    assert!(before != first, "{first:?} {told}: nothing came of it");
    assert!(before[3] > 0 && told.contains("at least"), "{before:?}: this one is not proved so soon");

    let [taken_now, height_now, least_now, _] = numbers(&search)[..] else { panic!("four numbers") };
    // What was found stands: executed, no value is lost, and each stays within the heap that was told.
    let Answer::Smallest { packings, .. } = search.found() else { panic!("packings") };
    assert!(packings[0].offsets.is_some(), "it is smaller than the packer's");
    let pack = |session: &mut Session, packings| {
        ask(session, Ask::Pack { source: Source::Ours, packings }, Vec::new())
    };
    let Answer::Packed(line) = pack(&mut session, packings.clone()) else { panic!("packed") };
    let map = |session: &mut Session, source| {
        let Answer::Map(map) = ask(session, Ask::Map { source }, Vec::new()) else { panic!("a map") };
        map
    };
    let (ours, packed) = (map(&mut session, Source::Ours), map(&mut session, Source::Packed));
    assert_eq!((&packed.row, &packed.start, &packed.size), (&ours.row, &ours.start, &ours.size));
    assert_eq!(packed.was, ours.offset);
    assert_ne!(packed.offset, ours.offset);
    let (taken, least) = packed.curves[0].bounds.expect("bounds");
    assert_eq!((taken, packed.curves[0].temp, least), (taken_now, height_now, least_now));
    let temp = |line: &bufferscope_lab::talk::SourceLine| {
        line.by_kind.iter().filter(|k| k.0 == bufferscope_lab::talk::Kind::Temp).map(|k| k.1).sum::<u64>()
    };
    assert_eq!(temp(&line), height_now);
    let Answer::Words(checked) = ask(&mut session, Ask::Check { source: Source::Packed }, Vec::new()) else {
        panic!("words")
    };
    assert!(checked.lines[0].starts_with("Sound"), "{checked:?}");
    for (what, is_there) in [("values.csv", true), ("peak.md", true), ("buffer-assignment.txt", false)] {
        let said =
            ask(&mut session, Ask::Export { source: Source::Packed, what: what.to_owned() }, Vec::new());
        assert_eq!(matches!(said, Answer::File { .. }), is_there, "{what}");
    }
    // What is no packing of these heaps is refused.
    let mut wrong = packings.clone();
    wrong[0].offsets.as_mut().expect("offsets").fill(0);
    for packings in [wrong, Vec::new()] {
        assert!(matches!(pack(&mut session, packings), Answer::Failed(_)));
    }
}

#[test]
fn files_trees_and_small_modules() {
    let (mut session, opened) = open(vec![Blob::new("dump.zip", LOOPS)]);
    let first = by_name(&opened, "jit_loop_reads_mid");
    choose(&mut session, first);
    for (what, _) in bufferscope_lab::export::FILES {
        for source in [Source::Dump, Source::Ours] {
            let export = Ask::Export { source, what: what.to_owned() };
            let Answer::File { text, .. } = ask(&mut session, export, Vec::new()) else { panic!("{what}") };
            assert!(text.len() > 40, "{what}");
        }
    }
    let Answer::Tree(tree) =
        ask(&mut session, Ask::Tree { source: Source::Dump, alive_at: None }, Vec::new())
    else {
        panic!("a tree")
    };
    assert!(tree.len() > 5 && tree[0].depth == 0 && tree[0].bytes >= tree[1].bytes);
    let reduce = Ask::Reduce { a: "wrapped_exponential".into(), b: "x.1".into() };
    let Answer::Reduced { text, before, after, stopped } = ask(&mut session, reduce, Vec::new()) else {
        panic!("a small module")
    };
    assert!(!stopped);
    assert!(text.starts_with("HloModule") && text.lines().count() < 60 && after < before, "{text}");
}

#[test]
fn a_small_module_is_searched_in_pieces_and_whoever_stops_has_the_smallest_so_far() {
    let (mut session, opened) = open(module("transformer_train.txt"));
    choose(&mut session, opened.modules[0].module);
    let Answer::Rows(all) = ask(&mut session, Ask::Rows(first_rows(Source::Ours)), Vec::new()) else {
        panic!("rows")
    };
    let temps: Vec<&str> =
        all.lines.iter().filter(|l| l.kind == Some(Kind::Temp)).map(|l| l.name.as_str()).collect();
    let stopped_after = |trials: usize| {
        let mut search = session.reducing(temps[0], temps[1]).expect("it begins");
        let mut told = Vec::new();
        for _ in 0..trials {
            search.go_on(&mut |p| told.push(p.what));
        }
        assert_eq!(told.len(), trials);
        match search.found() {
            Answer::Reduced { text, before, after, stopped } => {
                assert!(stopped, "{trials}");
                (text, before, after)
            }
            other => panic!("{other:?}"),
        }
    };
    let (all, soon, later) = (stopped_after(0), stopped_after(6), stopped_after(20));
    assert_eq!(all.1, all.2, "nothing is tried yet");
    assert!(later.2 <= soon.2 && soon.2 <= all.2 && later.2 < all.2, "{} {} {}", all.2, soon.2, later.2);
    // What is left is a module that still has both values.
    let (mut again, opened) = open(vec![Blob::new("reduced.txt", later.0)]);
    choose(&mut again, opened.modules[0].module);
    for name in &temps[..2] {
        let named = Ask::Named { source: Source::Ours, name: (*name).to_owned() };
        assert!(matches!(ask(&mut again, named, Vec::new()), Answer::Line(_)), "{name}");
    }
    assert!(session.reducing("nobody", "x").is_err());
}

fn first_rows(source: Source) -> RowsQuery {
    RowsQuery {
        source,
        filter: Filter::default(),
        group: Group::None,
        within: None,
        sort: Sort::Bytes,
        from: 0,
        count: 200,
    }
}

fn compare(session: &mut Session, source: Source, module: u32) -> Compared {
    match ask(session, Ask::Compare { source, module }, Vec::new()) {
        Answer::Compared(compared) => *compared,
        other => panic!("{other:?}"),
    }
}

#[test]
fn two_dumps_are_compared_in_tables_and_on_shared_axes() {
    let (mut session, opened) = open(vec![Blob::new("dump.zip", LOOPS)]);
    let (first, other) = (by_name(&opened, "jit_loop_reads_mid"), by_name(&opened, "jit_no_loop"));
    let chosen = choose(&mut session, first);
    let c = compare(&mut session, Source::Dump, other);
    assert!(!c.same && c.sections[0].words.table.len() > 2 && c.sections.len() > 1, "{c:?}");
    // Peaks of the curves are those that are told elsewhere.
    let peak = chosen.sources[0].peak;
    let space = c.spaces.iter().find(|s| s.color == peak.0).expect("the space of the peak");
    assert_eq!(space.left.peak, (peak.1, peak.2));
    // What is said of a line is there: rows that exist, steps within the program.
    for section in &c.sections[1..] {
        assert_eq!(section.about.len() + 1, section.words.table.len(), "{}", section.words.title);
        for about in &section.about {
            assert!(!about.left.rows.is_empty() || !about.right.rows.is_empty(), "{}", section.words.title);
            assert!(about.left.steps.iter().all(|s| s.0 <= s.1 && s.1 <= c.ends.0));
            assert!(about.right.steps.iter().all(|s| s.0 <= s.1 && s.1 <= c.ends.1));
            assert!(about.left.steps.is_sorted_by(|a, b| a.1 < b.0));
        }
    }
    // The difference at the two peaks adds up to that of what is in use then.
    let at_peaks = Ask::CompareAt {
        source: Source::Dump,
        color: space.color,
        steps: (Some(space.left.peak.0), Some(space.right.peak.0)),
    };
    let Answer::ComparedAt(at) = ask(&mut session, at_peaks, Vec::new()) else { panic!("a difference") };
    let number = |cell: &str| {
        cell.chars().filter(char::is_ascii_digit).collect::<String>().parse::<i64>().expect("bytes")
    };
    let sum: i64 = at.words.table[1..].iter().map(|r| number(&r[4]) - number(&r[3])).sum();
    assert_eq!(sum, space.right.peak.1 as i64 - space.left.peak.1 as i64, "{:?}", at.words);
    let over = Ask::CompareAt { source: Source::Dump, color: space.color, steps: (None, Some(0)) };
    let Answer::ComparedAt(at) = ask(&mut session, over, Vec::new()) else { panic!("a difference") };
    assert!(at.words.lines[0].contains("the program is over"), "{:?}", at.words);
    // A module and itself are the same, and stand under each other.
    let c = compare(&mut session, Source::Dump, first);
    assert!(
        c.same && c.sections.len() == 1 && c.sections[0].words.lines[0].starts_with("Nothing differs"),
        "{c:?}"
    );
    assert_eq!(c.in_order, c.aligned.1);
    let axis = Axis::new(&c, Scale::Matched);
    assert_eq!((axis.total, axis.left.clone()), (f64::from(c.ends.0) + 1.0, axis.right.clone()));
    // With another module chosen there is nothing that is compared.
    choose(&mut session, other);
    let at = Ask::CompareAt { source: Source::Dump, color: 0, steps: (Some(0), Some(0)) };
    assert!(matches!(ask(&mut session, at, Vec::new()), Answer::Failed(_)));
}

#[test]
fn what_cannot_be_compared_is_told_with_its_place() {
    let broken = "HloModule broken, is_scheduled=true\n\nENTRY main {\n  x = f32[8]{0} parameter(0)\n  y = f32[8]{0} negate(";
    let mut files = module("mlp_grad.txt");
    files.push(Blob::new("cut.txt", broken));
    let (mut session, opened) = open(files);
    let wrong = by_name(&opened, "broken");
    choose(&mut session, opened.modules.iter().find(|m| m.module != wrong).expect("the good one").module);
    let answer = ask(&mut session, Ask::Compare { source: Source::Ours, module: wrong }, Vec::new());
    let Answer::Failed(why) = answer else { panic!("{answer:?}") };
    assert!(why.starts_with("The other module cannot be read: cut.txt:5:"), "{why}");
}

#[test]
fn two_backends_are_compared() {
    let files = ["mlp_grad.txt", "gpu_mlp_grad.txt"].map(|name| module(name).remove(0));
    let (mut session, opened) = open(files.into());
    choose(&mut session, opened.modules[0].module);
    let c = compare(&mut session, Source::Ours, opened.modules[1].module);
    assert!(c.aligned.0 > 3, "{:?}", c.aligned);
    let words = &c.sections[0].words.lines.join(" ");
    assert!(
        words.contains("This one is our engine's assignment, the other is our engine's assignment."),
        "{words}"
    );
    for scale in Scale::ALL {
        let axis = Axis::new(&c, scale);
        for (side, end) in [(&axis.left, c.ends.0), (&axis.right, c.ends.1)] {
            for step in 0..=end {
                assert_eq!(side.step(side.middle(step)), Some(step), "{scale:?}");
            }
        }
        // What is matched is first written at one place.
        if scale == Scale::Matched {
            for (l, r) in &c.anchors {
                let apart = axis.left.place(f64::from(*l)) - axis.right.place(f64::from(*r));
                assert!(apart.abs() < 1e-9, "{l} {r}");
            }
        }
    }
}

fn hands(session: &mut Session, name: &str, tried: bool) -> bufferscope_lab::talk::Hands {
    match ask(session, Ask::Hands { name: name.to_owned(), tried }, Vec::new()) {
        Answer::Hands(hands) => *hands,
        other => panic!("{other:?}"),
    }
}

#[test]
fn an_instruction_is_moved_and_a_read_left_out() {
    let (mut session, _) = open(module("unet_skip.txt"));
    choose(&mut session, 0);
    // One that has room, and is read.
    let all = rows(&mut session, RowsQuery { source: Source::Ours, count: 10_000, ..RowsQuery::default() });
    let has_room = |h: &bufferscope_lab::talk::Hands| {
        h.reads.len() > 1 && h.room.as_ref().is_some_and(|r| r.ends().0 < r.ends().1)
    };
    let names: Vec<String> = all.lines.into_iter().map(|l| l.name).collect();
    let found = names.iter().map(|n| hands(&mut session, n, false)).find(has_room).expect("one with room");
    let room = found.room.expect("room");
    let (first, last) = room.ends();
    assert!(found.words.starts_with(&found.instruction), "{}", found.words);
    assert_eq!((room.nearest(0), room.nearest(u32::MAX)), (first, last));
    assert!(room.next(first, true) > first && room.next(first, false) == first);
    let to = if room.now == last { first } else { last };
    let moved = try_out(&mut session, vec![Edit::Move { name: found.instruction.clone(), to }]);
    assert!(moved.sound.starts_with("Sound") || moved.is_unsound, "{}", moved.sound);
    let again = hands(&mut session, &found.value, true);
    assert_eq!(again.room.map(|r| r.now), Some(to));
    assert_eq!(hands(&mut session, &found.value, false).room.map(|r| r.now), Some(room.now));
    // What is taken away of it says what was changed.
    let export = |what: &str| Ask::Export { source: Source::Tried, what: what.to_owned() };
    let Answer::File { text, .. } = ask(&mut session, export("assignment.json"), Vec::new()) else {
        panic!("a file")
    };
    let json: serde_json::Value = serde_json::from_str(&text).expect("JSON");
    assert_eq!((&json["edits"][0]["edit"], &json["total"]), (&"move".into(), &moved.total.1.into()));
    let Answer::File { text, .. } = ask(&mut session, export("peak.md"), Vec::new()) else {
        panic!("a file")
    };
    assert!(text.contains("With changes made by hand") && text.contains("ound: "), "{text}");
    let dropped = try_out(&mut session, vec![found.reads[0].1.clone()]);
    assert!(dropped.edits[0].contains("does not read"), "{:?}", dropped.edits);
    assert_eq!(hands(&mut session, &found.value, true).reads.len() + 1, found.reads.len());
}

#[test]
fn changes_go_into_an_address_or_a_file_and_come_back() {
    use bufferscope_lab::address::{Address, Open};
    let text = std::fs::read_to_string(format!(
        "{}/../assets/modules/donation_swap.txt",
        env!("CARGO_MANIFEST_DIR")
    ))
    .expect("a sample");
    let (mut session, _) = open(module("donation_swap.txt"));
    let chosen = choose(&mut session, 0);
    let trial = Trial { edits: vec![Edit::DropCopies, Edit::InsertCopies] };
    let before = try_out(&mut session, trial.edits.clone());
    let link = |session: &mut Session, sample: Option<&str>| {
        let question = Ask::Link { sample: sample.map(str::to_owned), trial: trial.clone(), beside: None };
        match ask(session, question, Vec::new()) {
            Answer::Link { hash, length, most } => (hash, length, most),
            other => panic!("{other:?}"),
        }
    };
    let (Some(short), ..) = link(&mut session, Some("donation_swap.txt")) else { panic!("a link") };
    let read = Address::parse(&short).expect("our own");
    assert_eq!(read.open, Open::Sample { name: "donation_swap.txt".into(), module: None });
    assert_eq!((read.kept.of.as_str(), &read.kept.edits), (chosen.line.name.as_str(), &trial.edits));
    // The reader's own goes with its text, if that is small enough.
    let (Some(long), length, most) = link(&mut session, None) else { panic!("a link") };
    assert!(long.len() > short.len() && length <= most);
    assert_eq!(Address::parse(&long).map(|a| a.open), Some(Open::Text(text.clone())));
    // As a file it opens as any other, and comes to the same.
    let Answer::File { text: file, .. } = ask(&mut session, Ask::Keep(trial.clone()), Vec::new()) else {
        panic!("a file")
    };
    let (mut session, opened) = open(vec![Blob::new("swap.trial.json", file.clone())]);
    let kept = opened.kept.expect("its changes");
    assert_eq!((kept.of, kept.edits.clone()), (chosen.line.name, trial.edits.clone()));
    choose(&mut session, 0);
    assert_eq!(try_out(&mut session, kept.edits).total, before.total);
    let newer = file.replace("\"bufferscope_trial\": 1", "\"bufferscope_trial\": 2");
    let (_, opened) = open(vec![Blob::new("swap.trial.json", newer)]);
    assert!(
        opened.notes.iter().any(|n| n.is_error && n.text.contains("expected version 1")),
        "{:?}",
        opened.notes
    );
    // Too long: said with numbers.
    let (mut session, _) = open(module("transformer_train.txt"));
    choose(&mut session, 0);
    let (hash, length, most) = link(&mut session, None);
    assert!(hash.is_none() && length > most, "{length} {most}");
}

#[test]
fn an_assignment_is_executed() {
    let (mut session, opened) = open(vec![Blob::new("dump.zip", LOOPS)]);
    choose(&mut session, by_name(&opened, "jit_loop_reads_mid"));
    for source in [Source::Dump, Source::Ours] {
        let Answer::Words(words) = ask(&mut session, Ask::Check { source }, Vec::new()) else {
            panic!("words")
        };
        assert!(words.lines[0].starts_with("Sound"), "{words:?}");
    }
    assert!(matches!(ask(&mut session, Ask::Check { source: Source::Tried }, Vec::new()), Answer::Failed(_)));
}
