//! Chapter 13: the dump files, line by line, and a reader's own.

use super::Chapter;

/// The chapter.
pub const CHAPTER: Chapter = Chapter {
    number: 13,
    slug: "four-files-with-the-answer",
    title: "Four files with the answer",
    question: "Which file of a dump says what, and what does each of its lines mean?",
    figures: &["files"],
    #[cfg(target_arch = "wasm32")]
    view: crate::parts::part!(files, view::chapter),
    #[cfg(not(target_arch = "wasm32"))]
    posters,
};

/// The module of its figure: a loop, whose values have several places and readers.
const MODULE: &str = "varied_temp_sizes";

const TITLE: &str = "The four files, line by line";

#[cfg(not(target_arch = "wasm32"))]
fn posters() -> Vec<super::Poster> {
    use crate::{engine, pane, scene};
    use dumps::read::LineKind;
    let Ok(opened) = engine::open(&super::text_of(MODULE)) else { return Vec::new() };
    let shown = pane::generated(&opened, &opened.original);
    let temp = |k: &LineKind| matches!(k, LineKind::Allocation(a) if a.is_preallocated_temp);
    let Some(line) = shown.files[0].first(temp) else { return Vec::new() };
    let links = shown.files[0].links(line);
    vec![super::Poster {
        figure: "files",
        title: TITLE,
        caption: format!("{} — {}", shown.files[0].line(line), pane::explain(&shown, 0, line)),
        class: "heap",
        scene: scene::linked_heap(&shown.picture, &links, shown.curve.peak(), (900.0, 320.0)),
    }]
}

#[cfg(target_arch = "wasm32")]
mod view {
    use super::{MODULE, TITLE};
    use crate::figure::Figure;
    use crate::modules::SHIPPED;
    use crate::pane::{self, LARGEST, Shown};
    use crate::state::{Source, State};
    use crate::teach::{Predict, Puzzle, PuzzleResult, Rule};
    use crate::views::dump_pane::{DumpPane, Linked, Pane, View};
    use crate::workbench::{Shared, Workbench, use_workbench};
    use assigner::words::{both, bytes};
    use dumps::read::LineKind;
    use leptos::ev::{DragEvent, Event};
    use leptos::prelude::*;
    use wasm_bindgen::JsCast as _;

    /// What the figure shows, and the reader's own files if there are any.
    #[derive(Clone, Copy)]
    struct Files {
        pane: Pane,
        own: RwSignal<Option<Shared<Shown>>>,
    }

    pub fn chapter() -> AnyView {
        let wb = Workbench::for_figure("files", State::new(Source::Shipped(MODULE.to_owned())));
        let own = RwSignal::new(None::<Shared<Shown>>);
        let written = Memo::new(move |_| {
            let (opened, run) = (wb.opened.get()?, wb.run.get()?);
            Some(Shared::new(pane::generated(&opened, &run)))
        });
        let shown = Memo::new(move |_| own.get().or_else(|| written.get()));
        let pane = Pane::new(wb, shown);
        provide_context(Files { pane, own });
        // A line says itself; only another module is worth a word.
        wb.say_with(move || {
            shown.with_untracked(|s| {
                s.as_ref().map(|s| format!("{} files.", s.files.len())).unwrap_or_default()
            })
        });
        let rows = move || shown.with(|s| pane::rows_against_allocation(&s.as_ref()?.picture));
        let is_peak = move || {
            shown.with(|s| {
                let file = s.as_ref()?.files.get(pane.file.get())?;
                Some(matches!(file.kind(pane.line.get()?)?, LineKind::PeakTitle { .. }))
            })
        };
        let check = move || {
            let solved = is_peak()?;
            let (name, line) = shown
                .with(|s| Some(s.as_ref()?.files.get(pane.file.get())?.name.clone()))
                .zip(pane.line.get())?;
            let here = format!("You are at line {} of {name}", line + 1);
            let progress = if solved { format!("{here}: that is the one.") } else { format!("{here}.") };
            Some(PuzzleResult { solved, progress })
        };
        view! {
            <p>
                "Whoever asks XLA for a dump, with " <span class="code">"--xla_dump_to=FOLDER"</span>
                ", gets four files about memory beside each compiled module. "
                <b>"buffer-assignment.txt"</b> " has the answer itself: every block of memory, and at which offset each value "
                "stands in it. " <b>"values.txt"</b> " says what the values are: where each can be found, who reads it. "
                <Rule section="9.1" /> " " <Rule section="9.2" />
            </p>
            <p>
                <b>"live-range.txt"</b> " has the clock: the schedule as one line of steps, when each value is wanted, and "
                "what is alive at the step with most. " <Rule section="4.4" /> " Its last part breaks these bytes down by the "
                "operations of the source that asked for them. " <Rule section="4.5" /> " " <b>"memory-usage-report.txt"</b>
                " sorts everything by size, for a first look. " <Rule section="9.4" />
                " All four are written here, by our engine; for the same module they are what XLA writes, byte for byte, except where "
                "the text of a module does not hold XLA's internal orders."
            </p>
            <Predict
                wb
                id="rows"
                question=Signal::derive(|| {
                    "In the report, each row of a block has a size, and rows are summed up as they go. The last sum of the block of temporaries is…".to_owned()
                })
                options=Signal::derive(|| {
                    ["less than the allocation's size", "exactly the allocation's size", "more than the allocation's size"].map(str::to_owned).to_vec()
                })
                answer=Signal::derive(move || rows().map(|(sum, size)| match sum.cmp(&size) {
                    std::cmp::Ordering::Less => 0,
                    std::cmp::Ordering::Equal => 1,
                    std::cmp::Ordering::Greater => 2,
                }))
                explain=Callback::new(move |_: usize| {
                    rows()
                        .map(|(sum, size)| {
                            format!(
                                "The rows add up to {}, the allocation has {}. A row stands for one offset, with the largest value that ever begins there, and values of different offsets use the same bytes at different times. So the column is good for comparing rows, not for the size of anything.",
                                bytes(sum), bytes(size)
                            )
                        })
                        .unwrap_or_default()
                })
            />
            <Figure
                wb
                title=TITLE
                caption="Go through the lines with the pointer or the arrow keys: each says what it means, and what it is about is lit in the pictures. Press a bar or a block, and its lines are marked."
                reserve=[679, 1214, 1408]
                table=FilesTable
            >
                <FilesFigure />
            </Figure>
            <Puzzle
                id="peak"
                goal="bring up the line that says at which step most memory is in use."
                check=Signal::derive(check)
                hint="It is in the file with the clock, between the ranges and the breakdown. Searching for “peak” finds it."
            />
            <p>
                "You have a dump of your own? Open its files above, or drop them on the figure. They are read in this page and "
                "go nowhere. Files of older versions, in which all stands in one, are read too; with the module's text among them, the "
                "files are compared with what the engine writes for it."
            </p>
        }
        .into_any()
    }

    /// Reads what was dropped or chosen, one after the other.
    fn open_files(files: Files, list: &web_sys::FileList) {
        let chosen: Vec<web_sys::File> = (0..list.length()).filter_map(|i| list.get(i)).collect();
        if chosen.is_empty() {
            return;
        }
        leptos::task::spawn_local(async move {
            let mut read = Vec::new();
            let mut remarks = Vec::new();
            for file in chosen {
                if file.size() > LARGEST as f64 {
                    remarks.push(format!(
                        "{} is larger than {} and was not read.",
                        file.name(),
                        both(LARGEST as u64)
                    ));
                    continue;
                }
                match wasm_bindgen_futures::JsFuture::from(file.array_buffer()).await {
                    Ok(buffer) => read.push((file.name(), js_sys::Uint8Array::new(&buffer).to_vec())),
                    // A folder, or a file that is gone by now.
                    Err(_) => remarks.push(format!(
                        "{} could not be read; a folder's files have to be opened one by one.",
                        file.name()
                    )),
                }
            }
            let mut shown = pane::read(&read);
            shown.remarks.splice(0..0, remarks);
            files.own.set(Some(Shared::new(shown)));
            files.pane.open(0);
        });
    }

    #[component]
    fn FilesFigure() -> impl IntoView {
        let wb = use_workbench();
        let files: Files = expect_context();
        let Files { pane, own } = files;
        let over = RwSignal::new(false);
        let id = move || {
            if own.with(Option::is_some) {
                return "own".to_owned();
            }
            wb.state.with(|s| match &s.source {
                Source::Shipped(id) => id.clone(),
                Source::Own(_) => "own".to_owned(),
            })
        };
        let choose = move |e: Event| {
            let id = event_target_value(&e);
            if id != "own" {
                own.set(None);
                let old = wb.state.get_untracked();
                wb.set(State { table: old.table, ..State::new(Source::Shipped(id)) });
            }
        };
        let picked = move |e: Event| {
            let input: web_sys::HtmlInputElement = event_target(&e);
            if let Some(list) = input.files() {
                open_files(files, &list);
            }
            // The same files once more are a change too.
            input.set_value("");
        };
        let dropped = move |e: DragEvent| {
            e.prevent_default();
            over.set(false);
            if let Some(list) = e.data_transfer().and_then(|d| d.files()) {
                open_files(files, &list);
            }
        };
        let has_files = move || pane.shown.with(|s| s.as_ref().is_some_and(|s| !s.files.is_empty()));
        let has_picture =
            move || pane.shown.with(|s| s.as_ref().is_some_and(|s| !s.picture.items.is_empty()));
        view! {
            <div
                class="files"
                class:dropping=move || over.get()
                on:dragover=move |e: DragEvent| {
                    e.prevent_default();
                    over.set(true);
                }
                on:dragleave=move |e: DragEvent| {
                    // Over a child it has not left.
                    let to = e.related_target().and_then(|t| t.dyn_into::<web_sys::Node>().ok());
                    let here: web_sys::Node = e.current_target().unwrap_or_else(|| e.target().expect("an event has a target")).unchecked_into();
                    if !here.contains(to.as_ref()) {
                        over.set(false);
                    }
                }
                on:drop=dropped
            >
                <div class="gap-controls">
                    <label class="field">
                        "Module"
                        <select on:change=choose prop:value=id>
                            {SHIPPED
                                .iter()
                                .map(|m| view! { <option value=m.id selected=move || id() == m.id>{m.title}</option> })
                                .collect_view()}
                            <option value="own" disabled=move || id() != "own" selected=move || id() == "own">
                                "Your own files"
                            </option>
                        </select>
                    </label>
                    <label class="field picker">
                        "Your own files"
                        <input type="file" multiple=true on:change=picked />
                    </label>
                    <span class="quiet">"or drop them here; nothing leaves this page"</span>
                    <Show when=move || own.with(Option::is_some)>
                        <button type="button" on:click=move |_| own.set(None)>
                            "Close your files"
                        </button>
                    </Show>
                </div>
                <ul class="remarks" role="status">
                    {move || {
                        pane.shown
                            .with(|s| {
                                s.as_ref()
                                    .map(|s| s.remarks.iter().map(|r| view! { <li>{r.clone()}</li> }).collect_view())
                            })
                    }}
                </ul>
                <div class="dump-and-pictures">
                    <Show when=has_files fallback=|| view! { <p class="quiet">"No file can be shown."</p> }>
                        <DumpPane pane />
                    </Show>
                    <Show when=has_picture>
                        <div class="pictures">
                            <Linked pane view=View::Heap />
                            <Linked pane view=View::Ranges />
                        </div>
                    </Show>
                </div>
            </div>
        }
    }

    #[component]
    fn FilesTable() -> impl IntoView {
        let Files { pane, .. } = expect_context();
        view! {
            <table>
                <caption>"The lines about what is lit, in all files, with what they mean"</caption>
                <thead>
                    <tr>
                        <th scope="col">"File"</th>
                        <th scope="col" class="n">"Line"</th>
                        <th scope="col">"What it says"</th>
                        <th scope="col">"What it means"</th>
                    </tr>
                </thead>
                <tbody>
                    {move || {
                        let value = pane.links.with(|l| l.values.first().copied());
                        pane.shown
                            .with(|s| {
                                let s = s.as_ref()?;
                                let mut rows = Vec::new();
                                for (n, file) in s.files.iter().enumerate() {
                                    for line in value.map(|v| file.about(v)).unwrap_or_default().iter().take(12) {
                                        rows.push((file.name.clone(), line + 1, file.line(*line).trim().to_owned(), pane::explain(s, n, *line)));
                                    }
                                }
                                Some(
                                    rows.into_iter()
                                        .map(|(file, line, text, means)| {
                                            view! {
                                                <tr>
                                                    <td>{file}</td>
                                                    <td class="n">{line}</td>
                                                    <td class="code wide">{text}</td>
                                                    <td>{means}</td>
                                                </tr>
                                            }
                                        })
                                        .collect_view(),
                                )
                            })
                    }}
                </tbody>
            </table>
        }
    }
}
