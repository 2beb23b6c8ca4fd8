//! What to open, how far that is, and what was in it.

use super::given::{helper, is_single};
use super::state::{Lab, Origin};
use crate::address::{Address, Kept, Open};
use crate::talk::{ModuleLine, Note, Opened, OutOfMemory};
use assigner::words::{binary, both, grouped};
use js_sys::{Array, Promise};
use leptos::ev;
use leptos::html::{Details, Input};
use leptos::prelude::*;
use std::collections::BTreeSet;
use std::sync::Arc;
use wasm_bindgen::{JsCast as _, JsValue};
use wasm_bindgen_futures::JsFuture;
use web_sys::{File, Response};

/// What can be tried without a dump of one's own: the file beside the page, and what it is.
const SAMPLES: [(&str, &str); 8] = [
    ("attention_out_of_memory.zip", "Dump folder: a compile that ran out of memory (TPU)"),
    ("donated_loop_reads.zip", "Dump folder: a donation that a loop spoils (CPU)"),
    ("transformer_train.txt", "Transformer training step (CPU)"),
    ("attention_grad.txt", "Attention, backward pass (CPU)"),
    ("gpu_mlp_grad.txt", "Two-layer network, gradients (GPU)"),
    ("tpu_update.txt", "Update step with copies into vector memory (TPU)"),
    ("kv_cache_loop.txt", "Decoding loop with a key-value cache (CPU)"),
    ("unet_skip.txt", "U-Net with a skip connection (CPU)"),
];

async fn sample(name: &str) -> Result<Array, JsValue> {
    let response = JsFuture::from(window().fetch_with_str(&format!("modules/{name}"))).await?;
    let response: Response = response.dyn_into()?;
    if !response.ok() {
        return Err(JsValue::from_str("it is not there"));
    }
    let bytes = JsFuture::from(response.array_buffer()?).await?;
    let file = File::new_with_buffer_source_sequence(&Array::of1(&bytes), name)?;
    Ok(Array::of1(&Array::of2(&JsValue::from_str(name), &file)))
}

/// Everything about opening.
#[component]
pub fn Opening(lab: Lab, is_report: bool) -> impl IntoView {
    let over = RwSignal::new(false);
    let pasted = RwSignal::new(String::new());
    // A drop anywhere on the page is meant for it; the browser would leave the page for the file.
    let dragged = window_event_listener(ev::dragover, move |e| {
        e.prevent_default();
        over.set(true);
    });
    let left = window_event_listener(ev::dragleave, move |_| over.set(false));
    let dropped = window_event_listener(ev::drop, move |e| {
        e.prevent_default();
        over.set(false);
        let Some(transfer) = e.data_transfer() else { return };
        let Some(Ok(promise)) = helper("bufferscopeDropped", &transfer) else { return };
        leptos::task::spawn_local(async move {
            if let Ok(files) = JsFuture::from(promise.unchecked_into::<Promise>()).await {
                lab.open(&files, None);
            }
        });
    });
    on_cleanup(move || {
        dragged.remove();
        left.remove();
        dropped.remove();
    });
    let chosen_sample = RwSignal::new(SAMPLES[0].0.to_owned());
    // An address leads to a sample; what a reader opens of his own is in one only when he asks for a link.
    let open_sample = move |name: String, module: Option<u32>, kept: Kept| {
        lab.awaited.set_value((module, kept));
        leptos::task::spawn_local(async move {
            match sample(&name).await {
                Ok(files) => lab.open_all(&files, None, Origin::Sample(name)),
                Err(_) => lab.fail(format!("The sample {} cannot be fetched.", crate::text::cut(&name))),
            }
        });
    };
    let try_sample = move |_| {
        lab.awaited_beside.set_value(None);
        open_sample(chosen_sample.get_untracked(), None, Kept::default());
    };
    let go = move |hash: String| match Address::parse(&hash) {
        Some(Address { open: Open::Sample { name, module }, kept, beside }) => {
            lab.awaited_beside.set_value(beside);
            if SAMPLES.iter().any(|(file, _)| *file == name) {
                chosen_sample.set(name.clone());
            }
            open_sample(name, module, kept);
        }
        Some(Address { open: Open::Text(text), kept, .. }) => {
            lab.awaited.set_value((None, kept));
            lab.open_all(&JsValue::UNDEFINED, Some(text), Origin::Own);
        }
        Some(Address { open: Open::Own, kept, .. }) => {
            let is_open = lab
                .chosen
                .with_untracked(|c| c.as_ref().is_some_and(|c| c.line.name == kept.of && c.can_try));
            if is_open {
                lab.try_all(crate::talk::Trial { edits: kept.edits });
                return;
            }
            if lab.awaited.with_value(|a| a.0.is_some()) {
                // A report is being opened; what was tried last is newer than what was saved.
                lab.awaited.update_value(|a| a.1 = kept);
                return;
            }
            let of = crate::text::cut(&kept.of);
            lab.awaited.set_value((None, kept));
            lab.fail(format!(
                "This address holds changes of the module {of}, but not the module: open it, and they are made."
            ));
        }
        None if hash.starts_with("#v") => {
            lab.fail("This address is damaged, or of another version of the lab.".to_owned());
        }
        None => {}
    };
    let location_hash = || window().location().hash().unwrap_or_default();
    go(location_hash());
    let changed = window_event_listener(ev::hashchange, move |_| {
        let now = location_hash();
        if now != lab.hash.get_value() {
            lab.hash.set_value(now.clone());
            go(now);
        }
    });
    on_cleanup(move || changed.remove());
    let samples = (!is_single()).then(|| {
        view! {
                <span class="choose">
                    <label for="sample">"or a sample:"</label>
                    <select id="sample" on:change=move |e| chosen_sample.set(event_target_value(&e))>
                        {SAMPLES
                            .iter()
                            .map(|(file, title)| {
                                let is = move || chosen_sample.with(|c| c == file);
                                view! { <option value=*file selected=is>{*title}</option> }
                            })
                            .collect_view()}
                    </select>
                    <button type="button" id="open-sample" on:click=try_sample>
                        "Open the sample"
                    </button>
                </span>
        }
    });
    let ways = view! {
            <p class="lead">
                "Drop an XLA dump folder, an archive of one, or single files anywhere on this page: HLO text or "
                <code>".hlo.pb"</code>
                ", the buffer-assignment, values, live-range and memory-usage files of any generation, the text of an out-of-memory error, a verbose log. Each file is told by its content."
            </p>
            <div class="ways">
                <Picker lab id="open-files" folder=false words="Open files" />
                <Picker lab id="open-folder" folder=true words="Open a folder" />
                {samples}
            </div>
            <label class="keep small">
                <input
                    type="checkbox"
                    id="keep"
                    prop:checked=move || lab.keep.get()
                    on:change=move |e| lab.keep.set(event_target_checked(&e))
                />
                " Keep what is open, and open beside it: to compare two dumps"
            </label>
            <details class="paste">
                <summary>"Paste text"</summary>
                <label class="hidden" for="pasted">
                    "HLO text, a dump file or an out-of-memory error"
                </label>
                <textarea
                    id="pasted"
                    rows="6"
                    spellcheck="false"
                    placeholder="RESOURCE_EXHAUSTED: Ran out of memory …, or HloModule …, or BufferAssignment: …"
                    on:input=move |e| pasted.set(event_target_value(&e))
                ></textarea>
                <button
                    type="button"
                    disabled=move || pasted.with(|p| p.trim().is_empty())
                    on:click=move |_| lab.open(&JsValue::UNDEFINED, Some(pasted.get_untracked()))
                >
                    "Open the text"
                </button>
            </details>
            <details class="how">
                <summary>"How to get a dump"</summary>
                <p>
                    "Run the program with "
                    <code>"XLA_FLAGS=\"--xla_dump_to=DIR --xla_dump_hlo_as_text --xla_dump_hlo_as_proto\""</code>
                    " in its environment and open DIR. A compile that fails writes its files before it fails. A module that comes from a compilation cache writes none: switch the cache off."
                </p>
            </details>
    };
    // Once there is something to look at the ways to open more are folded, so that the answer comes first.
    let has_modules = Memo::new(move |_| {
        let is_open =
            lab.opened.with(|o| o.as_ref().is_some_and(|o| !(o.modules.is_empty() && o.errors.is_empty())));
        is_report || is_open || lab.chosen.with(Option::is_some)
    });
    let box_of_ways = NodeRef::<Details>::new();
    Effect::new(move |_| {
        // Each time something is opened.
        lab.opened.track();
        let (Some(ways), fold) = (box_of_ways.get(), has_modules.get()) else { return };
        // Whoever opened something by its keys goes on from here.
        let had_focus = document().active_element().is_some_and(|a| ways.contains(Some(&a)));
        ways.set_open(!fold);
        if fold
            && had_focus
            && let Ok(Some(summary)) = ways.query_selector(":scope > summary")
        {
            _ = summary.unchecked_into::<web_sys::HtmlElement>().focus();
        }
    });
    let ways = view! {
        <details class="reopen" node_ref=box_of_ways open=!is_report>
            <summary>
                <h2 id="open-title">{move || if has_modules.get() { "Open other files" } else { "Open" }}</h2>
            </summary>
            {ways}
        </details>
    };
    view! {
        <section
            class="open"
            class:over=move || over.get()
            class:small-open=move || has_modules.get()
            aria-label="Open"
        >
            {ways}
            <Busy lab />
            {move || {
                lab.problem.get().map(|p| view! { <p class="problem" role="alert">{p}</p> })
            }}
            {move || {
                lab.link
                    .crashed
                    .get()
                    .map(|why| {
                        view! {
                            <div class="problem" role="alert" id="crashed">
                                <p>
                                    <b>"The engine stopped. "</b>
                                    "The page itself is alive. What the engine said: "
                                    <code>{crate::text::cut(&why)}</code>
                                </p>
                                <p>
                                    "Nothing of what was opened is lost on your disk. Open fewer files at a time, or the files of one module only; the bufferscope command has no limit of 4 GiB."
                                </p>
                                <button type="button" on:click=move |_| lab.link.restart()>
                                    "Start again"
                                </button>
                            </div>
                        }
                    })
            }}
            {move || lab.opened.get().map(|opened| view! { <WhatIsThere lab opened /> })}
        </section>
    }
}

/// A button that opens files or a folder; `beside` what is open, in place of as the reader has ticked.
#[component]
pub fn Picker(
    lab: Lab,
    id: &'static str,
    folder: bool,
    words: &'static str,
    #[prop(optional)] beside: bool,
) -> impl IntoView {
    let input = NodeRef::<Input>::new();
    Effect::new(move |_| {
        if let Some(input) = input.get().filter(|_| folder) {
            _ = input.set_attribute("webkitdirectory", "");
        }
    });
    let picked = move |e: ev::Event| {
        let input = event_target::<web_sys::HtmlInputElement>(&e);
        if let Some(Ok(files)) = helper("bufferscopePicked", &input) {
            if beside {
                lab.keep.set(true);
            }
            lab.open(&files, None);
        }
        // The same file may be picked again.
        input.set_value("");
    };
    view! {
        <label class="button">
            {words}
            <input class="hidden" id=id type="file" multiple=!folder node_ref=input on:change=picked />
        </label>
    }
}

#[component]
fn Busy(lab: Lab) -> impl IntoView {
    let progress = lab.link.progress;
    let share = move || {
        progress.with(|p| {
            let p = p.as_ref()?;
            let of = p.of.filter(|of| *of > 0)?;
            Some(p.done as f64 / of as f64)
        })
    };
    let words = move || {
        progress.with(|p| {
            p.as_ref().map(|p| {
                let much = match (p.bytes, p.of) {
                    (true, Some(of)) => format!(": {} of {}", binary(p.done), binary(of)),
                    (true, None) => format!(": {}", binary(p.done)),
                    (false, Some(of)) if of > 1 => format!(": {} of {}", grouped(p.done), grouped(of)),
                    _ => String::new(),
                };
                let what = if p.what.is_empty() { String::new() } else { format!(" — {}", p.what) };
                format!("{}{much}{what}", p.stage)
            })
        })
    };
    view! {
        <Show when=move || progress.with(Option::is_some)>
            <div class="busy">
                {move || match share() {
                    Some(share) => {
                        view! { <progress aria-label="How far" max="1" value=share.to_string()></progress> }
                            .into_any()
                    }
                    None => view! { <progress aria-label="How far"></progress> }.into_any(),
                }}
                <span role="status">{words}</span>
                <button
                    type="button"
                    id="cancel"
                    on:click=move |_| lab.cancel()
                >
                    {move || {
                        match lab.searching.get() {
                            Some(true) => "Stop, and keep what was found",
                            Some(false) => "Stop at once",
                            None => "Cancel",
                        }
                    }}
                </button>
            </div>
        </Show>
    }
}

#[component]
fn WhatIsThere(lab: Lab, opened: Arc<Opened>) -> impl IntoView {
    let summary = format!(
        "{} {} with {}: {} {}.",
        grouped(u64::from(opened.files)),
        if opened.files == 1 { "file" } else { "files" },
        binary(opened.bytes),
        opened.modules.len(),
        if opened.modules.len() == 1 { "module" } else { "modules" }
    );
    // Errors about modules of the list are told with those, once one is chosen; a line of the list says by how much it failed.
    let has_list = opened.modules.len() > 1;
    let (listed, others): (Vec<_>, Vec<_>) =
        opened.errors.iter().cloned().partition(|e| has_list && !e.modules.is_empty());
    let others = others
        .into_iter()
        .map(|e| {
            view! {
                <section class="oom" aria-label="Out-of-memory error">
                    <h3>"Out of memory"</h3>
                    {e.words.iter().map(|w| view! { <p>{w.clone()}</p> }).collect_view()}
                    <Message open=e.modules.is_empty() error=e />
                </section>
            }
        })
        .collect_view();
    let failed = (!listed.is_empty()).then(|| {
        let modules: BTreeSet<u32> = listed.iter().flat_map(|e| e.modules.iter().copied()).collect();
        let cautions: BTreeSet<String> = listed.iter().filter_map(|e| e.caution.clone()).collect();
        let words = match modules.len() {
            1 => "One of the modules did not fit. Open it to see what takes the memory and what would change it.".to_owned(),
            n => format!(
                "{} of the modules did not fit. Open one to see what takes the memory and what would change it.",
                grouped(n as u64)
            ),
        };
        view! {
            <section class="oom of-list" aria-label="Out-of-memory error">
                <h3>"Out of memory"</h3>
                <p>{words}</p>
                {cautions.into_iter().map(|c| view! { <p>{c}</p> }).collect_view()}
                {listed.into_iter().map(|error| view! { <Message error open=false /> }).collect_view()}
            </section>
        }
    });
    let logs = (!opened.logs.is_empty()).then(|| {
        let each = opened
            .logs
            .iter()
            .map(|w| {
                view! {
                    <h4>{w.title.clone()}</h4>
                    {w.lines.iter().map(|l| view! { <p class="small">{l.clone()}</p> }).collect_view()}
                }
            })
            .collect_view();
        view! {
            <details class="verbose-logs">
                <summary>{format!("Verbose logs ({})", opened.logs.len())}</summary>
                {each}
            </details>
        }
    });
    let list = has_list.then(|| view! { <ModuleList lab modules=opened.modules.clone() /> });
    // With a module chosen it is one line: what there was to choose from, and the button that shows it again.
    let fold = NodeRef::<Details>::new();
    Effect::new(move |_| {
        let is_chosen = lab.chosen.with(Option::is_some);
        let Some(fold) = fold.get() else { return };
        // What had the keyboard is gone with the list: the answer has it.
        let had_focus = document().active_element().is_some_and(|a| fold.contains(Some(&a)));
        fold.set_open(!is_chosen);
        if had_focus && is_chosen {
            super::state::focus_answer();
        }
    });
    let what = view! {
        {others}
        {failed}
        {opened.advice.clone().map(|a| view! { <p class="problem" role="alert">{a}</p> })}
        {list}
        <div class="folds">
        {logs}
        <Notes title="What was said of the files" notes=opened.notes.clone() open=opened.modules.is_empty() />
        </div>
    };
    let is_nothing = !has_list
        && opened.errors.is_empty()
        && opened.logs.is_empty()
        && opened.notes.is_empty()
        && opened.advice.is_none();
    view! {
        <div class="there" id="there">
            {if is_nothing {
                view! { <p class="opened-what">{summary}</p> }.into_any()
            } else {
                view! {
                    <details class="listed" node_ref=fold open=true>
                        <summary>
                            <span class="opened-what">{summary}</span>
                            " "
                            <span class="again">
                                {if has_list { "Show the modules" } else { "Show what was said of them" }}
                            </span>
                        </summary>
                        {what}
                    </details>
                }
                    .into_any()
            }}
        </div>
    }
}

/// What an out-of-memory error says in its own words.
#[component]
pub fn Message(error: OutOfMemory, open: bool) -> impl IntoView {
    let rows = error
        .buffers
        .iter()
        .map(|b| view! { <tr>{b.iter().map(|c| view! { <td>{c.clone()}</td> }).collect_view()}</tr> })
        .collect_view();
    let listing = (!error.buffers.is_empty()).then(|| {
        view! {
            <div class="scroll" tabindex="0" role="region" aria-label="Listing of the error">
                <table>
                    <thead>
                        <tr>
                            <th scope="col">"Size"</th>
                            <th scope="col">"Shape"</th>
                            <th scope="col">"Kind"</th>
                            <th scope="col">"What"</th>
                        </tr>
                    </thead>
                    <tbody>{rows}</tbody>
                </table>
            </div>
        }
    });
    view! {
        <details class="message" open=open>
            <summary>{format!("What the message says ({})", error.file)}</summary>
            <p><code>{error.sentence}</code></p>
            {listing}
        </details>
    }
}

/// Remarks on files, folded if there are many.
#[component]
pub fn Notes(title: &'static str, notes: Vec<Note>, open: bool) -> impl IntoView {
    if notes.is_empty() {
        return ().into_any();
    }
    let count = notes.len();
    let has_error = notes.iter().any(|n| n.is_error);
    let items = notes
        .into_iter()
        .take(400)
        .map(|n| {
            view! {
                <li class:wrong=n.is_error>
                    <b>{if n.is_error { "Error " } else { "" }}</b>
                    <code>{n.place}</code>
                    " "
                    {n.text}
                </li>
            }
        })
        .collect_view();
    view! {
        <details class="notes" open=open || has_error>
            <summary>{format!("{title} ({count})")}</summary>
            <ul>{items}</ul>
        </details>
    }
    .into_any()
}

#[component]
fn ModuleList(lab: Lab, modules: Vec<ModuleLine>) -> impl IntoView {
    /// So many are shown whole: a list that is cut in the middle of a line looks broken.
    const FEW: usize = 6;
    let is_short = modules.len() <= FEW;
    let current = move || lab.chosen.with(|c| c.as_ref().map(|c| c.line.module));
    let rows = modules
        .into_iter()
        .map(|m| {
            let module = m.module;
            let bytes = |b: Option<u64>| b.map_or_else(|| "—".to_owned(), both);
            let mut name = m.name.clone();
            if m.same_name > 0 && !m.signature.is_empty() {
                // Enough to tell them apart by; the whole signature may be very long.
                let short: String = m.signature.chars().take(120).collect();
                let more = if short.len() < m.signature.len() { "…" } else { "" };
                name = format!("{name} {short}{more}");
            }
            let about = [m.folder.as_str(), m.stage.as_str()]
                .into_iter()
                .filter(|t| !t.is_empty())
                .collect::<Vec<_>>()
                .join(" / ");
            let over = m.limit.map(|limit| match m.total.and_then(|t| t.checked_sub(limit)) {
                Some(over) if over > 0 => format!("Out of memory: {} too much", binary(over)),
                _ => "Out of memory".to_owned(),
            });
            // The live-range file's own peak misses parts of tuples: what is needed is what was allocated.
            let needs = match (m.total, m.peak) {
                (None, Some(peak)) if m.peak_is_ours => format!("at least {} (ours)", both(peak)),
                (total, _) => bytes(total),
            };
            view! {
                <tr aria-current=move || (current() == Some(module)).then_some("true")>
                    <td>{m.id.clone()}</td>
                    <th scope="row">
                        <button type="button" class="link" on:click=move |_| lab.choose(module)>
                            {name}
                        </button>
                        <span class="quiet small">{about}</span>
                        {over.map(|words| view! { <b class="wrong small">{words}</b> })}
                    </th>
                    <td class="number">{needs}</td>
                    <td class="number">{bytes(m.temp)}</td>
                    <td class="number">{m.instructions.map_or_else(|| "—".to_owned(), grouped)}</td>
                    <td>{m.backend.to_uppercase()}</td>
                    <td>
                        {m.has.join(", ")}
                        {(m.findings > 0).then(|| {
                            view! { <b class="wrong">{format!("; {} contradictions", m.findings)}</b> }
                        })}
                    </td>
                </tr>
            }
        })
        .collect_view();
    view! {
        <div
            class="scroll"
            class:few=is_short
            tabindex="0"
            role="region"
            aria-label="Modules, the largest first"
        >
            <table class="modules">
                <caption class="hidden">"Modules, the largest first"</caption>
                <thead>
                    <tr>
                        <th scope="col">"Id"</th>
                        <th scope="col">"Module"</th>
                        <th scope="col" class="number">"Needs in all"</th>
                        <th scope="col" class="number">"Temporaries"</th>
                        <th scope="col" class="number">"Instructions"</th>
                        <th scope="col">"Backend"</th>
                        <th scope="col">"Files"</th>
                    </tr>
                </thead>
                <tbody>{rows}</tbody>
            </table>
        </div>
    }
}
