//! How often loops run: the text of each, without what XLA noted, tells the same count as XLA noted.

use std::path::Path;

#[test]
fn rounds_are_counted_as_xla_counts_them() {
    let mut noted = 0;
    let mut wrong = Vec::new();
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/data/cases");
    for case in std::fs::read_dir(folder).expect("the cases") {
        let bytes = std::fs::read(case.expect("a case").path()).expect("an archive");
        let mut files = tar::Archive::new(flate2::read::GzDecoder::new(&bytes[..]));
        for file in files.entries().expect("entries") {
            let mut file = file.expect("an entry");
            let name = file.path().expect("a path").display().to_string();
            if !name.ends_with("after_optimizations.txt") {
                continue;
            }
            let mut text = String::new();
            std::io::Read::read_to_string(&mut file, &mut text).expect("a text");
            let Some(told) = hlo::read(&text).module else { continue };
            let bare = hlo::read(&text.replace("known_trip_count", "forgotten")).module.expect("the same");
            for id in told.instruction_ids() {
                if told.instruction(id).opcode != hlo::Opcode::While {
                    continue;
                }
                let (is, found) = (questions::trip_count(&told, id), questions::trip_count(&bare, id));
                let is_noted =
                    told.attribute(id, "backend_config").is_some_and(|c| c.contains("known_trip_count"));
                noted += u32::from(is_noted);
                if is_noted && found != is {
                    wrong.push(format!("{name} {}: {found:?} instead of {is:?}", told.name_of(id)));
                }
            }
        }
    }
    assert!(wrong.is_empty(), "{wrong:#?}");
    assert!(noted >= 16, "{noted}");
}
