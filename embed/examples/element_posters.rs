//! Writes the pictures that stand in an element's place until it starts, `EXHIBIT-MODULE.svg` each, and `FIGURE.svg` for figures
//! of the reading page, into a folder.
//! `cargo xtask build` calls it.

#[cfg(target_arch = "wasm32")]
fn main() {}

#[cfg(not(target_arch = "wasm32"))]
fn main() -> std::io::Result<()> {
    use bufferscope_embed::Session;
    use std::io::Error;
    use web::modules::SHIPPED;
    use web::scene::svg::file;

    let Some(folder) = std::env::args_os().nth(1).map(std::path::PathBuf::from) else {
        return Err(Error::other("the name of a folder is wanted"));
    };
    std::fs::create_dir_all(&folder)?;
    for module in SHIPPED {
        let text = web::chapters::text_of(module.id);
        let session = Session::open(&text, Some(module.id))
            .map_err(|problems| Error::other(format!("{}: {problems:?}", module.id)))?;
        let (timeline, heap) = (session.timeline(900.0).scene, session.heap((900.0, 340.0)).scene);
        let plan = session.plan(900.0);
        let both = [("Live ranges", &timeline), ("Heap", &heap)];
        let all = [("All slabs", &plan)];
        for (exhibit, pictures) in
            [("drag", &both[..]), ("ranges", &both[..1]), ("heap", &both[1..]), ("memory", &all[..])]
        {
            let name = format!("{exhibit}-{}.svg", module.id);
            std::fs::write(folder.join(name), file(module.title, pictures))?;
        }
    }
    for poster in web::chapters::CHAPTERS.iter().flat_map(|c| (c.posters)()) {
        let picture = file(poster.title, &[("", &poster.scene)]);
        std::fs::write(folder.join(format!("{}.svg", poster.figure)), picture)?;
    }
    Ok(())
}
